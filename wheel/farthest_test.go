package wheel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"layover/verify/long"
)

func everything(uint64) bool { return true }

func nothing(uint64) bool { return false }

// takeAll makes one pass in calls of a budget.
func takeAll(w *TimingWheel, horizonMs int64, budget int, wanted func(uint64) bool) (taken []uint64, calls int) {
	for more := true; more; calls++ {
		taken, more = w.TakeFarthest(horizonMs, budget, wanted, taken)
	}
	return taken, calls
}

// TestTakeFarthestBeginsWithTheLatestBucketOfTheCoarsestLevel, whatever the budget. The
// deadlines are two buckets of the coarsest level apart, or in the same level.
func TestTakeFarthestBeginsWithTheLatestBucketOfTheCoarsestLevel(t *testing.T) {
	const hour, day = 3_600_000, 24 * 3_600_000
	deadlinesMs := []int64{1, 2, 900, 4000, 5000, 60_000, hour, 2 * hour, 5 * hour, day, 2 * day, 30 * day, 100 * day, 700 * day, 10_000 * day, 1 << 50, math.MaxInt64}
	for _, nowMs := range []int64{-1 << 40, -5, 0, 1_700_000_000_123} {
		for _, budget := range []int{1, 2, 5, 1000} {
			w := New(nowMs, DefaultGeometry())
			r := rand.New(rand.NewPCG(uint64(budget), 1))
			for _, i := range r.Perm(3 * len(deadlinesMs)) {
				w.Add(saturatedSum(nowMs, deadlinesMs[i/3]), uint64(i/3))
			}
			taken, _ := takeAll(w, nowMs, budget, everything)
			if len(taken) != 3*len(deadlinesMs) || w.Len() != 0 {
				t.Fatalf("from %d, budget %d: %d records were taken, %d are left", nowMs, budget, len(taken), w.Len())
			}
			far := slices.Index(taken, 14) // the last two are in one bucket beyond all levels
			for i, payload := range taken {
				if want := uint64(len(deadlinesMs) - 1 - i/3); i >= far && payload != want {
					t.Fatalf("from %d, budget %d: %v is not from the farthest on, at %d", nowMs, budget, taken, i)
				}
			}
			if _, ok := w.NextDeadline(); ok {
				t.Errorf("from %d, budget %d: an empty wheel has a next deadline", nowMs, budget)
			}
			checkMemory(t, w)
		}
	}
}

// TestTheHorizonCutsBucketsToTheTick, also where a tick is several milliseconds.
func TestTheHorizonCutsBucketsToTheTick(t *testing.T) {
	for name, g := range map[string]Geometry{
		"tiny": {TickMs: 1, Slots: 4, Factor: 2, Levels: 3}, "coarse tick": {TickMs: 10, Slots: 4, Factor: 2, Levels: 3}, "usual": DefaultGeometry(),
	} {
		for _, horizonMs := range []int64{math.MinInt64, -1, 0, 1, 9, 10, 11, 39, 40, 41, 500, 4999, 5000, 5001, 1 << 40, math.MaxInt64 - 1, math.MaxInt64} {
			m := newModel(t, 0, g, 1)
			for _, at := range []int64{-7, 0, 1, 5, 40, 500, 5000, 100_000, 1 << 40, math.MaxInt64 - 20} {
				for near := range int64(20) {
					m.add(at + near)
				}
			}
			want := 0
			for _, r := range m.parked {
				if r.tick.Cmp(m.floor(max(horizonMs, 0))) > 0 {
					want++
				}
			}
			before := len(m.parked)
			for m.takeFarthest(horizonMs, 7, 0) {
			}
			if got := before - len(m.parked); got != want {
				t.Errorf("%s: %d records were taken beyond %d, want %d", name, got, horizonMs, want)
			}
			checkMemory(t, m.w)
			m.advanceAll(math.MaxInt64, 1000)
			m.check()
		}
	}
}

