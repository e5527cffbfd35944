package lane

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/purgatory"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// cleans returns how many offsets the lane has visited to load whole runs.
func (s *shelf) cleans() int {
	seen := make(map[int64]bool)
	s.set(func(s *shelf) {
		for _, v := range s.visits {
			for at := v.From; v.Whole && at < v.To; at++ {
				seen[at] = true
			}
		}
	})
	return len(seen)
}

// TestNothingIsMovedAgainWhileRecordsAreLate: small runs become one when they are delivered. Late is what a slow target
// has not answered for, and not what is held.
func TestNothingIsMovedAgainWhileRecordsAreLate(t *testing.T) {
	long.Only(t)
	small := func(s *shelf) {
		s.older = true // nothing is moved yet
		smallRuns(s)
	}
	for _, held := range []bool{false, true} {
		shelved(t, func(c *Config) { c.Core.Patience = 10 * time.Hour }, small, func(r *rig, s *shelf) {
			r.kafka.set(func(k *kafka) {
				if k.slow = 9 * time.Second; held {
					k.verdict = purgatory.Missing
				}
			})
			for second := range 600 {
				r.fetched(assignment(0, 1), r.record(int64(second), time.Second))
				if time.Sleep(time.Second); second == 10 {
					s.set(func(s *shelf) { s.older = false })
				}
			}
			if n := s.cleans(); (n >= fewSmall) != held || !held && n > 0 {
				r.Errorf("held: %v, and %d runs are loaded to be moved again", held, n)
			}
			r.kafka.set(func(k *kafka) { k.verdict, k.slow = purgatory.Usable, 0 })
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if n := s.cleans(); n < fewSmall || r.Snapshot().Cleaned != int64(n) {
				r.Errorf("%d runs are loaded, %d records moved again, want %d and more", n, r.Snapshot().Cleaned, fewSmall)
			}
		})
	}
}

// TestAHerdThatDoesNotFitIsReadRunByRun, one visit after the other: what is between two runs is too much for
// one visit. None is told to read more than there is room for.
func TestAHerdThatDoesNotFitIsReadRunByRun(t *testing.T) {
	const runs, each = 60, 12 // of 12 copies, the first is due with the herd
	herd := func(s *shelf) {
		s.share = 1 << 20
		s.plant(runs*each, 10_000, func(i int) uint64 { return uint64(i / each) }, func(i int) time.Duration {
			if i%each == 0 {
				return 10*time.Minute + time.Duration(i)*time.Millisecond
			}
			return 40 * time.Hour
		})
	}
	shelved(t, nil, herd, func(r *rig, s *shelf) {
		time.Sleep(15 * time.Minute)
		if n, late := r.latest(); n != runs || late > 3*time.Second {
			r.Errorf("%d are delivered, the latest %v late, want %d", n, late, runs)
		}
		s.set(func(s *shelf) {
			for _, v := range s.visits {
				if v.Due && (v.Most < 1 || v.Most > s.share/4) {
					r.Errorf("a visit from %d to %d reads %d bytes, and there is room for %d", v.From, v.To, v.Most, s.share/4)
				}
			}
		})
	})
}

// TestTheReadAheadFollowsHowLongVisitsTake, also where memory allows little.
func TestTheReadAheadFollowsHowLongVisitsTake(t *testing.T) {
	dense := func(s *shelf) {
		s.slow, s.share = 3*time.Second, 100<<10
		s.plant(600, 1000, func(int) uint64 { return 1 }, func(i int) time.Duration { return time.Minute + time.Duration(i)*time.Second })
	}
	shelved(t, nil, dense, func(r *rig, s *shelf) {
		time.Sleep(15 * time.Minute)
		if n := len(r.values()); n != 600 {
			r.Fatalf("%d are delivered, want 600", n)
		}
		late := 0
		r.kafka.set(func(k *kafka) {
			for _, d := range k.deliveries {
				if due, _ := time.Parse(time.RFC3339, d.headers["layover-due"]); d.at.Sub(due) > time.Second {
					late++
				}
			}
		})
		if late > 10 || r.Snapshot().Pace.LateVisits > 3 {
			r.Errorf("%d are late, %d visits were", late, r.Snapshot().Pace.LateVisits)
		}
	})
}

