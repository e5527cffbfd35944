package delay

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// Backoff is how long the next attempts of a record wait, and how many there are. As text
// it is FIRST..LAST and parts that may be left out, in this order:
//
//	1s..1h x2 jitter=20% max=16
//	5m..5m                         the same as 5m..5m x2 jitter=20% max=16
//
// The zero value is none. A Backoff never changes.
type Backoff struct {
	first, last time.Duration
	factor      uint64 // in hundredths, 100 to 1000
	jitter      uint64 // in percent, 0 to 100
	max         int64  // attempts; 0: no end
}

const (
	// BackoffAuto is the text that stands for the back-off of a setting.
	BackoffAuto = "auto"
	// DefaultBackoff is the back-off of a setting that nobody has set.
	DefaultBackoff = "1s..1h x2 jitter=20% max=16"
)

// The parts of a back-off that a text leaves out.
const (
	builtInFactor = 200
	builtInJitter = 20
	builtInMax    = 16
)

// MaxAttempts bounds what a back-off may have as its number of attempts, and what
// x-delay-attempt may say.
const MaxAttempts = 1_000_000

const (
	wantBackoff = "want a back-off like 1s..1h x2 jitter=20% max=16"

	faultBackoff       fault = wantBackoff
	faultBackoffFirst  fault = "the first wait is no duration above zero; " + wantBackoff
	faultBackoffLast   fault = "the last wait is no duration, or below the first; " + wantBackoff
	faultBackoffFactor fault = "want a factor of x1 to x10 with up to two decimals; " + wantBackoff
	faultBackoffJitter fault = "want a jitter of 0% to 100%; " + wantBackoff
	faultBackoffMax    fault = "want max=0, which is no end, to max=1000000; " + wantBackoff
	faultBackoffPart   fault = "the parts are FIRST..LAST xFACTOR jitter=P% max=N, in this order; " + wantBackoff
)

// ParseBackoff reads a back-off. FIRST and LAST are durations with units in the forms of
// x-delay, FIRST above zero and LAST not below it. The text auto is none of its forms.
func ParseBackoff(text string) (Backoff, error) {
	value := []byte(text)
	b, f := parseBackoff(value)
	if f != fine {
		return Backoff{}, errors.New(quote(value) + ": " + string(f))
	}
	return b, nil
}

// looksLikeBackoff reports whether value can only be meant as a back-off: no other form of
// x-delay has two points in a row.
func looksLikeBackoff(value []byte) bool { return bytes.Contains(value, []byte("..")) }

// parseBackoff takes any bytes. The cost is linear in them.
func parseBackoff(value []byte) (b Backoff, f fault) {
	if f := delayTextFault(value); f != fine {
		return Backoff{}, faultBackoff
	}
	b = Backoff{factor: builtInFactor, jitter: builtInJitter, max: builtInMax}
	span, rest := nextPart(value)
	if f = b.parseSpan(span); f != fine {
		return Backoff{}, f
	}
	part, rest := nextPart(rest)
	if text, ok := bytes.CutPrefix(part, []byte("x")); ok {
		if b.factor, ok = parseFactor(text); !ok {
			return Backoff{}, faultBackoffFactor
		}
		part, rest = nextPart(rest)
	}
	if text, ok := bytes.CutPrefix(part, []byte("jitter=")); ok {
		digits, isShare := bytes.CutSuffix(text, []byte("%"))
		jitter, isCount := parseCount(digits, 100)
		if !isShare || !isCount {
			return Backoff{}, faultBackoffJitter
		}
		b.jitter = uint64(jitter)
		part, rest = nextPart(rest)
	}
	if text, ok := bytes.CutPrefix(part, []byte("max=")); ok {
		if b.max, ok = parseCount(text, MaxAttempts); !ok {
			return Backoff{}, faultBackoffMax
		}
		part, _ = nextPart(rest)
	}
	if len(part) > 0 {
		return Backoff{}, faultBackoffPart
	}
	return b, fine
}

// nextPart splits text at its first blanks.
func nextPart(text []byte) (part, rest []byte) {
	part, rest, _ = bytes.Cut(text, []byte(" "))
	return part, bytes.TrimLeft(rest, " ")
}

// parseSpan reads FIRST..LAST. A bare number is refused: settings have none, and the text
// means the same everywhere. So is a third point, which would make a tenth of LAST: 1s...1h
// is a slip of the pen, and not 1s..6m.
func (b *Backoff) parseSpan(text []byte) fault {
	first, last, ok := bytes.Cut(text, []byte(".."))
	if !ok {
		return faultBackoff
	}
	if b.first, ok = parsePositive(first); !ok {
		return faultBackoffFirst
	}
	if b.last, ok = parsePositive(last); !ok || b.last < b.first || last[0] == '.' {
		return faultBackoffLast
	}
	return fine
}

