package wheel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"layover/verify/long"
)

// collect advances until nothing due is left and returns what came out.
func collect(w *TimingWheel, nowMs int64, budget int) []uint64 {
	var out []uint64
	for more := true; more; {
		out, more = w.AdvanceClock(nowMs, budget, out)
	}
	return out
}

func TestEveryBoundaryFromEveryPhaseOfNow(t *testing.T) {
	for name, g := range map[string]Geometry{
		"without overlap": tiny,
		"with overlap":    {TickMs: 1, Slots: 4, Factor: 2, Levels: 3},
		"coarse tick":     {TickMs: 3, Slots: 4, Factor: 4, Levels: 2},
	} {
		t.Run(name, func(t *testing.T) {
			turn := g.TickMs
			for range g.Levels {
				turn *= int64(g.Slots)
			}
			for nowMs := -turn; nowMs <= turn; nowMs++ {
				m := newModel(t, nowMs, g, 1)
				for unit := g.TickMs; unit <= 4*turn; unit *= 2 {
					// The boundaries as seen from now, and those of the slots.
					for _, at := range []int64{nowMs + unit, nowMs/unit*unit + unit, nowMs - unit} {
						for near := int64(-1); near <= 1; near++ {
							m.add(at + near)
						}
					}
				}
				m.check()
				for step := int64(0); step <= 2*turn; step += 1 + step/8 {
					m.advanceAll(nowMs+step, 5)
					m.check()
				}
				m.advanceAll(nowMs+100*turn, 5)
				if m.w.Len() > 0 {
					t.Fatalf("from %d: %d records never came out", nowMs, m.w.Len())
				}
			}
		})
	}
}

func TestRecordIsDueInItsTickAndNotBefore(t *testing.T) {
	for _, delayMs := range []int64{1, 4095, 4096, 4097, 8_388_607, 8_388_608, 1 << 33, 1<<33 + 1, 1 << 45, 1 << 46, 1 << 60} {
		w := New(1_700_000_000_123, DefaultGeometry())
		deadlineMs := w.NowMs() + delayMs
		w.Add(deadlineMs, 9)
		if out := collect(w, deadlineMs-1, 10); len(out) > 0 {
			t.Errorf("delay %d: came out a millisecond early", delayMs)
		}
		if out := collect(w, deadlineMs, 10); !slices.Equal(out, []uint64{9}) {
			t.Errorf("delay %d: %v came out at the deadline", delayMs, out)
		}
	}
}

func TestDeadlineRoundsUpToTheTick(t *testing.T) {
	for deadlineMs, dueMs := range map[int64]int64{-11: -10, -10: -10, -1: 0, 0: 0, 1: 10, 10: 10, 11: 20, 19: 20} {
		w := New(-1000, Geometry{TickMs: 10, Slots: 4, Factor: 4, Levels: 3})
		w.Add(deadlineMs, 1)
		if out := collect(w, dueMs-1, 10); len(out) > 0 {
			t.Errorf("deadline %d came out before %d", deadlineMs, dueMs)
		}
		if out := collect(w, dueMs, 10); len(out) != 1 {
			t.Errorf("deadline %d did not come out at %d", deadlineMs, dueMs)
		}
	}
}

func TestPastDeadlineIsDueAtTheNextAdvanceWithTheSameNow(t *testing.T) {
	for name, deadlineMs := range map[string]int64{
		"now": 5000, "just past": 4999, "a turn past": 904, "zero": 0, "negative": -1, "least": math.MinInt64,
	} {
		t.Run(name, func(t *testing.T) {
			w := New(0, DefaultGeometry())
			collect(w, 5000, 10)
			w.Add(deadlineMs, 7)
			if ms, ok := w.NextDeadline(); !ok || ms != 5000 {
				t.Errorf("NextDeadline is %d, %v, want the clock", ms, ok)
			}
			if out, more := w.AdvanceClock(5000, 10, nil); !slices.Equal(out, []uint64{7}) || more {
				t.Errorf("AdvanceClock handed out %v, more %v", out, more)
			}
		})
	}
}

