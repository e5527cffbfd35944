package consumer

import (
	"testing"
	"time"
)

// TestARestIsAShareOfTheShortestWaitThatIsRemembered, and there is none without a reason.
func TestARestIsAShareOfTheShortestWaitThatIsRemembered(t *testing.T) {
	start := time.Unix(1000, 0)
	type wait struct{ after, wait time.Duration }
	for name, c := range map[string]struct {
		waits []wait
		after time.Duration
		bytes int64
		want  time.Duration
	}{
		"at the start":                         {[]wait{{0, time.Hour}}, 9 * time.Second, 100, 0},
		"an hour":                              {[]wait{{0, time.Hour}}, 11 * time.Second, 100, 100 * time.Millisecond},
		"two seconds":                          {[]wait{{0, 2 * time.Second}}, 11 * time.Second, 100, 100 * time.Millisecond},
		"one second":                           {[]wait{{0, time.Second}}, 11 * time.Second, 100, 50 * time.Millisecond},
		"the shortest of both":                 {[]wait{{0, 1200 * time.Millisecond}, {1, time.Hour}}, 11 * time.Second, 100, 60 * time.Millisecond},
		"the shortest of the span before":      {[]wait{{9 * time.Second, 1200 * time.Millisecond}, {11 * time.Second, time.Hour}}, 19 * time.Second, 100, 60 * time.Millisecond},
		"the shortest of this span":            {[]wait{{9 * time.Second, time.Hour}, {11 * time.Second, 1200 * time.Millisecond}}, 19 * time.Second, 100, 60 * time.Millisecond},
		"one that is forgotten":                {[]wait{{0, 1200 * time.Millisecond}, {11 * time.Second, time.Hour}}, 21 * time.Second, 100, 100 * time.Millisecond},
		"nothing was read for long":            {[]wait{{0, time.Hour}}, 21 * time.Second, 100, 0},
		"nothing was ever read":                {nil, 21 * time.Second, 100, 0},
		"a poll without records":               {[]wait{{0, time.Hour}}, 11 * time.Second, 0, 0},
		"a large poll":                         {[]wait{{0, time.Hour}}, 11 * time.Second, restBelow, 0},
		"one is due":                           {[]wait{{9 * time.Second, time.Hour}, {9 * time.Second, 0}}, 18 * time.Second, 100, 0},
		"one was due ten seconds ago":          {[]wait{{9 * time.Second, time.Hour}, {9 * time.Second, 0}}, 19 * time.Second, 100, 100 * time.Millisecond},
		"one is due within less than a second": {[]wait{{9 * time.Second, time.Hour}, {9 * time.Second, leastWait - 1}}, 18 * time.Second, 100, 0},
	} {
		h := newHaste(start)
		for _, w := range c.waits {
			h.waits(start.Add(w.after), w.wait)
		}
		if got := h.rests(start.Add(c.after), c.bytes); got != c.want {
			t.Errorf("%s: a rest of %v, want %v", name, got, c.want)
		}
	}
}
