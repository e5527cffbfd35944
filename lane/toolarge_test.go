package lane

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/runs"

	"github.com/twmb/franz-go/pkg/kgo"
)

// tooLarge refuses copies whose values are so large, as where max.message.bytes is smaller.
func tooLarge(size int) func(*kgo.Record) error {
	return func(r *kgo.Record) error {
		if len(r.Value) < size {
			return nil
		}
		return fmt.Errorf("%w: MESSAGE_TOO_LARGE", runs.ErrTooLarge)
	}
}

// TestCopiesThatAreTooLargeToBeMovedAgainDoNotFillMemory: max.message.bytes of the runs topic was lowered. Its small
// runs with copies larger than that are loaded to be moved again, and cannot be.
func TestCopiesThatAreTooLargeToBeMovedAgainDoNotFillMemory(t *testing.T) {
	for name, refuse := range map[string]func(*kgo.Record) error{
		"taken":     nil,
		"refused":   func(*kgo.Record) error { return fmt.Errorf("not enough replicas") },
		"too large": tooLarge(2000),
	} {
		t.Run(name, func(t *testing.T) {
			const share = 1 << 20
			plant := func(p int, s *shelf) {
				s.plant(fewSmall+10, 2500, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return 20 * time.Hour })
				s.refuse = refuse
			}
			manyShelves(t, 1, 4, share, plant, func(r *rig, m *shelves) {
				m.alone.Store(r)
				full := 0
				for range 120 {
					time.Sleep(time.Minute)
					synctest.Wait()
					if r.Bytes() > share*7/8 {
						full++
					}
				}
				if full > 0 {
					r.Errorf("reading pauses for memory in %d of 120 minutes: %d bytes are used of a share of %d, %d by copies that were loaded to be moved again", full, r.Bytes(), share, r.Loaded())
				}
			})
		})
	}
}

// TestALargerRecordThatTheRunsTopicTakesIsMoved: a smaller one that does not compress was refused. "One that is too
// large for it keeps no other from being moved".
func TestALargerRecordThatTheRunsTopicTakesIsMoved(t *testing.T) {
	for name, first := range map[string]bool{"alone": false, "behind one that is refused": true} {
		t.Run(name, func(t *testing.T) {
			shelved(t, nil, nil, func(r *rig, s *shelf) {
				s.set(func(s *shelf) {
					s.refuse = func(rec *kgo.Record) error {
						if len(rec.Value) > 0 && rec.Value[0] == 'r' { // random bytes, as it stands for
							return tooLarge(2000)(rec)
						}
						return nil
					}
				})
				at := int64(0)
				if first {
					rec := r.record(at, 15*time.Hour)
					rec.Value = make([]byte, 2500)
					rec.Value[0] = 'r'
					r.fetched(assignment(0, 1), rec)
					at++
				}
				add := func(n int) {
					for range n {
						rec := r.record(at, 12*time.Hour)
						rec.Value = make([]byte, 3000)
						r.fetched(assignment(0, 1), rec)
						at++
					}
				}
				add(230)
				time.Sleep(20 * time.Second)
				was := r.moved(s)
				add(230)
				time.Sleep(9 * time.Minute)
				if n := r.moved(s); n-was < 50 || r.Bytes() > s.share*7/8 {
					r.Errorf("%d copies are written, %d of them of the first; %d bytes are used of a share of %d: reading pauses at seven eighths", n, was, r.Bytes(), s.share)
				}
			})
		})
	}
}

// TestWhatWasTooLargeIsTriedAgainAfterTenMinutes whatever else is too large meanwhile.
func TestWhatWasTooLargeIsTriedAgainAfterTenMinutes(t *testing.T) {
	shelved(t, nil, nil, func(r *rig, s *shelf) {
		tries := make(map[int][]time.Time)
		began := time.Now()
		s.set(func(s *shelf) {
			s.refuse = func(rec *kgo.Record) error {
				if len(rec.Value) >= 2000 {
					tries[len(rec.Value)] = append(tries[len(rec.Value)], time.Now())
				}
				return tooLarge(2000)(rec)
			}
		})
		at := int64(0)
		for ; at < 250; at++ {
			rec := r.record(at, 15*time.Hour)
			rec.Value = make([]byte, 3000)
			r.fetched(assignment(0, 1), rec)
		}
		for i := range 60 { // an hour
			time.Sleep(time.Minute)
			if i%9 == 8 {
				rec := r.record(at, 20*time.Hour)
				rec.Value = make([]byte, 2900-i*10)
				r.fetched(assignment(0, 1), rec)
				at++
			}
		}
		synctest.Wait()
		s.set(func(*shelf) {
			var when []time.Duration
			for _, at := range tries[3000] {
				if d := at.Sub(began).Round(time.Minute); len(when) == 0 || when[len(when)-1] != d {
					when = append(when, d)
				}
			}
			if len(when) < 4 {
				r.Errorf("within an hour those of 3000 bytes are tried at %v", when)
			}
		})
	})
}

// TestWhatWasReadBackIsMovedOnceTheTopicTakesIt: max.message.bytes of the runs topic was lowered for five minutes.
// "One that is too large for it ... is tried again after ten minutes." Memory is enough.
func TestWhatWasReadBackIsMovedOnceTheTopicTakesIt(t *testing.T) {
	for name, refused := range map[string]bool{"never": false, "for five minutes": true} {
		t.Run(name, func(t *testing.T) {
			const share = 8 << 20
			plant := func(p int, s *shelf) {
				s.plant(fewSmall+10, 2500, func(i int) uint64 { return uint64(i) }, func(int) time.Duration { return 200 * time.Hour })
				if refused {
					s.refuse = tooLarge(2000)
				}
			}
			manyShelves(t, 1, 4, share, plant, func(r *rig, m *shelves) {
				m.alone.Store(r)
				time.Sleep(5 * time.Minute)
				m.list[0].set(func(s *shelf) { s.refuse = nil })
				time.Sleep(24 * time.Hour)
				synctest.Wait()
				v := r.Snapshot()
				if v.Cleaned < fewSmall {
					t.Errorf("%d of %d small runs are moved again in a day; %d bytes of copies are in memory", v.Cleaned, fewSmall+10, r.Loaded())
				}
			})
		})
	}
}
