package sim

import (
	"math/rand/v2"
	"slices"
	"testing"

	"layover/purgatory"
	"layover/verify/long"
)

// moment is when an attack is looked at.
type moment int

const (
	running moment = iota
	settling
	over
)

// attack plays worlds with runs in which some kinds of actions come as often as weight says, and
// others never. The function each is called behind every step, when the steps have ended, and
// when all is drained.
func attack(t *testing.T, first, seeds, steps int, weight map[Kind]int, each func(*World, moment) bool) {
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
			if !each(w, running) {
				t.Errorf("seed %d, %d steps", seed, len(r.Trace))
				return
			}
		}
		if w.err == nil {
			each(w, settling)
		}
		if w.Drain(); w.err == nil && !each(w, over) {
			t.Fatalf("seed %d\n%s", seed, r.Tell())
		}
		if w.err != nil {
			t.Errorf("seed %d: %v\n%s", seed, w.err, r.Shrink(1500, Breaks(w.err)).Tell())
			return
		}
	}
}

// TestAttackElectionsLoseNothing: leaders of the runs topic change, and nothing is taken from it.
func TestAttackElectionsLoseNothing(t *testing.T) {
	never := map[Kind]int{RunsElect: 60, RunsTrim: 0, RunsTruncate: 0, RunsRecreate: 0, Truncate: 0, Recreate: 0, JournalTruncate: 0, JournalTrim: 0, Reset: 0}
	attack(t, 0, int(usually(20, 60, 60)), 500, never, func(w *World, _ moment) bool {
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

// TestAttackWhatATruncationTakesIsCounted, where no owner is killed and nothing else is lost. What others wrote
// at the offsets since, own copies among them, hides nothing.
func TestAttackWhatATruncationTakesIsCounted(t *testing.T) {
	long.Only(t)
	weight := map[Kind]int{RunsTruncate: 12, RunsElect: 12, Gather: 30, Move: 30, Copy: 60, Copied: 60}
	for _, k := range []Kind{Crash, Expel, Learn, Suspend, Revoke, RunsTrim, RunsRecreate, CopyHaunt, DeleteRecords, Truncate, Compact, Recreate, JournalTruncate, JournalTrim, JournalRecreate, Reset, Overwrite} {
		weight[k] = 0
	}
	took, most := 0, 0
	counted := make(map[*purgatory.Core]int64)
	var last *World
	attack(t, 0, int(usually(20, 60, 600)), 700, weight, func(w *World, at moment) bool {
		if w != last {
			last = w
			clear(counted)
		}
		for n := 0; at == settling && n < 4; n++ { // what is left is due, and a visit finds nothing
			w.Do(Action{Kind: Calm})
			w.Do(Action{Kind: Pass, N: 4_000_000})
			for _, in := range w.insts {
				w.Do(Action{Kind: Turn, I: in.no, N: 100})
				drain{w}.copies(in)
			}
			for turn := range 4 {
				drain{w}.settle(turn)
			}
		}
		for _, in := range w.insts { // a drain ends with new cores
			if in.up {
				counted[in.core] = in.core.Snapshot().LostFromRuns
			}
		}
		if at != over {
			return true
		}
		lost, sum := 0, 0
		for _, log := range w.logs {
			for _, e := range log.entries {
				if e != nil && e.kind == record && e.lost && !e.hasOutcome() {
					lost++
				}
			}
		}
		for _, n := range counted {
			sum += int(n)
		}
		took, most = took+lost, most+sum
		if lost > sum {
			t.Errorf("%d records are gone, %d count as lost", lost, sum)
		}
		return lost <= sum
	})
	if t.Logf("%d records gone, %d counted", took, most); took < 20 {
		t.Errorf("%d records are gone: too few for a test", took)
	}
}

// TestAttackTruncationsAndTopicsMadeAgain come as often as other things.
func TestAttackTruncationsAndTopicsMadeAgain(t *testing.T) {
	attack(t, 3612, 1, 600, map[Kind]int{RunsTruncate: 40, RunsRecreate: 20, RunsElect: 0, Open: 60}, func(*World, moment) bool { return true })
}

// TestAttackTruncatedTwice: without topics that are made again.
func TestAttackTruncatedTwice(t *testing.T) {
	attack(t, 654, 1, 600, map[Kind]int{RunsTruncate: 60, RunsRecreate: 0, RunsElect: 0, Open: 60}, func(*World, moment) bool { return true })
}
