package delay

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	wantDelay = "want milliseconds, a duration like 1h30m or 2d, ISO 8601 like PT5M, auto, or a back-off like 1s..1h"

	faultDelay         fault = wantDelay
	faultDelayEmpty    fault = "no value; " + wantDelay
	faultDelaySpaces   fault = "spaces around it; " + wantDelay
	faultDelayRange    fault = "out of range; " + wantDelay
	faultDelayMonths   fault = "months and years have no fixed length; " + wantDelay
	faultDelayBinary   fault = "not printable ASCII, and so a big-endian number of milliseconds, which takes 8 bytes; " + wantDelay
	faultDelayNegative fault = "a negative number in binary; " + wantDelay
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// parseDelay reads the value of x-delay: the milliseconds to wait, rounded up.
// A negative number is valid as text alone.
func parseDelay(value []byte) (ms int64, f fault) {
	if f := delayTextFault(value); f != fine {
		if f != faultDelayBinary || len(value) != 8 {
			return 0, f
		}
		ms = int64(binary.BigEndian.Uint64(value))
		if ms < 0 {
			return 0, faultDelayNegative
		}
		return ms, fine
	}
	if ms, f = parseDelayMs(value); f != faultDelay {
		return ms, f
	}
	d, f := parseDuration(value)
	return ceilMs(d), f
}

// delayTextFault returns the reason for which value cannot be a delay as text.
func delayTextFault(value []byte) fault {
	switch {
	case len(value) == 0:
		return faultDelayEmpty
	case !isText(value):
		return faultDelayBinary
	case value[0] == ' ' || value[len(value)-1] == ' ':
		return faultDelaySpaces
	}
	return fine
}

// parseDelayMs reads a bare number. Any other text is faultDelay.
func parseDelayMs(text []byte) (ms int64, f fault) {
	n, _, ok, overflow := parseInteger(text)
	switch {
	case !ok:
		return 0, faultDelay
	case overflow:
		return 0, faultDelayRange
	}
	return n, fine
}

// parseInteger reads -?[0-9]+ and nothing else. digits counts those behind the
// leading zeros. Where the number overflows an int64, only ok and digits hold.
func parseInteger(text []byte) (n int64, digits int, ok, overflow bool) {
	rest := text
	negative := len(rest) > 0 && rest[0] == '-'
	if negative {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return 0, 0, false, false
	}
	// The sum is kept negative, because that side of an int64 is the larger.
	for _, c := range rest {
		if !isDigit(c) {
			return 0, 0, false, false
		}
		if digits > 0 || c != '0' {
			digits++
		}
		v := int64(c - '0')
		if overflow || n < (math.MinInt64+v)/10 {
			overflow = true
			continue
		}
		n = n*10 - v
	}
	if !negative {
		overflow = overflow || n == math.MinInt64
		n = -n
	}
	return n, digits, true, overflow
}

// parseDuration reads the forms of a delay that have units.
func parseDuration(text []byte) (time.Duration, fault) {
	if text[0] == 'P' {
		return parseISO(text[1:])
	}
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	return parseGo(text, negative)
}

// parseGo reads the durations of time.ParseDuration, with d and w as well. It rounds
// a fraction up to the nanosecond instead of down, and refuses a bare number, which
// is one of milliseconds.
func parseGo(text []byte, negative bool) (time.Duration, fault) {
	if len(text) == 0 {
		return 0, faultDelay
	}
	var total uint64
	for len(text) > 0 {
		n, rest := scanNumber(text)
		unit, rest := scanUnit(rest)
		size := goUnit(unit)
		if len(n.whole)+len(n.fraction) == 0 || n.point == ',' || size == 0 {
			return 0, faultDelay
		}
		ns, ok := n.times(size)
		if !ok || ns > 1<<63-total { // the sum of two such could be 1<<64, which is zero
			return 0, faultDelayRange
		}
		total += ns
		text = rest
	}
	if negative {
		return -time.Duration(total), fine // -(1<<63) is its own negative
	}
	if total == 1<<63 {
		return 0, faultDelayRange
	}
	return time.Duration(total), fine
}

// scanUnit splits off everything up to the next number.
func scanUnit(text []byte) (unit, rest []byte) {
	n := 0
	for n < len(text) && text[n] != '.' && !isDigit(text[n]) {
		n++
	}
	return text[:n], text[n:]
}

