package lane

import (
	"testing"
	"time"

	"layover/purgatory"
)

// TestAVisitThatFailsIsBegunAgainBeforeItsCopiesAreDue, though a second passes between.
func TestAVisitThatFailsIsBegunAgainBeforeItsCopiesAreDue(t *testing.T) {
	for _, slow := range []time.Duration{5 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond} {
		t.Run(slow.String(), func(t *testing.T) {
			failing := func(s *shelf) {
				n := 0
				s.slow = slow
				s.fails = func(v purgatory.Visit) bool { n++; return v.Due && n%5 == 0 }
				plantCrowd(s, 0, 0)
			}
			shelved(t, nil, failing, func(r *rig, _ *shelf) { allOnTime(r, crowd) })
		})
	}
}

// TestARunOfManyVisitsBeginsToBeReadAsEarlyAsAllOfThemTake: each takes 2 MiB at most.
func TestARunOfManyVisitsBeginsToBeReadAsEarlyAsAllOfThemTake(t *testing.T) {
	const n = 1500
	large := func(s *shelf) {
		plantCrowd(s, 0, 0)
		s.slow, s.share = 180*time.Millisecond, 64<<20
		s.plant(n, 10_000, func(int) uint64 { return 2 }, func(int) time.Duration { return 60 * time.Second })
	}
	shelved(t, nil, large, func(r *rig, _ *shelf) { allOnTime(r, crowd+n) })
}

// TestAHerdBehindACrowdIsOnTime: the read-ahead of a crowd is the least, and the herd's visits take seconds.
func TestAHerdBehindACrowdIsOnTime(t *testing.T) {
	const runs = 35
	for phase := range 4 {
		herd := crowdUntil + 6*time.Second + time.Duration(phase)*500*time.Millisecond
		t.Run(herd.String(), func(t *testing.T) {
			shelved(t, nil, func(s *shelf) { s.slow = 150 * time.Millisecond; plantCrowd(s, runs, herd) }, func(r *rig, _ *shelf) { allOnTime(r, crowd+runs) })
		})
	}
}