// TestABudgetOfOneReadsOneRecordACall: the pass has as many calls as records, and one more.
func TestABudgetOfOneReadsOneRecordACall(t *testing.T) {
	for name, test := range map[string]struct {
		wanted func(uint64) bool
		left   int
	}{
		"all wanted":  {everything, 0},
		"none wanted": {nothing, 500},
		"one in ten":  {func(payload uint64) bool { return payload%10 == 0 }, 450},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(0, DefaultGeometry())
			for i := range uint64(500) {
				w.Add([]int64{100, 10_000, 1 << 30, 1 << 44, 1 << 60}[i%5], i)
			}
			reads, taken := 0, 0
			for range 3 {
				for more := true; more; reads++ {
					var out []uint64
					if out, more = w.TakeFarthest(99, 1, func(payload uint64) bool { return test.wanted(payload) }, nil); len(out) > 1 {
						t.Fatalf("%d records were taken", len(out))
					} else if taken += len(out); w.Len() != 500-taken {
						t.Fatalf("%d records are left after %d were taken", w.Len(), taken)
					}
				}
				checkMemory(t, w)
			}
			if want := 500 + 2*test.left + 3; w.Len() != test.left || reads > want || reads < want-3 {
				t.Errorf("%d records are left after %d calls, want %d after %d", w.Len(), reads, test.left, want)
			}
		})
	}
}

// TestUnwantedRecordsStayWithTheirHandlesAndAreReadOncePerPass.
func TestUnwantedRecordsStayWithTheirHandlesAndAreReadOncePerPass(t *testing.T) {
	for name, deadlineMs := range map[string]int64{"narrow": 10_000, "wide": 1 << 44, "beyond all levels": 1 << 60} {
		t.Run(name, func(t *testing.T) {
			w := New(0, DefaultGeometry())
			const records = 2000
			var handles []Handle
			for i := range uint64(records) {
				handles = append(handles, w.Add(deadlineMs, i))
			}
			asked := map[uint64]int{}
			odd := func(payload uint64) bool { asked[payload]++; return payload%2 == 1 }
			if taken, _ := takeAll(w, 0, 33, odd); len(taken) != records/2 {
				t.Fatalf("%d records were taken, want %d", len(taken), records/2)
			}
			if len(asked) != records {
				t.Errorf("%d records were asked about, want %d", len(asked), records)
			}
			for payload, n := range asked {
				if n != 1 {
					t.Fatalf("payload %d was asked about %d times in a pass", payload, n)
				}
			}
			checkMemory(t, w)
			checkFull(t, w)
			for i, h := range handles[:records/2] {
				if got, want := w.Cancel(h), i%2 == 0; got != want {
					t.Fatalf("Cancel of record %d is %v, want %v", i, got, want)
				}
			}
			out := collect(w, deadlineMs, 1000)
			if len(out) != records/4 || !slices.IsSorted(out) || out[0] != records/2 {
				t.Errorf("%d records came out, want %d in the order of Add", len(out), records/4)
			}
		})
	}
}

