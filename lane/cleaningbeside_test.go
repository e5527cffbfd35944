package lane

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/purgatory"
	"layover/verify/long"
)

// TestRunsBecomeOneBesideAPartitionThatIsNotRead: both have so many small runs that they are to be moved together, and
// no visit of partition 0 is answered in ten seconds.
func TestRunsBecomeOneBesideAPartitionThatIsNotRead(t *testing.T) {
	long.Only(t)
	const runs = fewSmall + 10
	plant := func(p int, s *shelf) {
		s.plant(runs, 10, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return 20 * time.Hour })
	}
	manyShelves(t, 2, 4, 8<<20, plant, func(r *rig, m *shelves) {
		m.list[0].set(func(s *shelf) {
			s.slow, s.fails = 10*time.Second, func(purgatory.Visit) bool { return true }
		})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		whole := 0
		m.list[1].set(func(s *shelf) {
			for _, v := range s.visits {
				if v.Whole {
					whole++
				}
			}
		})
		if n := r.moved(m.list[1]); whole < fewSmall || n < fewSmall {
			r.Errorf("of %d runs %d are read, and %d copies moved, in ten minutes", runs, whole, n)
		}
	})
}

// TestRunsBecomeOneBesidePartitionsThatFailByTurns: a visit of partition 0 or of partition 1 is under way at any time.
func TestRunsBecomeOneBesidePartitionsThatFailByTurns(t *testing.T) {
	long.Only(t)
	const runs = fewSmall + 10
	plant := func(p int, s *shelf) {
		s.plant(runs, 10, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return 20 * time.Hour })
	}
	manyShelves(t, 3, 4, 8<<20, plant, func(r *rig, m *shelves) {
		for _, s := range m.list[:2] {
			s.set(func(s *shelf) { s.slow, s.fails = 10*time.Second, func(purgatory.Visit) bool { return true } })
		}
		first := true
		m.list[1].set(func(s *shelf) {
			s.waits = func(purgatory.Visit) (d time.Duration) {
				if first {
					d = 5 * time.Second
				}
				first = false
				return d
			}
		})
		time.Sleep(20 * time.Minute)
		if n := r.moved(m.list[2]); n < fewSmall {
			r.Errorf("of %d runs %d copies are moved in twenty minutes", runs, n)
		}
	})
}
