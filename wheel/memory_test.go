package wheel

import (
	"math"
	"slices"
	"testing"

	"layover/verify/long"
)

func TestSequenceWrapsWithoutMixingOldAndNewRecords(t *testing.T) {
	for name, first := range map[string]uint64{
		"2^31": 1<<31 - 50, "2^32": 1<<32 - 50, "2^33": 1<<33 - 50, "2^40": 1<<40 - 50,
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, 0, tiny, first)
			for i := range int64(200) {
				m.add(60 + i%50)
				if i%3 == 0 {
					m.cancel(len(m.parked) / 2)
				}
			}
			m.advanceAll(200, 7)
			checkMemory(t, m.w)
		})
	}
}

// A record that waits for months shares its buckets with records added billions
// later. The low 32 bits of their sequence numbers may even be the same.
func TestRecordsBillionsOfSequenceNumbersApartShareABucket(t *testing.T) {
	long.Only(t)
	for name, g := range map[string]Geometry{"tiny": tiny, "default": DefaultGeometry()} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, 0, g, 5)
			for _, seq := range []uint64{5, 1<<31 + 5, 1<<32 + 5, 1<<32 + 6 + 1<<31, 7 << 32, 1<<45 + 5} {
				skipTo(m.w, seq)
				if h := m.add(1_000_000); h != Handle(seq) {
					t.Fatalf("handle %d, want %d", h, seq)
				}
				m.add(1_000_000)
			}
			checkMemory(t, m.w)
			m.cancel(3)
			m.advanceAll(999_999, 3)
			m.cancel(4)
			m.advanceAll(1_000_000, 3)
			m.drain()
			checkMemory(t, m.w)
		})
	}
}

// Compaction moves records from one chunk to the one before it. It must not when
// their sequence numbers are too far apart for one chunk. The chunks that it
// leaves must take later records, too.
func TestCompactionKeepsSequenceNumbersApart(t *testing.T) {
	for name, g := range map[string]Geometry{"tiny": tiny, "default": DefaultGeometry()} {
		t.Run(name, func(t *testing.T) {
			for keep := range 4 {
				m := newModel(t, 0, g, 5)
				for _, seq := range []uint64{5, 1<<31 + 5, 1<<32 + 40, 1<<33 + 6, 7 << 32} {
					skipTo(m.w, seq)
					for range 70 {
						m.add(1_000_000)
					}
					for left := len(m.parked); left > keep+1; left-- {
						if keep%2 == 0 { // so that the last chunk runs empty
							m.cancel(left - 1)
						} else {
							m.cancel(left / 2)
						}
						if left%16 == 0 {
							checkMemory(t, m.w)
						}
					}
					m.add(1_000_000)
				}
				m.advanceAll(1_000_000, 3)
				if m.w.Len() > 0 {
					t.Fatalf("%d records never came out", m.w.Len())
				}
			}
		})
	}
}

// skipTo makes seq the next sequence number, as if all before had come and gone.
func skipTo(w *TimingWheel, seq uint64) {
	s := &w.store.live
	if seq == s.next {
		return
	}
	last := s.next
	s.next = seq
	for uint64(len(s.dirs)) < seq>>dirBits-s.base {
		s.dirs = append(s.dirs, nil)
	}
	if last>>pageBits != seq>>pageBits {
		s.openPage()
		s.drop(last)
	}
}

func TestDeadlinesOnBothSidesOfTwoToThe32Ticks(t *testing.T) {
	for name, g := range geometries {
		t.Run(name, func(t *testing.T) {
			for _, base := range []int64{-1 << 33, -1 << 32, 0, 1 << 32, 1 << 33, 5 << 32} {
				m := newModel(t, (base-3000)*g.TickMs, g, 1)
				for near := int64(-20); near <= 20; near++ {
					m.add((base + near) * g.TickMs)
					m.add((base + near*300) * g.TickMs)
				}
				for near := int64(-2000); near <= 7000; near += 97 {
					m.advanceAll((base+near)*g.TickMs, 9)
					m.check()
				}
				if m.w.Len() != 0 {
					t.Fatalf("around %d: %d records never came out", base, m.w.Len())
				}
			}
		})
	}
}