// TestReaddressChangesPayloadsAndNothingElse: deadlines, order, handles, and what was cancelled.
func TestReaddressChangesPayloadsAndNothingElse(t *testing.T) {
	const hour, times, n = 3_600_000, 1 << 32, 3000
	deadlinesMs := []int64{1, 900, 4000, 60_000, hour, 5 * hour, 30 * 24 * hour, 700 * 24 * hour, 1 << 44, 1 << 60}
	for _, budget := range []int{7, 40, 10_000} {
		w, r := New(0, DefaultGeometry()), rand.New(rand.NewPCG(uint64(budget), 2))
		var handles []Handle
		byDeadline := make(map[int64][]uint64)
		for i := range uint64(n) {
			ms := deadlinesMs[r.IntN(len(deadlinesMs))]
			handles = append(handles, w.Add(ms, i))
			if i%5 > 0 {
				byDeadline[ms] = append(byDeadline[ms], i)
			}
		}
		for i := 0; i < n; i += 5 {
			w.Cancel(handles[i])
		}
		asked := 0
		for more := true; more; {
			more = w.Readdress(budget, func(payload uint64) uint64 { asked++; return payload + times })
			checkMemory(t, w)
		}
		if asked != n*4/5 || w.Len() != n*4/5 {
			t.Errorf("budget %d: %d were asked about, %d are left", budget, asked, w.Len())
		}
		for _, ms := range deadlinesMs {
			want := byDeadline[ms]
			got := collect(w, ms, 100)
			for i := range got {
				got[i] -= times
			}
			if !slices.Equal(got, want) {
				t.Fatalf("budget %d: due at %d are %d records, want %d in the order of Add", budget, ms, len(got), len(want))
			}
		}
	}
}

// TestTheNextPassFindsWhatWasAddedBehind, and RewindFarthest begins it at once.
func TestTheNextPassFindsWhatWasAddedBehind(t *testing.T) {
	w := New(0, DefaultGeometry())
	for i := range uint64(100) {
		w.Add(1<<23+int64(i)<<22, i)
	}
	take := func(want ...uint64) (more bool) {
		t.Helper()
		out, more := w.TakeFarthest(0, len(want), everything, nil)
		if !slices.Equal(out, want) {
			t.Errorf("%d were taken, want %d", out, want)
		}
		return more
	}
	take(99, 98)
	w.Add(1<<40, 777)
	take(97, 96)
	w.RewindFarthest()
	take(777, 95)
	w.Add(1<<40, 778)
	for more := true; more; {
		_, more = w.TakeFarthest(0, 1, everything, nil)
	}
	if w.Len() != 1 {
		t.Errorf("%d records are left by a pass that is over, want the one added behind it", w.Len())
	}
	if !take() {
		t.Error("a new pass has found nothing")
	}
	take(778)
}

// TestAPassGoesOnAfterTheClockMoved: its bucket opens, moves down a share at a time, is
// gone, or another turn's records are in its place.
func TestAPassGoesOnAfterTheClockMoved(t *testing.T) {
	for name, deadlineMs := range map[string]int64{"narrow": 5<<22 + 7, "wide": 3<<44 + 7, "beyond all levels": 1 << 60} {
		for _, class := range []uint64{0, 1, 2, 5} { // what is wanted
			t.Run(name, func(t *testing.T) {
				for _, pace := range paces {
					m := newPacedModel(t, 0, DefaultGeometry(), 1, pace)
					for i := range int64(1500) {
						m.add(deadlineMs + i%5)
					}
					ms, _ := m.w.NextDeadline()
					for range 20 { // within the bucket
						m.takeFarthest(1000, 11, class)
					}
					for round := 0; len(m.parked) > 0; round++ {
						if round%3 == 0 {
							m.add(m.w.NowMs() + deadlineMs)
						}
						m.advance(ms, 10+round)
						m.takeFarthest(m.w.NowMs(), 13, class)
						m.check()
						checkMemory(t, m.w)
						if round > 100 {
							m.takeFarthest(m.w.NowMs(), math.MaxInt, 0)
							m.takeFarthest(m.w.NowMs(), math.MaxInt, 0)
							m.advanceAll(deadlineMs, 1000)
						}
						ms, _ = m.w.NextDeadline()
						ms = max(ms, m.w.NowMs())
					}
				}
			})
		}
	}
}