func parsePositive(text []byte) (time.Duration, bool) {
	if len(text) == 0 {
		return 0, false
	}
	d, f := parseDuration(text)
	return d, f == fine && d > 0
}

// parseFactor reads a factor in hundredths.
func parseFactor(text []byte) (hundredths uint64, ok bool) {
	n, rest := scanNumber(text)
	if len(rest) > 0 || n.point == ',' || n.point == '.' && len(n.fraction) == 0 || len(n.fraction) > 2 {
		return 0, false
	}
	whole, ok := parseCount(n.whole, 10)
	if !ok {
		return 0, false
	}
	hundredths = uint64(whole) * 100
	for i, c := range n.fraction {
		hundredths += uint64(c-'0') * [...]uint64{10, 1}[i]
	}
	return hundredths, hundredths >= 100 && hundredths <= 1000
}

// parseCount reads digits, up to and with most.
func parseCount(text []byte, most int64) (n int64, ok bool) {
	if len(text) == 0 || text[0] == '-' {
		return 0, false
	}
	n, _, ok, overflow := parseInteger(text)
	return n, ok && !overflow && n <= most
}

// UnmarshalText reads what ParseBackoff reads; an error leaves b as it was.
func (b *Backoff) UnmarshalText(text []byte) error {
	parsed, err := ParseBackoff(string(text))
	if err == nil {
		*b = parsed
	}
	return err
}

// String returns b with all its parts, which ParseBackoff reads as b; empty for none.
func (b Backoff) String() string {
	if b.IsZero() {
		return ""
	}
	factor := strconv.FormatUint(b.factor/100, 10)
	switch part := b.factor % 100; {
	case part%10 > 0:
		factor += "." + string([]byte{'0' + byte(part/10), '0' + byte(part%10)})
	case part > 0:
		factor += "." + string([]byte{'0' + byte(part/10)})
	}
	return FormatDuration(b.first) + ".." + FormatDuration(b.last) + " x" + factor +
		" jitter=" + strconv.FormatUint(b.jitter, 10) + "% max=" + strconv.FormatInt(b.max, 10)
}

// IsZero reports whether b is none.
func (b Backoff) IsZero() bool { return b.last == 0 }

// Last is the longest wait.
func (b Backoff) Last() time.Duration { return b.last }

// Within returns b with waits of at most longest, which is above zero.
func (b Backoff) Within(longest time.Duration) Backoff {
	b.first, b.last = min(b.first, longest), min(b.last, longest)
	return b
}

// Wait is how long attempt n waits, from 1 on, in milliseconds, rounded up and above zero.
// It is FIRST x FACTOR^(n-1), at most LAST, less a share of it that draw chooses. draw is
// in [0, 1<<53), where 0 takes nothing off.
//
// It counts in integers, so that every machine finds the same instant. The result is never
// below the exact one, and a sum that is a whole number of nanoseconds is exact.
func (b Backoff) Wait(n int64, draw uint64) (ms int64) {
	ns := b.full(n)
	// Less than 1<<63 times less than 100<<53 is below the divisor in its upper half.
	hi, lo := bits.Mul64(ns, b.jitter*draw)
	less, _ := bits.Div64(hi, lo, 100<<drawBits)
	return ceilMs(time.Duration(ns - less))
}

// full is the wait of attempt n in nanoseconds, rounded up, with nothing taken off. As many
// attempts at a time are multiplied as an integer holds. With x1.01 from a nanosecond to
// ten years that is some 450 times, and no n costs more.
func (b Backoff) full(n int64) uint64 {
	last := uint64(b.last)
	if b.factor <= 100 {
		return uint64(b.first)
	}
	v := precise{ns: uint64(b.first)}
	for steps := n - 1; steps > 0; {
		times, by, many := uint64(1), uint64(1), int64(0)
		for many < steps && times <= math.MaxUint64/b.factor {
			times, by, many = times*b.factor, by*100, many+1
		}
		if v = v.scaled(times, by); v.ns >= last {
			return last
		}
		steps -= many
	}
	if v.below > 0 {
		v.ns++
	}
	return min(v.ns, last)
}

// precise is a number of nanoseconds, with the part of one that is below the point in
// units of 1<<-64.
type precise struct{ ns, below uint64 }

// scaled returns v x times / by, rounded up in its last place. times and by are above zero,
// by at most times. A result that does not fit is the largest.
func (v precise) scaled(times, by uint64) precise {
	carry, lowest := bits.Mul64(v.below, times)
	highest, middle := bits.Mul64(v.ns, times)
	middle, overflow := bits.Add64(middle, carry, 0)
	highest += overflow
	if highest >= by {
		return precise{math.MaxUint64, 0}
	}
	ns, rest := bits.Div64(highest, middle, by)
	below, rest := bits.Div64(rest, lowest, by)
	if rest > 0 {
		if below++; below == 0 && ns < math.MaxUint64 {
			ns++
		}
	}
	return precise{ns, below}
}
