package lane

import (
	"testing"
	"testing/synctest"
	"time"

	"layover/purgatory"
)

// TestCopiesAreOnTimeBesideAPartitionThatIsNotRead: what is due in each four seconds takes a quarter of the share. Visits
// of the last partition fail after ten seconds.
func TestCopiesAreOnTimeBesideAPartitionThatIsNotRead(t *testing.T) {
	const parts, turns, seconds, from, perSecond = 16, 4, 40, 100 * time.Second, 300
	const each = seconds * perSecond / parts
	plant := func(p int, s *shelf) {
		s.slow = 60 * time.Millisecond
		if p == parts {
			s.broker = 1
			s.slow, s.fails = 10*time.Second, func(purgatory.Visit) bool { return true }
			s.plant(1, 10, func(int) uint64 { return 1 }, func(int) time.Duration { return 40 * time.Second })
			return
		}
		s.plant(each, 1000, func(int) uint64 { return 1 }, func(i int) time.Duration {
			return from + (time.Duration(i)*seconds*time.Second+time.Duration(p)*seconds*time.Second/parts)/each
		})
	}
	manyShelves(t, parts+1, turns, 4*4*perSecond*1050, plant, func(r *rig, m *shelves) {
		time.Sleep(4 * time.Minute)
		n, late := r.latest()
		synctest.Wait()
		if n != parts*each || late > 10*time.Millisecond {
			r.Errorf("%d are delivered, the latest %v late, want %d", n, late, parts*each)
		}
	})
}

// TestASlowBrokerMakesNoOthersCopiesLate: 200 KB a second of each of 12 partitions are due, for half a minute, and two
// visits read at a time, as with a bound of 128 MiB. A visit of 2 MiB takes 20 ms. Then the broker of 11 partitions needs
// three seconds for each, so its own copies may be late. That of the last partition is as quick as before.
func TestASlowBrokerMakesNoOthersCopiesLate(t *testing.T) {
	for what, slow := range map[string]time.Duration{"quick": 20 * time.Millisecond, "slow": 3 * time.Second} {
		t.Run(what, func(t *testing.T) {
			const parts, visits, each = 12, 2, 300
			plant := func(p int, s *shelf) {
				s.slow, s.broker = 20*time.Millisecond, int32(min(p, 1))
				s.plant(each, 20_000, func(int) uint64 { return 1 }, func(i int) time.Duration {
					return 30*time.Minute + time.Duration(i)*100*time.Millisecond
				})
			}
			manyShelves(t, parts, visits, 32<<20, plant, func(r *rig, m *shelves) {
				time.Sleep(15 * time.Minute)
				for _, s := range m.list[1:] {
					s.set(func(s *shelf) { s.slow = slow })
				}
				time.Sleep(18 * time.Minute)
				if n, late := r.latestOf("delayed-0-"); n != each || late > time.Second {
					_, others := r.latest()
					r.Errorf("%d of %d are delivered of the partition whose broker is quick, the latest %v late; others are up to %v late", n, each, late, others)
				}
			})
		})
	}
}
