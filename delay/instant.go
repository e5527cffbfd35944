package delay

import "time"

const (
	wantInstant = "want RFC 3339 with a zone, or Unix milliseconds"

	faultInstant         fault = wantInstant
	faultInstantEmpty    fault = "no value; " + wantInstant
	faultInstantSpaces   fault = "spaces around it; " + wantInstant
	faultInstantRange    fault = "out of range; " + wantInstant
	faultInstantSmall    fault = "too small for Unix milliseconds; " + wantInstant
	faultInstantSeconds  fault = "looks like seconds; " + wantInstant
	faultInstantMicros   fault = "looks like microseconds; " + wantInstant
	faultInstantNanos    fault = "looks like nanoseconds; " + wantInstant
	faultInstantBinary   fault = "not printable ASCII, and so big-endian Unix milliseconds, which take 6 to 8 bytes; " + wantInstant
	faultInstantNegative fault = "a negative number in binary; " + wantInstant
)

const (
	// minInstantMs and maxInstantMs are the first and the last instant of RFC 3339:
	// 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z.
	minInstantMs = -62_167_219_200_000
	maxInstantMs = 253_402_300_799_999

	// leastUnixMs is the smallest positive number that is taken for Unix
	// milliseconds, 3 March 1973. Anything below is rather a number of seconds,
	// up to the year 5138.
	leastUnixMs = 100_000_000_000
)

// rounding is what becomes of a part of a millisecond: the milliseconds that it adds.
type rounding int64

const (
	down rounding = 0 // of an instant from which on something does not happen
	up   rounding = 1 // of an instant before which something does not happen
)

// parseInstant reads the value of x-deliver-at or x-expire-at: Unix milliseconds.
// An instant before the year 0 becomes the start of that year. It is past all the
// same, and its distance to any clock fits an int64.
func parseInstant(value []byte, r rounding) (ms int64, f fault) {
	switch {
	case len(value) == 0:
		return 0, faultInstantEmpty
	case !isText(value):
		return parseInstantBinary(value)
	}
	return parseInstantText(value, r)
}

// parseInstantBinary reads the minimal form of Java's BigInteger and the fixed
// one of a long. The sign is the first bit, whatever the length.
func parseInstantBinary(value []byte) (ms int64, f fault) {
	if len(value) < 6 || len(value) > 8 {
		return 0, faultInstantBinary
	}
	if value[0]&0x80 != 0 {
		return 0, faultInstantNegative
	}
	for _, c := range value {
		ms = ms<<8 | int64(c)
	}
	return ms, unixMsFault(ms)
}

func parseInstantText(text []byte, r rounding) (ms int64, f fault) {
	n, digits, ok, overflow := parseInteger(text)
	switch {
	case ok && overflow && digits == 19 && text[0] != '-':
		return 0, faultInstantNanos
	case ok && overflow:
		return 0, faultInstantRange
	case ok:
		return max(n, minInstantMs), unixMsFault(n)
	case text[0] == ' ' || text[len(text)-1] == ' ':
		return 0, faultInstantSpaces
	}
	if ms, ok = parseRFC3339(text, r); !ok {
		return 0, faultInstant
	}
	return max(ms, minInstantMs), fine
}

// unixMsFault recognises a positive number of another unit by its size. Zero
// and below are past in any unit. Numbers of 17 and 18 digits are left to the
// maximum.
func unixMsFault(n int64) fault {
	switch {
	case n <= 0:
		return fine
	case n >= 1e9 && n < 1e10:
		return faultInstantSeconds
	case n < leastUnixMs:
		return faultInstantSmall
	case n >= 1e15 && n < 1e16:
		return faultInstantMicros
	case n >= 1e18:
		return faultInstantNanos
	}
	return fine
}

// parseRFC3339 reads YYYY-MM-DDTHH:MM:SS, an optional fraction, and Z or an
// offset. It is stricter than time.Parse, which takes one digit for the hour,
// a comma for the point and offsets of any size. It rounds the digits that
// time.Parse would cut off.
func parseRFC3339(text []byte, r rounding) (ms int64, ok bool) {
	const shape = "dddd-dd-ddTdd:dd:dd"
	if len(text) <= len(shape) || !hasShape(text, shape) {
		return 0, false
	}
	year, month, dom := decimal(text[0:4]), decimal(text[5:7]), decimal(text[8:10])
	hour, minute, second := decimal(text[11:13]), decimal(text[14:16]), decimal(text[17:19])
	if month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(year, time.Month(month), dom, hour, minute, second, 0, time.UTC)
	if t.Day() != dom { // 30 February has become 2 March
		return 0, false
	}

	fractionMs, rest, ok := scanFraction(text[len(shape):], r)
	if !ok {
		return 0, false
	}
	offset, ok := parseZone(rest)
	if !ok {
		return 0, false
	}
	return (t.Unix()-offset)*1000 + fractionMs, true
}

// scanFraction reads an optional point with digits behind it, as milliseconds: for
// .9999 they are 1000 rounded up, and 999 rounded down.
func scanFraction(text []byte, r rounding) (ms int64, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '.' {
		return 0, text, true
	}
	digits, rest := scanDigits(text[1:])
	if len(digits) == 0 {
		return 0, nil, false
	}
	place := int64(100)
	for _, c := range digits {
		if place == 0 && c != '0' {
			return ms + int64(r), rest, true
		}
		ms += place * int64(c-'0')
		place /= 10
	}
	return ms, rest, true
}

// parseZone reads Z or an offset, in seconds east of UTC. The offset -00:00,
// by which RFC 3339 means that the local one is not known, is UTC.
func parseZone(text []byte) (offset int64, ok bool) {
	if len(text) == 1 && text[0] == 'Z' {
		return 0, true
	}
	if len(text) != len("+dd:dd") || text[0] != '+' && text[0] != '-' || !hasShape(text[1:], "dd:dd") {
		return 0, false
	}
	hours, minutes := decimal(text[1:3]), decimal(text[4:6])
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	offset = int64(hours*3600 + minutes*60)
	if text[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// hasShape reports whether text begins like shape, in which d is any digit and
// everything else itself. text must not be shorter than shape.
func hasShape(text []byte, shape string) bool {
	for i := range len(shape) {
		if shape[i] == 'd' && !isDigit(text[i]) || shape[i] != 'd' && text[i] != shape[i] {
			return false
		}
	}
	return true
}

// decimal returns the value of a few digits.
func decimal(digits []byte) int {
	n := 0
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n
}
