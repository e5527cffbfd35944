package admin

import (
	"fmt"
	"html/template"
	"strings"
	"time"
	"unicode"
)

// The most of one text that the page shows, in characters. A broker's error may be
// of any length, and the JSON has all of it.
const (
	maxShort = 250  // in a list that has the whole text further down
	maxText  = 500  // names and errors
	maxLong  = 1500 // our own explanations, which may quote one
)

func pageFuncs() template.FuncMap {
	return template.FuncMap{
		"n": grouped, "size": size, "offset": offset, "known": known,
		"left":  func(seconds *int64) string { return human(time.Duration(*seconds) * time.Second) },
		"late":  func(ms int32) string { return human(time.Duration(ms) * time.Millisecond) },
		"short": func(text string) string { return clip(text, maxShort) },
		"clip":  func(text string) string { return clip(text, maxText) },
		"long":  func(text string) string { return clip(text, maxLong) },
	}
}

// grouped writes a whole number with its thousands apart.
func grouped(number any) string {
	digits := fmt.Sprint(number)
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// counted writes a number with its noun.
func counted(n int, one, many string) string { return countedLong(int64(n), one, many) }

// countedLong is counted of a longer number.
func countedLong(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// known writes a number that nobody may know.
func known(n *int64) string {
	if n == nil {
		return "unknown"
	}
	return grouped(*n)
}

// offset writes an offset that may not be known yet.
func offset(at *int64) string {
	if at == nil {
		return "–"
	}
	return grouped(*at)
}

// size writes a number of bytes, with a decimal where that says more.
func size(bytes int64) string {
	if -1024 < bytes && bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, units := float64(bytes)/1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for len(units) > 1 && (value <= -1023.95 || value >= 1023.95) { // rounded, that is 1024.0
		value, units = value/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %s", value, units[0])
}

// human writes a duration with at most two units, rounded down; it has no sign.
func human(d time.Duration) string {
	d = max(d, -d, -(d + 1)) // the last is for the least duration, which has no opposite
	const day = 24 * time.Hour
	two := func(big time.Duration, bigName string, small time.Duration, smallName string) string {
		if rest := d % big / small; rest > 0 {
			return fmt.Sprintf("%d %s %d %s", d/big, bigName, rest, smallName)
		}
		return fmt.Sprintf("%d %s", d/big, bigName)
	}
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	case d < 10*time.Second:
		return fmt.Sprintf("%d.%d s", d/time.Second, d%time.Second/(100*time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return two(time.Minute, "min", time.Second, "s")
	case d < day:
		return two(time.Hour, "h", time.Minute, "min")
	}
	return two(day, "d", time.Hour, "h")
}

// relative writes an instant that is d from now.
func relative(d time.Duration) string {
	switch {
	case d >= time.Millisecond:
		return "in " + human(d)
	case d <= -time.Millisecond:
		return human(d) + " ago"
	}
	return "now"
}

// clip bounds a text from outside, and takes out invisible characters that change
// the look or the direction of the rest.
func clip(text string, limit int) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	if characters := []rune(clean); len(characters) > limit {
		return string(characters[:limit]) + "…"
	}
	return clean
}