func TestBudgetBoundsTheWorkOfOneAdvance(t *testing.T) {
	const records = 10_000
	w := New(0, DefaultGeometry())
	for i := range uint64(records) {
		w.Add(6000, i)
	}
	// Each is read twice: once to move down a level, once to come out.
	calls, out := 0, []uint64(nil)
	for more := true; more; calls++ {
		before := len(out)
		out, more = w.AdvanceClock(6000, 100, out)
		if calls < records/100 && len(out) > 0 || len(out)-before > 100 {
			t.Fatalf("call %d handed out %d records", calls, len(out)-before)
		}
	}
	if calls != 2*records/100 || len(out) != records || !slices.IsSorted(out) {
		t.Errorf("%d calls handed out %d records, sorted %v", calls, len(out), slices.IsSorted(out))
	}
}

// A coarse bucket moves down in the time before it is due. So no advance on the
// way has more to do than a few shares.
func TestLargeBucketMovesDownALittleAtATime(t *testing.T) {
	const records, deadlineMs, budget = 100_000, 600_000, 400
	w := New(0, DefaultGeometry())
	for i := range int64(records) {
		w.Add(deadlineMs+i%1000, uint64(i))
	}
	for nowMs := int64(0); nowMs < deadlineMs; nowMs++ {
		if out, more := w.AdvanceClock(nowMs, budget, nil); more || len(out) > 0 {
			t.Fatalf("at %d: %d records are early, more %v", nowMs, len(out), more)
		}
	}
	for nowMs := int64(deadlineMs); nowMs < deadlineMs+1000; nowMs++ {
		if out, more := w.AdvanceClock(nowMs, budget, nil); more || len(out) != records/1000 {
			t.Fatalf("at %d: %d records, more %v", nowMs, len(out), more)
		}
	}
}

// Moving down early must not wake anybody up for every record.
func TestFewRecordsWakeTheOwnerOnceALevel(t *testing.T) {
	for _, delayMs := range []int64{100, 10_000, 3_600_000, 86_400_000, 365 * 86_400_000} {
		w := New(0, DefaultGeometry())
		for i := range uint64(100) {
			w.Add(delayMs, i)
		}
		wakes := 0
		for w.Len() > 0 {
			ms, _ := w.NextDeadline()
			w.AdvanceClock(ms, 1000, nil)
			wakes++
		}
		if wakes > w.geometry.Levels {
			t.Errorf("delay %d: %d wake-ups", delayMs, wakes)
		}
	}
}

func TestDeadRecordsCountAgainstTheBudget(t *testing.T) {
	w := New(0, DefaultGeometry())
	for range 1000 {
		w.Cancel(w.Add(100, 1))
	}
	w.Add(100, 2)
	for call := range 10 {
		if out, more := w.AdvanceClock(100, 100, nil); len(out) > 0 || !more {
			t.Fatalf("call %d: %v, more %v", call, out, more)
		}
	}
	if out, more := w.AdvanceClock(100, 100, nil); len(out) != 1 || more {
		t.Errorf("the live record: %v, more %v", out, more)
	}
}

func TestMemoryIsGivenBackAfterABurst(t *testing.T) {
	const records = 200_000
	fill := func(w *TimingWheel) {
		for i := range int64(records) {
			w.Add(w.NowMs()+1+i%100_000, 1)
		}
	}
	for name, empty := range map[string]func(*TimingWheel){
		"fired": func(w *TimingWheel) { collect(w, w.NowMs()+100_000, 1<<20) },
		"swept": func(w *TimingWheel) { w.Sweep(func(uint64) bool { return true }) },
		"swept after cancels": func(w *TimingWheel) {
			for h := range Handle(10 * records) {
				w.Cancel(h)
			}
			w.Sweep(func(uint64) bool { return false })
		},
		"drained": func(w *TimingWheel) { w.Drain(func(int64, uint64) {}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := New(0, DefaultGeometry())
			for range 3 {
				fill(w)
				// 17 B a record; level 0 has a small chunk for each slot.
				if full := w.Bytes(); full > 24*records {
					t.Errorf("%d bytes for %d records", full, records)
				}
				empty(w)
				checkMemory(t, w)
				if w.Len() != 0 || w.Bytes() > 1<<20 {
					t.Errorf("an empty wheel of %d records holds %d bytes", w.Len(), w.Bytes())
				}
			}
		})
	}
}