// TestWhatAQuarterHoldsIsOnTime: the first sixteenth of each of three runs takes half of a quarter of the share.
// Two of these sixteenths are due about the same time, and the third 2 s later. So no two seconds have more than
// the quarter due.
func TestWhatAQuarterHoldsIsOnTime(t *testing.T) {
	const each, at = 70, time.Minute
	first, others := []time.Duration{-100, -60, -60}, []time.Duration{-100, 1910, 20} // ms from then
	var began time.Time
	three := func(s *shelf) {
		began, s.share = time.Now(), 640<<10
		s.plant(3*16*each, 1000, func(i int) uint64 { return 1 + uint64(i/(16*each)) }, func(i int) time.Duration {
			run, i := i/(16*each), i%(16*each)
			switch {
			case i == 0:
				return at + first[run]*time.Millisecond
			case i < each:
				return at + others[run]*time.Millisecond
			}
			return at + 30*time.Second + time.Duration(i/each)*30*time.Second
		})
	}
	shelved(t, nil, three, func(r *rig, s *shelf) {
		time.Sleep(80 * time.Second)
		synctest.Wait()
		n := make(map[time.Duration]int)
		for _, d := range r.seen().deliveries {
			n[d.at.Sub(began).Round(10*time.Millisecond)-at]++
		}
		if n[others[2]*time.Millisecond] != each-1 {
			t.Errorf("deliveries by when they came: %v", n)
		}
	})
}

// TestNothingIsMovedThatWouldBeReadBackAtOnce: the horizon follows the read-ahead. Some records come one by one, many
// between two looks. A flush that begins for memory alone must not find a look for what ingress keeps in the same turn.
func TestNothingIsMovedThatWouldBeReadBackAtOnce(t *testing.T) {
	slow := func(s *shelf) {
		s.slow = 25 * time.Second
		s.plant(1, 10, func(int) uint64 { return 1 }, func(int) time.Duration { return 5 * time.Minute })
	}
	shelved(t, nil, slow, func(r *rig, s *shelf) {
		time.Sleep(6 * time.Minute)
		r.want("planted 0" + strings.Repeat(".", 10))
		for i, rec := range r.bunch(0, full, 150*time.Second) { // a visit may take 25 s, so copies are read 100 s ahead
			r.fetched(assignment(0, 1), rec)
			if i == 0 || i >= full-64 {
				time.Sleep(leastAged / 20)
			}
		}
		if n := r.moved(s); n > 0 {
			r.Errorf("%d are moved that are due in 150 s", n)
		}
		r.fill(full, 100, 6*time.Minute)
		if n := r.moved(s); n == 0 {
			r.Error("nothing is moved that is due in 6 min")
		}
	})
}

// TestCopiesAreReadWhileMemoryIsFull of what cannot be moved: an eighth is for them.
func TestCopiesAreReadWhileMemoryIsFull(t *testing.T) {
	soon := func(s *shelf) {
		s.plant(50, 100, func(int) uint64 { return 1 }, func(i int) time.Duration { return 10*time.Minute + time.Duration(i)*time.Second })
	}
	shelved(t, nil, soon, func(r *rig, s *shelf) {
		for i := range int64(1100) {
			rec := r.record(i, 20*time.Hour)
			rec.Value, rec.Headers = make([]byte, 1000), append(rec.Headers, kgo.RecordHeader{Key: "x-delay-id", Value: fmt.Append(nil, i)})
			r.fetched(assignment(0, 1), rec)
		}
		synctest.Wait()
		if used := r.Bytes(); used < 1<<20 {
			r.Fatalf("%d bytes are used, want all", used)
		}
		time.Sleep(12 * time.Minute)
		r.values()
		r.kafka.set(func(k *kafka) {
			for _, d := range k.deliveries {
				if due, _ := time.Parse(time.RFC3339, d.headers["layover-due"]); d.at.Sub(due) > time.Second {
					r.Errorf("%.12q is %v late", d.value, d.at.Sub(due))
				}
			}
			if len(k.deliveries) != 50 {
				r.Errorf("%d are delivered, want 50", len(k.deliveries))
			}
		})
	})
}

// TestMemoryOfRunsIsGivenBack: a partition had 4,000 runs, and all of them are delivered.
func TestMemoryOfRunsIsGivenBack(t *testing.T) {
	long.Only(t)
	const runs = 4000
	many := func(s *shelf) {
		s.plant(runs, 10, func(i int) uint64 { return uint64(i) }, func(i int) time.Duration { return 2*time.Minute + time.Duration(i*7919%runs)*10*time.Millisecond })
	}
	shelved(t, nil, many, func(r *rig, s *shelf) {
		before := r.Bytes()
		time.Sleep(30 * time.Minute)
		if n, late := r.latest(); n != runs {
			r.Fatalf("%d delivered, the latest %v late", n, late)
		}
		if got := r.Bytes(); got > s.share/6 { // the wheel keeps 150 KB for what was parked at a time
			r.Errorf("with nothing parked %d bytes are used of a share of %d, and %d at the beginning", got, s.share, before)
		}
	})
}