func TestPastDeadlineIsDueAtTheSameNowInsideACoarseTick(t *testing.T) {
	w := New(105, Geometry{TickMs: 10, Slots: 4, Factor: 4, Levels: 2})
	w.Add(95, 1)
	if ms, ok := w.NextDeadline(); !ok || ms != 105 {
		t.Errorf("NextDeadline is %d, %v, want 105", ms, ok)
	}
	if out, _ := w.AdvanceClock(105, 10, nil); len(out) != 1 {
		t.Error("the record did not come out")
	}
}

func TestDeadlineBeyondEveryLevelSaturates(t *testing.T) {
	w := New(math.MaxInt64-10_000, DefaultGeometry())
	w.Add(math.MaxInt64, 1)
	w.Add(math.MaxInt64-1, 2)
	if out := collect(w, math.MaxInt64-2, 10); len(out) > 0 {
		t.Errorf("%v came out early", out)
	}
	if out := collect(w, math.MaxInt64, 10); !slices.Equal(out, []uint64{2, 1}) {
		t.Errorf("%v came out at the end of time", out)
	}
}

func TestTickAfterTheEndOfTimeIsParkedAndHandedBack(t *testing.T) {
	w := New(math.MinInt64, Geometry{TickMs: 10, Slots: 4, Factor: 4, Levels: 3})
	w.Add(math.MaxInt64, 1)
	if out := collect(w, math.MaxInt64, 10); len(out) > 0 {
		t.Error("came out before its tick")
	}
	w.Drain(func(deadlineMs int64, payload uint64) {
		if deadlineMs != math.MaxInt64 || payload != 1 {
			t.Errorf("Drain handed back %d for %d", payload, deadlineMs)
		}
	})
}

func TestClockBackwardsDoesNothing(t *testing.T) {
	w := New(1000, DefaultGeometry())
	w.Add(500, 1)
	w.Add(1500, 2)
	if out, more := w.AdvanceClock(999, 10, nil); len(out) > 0 || more || w.NowMs() != 1000 {
		t.Errorf("handed out %v, more %v, clock %d", out, more, w.NowMs())
	}
	if out := collect(w, 1500, 10); !slices.Equal(out, []uint64{1, 2}) {
		t.Errorf("%v came out afterwards", out)
	}
}

func TestJumpOverManyTurnsKeepsOrderAndReplaysNothing(t *testing.T) {
	m := newModel(t, 0, tiny, 1)
	for i := range int64(300) {
		m.add(i * i * 37 % 1000)
	}
	m.add(math.MaxInt64 - 5)
	m.advanceAll(math.MaxInt64-6, 7)
	m.check()
	if m.w.Len() != 1 {
		t.Fatalf("%d records are left, want 1", m.w.Len())
	}
	m.advanceAll(math.MaxInt64, 7)
	if m.w.Len() != 0 {
		t.Fatal("the last record never came out")
	}
}

func TestEmptyWheelHasNoDeadlineAndMovesItsClock(t *testing.T) {
	w := New(0, DefaultGeometry())
	if ms, ok := w.NextDeadline(); ok {
		t.Errorf("an empty wheel wants to be called at %d", ms)
	}
	const hours = 1_700_000_000_000
	if out, more := w.AdvanceClock(hours, 1, nil); len(out) > 0 || more || w.NowMs() != hours {
		t.Errorf("handed out %v, more %v, clock %d", out, more, w.NowMs())
	}
	w.Add(hours+3, 1)
	if ms, _ := w.NextDeadline(); ms != hours+3 {
		t.Errorf("a record three milliseconds ahead is due at %d", ms)
	}
}