// Records are cancelled in any order, and any number of them. Each that is left costs at
// most 28 bytes, beside the headers. In the worst case there is a chunk of each size for
// each bucket in use, too.
func TestCompactionKeepsMemoryInProportionToWhatIsLeft(t *testing.T) {
	long.Only(t)
	records := 1_000_000
	if testing.Short() {
		records = 100_000
	}
	const (
		headers = 700 << 10 // of three levels, with spare slabs
		bucket  = 64 + 512
	)
	for name, of := range map[string]struct {
		delayMs func(i int64) int64
		buckets int64
	}{
		"uniform":  {func(i int64) int64 { return 60_000 + i*7919%3_540_000 }, 1800},
		"constant": {func(int64) int64 { return 600_000 }, 1},
		"mixed":    {func(i int64) int64 { return 1 + i*7919%(1<<(i%33)) }, 3 * 4096},
	} {
		empty := headers + of.buckets*bucket
		for order, at := range map[string]func(i int) int{
			"in order":  func(i int) int { return i },
			"backwards": func(i int) int { return records - 1 - i },
			"scattered": func(i int) int { return i * 7919 % records },
		} {
			t.Run(name+" "+order, func(t *testing.T) {
				w, handles := New(0, DefaultGeometry()), make([]Handle, records)
				for i := range handles {
					handles[i] = w.Add(w.NowMs()+of.delayMs(int64(i)), 1)
				}
				for i := range handles {
					if !w.Cancel(handles[at(i)]) {
						t.Fatal("not parked")
					}
					if i%1000 == 0 && w.Bytes() > empty+28*int64(w.Len()) {
						t.Fatalf("%d bytes for %d records of %d", w.Bytes(), w.Len(), records)
					}
				}
				checkMemory(t, w)
				if w.Len() != 0 || w.Bytes() > empty {
					t.Errorf("%d records and %d bytes are left", w.Len(), w.Bytes())
				}
			})
		}
	}
}

func TestSparseWheelIsCheap(t *testing.T) {
	w := New(0, DefaultGeometry())
	for i := range int64(1000) {
		w.Add(i*1_000_003, 1)
	}
	if w.Bytes() > 400<<10 {
		t.Errorf("%d bytes for a thousand records far apart", w.Bytes())
	}
}

func TestLongLivedRecordHoldsOnePage(t *testing.T) {
	w := New(0, DefaultGeometry())
	old := w.Add(math.MaxInt64, 1)
	for range 10 << dirBits >> 3 {
		w.Cancel(w.Add(1, 2))
		if w.store.live.next&pageMask == 0 {
			collect(w, 1, math.MaxInt)
		}
	}
	checkLiveBits(t, &w.store.live)
	if w.store.live.pages != 2 {
		t.Errorf("%d pages for one live record and the open page", w.store.live.pages)
	}
	if !w.Cancel(old) {
		t.Error("the old record is not live")
	}
	if len(w.store.live.dirs) != 1 {
		t.Errorf("%d directories for the open page", len(w.store.live.dirs))
	}
}

func TestDrainMayUseTheWheel(t *testing.T) {
	w := New(0, tiny)
	for i := range uint64(100) {
		w.Add(int64(i), i)
	}
	w.AdvanceClock(50, 7, nil)
	n := w.Len()
	w.Drain(func(deadlineMs int64, payload uint64) { w.Add(deadlineMs, payload) })
	if w.Len() != n {
		t.Fatalf("%d records parked again, want %d", w.Len(), n)
	}
	out := collect(w, 99, 10)
	if len(out) != n || out[0] != uint64(100-n) || !slices.IsSorted(out) {
		t.Errorf("%v came out, want the last %d in order", out, n)
	}
}