func goUnit(unit []byte) time.Duration {
	switch string(unit) {
	case "ns":
		return time.Nanosecond
	case "us", "\u00b5s", "\u03bcs": // x-delay never has the last two: they are not ASCII
		return time.Microsecond
	case "ms":
		return time.Millisecond
	case "s":
		return time.Second
	case "m":
		return time.Minute
	case "h":
		return time.Hour
	case "d":
		return day
	case "w":
		return week
	}
	return 0
}

// parseISO reads an ISO 8601 duration behind its P: weeks and days, then T,
// then hours, minutes and seconds. At least one unit is there, and at least one
// behind a T. Only the seconds may have a decimal fraction, with a point or a comma.
func parseISO(text []byte) (time.Duration, fault) {
	if len(text) == 0 {
		return 0, faultDelay
	}
	var total uint64
	last := isoNone
	for len(text) > 0 {
		if text[0] == 'T' {
			if last >= isoT || len(text) == 1 {
				return 0, faultDelay
			}
			last, text = isoT, text[1:]
		}
		n, rest := scanNumber(text)
		if len(n.whole) == 0 || len(rest) == 0 {
			return 0, faultDelay
		}
		place, size := isoUnit(rest[0], last >= isoT)
		if place == isoMonths {
			return 0, faultDelayMonths
		}
		if place <= last || n.point != 0 && (place != isoSeconds || len(n.fraction) == 0) {
			return 0, faultDelay
		}
		ns, ok := n.times(size)
		if !ok || ns > math.MaxInt64-total {
			return 0, faultDelayRange
		}
		total += ns
		last, text = place, rest[1:]
	}
	return time.Duration(total), fine
}

// The places of an ISO 8601 duration, in the order that they must have.
const (
	isoMonths = iota - 1
	isoNone
	isoWeeks
	isoDays
	isoT
	isoHours
	isoMinutes
	isoSeconds
)

// isoUnit returns a unit's place and size. Any other character has place isoNone,
// which comes behind no other.
func isoUnit(c byte, behindT bool) (place int, size time.Duration) {
	switch {
	case !behindT && c == 'W':
		return isoWeeks, week
	case !behindT && c == 'D':
		return isoDays, day
	case !behindT && (c == 'Y' || c == 'M'):
		return isoMonths, 0
	case behindT && c == 'H':
		return isoHours, time.Hour
	case behindT && c == 'M':
		return isoMinutes, time.Minute
	case behindT && c == 'S':
		return isoSeconds, time.Second
	}
	return isoNone, 0
}

// FormatDuration returns d, which is not negative, in the largest units that it has:
// 6d, 1h30m, 1500ms is 1s500ms. Settings and x-delay read it as the same.
func FormatDuration(d time.Duration) string {
	var b strings.Builder
	for _, unit := range []string{"d", "h", "m", "s", "ms", "us", "ns"} {
		size := goUnit([]byte(unit))
		if n := d / size; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit)
			d -= n * size
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}

// number is a decimal number as it is written: the digits before and behind
// the point, and the point. The point is 0 where there is none.
type number struct {
	whole, fraction []byte
	point           byte
}

func scanNumber(text []byte) (n number, rest []byte) {
	n.whole, rest = scanDigits(text)
	if len(rest) > 0 && (rest[0] == '.' || rest[0] == ',') {
		n.point = rest[0]
		n.fraction, rest = scanDigits(rest[1:])
	}
	return n, rest
}

func scanDigits(text []byte) (digits, rest []byte) {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return text[:n], text[n:]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// times returns n units in nanoseconds, rounded up, or false where that is
// more than 1<<63.
//
// The fraction is exact, however many digits it has. From its last digit to
// its first, each step is ceil((digit*unit + behind) / 10). Rounding up at
// every step has the same result as rounding up once at the end. No step holds
// more than ten weeks of nanoseconds, a thousandth of an int64.
func (n number) times(unit time.Duration) (ns uint64, ok bool) {
	const limit = 1 << 63
	size := uint64(unit)
	for _, c := range n.whole {
		if ns > limit/10 {
			return 0, false
		}
		ns = ns*10 + uint64(c-'0')
	}
	if ns > limit/size {
		return 0, false
	}
	ns *= size
	var part uint64
	for i := len(n.fraction) - 1; i >= 0; i-- {
		part = (uint64(n.fraction[i]-'0')*size + part + 9) / 10
	}
	return ns + part, ns+part <= limit
}
