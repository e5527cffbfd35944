package config

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// The parsers' errors continue a sentence that begins with the quoted value:
// "30" has no unit. They read decimal digits only, never 010 as octal.
var (
	errNegative = errors.New("is negative")
	errTooLarge = errors.New("is too large")
)

// maxFractionDigits is the digits of a nanosecond. More would be cut off silently.
const maxFractionDigits = 9

// parseDuration reads a sequence of numbers with units, as time.ParseDuration
// does (1h30m, 1.5s, 250ms), and besides its units d, 24 hours, and w, 7 days.
// Below a nanosecond each number is rounded down. Not accepted are a negative
// duration and a number without a unit, 0 included.
func parseDuration(text string) (time.Duration, error) {
	if strings.HasPrefix(text, "-") {
		return 0, errNegative
	}
	rest := strings.TrimPrefix(text, "+")
	if rest == "" {
		return 0, errors.New("is no duration")
	}
	if spanOf(rest, isNumeric) == len(rest) {
		return 0, bareNumber(rest)
	}
	var total uint64
	for rest != "" {
		n := spanOf(rest, isNumeric)
		number := rest[:n]
		rest = rest[n:]
		u := spanOf(rest, func(c byte) bool { return !isNumeric(c) })
		ns, err := parsePart(number, rest[:u])
		if err != nil {
			return 0, err
		}
		rest = rest[u:]
		if total += ns; total > math.MaxInt64 { // both are at most MaxInt64
			return 0, errTooLarge
		}
	}
	return time.Duration(total), nil
}

// bareNumber guesses the meaning of a number without a unit: people think in
// seconds, other programs write milliseconds.
func bareNumber(number string) error {
	const readable = 20 // longer is no number that anyone would complete
	if len(number) > readable {
		return errors.New("has no unit")
	}
	return fmt.Errorf("has no unit (did you mean %[1]ss or %[1]sms?)", number)
}

// parsePart returns number times unit in nanoseconds, at most MaxInt64.
func parsePart(number, unit string) (uint64, error) {
	nanos := unitOf(unit)
	whole, fraction, _ := strings.Cut(number, ".")
	switch {
	case whole+fraction == "":
		return 0, errors.New("is no duration")
	case unit == "":
		return 0, errors.New("ends in a number without a unit")
	case nanos == 0:
		return 0, fmt.Errorf("has the unknown unit %s (there are ns, us, ms, s, m, h, d and w)", quote(unit))
	case strings.Contains(fraction, "."):
		return 0, errors.New("has a number with two points")
	case len(fraction) > maxFractionDigits:
		return 0, fmt.Errorf("has more than %d digits after a point", maxFractionDigits)
	}
	count, err := parseDigits("0" + whole)
	if err != nil {
		return 0, err
	}
	hi, total := bits.Mul64(uint64(count), nanos)
	if hi > 0 || total > math.MaxInt64 {
		return 0, errTooLarge
	}
	part, err := parseDigits("0" + fraction)
	if err != nil {
		return 0, err
	}
	scale := uint64(1)
	for range fraction {
		scale *= 10
	}
	hi, lo := bits.Mul64(uint64(part), nanos)
	below, _ := bits.Div64(hi, lo, scale) // part < scale, so below < nanos
	if total += below; total > math.MaxInt64 {
		return 0, errTooLarge
	}
	return total, nil
}

// unitOf returns the unit in nanoseconds, or 0 if there is none of that name.
// The two characters for micro look alike; Go accepts both.
func unitOf(unit string) uint64 {
	const day = 24 * time.Hour
	switch unit {
	case "ns":
		return uint64(time.Nanosecond)
	case "us", "\u00b5s", "\u03bcs":
		return uint64(time.Microsecond)
	case "ms":
		return uint64(time.Millisecond)
	case "s":
		return uint64(time.Second)
	case "m":
		return uint64(time.Minute)
	case "h":
		return uint64(time.Hour)
	case "d":
		return uint64(day)
	case "w":
		return uint64(7 * day)
	default:
		return 0
	}
}

// parseSize reads a whole number of bytes, or of Ki, Mi, Gi or Ti, which are
// powers of 1024. Decimal units are refused rather than guessed: K is 1000
// here and 1024 there.
func parseSize(text string) (int64, error) {
	if strings.HasPrefix(text, "-") {
		return 0, errNegative
	}
	n := spanOf(text, isDigit)
	number, unit := text[:n], text[n:]
	if number == "" {
		return 0, errors.New("is no size")
	}
	shift := 0
	switch unit {
	case "":
	case "Ki":
		shift = 10
	case "Mi":
		shift = 20
	case "Gi":
		shift = 30
	case "Ti":
		shift = 40
	default:
		if strings.HasPrefix(unit, ".") {
			return 0, errors.New("is no whole number (write 1536Mi for 1.5Gi)")
		}
		return 0, fmt.Errorf("has the unknown unit %s (there are Ki, Mi, Gi and Ti, and none for bytes)", quote(unit))
	}
	count, err := parseDigits(number)
	if err != nil {
		return 0, err
	}
	if count > math.MaxInt64>>shift {
		return 0, errTooLarge
	}
	return count << shift, nil
}

// parseNumber reads a whole number.
func parseNumber(text string) (int64, error) {
	if strings.HasPrefix(text, "-") {
		return 0, errNegative
	}
	if text == "" || spanOf(text, isDigit) < len(text) {
		return 0, errors.New("is no whole number")
	}
	return parseDigits(text)
}

// parseDigits reads decimal digits, of which there is at least one.
func parseDigits(digits string) (int64, error) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, errTooLarge // the only way for digits to fail
	}
	return n, nil
}

func isDigit(c byte) bool   { return '0' <= c && c <= '9' }
func isNumeric(c byte) bool { return isDigit(c) || c == '.' }

// spanOf returns the length of the longest prefix of text whose bytes are all
// in the class.
func spanOf(text string, class func(byte) bool) int {
	for i := range len(text) {
		if !class(text[i]) {
			return i
		}
	}
	return len(text)
}
