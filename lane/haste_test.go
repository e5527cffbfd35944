package lane

import (
	"fmt"
	"testing"
	"time"

	"layover/purgatory"
	"layover/verify/long"
)

// TestAVisitThatFailsIsBegunAgainBeforeItsCopiesAreDue, though a second passes between.
func TestAVisitThatFailsIsBegunAgainBeforeItsCopiesAreDue(t *testing.T) {
	slows := []time.Duration{60 * time.Millisecond, 5 * time.Millisecond, 150 * time.Millisecond}
	for _, slow := range slows[:long.Of(len(slows), 1)] {
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

// TestCopiesAreOnTimeThoughAVisitWaitsForItsTurn now and then, behind those of other lanes: it takes little itself.
func TestCopiesAreOnTimeThoughAVisitWaitsForItsTurn(t *testing.T) {
	const before, each = 20, 10
	for phase := range long.Of(each, 1) {
		t.Run(fmt.Sprint(phase), func(t *testing.T) {
			waiting := func(s *shelf) {
				n := phase
				s.slow, s.waits = 20*time.Millisecond, func(v purgatory.Visit) time.Duration {
					if v.Due {
						n++
					}
					if v.Due && n%each == 0 {
						return 2500 * time.Millisecond
					}
					return 0
				}
				s.plant(before*crowdApart, 1000, func(i int) uint64 { return 2 + uint64(i/crowdApart) }, func(i int) time.Duration {
					if i%crowdApart == 0 {
						return 20*time.Second + time.Duration(i)*time.Millisecond
					}
					return 40 * time.Hour
				})
				plantCrowd(s, 0, 0)
			}
			shelved(t, nil, waiting, func(r *rig, _ *shelf) { allOnTime(r, crowd+before) })
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
	for phase := range long.Of(4, 1) {
		herd := crowdUntil + 6*time.Second + time.Duration(phase)*500*time.Millisecond
		t.Run(herd.String(), func(t *testing.T) {
			shelved(t, nil, func(s *shelf) { s.slow = 150 * time.Millisecond; plantCrowd(s, runs, herd) }, func(r *rig, _ *shelf) { allOnTime(r, crowd+runs) })
		})
	}
}
