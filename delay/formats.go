package delay

import (
	"encoding/binary"
	"math"
	"time"
)

// Format is how the value of another product's header is read, and what it says. A format
// takes its own form alone: nothing is told by what a value looks like.
type Format uint8

// The formats. Their text is the word in LAYOVER_HEADER_MAP.
const (
	FormatMs           Format = iota // milliseconds to wait, as text
	FormatS                          // seconds to wait, as text
	FormatDurationText               // a Go duration, with d and w as well
	FormatISO8601                    // an ISO 8601 duration
	FormatBE32Ms                     // milliseconds to wait, 4 bytes big-endian
	FormatBE64Ms                     // milliseconds to wait, 8 bytes big-endian
	FormatRetryAfter                 // RFC 9110: seconds to wait, or an HTTP date
	FormatEpochMs                    // Unix milliseconds, as text
	FormatEpochS                     // Unix seconds, as text
	FormatRFC3339                    // RFC 3339 with a zone
	FormatBigIntMs                   // Unix milliseconds, two's complement in 1 to 8 bytes
	FormatTarget                     // as x-deliver-to
	FormatKey                        // the key of the delivered record, any bytes
	FormatID                         // as x-delay-id
	FormatAttempt                    // as x-delay-attempt
	FormatExpireAt                   // as x-expire-at
	formatCount
)

// role is what a header says of its record.
type role uint8

const (
	roleWhen role = iota
	roleTarget
	roleKey
	roleID
	roleAttempt
	roleExpiry
	roles
)

// declared is what a format is.
type declared struct {
	name string
	role role
	// instant: it says when, and not how long. An instant wins over a delay.
	instant bool
	want    string // the end of a message, of roleWhen alone
	// parse reads a value of roleWhen: a delay, or an instant where at is true, both in
	// milliseconds. baseMs is the record's timestamp, or the clock where it has none.
	parse func(value []byte, baseMs int64) (ms int64, at bool, f fault)
}

// formats has each Format at its place.
var formats = [formatCount]declared{
	FormatMs:           {"ms", roleWhen, false, "want milliseconds as text", declaredDelay(declaredMs)},
	FormatS:            {"s", roleWhen, false, "want whole seconds as text", declaredDelay(declaredSeconds)},
	FormatDurationText: {"duration", roleWhen, false, "want a duration with units like 1h30m0s", declaredDelay(declaredDuration)},
	FormatISO8601:      {"iso8601", roleWhen, false, "want ISO 8601 like PT5M", declaredDelay(declaredISO)},
	FormatBE32Ms:       {"be32_ms", roleWhen, false, "want 4 bytes, big-endian milliseconds", declaredDelay(declaredBE32)},
	FormatBE64Ms:       {"be64_ms", roleWhen, false, "want 8 bytes, big-endian milliseconds", declaredDelay(declaredBE64)},
	FormatRetryAfter:   {"retry_after", roleWhen, false, "want seconds, or an HTTP date like Sun, 06 Nov 1994 08:49:37 GMT", declaredRetryAfter},
	FormatEpochMs:      {"epoch_ms", roleWhen, true, "want Unix milliseconds as text", declaredInstant(declaredEpochMs)},
	FormatEpochS:       {"epoch_s", roleWhen, true, "want Unix seconds as text", declaredInstant(declaredEpochS)},
	FormatRFC3339:      {"rfc3339", roleWhen, true, "want RFC 3339 with a zone", declaredInstant(declaredRFC3339)},
	FormatBigIntMs:     {"bigint_ms", roleWhen, true, "want 1 to 8 bytes, Unix milliseconds as Java's BigInteger has them", declaredInstant(declaredBigInt)},
	FormatTarget:       {name: "target", role: roleTarget},
	FormatKey:          {name: "key", role: roleKey},
	FormatID:           {name: "id", role: roleID},
	FormatAttempt:      {name: "attempt", role: roleAttempt},
	FormatExpireAt:     {name: "expire_at", role: roleExpiry},
}

// String returns the format's word.
func (f Format) String() string { return formats[f].name }

// Formats returns the words of all formats. The slice is the caller's.
func Formats() []string {
	var words []string
	for _, f := range formats {
		words = append(words, f.name)
	}
	return words
}

// FormatOf returns the format of a word, without regard to the case of ASCII letters; false where there is none.
func FormatOf(word string) (Format, bool) {
	for i := range formats {
		if equalFold(word, formats[i].name) {
			return Format(i), true
		}
	}
	return 0, false
}

// The faults of declared values. The format's own words of what is wanted follow them.
const (
	faultForm     fault = "another form" // no more is said of it than what is wanted
	faultEmpty    fault = "no value"
	faultSpaces   fault = "spaces around it"
	faultBinary   fault = "not printable ASCII"
	faultRange    fault = "out of range"
	faultMonths   fault = "months and years have no fixed length"
	faultNegative fault = "a negative number in binary"
	faultSmall    fault = "too small"
	faultSeconds  fault = "looks like seconds"
	faultMillis   fault = "looks like milliseconds"
	faultMicros   fault = "looks like microseconds"
	faultNanos    fault = "looks like nanoseconds"
	faultWeekday  fault = "another day of the week than the date's"
)

// complain completes a fault with what the format wants.
func (f Format) complain(what fault) fault {
	if want := fault(formats[f].want); what == faultForm {
		return want
	} else {
		return what + "; " + want
	}
}

