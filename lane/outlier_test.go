package lane

import (
	"fmt"
	"testing"
	"time"

	"layover/purgatory"
	"layover/verify/long"
)

// outlier makes one visit that is for due copies wait for its turn, long before the others.
func outlier(s *shelf, wait time.Duration) {
	done := false
	s.slow, s.waits = 5*time.Millisecond, func(v purgatory.Visit) time.Duration {
		if v.Due && !done {
			done = true
			return wait
		}
		return 0
	}
	s.plant(1, 10, func(int) uint64 { return 1 }, func(int) time.Duration { return 40 * time.Second })
}

// TestOneWaitForATurnMakesNoOthersLate: two runs have less due in each 8 s than a quarter of the share holds.
func TestOneWaitForATurnMakesNoOthersLate(t *testing.T) {
	long.Only(t)
	const each, every = 8000, 50 * time.Millisecond
	waits := []time.Duration{2500 * time.Millisecond, 30 * time.Second, 0, 5 * time.Second, 10 * time.Second, 15 * time.Second}
	for _, wait := range waits {
		t.Run(fmt.Sprint(wait), func(t *testing.T) {
			two := func(s *shelf) {
				s.share = 1536 << 10
				outlier(s, wait)
				for run := range 2 {
					s.plant(each, 1000, func(int) uint64 { return uint64(2 + run) }, func(i int) time.Duration {
						return 3*time.Minute + time.Duration(i)*every + time.Duration(run)*20*time.Millisecond
					})
				}
			}
			shelved(t, nil, two, func(r *rig, s *shelf) {
				time.Sleep(2 * time.Minute)
				r.kafka.set(func(k *kafka) { k.deliveries = nil })
				time.Sleep(12 * time.Minute)
				n, late := r.latest()
				t.Log(n, late, len(s.visits), r.late(10*time.Millisecond))
				if n != 2*each || late > 10*time.Millisecond {
					r.Errorf("%d are delivered, the latest %v late, want %d", n, late, 2*each)
				}
			})
		})
	}
}

// late returns how many deliveries were later than a bound.
func (r *rig) late(bound time.Duration) (n int) {
	r.kafka.set(func(k *kafka) {
		for _, d := range k.deliveries {
			if due, _ := time.Parse(time.RFC3339, d.headers["layover-due"]); d.at.Sub(due) > bound {
				n++
			}
		}
	})
	return n
}

// TestOneSlowVisitLongAgoStopsNoMoves: memory is full of what is due in 200 s, and a visit waited or took long hours
// before. Few visits have come since.
func TestOneSlowVisitLongAgoStopsNoMoves(t *testing.T) {
	for name, slow := range map[string]func(*shelf){
		"none": func(s *shelf) { outlier(s, 0) },
		"wait": func(s *shelf) { outlier(s, 30*time.Second) },
		"took": func(s *shelf) {
			outlier(s, 0)
			waits := s.waits
			s.slow, s.waits = 30*time.Second, func(v purgatory.Visit) time.Duration {
				s.slow = 5 * time.Millisecond
				return waits(v)
			}
		},
	} {
		if name != "wait" && !long.Asked() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			shelved(t, nil, slow, func(r *rig, s *shelf) {
				time.Sleep(6 * time.Hour)
				r.fill(0, full+100, 200*time.Second)
				if n, used := r.moved(s), r.Bytes(); n == 0 || used > s.share {
					r.Errorf("%d are moved, and %d bytes are used of %d", n, used, s.share)
				}
			})
		})
	}
}
