package daemon

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"layover/verify/long"
)

// TestRigWithoutFaultsEveryCancelInTimeWinsAndEachCommandHasOneEvent: the load of the rig
// with nothing amiss, where nothing is excused.
func TestRigWithoutFaultsEveryCancelInTimeWinsAndEachCommandHasOneEvent(t *testing.T) {
	long.Only(t)
	from, n := rigRange(1, 3)
	total := new(idSums)
	eachSeed(t, from, n, func(t *testing.T, seed uint64) func() {
		s := runRig(t, newQuietPlan(seed))
		if s.repeats+s.allowed+s.excused+s.ids.opened+s.ids.givenUp > 0 {
			t.Errorf("something was amiss:\n%v", s)
		}
		for _, what := range []string{"cancelled", "replaced", "cancel_miss"} {
			if s.ids.events[what] == 0 {
				t.Errorf("no event says %s", what)
			}
		}
		if s.ids.inTime < 20 {
			t.Errorf("%d cancels had to win, want more", s.ids.inTime)
		}
		return func() { total.add(&s.ids) }
	})
	t.Logf("%d seeds from %d: %v", n, from, total)
}

// newQuietPlan chooses a run without faults.
func newQuietPlan(seed uint64) *plan {
	dice := rand.New(rand.NewPCG(seed, 0x7175696574))
	p := &plan{seed: seed, quiet: true, brokers: 1 + dice.IntN(3), partitions: 1 + dice.Int32N(4), instances: 1, healAt: 15 * time.Minute}
	p.settings = []string{fmt.Sprintf("LAYOVER_LANES=%d", 1+dice.IntN(3)), "LAYOVER_TARGETS_ALLOWED=other,late,small", "LAYOVER_MAX_PARKED_BYTES=2Gi"}
	p.at(0, func(r *rig) {
		r.create(late, 2)
		r.begin(0)
	})
	p.lastDue = bursts(dice, mix{}, p.healAt, func(at time.Duration, b *burst) { p.at(at, func(r *rig) { r.send(b) }) })
	p.chooseTimers(p.healAt)
	slices.SortStableFunc(p.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return p
}
