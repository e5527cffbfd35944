package lane

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"layover/delay"
	"layover/purgatory"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestSmallRunsBecomeOneBesideAFlow: up to 100 records a second are delivered when they are due, and each is answered
// within 20 ms. So none is late, and one is in flight at any time.
func TestSmallRunsBecomeOneBesideAFlow(t *testing.T) {
	long.Only(t)
	for _, each := range []int{0, 10, 1000} { // in ten seconds
		t.Run(fmt.Sprint(each), func(t *testing.T) {
			shelved(t, nil, smallRuns, func(r *rig, s *shelf) {
				r.kafka.set(func(k *kafka) { k.slow = 20 * time.Millisecond })
				n := int64(0)
				for range 60 { // ten minutes
					var records []*kgo.Record
					for i := range each {
						records = append(records, r.record(n, 10*time.Second+time.Duration(i)*10*time.Second/time.Duration(each)))
						n++
					}
					if each > 0 {
						r.fetched(assignment(0, 1), records...)
					}
					time.Sleep(10 * time.Second)
				}
				synctest.Wait()
				_, late := r.latest()
				if got := s.cleans(); got < fewSmall {
					r.Errorf("in ten minutes %d of %d small runs are loaded to become one; the latest delivery was %v late", got, fewSmall+10, late)
				}
			})
		})
	}
}

// TestWhatIsLateByLessThanSecondsKeepsNoRunsApart: it may be under way.
func TestWhatIsLateByLessThanSecondsKeepsNoRunsApart(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	v := visits{published: new(published), cfg: &Config{Wall: func(time.Time) time.Time { return now }}}
	for late, want := range map[time.Duration]bool{-time.Second: false, 20 * time.Millisecond: false, cleanLate - time.Millisecond: false, cleanLate: true, time.Hour: true} {
		v.published.outlook.OldestLateMs = now.Add(-late).UnixMilli()
		if got := v.late(now); got != want {
			t.Errorf("what is overdue by %v is late: %v, want %v", late, got, want)
		}
	}
	if v.published.outlook.OldestLateMs = 0; v.late(now) {
		t.Error("nothing is overdue, and something is late")
	}
}

// smallRuns plants so many that they are to become one.
func smallRuns(s *shelf) {
	s.share = 8 << 20
	s.plant(fewSmall+10, 10, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return 20 * time.Hour })
}

// oneRun fails the test unless the small runs of a partition have been moved to become one.
func (r *rig) oneRun(s *shelf) {
	r.Helper()
	if read, moved := s.cleans(), r.moved(s); read < fewSmall || moved < fewSmall {
		r.Errorf("of %d small runs of the healthy partition %d are read, and %d copies moved", fewSmall+10, read, moved)
	}
}

// noneRead fails the test where small runs of a partition are read already: what follows would prove nothing.
func (r *rig) noneRead(s *shelf) {
	r.Helper()
	if read := s.cleans(); read > 0 {
		r.Errorf("%d small runs are read before anything is late", read)
	}
}

// TestRunsBecomeOneBesideAPartitionWhoseCopiesAreOverdue: partition 0 of the runs topic has no leader, and a copy there
// is due. Partition 1 is well.
func TestRunsBecomeOneBesideAPartitionWhoseCopiesAreOverdue(t *testing.T) {
	plant := func(p int, s *shelf) {
		if p == 0 {
			s.plant(5, 10, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return time.Minute })
			return
		}
		s.plant(fewSmall+10, 10, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return 20 * time.Hour })
	}
	manyShelves(t, 2, 4, 8<<20, plant, func(r *rig, m *shelves) {
		m.older.Store(true)
		m.list[0].set(func(s *shelf) { // what is there is known, and then the leader is away
			s.slow, s.fails = time.Second, func(purgatory.Visit) bool { return true }
		})
		time.Sleep(time.Minute + 2*cleanLate)
		r.noneRead(m.list[1])
		m.older.Store(false)
		time.Sleep(cleanLong / 2) // after all of it they would whatever is late
		synctest.Wait()
		r.oneRun(m.list[1])
	})
}

// TestRunsBecomeOneBesideAPartitionWithoutMembership: its commits are refused, and a record of it is due.
func TestRunsBecomeOneBesideAPartitionWithoutMembership(t *testing.T) {
	plant := func(p int, s *shelf) {
		if p == 1 {
			s.plant(fewSmall+10, 10, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return 20 * time.Hour })
		}
	}
	manyShelves(t, 2, 4, 8<<20, plant, func(r *rig, m *shelves) {
		r.kafka.set(func(k *kafka) {
			k.noLease, k.refuse = true, errors.New("unknown topic or partition")
			k.spares = func(p int32) bool { return p != 0 }
		})
		m.older.Store(true)
		time.Sleep(3 * time.Second)
		r.kafka.set(func(k *kafka) { k.noLease = false })
		r.fetched(assignment(0, 1), r.record(0, time.Second))
		time.Sleep(time.Second + 2*cleanLate)
		r.noneRead(m.list[1])
		m.older.Store(false)
		time.Sleep(cleanLong / 2) // after all of it they would whatever is late
		synctest.Wait()
		r.oneRun(m.list[1])
	})
}

// TestATargetThatRefusesKeepsNoRunsApart: a target refuses each record for its content, 20 a second, and its brokers
// answer after 200 ms. They become dead letters one by one, more slowly than they fall due. Small runs are to become one
// all the same: "one sick topic never stops healthy ones", and a runs topic takes "at most" what the formula says.
func TestATargetThatRefusesKeepsNoRunsApart(t *testing.T) {
	edit := func(c *Config) {
		targets, err := delay.NewTargets("ready", []string{"bad"}, []string{"delayed"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Rules = always(&delay.Rules{MaxDelay: 24 * time.Hour, Targets: targets})
		c.Core.Patience = 10 * time.Hour
	}
	shelved(t, edit, smallRuns, func(r *rig, s *shelf) {
		r.kafka.set(func(k *kafka) { k.slow, k.class, k.fails = 200*time.Millisecond, purgatory.Rejected, "bad" })
		n := int64(0)
		for range 1200 {
			var records []*kgo.Record
			for range 20 {
				rec := r.record(n, time.Second)
				rec.Headers = append(rec.Headers, kgo.RecordHeader{Key: "x-deliver-to", Value: []byte("bad")})
				records = append(records, rec)
				n++
			}
			r.fetched(assignment(0, 1), records...)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if got := s.cleans(); got < fewSmall {
			r.Errorf("in twenty minutes %d of %d small runs are loaded to become one; %d of %d records are dead letters, held are %v",
				got, fewSmall+10, r.handed("graves"), n, r.Snapshot().Held)
		}
	})
}
