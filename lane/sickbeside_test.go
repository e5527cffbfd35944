package lane

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/purgatory"
)

// TestCopiesAreOnTimeBesideAPartitionThatIsNotRead: what is due in each four seconds takes a quarter of the share. Visits
// of the last partition fail after ten seconds, and have a turn for themselves.
func TestCopiesAreOnTimeBesideAPartitionThatIsNotRead(t *testing.T) {
	const parts, turns, seconds, from, perSecond = 16, 4, 40, 100 * time.Second, 300
	const each = seconds * perSecond / parts
	plant := func(p int, s *shelf) {
		s.slow = 60 * time.Millisecond
		if p == parts {
			s.slow, s.fails = 10*time.Second, func(purgatory.Visit) bool { return true }
			s.plant(1, 10, func(int) uint64 { return 1 }, func(int) time.Duration { return 40 * time.Second })
			return
		}
		s.plant(each, 1000, func(int) uint64 { return 1 }, func(i int) time.Duration {
			return from + (time.Duration(i)*seconds*time.Second+time.Duration(p)*seconds*time.Second/parts)/each
		})
	}
	manyShelves(t, parts+1, turns+1, 4*4*perSecond*1050, plant, func(r *rig, m *shelves) {
		time.Sleep(4 * time.Minute)
		n, late := r.latest()
		synctest.Wait()
		if n != parts*each || late > 10*time.Millisecond {
			r.Errorf("%d are delivered, the latest %v late, want %d", n, late, parts*each)
		}
	})
}
