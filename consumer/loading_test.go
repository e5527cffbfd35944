package consumer

import (
	"testing"
	"time"

	"layover/offsets"
)

// TestAMemberStartsTheGroupForOthersOnlyWhereItWouldHaveToAnyway: a partition of its own
// has no offset, nobody is at it, and the bounds have been asked for long enough.
func TestAMemberStartsTheGroupForOthersOnlyWhereItWouldHaveToAnyway(t *testing.T) {
	now := time.Now()
	for name, test := range map[string]struct {
		change func(l *loading, p *partition)
		want   bool
	}{
		"without an offset and without bounds": {func(*loading, *partition) {}, true},
		"it does so already":                   {func(l *loading, _ *partition) { l.starting = true }, false},
		"it did a moment ago":                  {func(l *loading, _ *partition) { l.startDue = now.Add(time.Millisecond) }, false},
		"it may again now":                     {func(l *loading, _ *partition) { l.startDue = now }, true},
		"a moment before the grace is over":    {func(l *loading, _ *partition) { l.began = now.Add(time.Millisecond - loadGrace) }, false},
		"with the end of the grace":            {func(l *loading, _ *partition) { l.began = now.Add(-loadGrace) }, true},
		"the offset is not asked for yet":      {func(_ *loading, p *partition) { p.fetched = false }, false},
		"it has an offset":                     {func(_ *loading, p *partition) { p.was = &offsets.Committed{Offset: 3} }, false},
		"it has its bounds":                    {func(_ *loading, p *partition) { p.stage = needsStart }, false},
		"none is left":                         {func(l *loading, _ *partition) { clear(l.open) }, false},
	} {
		p := &partition{fetched: true, stage: needsBounds}
		l := &loading{began: now.Add(-time.Hour), open: map[offsets.TopicPartition]*partition{{Topic: "delayed"}: p}}
		test.change(l, p)
		if got := l.mayStart(now); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
