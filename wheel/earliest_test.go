package wheel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestEarliestIsTheLeastDeadlineOfAllThatIsParked(t *testing.T) {
	for name, g := range map[string]Geometry{
		"tiny": {TickMs: 1, Slots: 4, Factor: 2, Levels: 3}, "coarse ticks": {TickMs: 10, Slots: 8, Factor: 4, Levels: 3}, "usual": DefaultGeometry(),
	} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, 2))
			w := New(1000, g)
			parked := map[uint64]int64{}
			handles := map[uint64]Handle{}
			now := int64(1000)
			for step := range 20_000 {
				switch rnd.IntN(4) {
				case 0, 1:
					ms := (now + 1 + rnd.Int64N(1<<rnd.IntN(36)) + g.TickMs) / g.TickMs * g.TickMs
					handles[uint64(step)], parked[uint64(step)] = w.Add(ms, uint64(step)), ms
				case 2:
					for p, h := range handles {
						w.Cancel(h)
						delete(handles, p)
						delete(parked, p)
						break
					}
				default:
					now += rnd.Int64N(1 << rnd.IntN(24))
					for more := true; more; {
						var due []uint64
						due, more = w.AdvanceClock(now, 1+rnd.IntN(50), nil)
						for _, p := range due {
							delete(parked, p)
							delete(handles, p)
						}
					}
				}
				var want []int64
				for _, ms := range parked {
					want = append(want, ms)
				}
				got, ok := w.Earliest()
				if ok != (len(want) > 0) || ok && got != slices.Min(want) {
					t.Fatalf("step %d: earliest %d %v, want the least of %d", step, got, ok, len(want))
				}
				if step%200 == 199 { // keep the model small
					w.Drain(func(int64, uint64) {})
					clear(parked)
					clear(handles)
				}
			}
		})
	}
}

// A share of the last bucket of time must not send the clock back to its beginning.
func TestSharesOfTheLastBucketOfTimeStayInTime(t *testing.T) {
	for records := 90; records < 260; records += 3 {
		w := New(0, DefaultGeometry())
		for i := range records {
			w.Add(math.MaxInt64, uint64(i))
		}
		var out []uint64
		for more := true; more; {
			before := w.clock
			if out, more = w.AdvanceClock(math.MaxInt64, 20, out); w.clock < before {
				t.Fatalf("%d records: the clock went from %d to %d", records, before, w.clock)
			}
		}
		if len(out) != records || !slices.IsSorted(out) {
			t.Fatalf("%d of %d came out, sorted %v", len(out), records, slices.IsSorted(out))
		}
	}
}
