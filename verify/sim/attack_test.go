package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// attack plays worlds with runs in which some kinds of actions come as often as it says, and
// others never; each is called behind every step.
func attack(t *testing.T, first, seeds, steps int, weight map[Kind]int, each func(*World) bool) {
	wheel := slices.DeleteFunc(slices.Clone(wheelWithRuns), func(k Kind) bool { _, ok := weight[k]; return ok })
	for k, n := range weight {
		for range n {
			wheel = append(wheel, k)
		}
	}
	slices.Sort(wheel)
	for seed := uint64(first); seed < uint64(first+seeds); seed++ {
		rng := rand.New(rand.NewPCG(seed, 0xa77ac4))
		r := Run{Config: shape(rng)}
		r.Config.haveRuns()
		w := New(r.Config)
		for tries := 0; len(r.Trace) < steps && tries < 50*steps && w.err == nil; tries++ {
			a := Action{Kind: wheel[rng.IntN(len(wheel))], I: rng.IntN(r.Config.Instances), P: rng.IntN(r.Config.Partitions)}
			a.P, a.N = numbers(rng, a)
			if a.Kind == RunsElect || a.Kind == RunsRecreate {
				a.N = 0
			}
			if weight[a.Kind] == 0 && w.accident(a) && rng.IntN(8) > 0 {
				continue
			}
			if w.Do(a) {
				r.Trace = append(r.Trace, a)
			}
			if !each(w) {
				t.Errorf("seed %d, %d steps", seed, len(r.Trace))
				return
			}
		}
		w.Drain()
		if w.err != nil {
			t.Errorf("seed %d: %v\n%s", seed, w.err, r.Shrink(1500, Breaks(w.err)).Tell())
			return
		}
	}
}

// TestAttackElectionsLoseNothing: leaders of the runs topic change, and nothing is taken from it.
func TestAttackElectionsLoseNothing(t *testing.T) {
	never := map[Kind]int{RunsElect: 60, RunsTrim: 0, RunsTruncate: 0, RunsRecreate: 0, Truncate: 0, Recreate: 0, JournalTruncate: 0, Reset: 0}
	attack(t, 0, 60, 500, never, func(w *World) bool {
		for _, in := range w.insts {
			if in.up && !w.runs.harmed {
				if n := in.core.Snapshot().LostFromRuns; n > 0 {
					t.Errorf("%s counts %d as lost from the runs topic, and nothing was taken", in.member, n)
					return false
				}
			}
		}
		return true
	})
}

// TestAttackTruncationsAndTopicsMadeAgain come as often as other things.
func TestAttackTruncationsAndTopicsMadeAgain(t *testing.T) {
	attack(t, 3612, 1, 600, map[Kind]int{RunsTruncate: 40, RunsRecreate: 20, RunsElect: 0, Open: 60}, func(*World) bool { return true })
}

// TestAttackTruncatedTwice: without topics that are made again.
func TestAttackTruncatedTwice(t *testing.T) {
	attack(t, 654, 1, 600, map[Kind]int{RunsTruncate: 60, RunsRecreate: 0, RunsElect: 0, Open: 60}, func(*World) bool { return true })
}