func TestCancelSucceedsOnceAndOnlyForWhatIsParked(t *testing.T) {
	w := New(0, DefaultGeometry())
	fired, cancelled, other := w.Add(1, 1), w.Add(2, 2), w.Add(3, 3)
	collect(w, 1, 10)
	if w.Cancel(fired) {
		t.Error("cancelled a record that fired")
	}
	if !w.Cancel(cancelled) || w.Cancel(cancelled) {
		t.Error("cancelled a parked record other than once")
	}
	for _, forged := range []Handle{0, other + 1, 1 << 40, math.MaxUint64} {
		if w.Cancel(forged) {
			t.Errorf("cancelled handle %d, which was never given", forged)
		}
	}
	if out := collect(w, 10, 10); !slices.Equal(out, []uint64{3}) {
		t.Errorf("%v came out, want the other record alone", out)
	}
}

func TestCancelDuringCascadeAndDuringHandingOut(t *testing.T) {
	for name, deadlineMs := range map[string]int64{"cascade": 5000, "handing out": 3000} {
		t.Run(name, func(t *testing.T) {
			w := New(0, DefaultGeometry())
			var handles []Handle
			for i := range uint64(100) {
				handles = append(handles, w.Add(deadlineMs, i))
			}
			var out []uint64
			more := true
			for calls := 0; more; calls++ {
				out, more = w.AdvanceClock(deadlineMs, 3, out)
				w.Cancel(handles[99-calls%50])
			}
			seen := map[uint64]bool{}
			for _, payload := range out {
				seen[payload] = true
			}
			if len(seen) != len(out) || w.Len() != 0 {
				t.Fatalf("%d payloads, %d different, %d left", len(out), len(seen), w.Len())
			}
			for _, h := range handles {
				if w.Cancel(h) {
					t.Fatal("cancelled a record after its deadline")
				}
			}
		})
	}
}

// A bucket that moves down over half a second is cancelled from while it does.
// Some of its records have moved, and some are still to move. Others neither
// cascade nor fire any more because compaction has been over them.
func TestCancelWhileABucketMovesDown(t *testing.T) {
	const records, deadlineMs = 20_000, 600_000
	for _, p := range paces {
		w := New(0, DefaultGeometry())
		w.pace = p
		w.clearBuckets()
		handles := make([]Handle, records)
		for i := range handles {
			handles[i] = w.Add(deadlineMs+int64(i%700), uint64(i))
		}
		r := rand.New(rand.NewPCG(1, 9))
		gone := make([]int, records) // cancelled or fired
		for nowMs := int64(deadlineMs - 3000); w.Len() > 0; nowMs++ {
			var due []uint64
			for more := true; more; {
				due, more = w.AdvanceClock(nowMs, 100, due)
				if i := r.IntN(records); w.Cancel(handles[i]) {
					gone[i]++
				}
			}
			for _, payload := range due {
				gone[payload]++
				if w.Cancel(handles[payload]) {
					t.Fatalf("record %d was cancelled after it fired", payload)
				}
			}
		}
		for i, n := range gone {
			if n != 1 {
				t.Fatalf("record %d was cancelled or fired %d times", i, n)
			}
		}
		checkMemory(t, w)
	}
}

func TestNoneOfAMillionIsEarlyOrATickLate(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, tickMs := range []int64{1, 7} {
		w := New(0, Geometry{TickMs: tickMs, Slots: 256, Factor: 64, Levels: 4})
		deadlinesMs := make([]int64, 1_000_000)
		for i := range deadlinesMs {
			deadlinesMs[i] = r.Int64N(1 << (4 + r.IntN(20)))
			w.Add(deadlinesMs[i], uint64(i))
		}
		for beforeMs, nowMs := int64(0), int64(0); w.Len() > 0; beforeMs, nowMs = nowMs, nowMs+1+r.Int64N(50) {
			for _, i := range collect(w, nowMs, 1000) {
				if at := deadlinesMs[i]; at > nowMs || at <= beforeMs-tickMs {
					t.Fatalf("deadline %d came out between %d and %d, with a tick of %d", at, beforeMs, nowMs, tickMs)
				}
			}
		}
	}
}

