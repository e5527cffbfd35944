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
		if read, n := m.list[1].cleans(), r.moved(m.list[1]); read < fewSmall || n < fewSmall {
			r.Errorf("of %d runs %d are read, and %d copies moved, in ten minutes", runs, read, n)
		}
	})
}

// TestRunsBecomeOneBesidePartitionsThatFailByTurns: a visit of one of eight other partitions is under way at any time.
// Each takes less than one of a silent broker, of which all but one end at once.
func TestRunsBecomeOneBesidePartitionsThatFailByTurns(t *testing.T) {
	long.Only(t)
	const runs, fail = fewSmall + 10, 8
	plant := func(p int, s *shelf) {
		s.plant(runs, 10, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return 20 * time.Hour })
	}
	manyShelves(t, fail+1, 2*fail, 16<<20, plant, func(r *rig, m *shelves) {
		r.noneRead(m.list[fail])
		for i, s := range m.list[:fail] {
			s.set(func(s *shelf) {
				s.slow, s.fails = 4*time.Second, func(purgatory.Visit) bool { return true }
				s.waits = func(purgatory.Visit) time.Duration { return time.Duration(i) * 3 * time.Second }
			})
		}
		time.Sleep(20 * time.Minute)
		if n := r.moved(m.list[fail]); n < fewSmall {
			r.Errorf("of %d runs %d copies are moved in twenty minutes", runs, n)
		}
	})
}
