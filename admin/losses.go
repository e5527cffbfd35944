package admin

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"layover/purgatory"
)

// lossLong is how long after the last loss the page is red, and /readyz says degraded. The
// records are gone for good, so an operator gets longer to see it than for dead letters.
const lossLong = 10 * time.Minute

// addLosses adds up the losses of each topic.
func (t *totals) addLosses(l *purgatory.Snapshot) {
	for _, loss := range l.Losses {
		sum := purgatory.LossOf(&t.Losses, loss.Topic, loss.FromRuns)
		sum.Offsets, sum.LastMs = sum.Offsets+loss.Offsets, max(sum.LastMs, loss.LastMs)
	}
}

// losses describes the losses of the topics that lost something of late, "" where none did. They
// count since the start. A clock that was stepped back far makes none of them news.
func (t *totals) losses(now time.Time) string {
	slices.SortFunc(t.Losses, func(a, b purgatory.Loss) int {
		return cmp.Or(cmp.Compare(b.LastMs, a.LastMs), cmp.Compare(a.Topic, b.Topic))
	})
	var all []string
	for _, l := range t.Losses {
		at := time.UnixMilli(l.LastMs).Sub(now)
		if at.Abs() >= lossLong {
			continue
		}
		how := "deleted before they were delivered"
		if l.FromRuns {
			how = "gone from its runs topic"
		}
		all = append(all, fmt.Sprintf("%s of %s, %s, the last %s", grouped(l.Offsets), l.Topic, how, relative(at)))
	}
	if len(all) == 0 {
		return ""
	}
	return "records are lost: " + firstFew(all, 0, "; ")
}