func TestRecordAddedByTheReceiverComesWithALaterAdvance(t *testing.T) {
	w := New(0, DefaultGeometry())
	w.Add(10, 0)
	for round := range uint64(5) {
		out, more := w.AdvanceClock(10, 100, nil)
		if !slices.Equal(out, []uint64{round}) || more {
			t.Fatalf("round %d handed out %v, more %v", round, out, more)
		}
		w.Add(10, round+1)
	}
}

func TestNewTurnOfASlotDoesNotMixWithTheOneBeingDrained(t *testing.T) {
	for name, g := range map[string]Geometry{"tiny": tiny, "default": DefaultGeometry()} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, 0, g, 1)
			for range 50 {
				m.add(1)
			}
			if !m.advance(1, 10) {
				t.Fatal("50 records came out with a budget of 10")
			}
			turnMs := int64(g.Slots)
			m.add(1)          // the same tick: after all of the old ones
			m.add(1 + turnMs) // the same slot, a turn later
			m.add(2)
			m.advanceAll(turnMs, 10)
			if m.w.Len() != 1 {
				t.Fatalf("%d records are left, want the one of the next turn", m.w.Len())
			}
			m.advanceAll(1+turnMs, 10)
		})
	}
}

func TestEqualTicksComeOutInTheOrderOfAddWhateverLevelTheyWereIn(t *testing.T) {
	batches := []int{0, 5, 39}
	if testing.Short() || !long.Asked() {
		batches = []int{0, 9}
	}
	for name, g := range geometries {
		t.Run(name, func(t *testing.T) {
			for _, p := range []pace{finestPace, usualPace} {
				for _, batch := range batches {
					const deadlineMs = 100_000
					m := newPacedModel(t, 0, g, 1, p)
					for nowMs := int64(0); nowMs < deadlineMs; nowMs += 1 + (deadlineMs-nowMs)/9 {
						for range 1 + batch {
							m.add(deadlineMs)
							m.add(deadlineMs - 1)
							m.add(deadlineMs - 1 - int64(batch))
						}
						// A small budget leaves cascades half done when the next come.
						m.advance(nowMs, 1+batch/3)
					}
					m.advanceAll(deadlineMs+g.TickMs, 4)
					if m.w.Len() != 0 {
						t.Fatalf("%d records are left", m.w.Len())
					}
				}
			}
		})
	}
}

func TestImpossibleGeometryPanics(t *testing.T) {
	for name, g := range map[string]Geometry{
		"zero":                {},
		"no tick":             {TickMs: 0, Slots: 4, Factor: 2, Levels: 1},
		"one slot":            {TickMs: 1, Slots: 1, Factor: 2, Levels: 1},
		"slots not a power":   {TickMs: 1, Slots: 6, Factor: 2, Levels: 1},
		"too many slots":      {TickMs: 1, Slots: 1 << 17, Factor: 2, Levels: 1},
		"factor beyond slots": {TickMs: 1, Slots: 4, Factor: 8, Levels: 2},
		"factor one":          {TickMs: 1, Slots: 4, Factor: 1, Levels: 2},
		"factor not a power":  {TickMs: 1, Slots: 8, Factor: 6, Levels: 2},
		"no level":            {TickMs: 1, Slots: 4, Factor: 2, Levels: 0},
		"too many levels":     {TickMs: 1, Slots: 4, Factor: 2, Levels: 64},
		"reach past a level":  {TickMs: 1, Slots: 8, Factor: 2, Levels: 3},
		"absurd levels":       {TickMs: 1, Slots: 4, Factor: 4, Levels: math.MaxInt},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("New accepted %+v", g)
				}
			}()
			New(0, g)
		})
	}
}
