package purgatory

import (
	"fmt"
	"testing"
)

// TestOfManyTargetsWithABacklogEachGetsItsTurn: an offer has room for a record of one target in thirty, and is answered
// before the next. A record for another target goes once each of them has had a turn.
func TestOfManyTargetsWithABacklogEachGetsItsTurn(t *testing.T) {
	const targets, each, budget = 3000, 40, 100
	for _, lasts := range []string{"a backlog that lasts", "targets that have one record each"} {
		t.Run(lasts, func(t *testing.T) {
			r := newRig(t, nil)
			r.assign(0, 1, 0)
			next := int64(0)
			give := func(target string) {
				r.give(next, target, 0)
				next++
			}
			lasting := lasts == "a backlog that lasts"
			for n := range targets {
				give(fmt.Sprint("busy.", n))
				for range each - 1 {
					if lasting {
						give(fmt.Sprint("busy.", n))
					}
				}
			}
			r.pass(1)
			r.end(Delivered, r.Offer(nil, budget)...)
			give(healthy)
			r.pass(1)
			for turn := 1; ; turn++ {
				ds, gone := r.Offer(nil, budget), false
				for _, d := range ds {
					gone = gone || d.Target == healthy
				}
				r.end(Delivered, ds...)
				if gone {
					return
				}
				if turn > 6*targets/budget { // a turn is for five records of a target: so many may be in flight to each
					t.Fatalf("it waits for more than %d turns", turn)
				}
				for n := range budget { // others become due
					if !lasting {
						give(fmt.Sprintf("busy.%d.%d", turn, n))
					}
				}
				r.pass(1)
			}
		})
	}
}