// TestAFlushGoesOnAfterRecordsWereTakenFromIt: from the chunk it has half read, from all
// of its share, and from what is behind that.
func TestAFlushGoesOnAfterRecordsWereTakenFromIt(t *testing.T) {
	for name, deadlineMs := range map[string]int64{"narrow": 10_000, "wide": 1 << 44, "beyond all levels": 1 << 60} {
		for _, taken := range []int{1, 20, 40, 300, 999} {
			for _, class := range []uint64{0, 2} {
				m := newPacedModel(t, 0, DefaultGeometry(), 1, usualPace)
				for range 1000 {
					m.add(deadlineMs)
				}
				ms, _ := m.w.NextDeadline()
				if !m.advance(ms, 10) {
					t.Fatalf("%s: the flush is over", name)
				}
				m.takeFarthest(ms, taken, class)
				checkMemory(t, m.w)
				m.check()
				m.advance(ms, 5)
				m.takeFarthest(ms, taken, class)
				checkMemory(t, m.w)
				m.advanceAll(deadlineMs, 100)
				if m.w.Len() > 0 {
					t.Errorf("%s: %d records never came out", name, m.w.Len())
				}
			}
		}
	}
}

// TestCompactionAndAPassInTheSameLog move each other's place, and both come to their end.
func TestCompactionAndAPassInTheSameLog(t *testing.T) {
	long.Only(t)
	for name, deadlineMs := range map[string]int64{"narrow": 10_000, "wide": 1 << 44, "beyond all levels": 1 << 60} {
		t.Run(name, func(t *testing.T) {
			together := 0
			for seed := range seeds(60) {
				r := rand.New(rand.NewPCG(seed, 9))
				m := newPacedModel(t, 0, DefaultGeometry(), 1, usualPace)
				m.w.pace.minDead = 1 << 30
				for range 600 {
					m.add(deadlineMs)
				}
				class := uint64(seed % 4)
				for range 40 {
					for range r.IntN(30) {
						if n := len(m.parked); n > 0 {
							m.cancel(r.IntN(n))
						}
					}
					for range r.IntN(4) {
						m.w.compactStep()
						if tk := &m.w.taking; m.w.compaction.prev != 0 && tk.prev == m.w.compaction.prev {
							together++
						}
						checkMemory(t, m.w)
					}
					for range r.IntN(4) {
						m.takeFarthest(0, 1+r.IntN(40), class)
						checkMemory(t, m.w)
					}
					for range r.IntN(10) {
						m.add(deadlineMs)
					}
				}
				m.advanceAll(deadlineMs, 100)
				if m.w.Len() > 0 {
					t.Fatalf("%d records never came out", m.w.Len())
				}
			}
			if together == 0 {
				t.Error("the two were never at the same place")
			}
		})
	}
}

// TestMemoryOfTakenRecordsComesBack, though records that stay lie between them everywhere.
func TestMemoryOfTakenRecordsComesBack(t *testing.T) {
	const records, monthMs = 300_000, 30 * 86_400_000
	for name, wanted := range map[string]func(payload uint64) bool{
		"the farther nine tenths":        func(payload uint64) bool { return payload > monthMs/10 },
		"nine of ten, wherever they are": func(payload uint64) bool { return payload%10 > 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w := New(0, DefaultGeometry())
			r := rand.New(rand.NewPCG(1, 2))
			for range records {
				ms := 1 + r.Int64N(monthMs)
				w.Add(ms, uint64(ms))
			}
			full := w.Bytes()
			worst := 0.0 // bytes a live record
			for more := true; more; {
				_, more = w.TakeFarthest(0, 1000, wanted, nil)
				if w.Len() > records/4 {
					worst = max(worst, float64(w.Bytes())/float64(w.Len()))
				}
			}
			if worst > 36 { // twice what it needs, and some slabs
				t.Errorf("a live record takes up to %.1f bytes, want 36 at most", worst)
			}
			checkMemory(t, w)
			if got, most := w.Bytes(), full/4; got > most {
				t.Errorf("%d records of %d are left, in %d bytes of %d, want %d at most", w.Len(), records, got, full, most)
			}
			left := w.Len()
			if out := collect(w, monthMs, 4096); len(out) != left {
				t.Errorf("%d records came out of %d", len(out), left)
			}
		})
	}
}
