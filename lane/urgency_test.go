package lane

import (
	"fmt"
	"testing"
	"time"

	"layover/purgatory"
	"layover/verify/long"
)

const (
	crowdEvery = 3 * time.Millisecond
	crowdFrom  = 40 * time.Second
	crowdUntil = 75 * time.Second
	crowd      = int((crowdUntil - crowdFrom) / crowdEvery)
	crowdApart = 70 // copies of a herd's run, of which the first is due
)

// plantCrowd plants a run with so much due each second that the read-ahead is the least. Beside it are others, of
// which one copy each is due at one instant. What lies between two of these copies is too much for one visit.
func plantCrowd(s *shelf, runs int, herd time.Duration) {
	s.share = 4 << 20
	s.plant(crowd, 1000, func(int) uint64 { return 1 }, func(i int) time.Duration { return crowdFrom + time.Duration(i)*crowdEvery })
	s.plant(runs*crowdApart, 1000, func(i int) uint64 { return 2 + uint64(i/crowdApart) }, func(i int) time.Duration {
		if i%crowdApart == 0 {
			return herd
		}
		return 40 * time.Hour
	})
}

// allOnTime lets two minutes pass, after which all is delivered, and on time.
func allOnTime(r *rig, want int) {
	r.Helper()
	time.Sleep(2 * time.Minute) // in a bubble
	if n, late := r.latest(); n != want || late > 10*time.Millisecond {
		r.Errorf("%d are delivered, the latest %v late, want %d", n, late, want)
	}
}

// TestWhereVisitsTakeLittleEachTakesMore: all that comes within the read-ahead in a second, not what has come since the
// last look.
func TestWhereVisitsTakeLittleEachTakesMore(t *testing.T) {
	shelved(t, nil, func(s *shelf) { s.slow = 5 * time.Millisecond; plantCrowd(s, 0, 0) }, func(r *rig, s *shelf) {
		allOnTime(r, crowd)
		visits := 0
		s.set(func(s *shelf) { visits = len(s.visits) })
		if seconds := int((crowdUntil - crowdFrom) / time.Second); visits > 3*seconds {
			r.Errorf("%d visits in %d seconds", visits, seconds)
		}
	})
}

// TestAHerdBeginsToBeReadAsEarlyAsAllItsVisitsTake, however little those before it took at a time, and wherever in a
// second it is due: nothing looks more often.
func TestAHerdBeginsToBeReadAsEarlyAsAllItsVisitsTake(t *testing.T) {
	const runs = 40
	cases := []struct {
		slow, turn time.Duration
		beside     int
	}{
		{15 * time.Millisecond, 25 * time.Millisecond, 3},
		{40 * time.Millisecond, 0, 1},
	}
	for _, c := range cases[:long.Of(len(cases), 1)] {
		for phase := range long.Of(4, 1) {
			herd := 60*time.Second + time.Duration(phase)*250*time.Millisecond
			t.Run(fmt.Sprintf("%v behind %v/%v", c.slow, c.turn, herd), func(t *testing.T) {
				behind := func(s *shelf) {
					s.slow, s.waits = c.slow, func(purgatory.Visit) time.Duration { return c.turn }
					plantCrowd(s, runs, herd)
				}
				shelved(t, func(cfg *Config) { cfg.Runs.Beside = c.beside }, behind, func(r *rig, _ *shelf) { allOnTime(r, crowd+runs) })
			})
		}
	}
}
