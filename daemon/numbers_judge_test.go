package daemon

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// expected are values by key. A value is a number, a string, a bool or nil, an instant, or a judge.
type expected map[string]any

// judge says what a value has to be.
type judge struct {
	what string
	is   func(v any) bool
}

// with returns both; those of more count where both have one.
func (e expected) with(more expected) expected {
	out := maps.Clone(e)
	maps.Copy(out, more)
	return out
}

// secondsSince is how long ago an instant is when it is sight at.
func secondsSince(t time.Time) judge {
	return judge{fmt.Sprintf("the seconds since %v", t.UTC()), func(v any) bool { return nearly(time.Since(t).Seconds()).is(v) }}
}

// secondsUntil is how long it is until an instant when it is sight at.
func secondsUntil(t time.Time) judge {
	return judge{fmt.Sprintf("the seconds until %v", t.UTC()), func(v any) bool { return nearly(time.Until(t).Seconds()).is(v) }}
}

func between(low, high float64) judge {
	return judge{fmt.Sprintf("between %v and %v", low, high), func(v any) bool {
		n, ok := v.(float64)
		return ok && n >= low && n <= high
	}}
}

// nearly is a number of seconds that go by while the test looks.
func nearly(n float64) judge { return between(n-1.5, n+1.5) }

// around is an instant that the process has sight for about once a second. What is counted in the time
// in which brokers answered, which moves once a second, may seem to begin a second early.
func around(t time.Time) judge { return by(t.Add(2*time.Second), 3*time.Second) }

// of puts expectations together; the last that has a key counts.
func of(all ...expected) expected {
	out := make(expected)
	for _, e := range all {
		maps.Copy(out, e)
	}
	return out
}

func has(parts ...string) judge {
	return judge{fmt.Sprintf("a text with %q", parts), func(v any) bool {
		s, ok := v.(string)
		return ok && !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(s, p) })
	}}
}

// slack is how far an instant may be from that which the test knows.
const slack = 150 * time.Millisecond

// by is an instant that came within a time before t.
func by(t time.Time, within time.Duration) judge {
	return judge{fmt.Sprintf("at %v or up to %v before", t.UTC(), within), func(v any) bool {
		at, ok := instantOf(v)
		return ok && !at.After(t.Add(slack)) && !at.Before(t.Add(-within-slack))
	}}
}

// instantOf reads an instant of /status, or one of a metric in seconds.
func instantOf(v any) (time.Time, bool) {
	switch v := v.(type) {
	case string:
		at, err := time.Parse(time.RFC3339, v)
		return at, err == nil
	case float64:
		return time.UnixMilli(int64(math.Round(v * 1000))), v != 0
	}
	return time.Time{}, false
}

// fits reports whether a value is what is wanted.
func fits(want, got any) bool {
	switch want := want.(type) {
	case judge:
		return want.is(got)
	case time.Time:
		return by(want, 0).is(got)
	case int:
		return got == float64(want)
	case int64:
		return got == float64(want)
	}
	return want == got
}

func (j judge) String() string { return j.what }