// declaredDelay makes a parser of delays out of one of milliseconds.
func declaredDelay(parse func([]byte) (int64, fault)) func([]byte, int64) (int64, bool, fault) {
	return func(value []byte, _ int64) (int64, bool, fault) {
		ms, f := parse(value)
		return ms, false, f
	}
}

// declaredInstant makes a parser of instants out of one of Unix milliseconds. An instant
// before the year 0 becomes the start of that year, as in parseInstant.
func declaredInstant(parse func([]byte) (int64, fault)) func([]byte, int64) (int64, bool, fault) {
	return func(value []byte, _ int64) (int64, bool, fault) {
		ms, f := parse(value)
		return max(ms, minInstantMs), true, f
	}
}

// textFault is the reason for which value cannot be text of any format.
func textFault(value []byte) fault {
	switch {
	case len(value) == 0:
		return faultEmpty
	case !isText(value):
		return faultBinary
	case value[0] == ' ' || value[len(value)-1] == ' ':
		return faultSpaces
	}
	return fine
}

// declaredNumber reads -?[0-9]+.
func declaredNumber(value []byte) (n int64, f fault) {
	if f = textFault(value); f != fine {
		return 0, f
	}
	n, _, ok, overflow := parseInteger(value)
	switch {
	case !ok:
		return 0, faultForm
	case overflow:
		return 0, faultRange
	}
	return n, fine
}

func declaredMs(value []byte) (ms int64, f fault) { return declaredNumber(value) }

func declaredSeconds(value []byte) (ms int64, f fault) {
	n, f := declaredNumber(value)
	if f == fine && (n > math.MaxInt64/1000 || n < math.MinInt64/1000) {
		f = faultRange
	}
	if f != fine {
		return 0, f
	}
	return n * 1000, fine
}

// declaredDuration reads what time.Duration prints, which has the micro sign in it.
func declaredDuration(value []byte) (ms int64, f fault) {
	text := value
	if len(text) == 0 {
		return 0, faultEmpty
	}
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	d, f := parseGo(text, negative)
	return declaredCeil(d, f)
}

func declaredISO(value []byte) (ms int64, f fault) {
	switch {
	case len(value) == 0:
		return 0, faultEmpty
	case value[0] != 'P':
		return 0, faultForm
	}
	d, f := parseISO(value[1:])
	return declaredCeil(d, f)
}

// declaredCeil puts a result of x-delay's parsers into the words of declared ones.
func declaredCeil(d time.Duration, f fault) (int64, fault) {
	switch f {
	case fine:
		return ceilMs(d), fine
	case faultDelayRange:
		return 0, faultRange
	case faultDelayMonths:
		return 0, faultMonths
	}
	return 0, faultForm
}

func declaredBE32(value []byte) (ms int64, f fault) {
	if len(value) != 4 {
		return 0, lengthFault(value)
	}
	return nonNegative(int64(int32(binary.BigEndian.Uint32(value))))
}

func declaredBE64(value []byte) (ms int64, f fault) {
	if len(value) != 8 {
		return 0, lengthFault(value)
	}
	return nonNegative(int64(binary.BigEndian.Uint64(value)))
}

func lengthFault(value []byte) fault {
	if len(value) == 0 {
		return faultEmpty
	}
	return faultForm
}

func nonNegative(ms int64) (int64, fault) {
	if ms < 0 {
		return 0, faultNegative
	}
	return ms, fine
}

// declaredBigInt reads two's complement of any length up to eight bytes. The first bit is the
// sign, so that one byte ff is the millisecond before 1970.
func declaredBigInt(value []byte) (ms int64, f fault) {
	if len(value) == 0 || len(value) > 8 {
		return 0, lengthFault(value)
	}
	ms = int64(int8(value[0]))
	for _, c := range value[1:] {
		ms = ms<<8 | int64(c)
	}
	return ms, fine
}

// declaredEpochMs refuses numbers of another unit by their size, as x-deliver-at does.
func declaredEpochMs(value []byte) (ms int64, f fault) {
	if ms, f = declaredNumber(value); f != fine {
		return 0, f
	}
	switch unixMsFault(ms) {
	case fine:
		return ms, fine
	case faultInstantSeconds:
		return 0, faultSeconds
	case faultInstantMicros:
		return 0, faultMicros
	case faultInstantNanos:
		return 0, faultNanos
	}
	return 0, faultSmall
}

// declaredEpochS refuses a positive number that is before 3 March 1973, or from the year 5138
// on. An earlier one is rather a delay, and a later one rather milliseconds.
func declaredEpochS(value []byte) (ms int64, f fault) {
	ms, f = declaredSeconds(value)
	switch {
	case f == faultRange && value[0] != '-':
		return 0, faultMillis
	case f == faultRange:
		return minInstantMs, fine
	case f != fine:
		return 0, f
	case ms > 0 && ms < leastUnixMs:
		return 0, faultSmall
	case ms >= leastUnixMs*1000:
		return 0, faultMillis
	}
	return ms, fine
}

func declaredRFC3339(value []byte) (ms int64, f fault) {
	if f = textFault(value); f != fine {
		return 0, f
	}
	ms, ok := parseRFC3339(value, up)
	if !ok {
		return 0, faultForm
	}
	return ms, fine
}
