package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"layover/verify/long"
)

// pass makes steps of compaction until a pass has gone over all buckets, and returns how many.
func pass(w *TimingWheel) (steps int) {
	w.pace.cancelsPerStep = 1
	for steps = 1; ; steps++ {
		if w.compact(); w.compaction.current == nil {
			return steps
		}
	}
}

// checkFull checks that of each log all chunks but the last are full.
func checkFull(t *testing.T, w *TimingWheel) {
	t.Helper()
	for _, lv := range append(append([]level{}, w.levels...), w.far) {
		for _, logs := range lv.logs {
			for i := range logs {
				l := &logs[i]
				for ref := l.head; ref != 0 && ref != l.tail(); ref = w.store.chunks.at(ref).tick {
					size := w.store.chunks.state[ref>>slabBits].size
					if got, want := w.store.chunks.at(ref).seq, (size-1)/lv.places()*lv.places(); got != want {
						t.Fatalf("level of shift %d: a chunk of %d places has %d taken, want %d", lv.shift, size, got, want)
					}
				}
			}
		}
	}
}

// manyPlaces parks records in narrow buckets, in a wide one and beyond all levels, both
// added and cascaded. It cancels as many as dead says without compaction.
func manyPlaces(t *testing.T, seed uint64, records int, dead func(r *rand.Rand) bool) *model {
	m := newPacedModel(t, 0, DefaultGeometry(), 1, usualPace)
	m.w.pace.minDead = 1 << 30
	r := rand.New(rand.NewPCG(seed, 1))
	add := func(deadlineMs int64) {
		m.add(deadlineMs)
		if dead(r) {
			m.w.Cancel(m.parked[len(m.parked)-1].handle)
			m.parked = m.parked[:len(m.parked)-1]
		}
	}
	const farther, halfTurn, early = 1 << 60, 1 << 44, 5<<22 + 1<<20
	for range records {
		add(farther)
	}
	m.advanceAll(farther-halfTurn, 1000) // they cascade to the wide level
	now := m.w.NowMs()
	for range records {
		add(now + early)
	}
	m.advanceAll(now+early-5000, 1000) // from level 2 to level 1
	for _, deadlineMs := range []int64{now + early, now + 1<<33, farther, 1 << 61} {
		for range records {
			add(deadlineMs)
		}
	}
	return m
}

// TestAPassOfCompactionLeavesFullChunksAndNothingDead, wherever the dead records are, and
// reads no more than it has to.
func TestAPassOfCompactionLeavesFullChunksAndNothingDead(t *testing.T) {
	for name, dead := range map[string]func(r *rand.Rand) bool{
		"none":      func(*rand.Rand) bool { return false },
		"few":       func(r *rand.Rand) bool { return r.IntN(30) == 0 },
		"half":      func(r *rand.Rand) bool { return r.IntN(2) == 0 },
		"nearly":    func(r *rand.Rand) bool { return r.IntN(30) > 0 },
		"all":       func(*rand.Rand) bool { return true },
		"alternate": func() func(r *rand.Rand) bool { n := 0; return func(*rand.Rand) bool { n++; return n%2 == 0 } }(),
	} {
		t.Run(name, func(t *testing.T) {
			for seed, records := range []int{3, 34, 100, smallChunk - 1 + 63*(largeChunk-1), 2000} {
				m := manyPlaces(t, uint64(seed), records, dead)
				w := m.w
				for _, level := range []int{1, 3} {
					if logs := w.levels[level].logs; name == "none" && (logs[added] == nil || logs[cascaded] == nil) {
						t.Fatalf("nothing was added to level %d, or nothing cascaded there", level)
					}
				}
				checkMemory(t, w)
				held, chunks, places := w.store.chunks.held, uint32(0), uint32(0)
				for _, st := range w.store.chunks.state {
					chunks += st.used
					places += st.used * st.size
				}
				// A step reads 32 places, and a chunk counts as four more; besides there are a
				// dozen logs and five levels at their ends.
				if got, most := pass(w), int(places+smallChunk*chunks)/stepPlaces+20; got > most {
					t.Errorf("%d records: a pass over %d chunks took %d steps, want %d at most", records, chunks, got, most)
				}
				if w.store.dead != 0 || w.store.chunks.held > held {
					t.Errorf("%d records: %d dead after the pass; %d slabs, before %d", records, w.store.dead, w.store.chunks.held, held)
				}
				checkMemory(t, w)
				checkFull(t, w)
				if n := w.compaction; n.level != 0 || n.bucket != 0 || n.prev != 0 || n.from != added {
					t.Errorf("the next pass begins at %+v", n)
				}
				m.check()
				m.advanceAll(1<<62, 1000)
				if w.Len() != 0 {
					t.Errorf("%d records never came out", w.Len())
				}
			}
		})
	}
}

// TestAPassOverFullChunksMovesNothing: whether the last slab has room or not.
func TestAPassOverFullChunksMovesNothing(t *testing.T) {
	const inSlab = slabPlaces / largeChunk
	for _, chunks := range []int{1, inSlab - 1, inSlab, inSlab + 1, 3 * inSlab} {
		w := New(0, DefaultGeometry())
		for i := range smallChunk - 1 + chunks*(largeChunk-1) {
			w.Add(10_000, uint64(i))
		}
		refs := func() (all []uint32) {
			l := &w.levels[1].logs[added][10_000>>11]
			for ref := l.head; ref != l.tail(); ref = w.store.chunks.at(ref).tick {
				all = append(all, ref)
			}
			return append(all, l.tail())
		}
		before, held := refs(), w.store.chunks.held
		pass(w)
		if after := refs(); !slices.Equal(after, before) || w.store.chunks.held != held {
			t.Errorf("chunks at %d are at %d after a pass, in %d slabs, before %d", before, after, w.store.chunks.held, held)
		}
	}
}

// TestAnOpenBucketThatIsSweptEmptyIsWaitedForNoMore, where nothing else is parked.
func TestAnOpenBucketThatIsSweptEmptyIsWaitedForNoMore(t *testing.T) {
	for name, deadlineMs := range map[string]int64{"narrow": 10_000, "wide": 1 << 44} {
		t.Run(name, func(t *testing.T) {
			w := New(0, DefaultGeometry())
			const dead, live = 300, 700 // so that the first share moves nothing
			for i := range uint64(dead) {
				w.Cancel(w.Add(deadlineMs, i))
			}
			for i := range uint64(live) {
				w.Add(deadlineMs, i)
			}
			ms, _ := w.NextDeadline()
			_, more := w.AdvanceClock(ms, 10_000, nil)
			if next, ok := w.NextDeadline(); more || !ok || next <= ms || w.Len() != live {
				t.Fatalf("at %d: %d records, more %v, the next share at %d (%v)", ms, w.Len(), more, next, ok)
			}
			for _, left := range []uint64{live / 2, 0} {
				w.Sweep(func(payload uint64) bool { return payload >= left })
				if next, ok := w.NextDeadline(); w.Len() != int(left) || ok != (left > 0) {
					t.Errorf("%d records are left of %d, the next share at %d (%v)", w.Len(), left, next, ok)
				}
			}
			checkMemory(t, w)
		})
	}
}

// TestAPassGoesOnInItsBucketWhileOthersFire: only the bucket that is taken itself is left.
func TestAPassGoesOnInItsBucketWhileOthersFire(t *testing.T) {
	m := newPacedModel(t, 0, DefaultGeometry(), 1, usualPace)
	m.w.pace.minDead = 1 << 30
	const slot = 100
	m.add(slot) // bucket 100 of level 0
	for range 1000 {
		m.add(slot<<11 + 1) // bucket 100 of level 1
	}
	for range 500 {
		m.cancel(1 + len(m.parked)/2)
	}
	m.w.pace.cancelsPerStep = 1
	for m.w.compaction.prev == 0 || m.w.compaction.level != 1 || m.w.store.dead > 400 {
		m.w.compact()
	}
	m.advanceAll(slot, 10)
	for m.w.compaction.current != nil {
		m.w.compact()
	}
	if m.w.store.dead != 0 {
		t.Errorf("the pass has left %d dead records", m.w.store.dead)
	}
	m.advanceAll(slot<<12, 1000)
	checkMemory(t, m.w)
}

// TestCompactionBeginsAboveItsBounds and not at them.
func TestCompactionBeginsAboveItsBounds(t *testing.T) {
	for name, test := range map[string]struct {
		minDead, records, idle int // so many cancels begin nothing
	}{
		"a third is dead":   {0, 300, 100},
		"the least is dead": {100, 150, 100},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(0, DefaultGeometry())
			w.pace.minDead = test.minDead
			for i := range test.records {
				w.Add(10_000, uint64(i))
			}
			for h := range Handle(test.idle) {
				if w.Cancel(h + 1); w.compaction != (compaction{}) {
					t.Fatalf("%d dead records have begun a pass", h+1)
				}
			}
			if w.Cancel(Handle(test.idle + 1)); w.compaction.cancels != 1 {
				t.Errorf("%d dead records have not begun a pass", test.idle+1)
			}
		})
	}
}

// TestAPassThatHasBegunGoesOnToItsEnd, though soon less is dead than would begin it.
func TestAPassThatHasBegunGoesOnToItsEnd(t *testing.T) {
	w := New(0, DefaultGeometry())
	const records = 30_000
	for i := range uint64(records) {
		w.Add(10_000, i)
	}
	h := Handle(1)
	for round := range 2 {
		cancels := 0
		for ; w.compaction.current == nil; h++ {
			w.Cancel(h)
		}
		for ; w.compaction.current != nil; h++ {
			if !w.Cancel(h) {
				t.Fatalf("round %d: handle %d is not parked", round, h)
			}
			cancels++
		}
		// Each second cancel reads a chunk, of which there are 968.
		if most := 2*records/(largeChunk-1) + 10; cancels > most {
			t.Errorf("round %d: the pass took %d cancels, want %d at most", round, cancels, most)
		}
	}
	checkMemory(t, w)
}

// TestDeadRecordsEndWhereTheirBucketIsOpened, and cascade nowhere.
func TestDeadRecordsEndWhereTheirBucketIsOpened(t *testing.T) {
	for name, deadlineMs := range map[string]int64{
		"narrow": 10_000, "two levels up": 1 << 30, "wide": 1 << 44, "beyond all levels": 1 << 50,
	} {
		t.Run(name, func(t *testing.T) {
			w := New(0, DefaultGeometry())
			for i := range uint64(100) {
				w.Cancel(w.Add(deadlineMs, i))
			}
			if w.store.dead != 100 {
				t.Fatalf("%d dead records are parked", w.store.dead)
			}
			at, ok := w.NextDeadline()
			if out, more := w.AdvanceClock(at, 1000, nil); !ok || at >= deadlineMs || len(out) > 0 || more {
				t.Fatalf("opened at %d (%v): %d records, more %v", at, ok, len(out), more)
			}
			if next, ok := w.NextDeadline(); ok || w.store.dead != 0 {
				t.Errorf("%d dead records are left, for %d", w.store.dead, next)
			}
			checkMemory(t, w)
		})
	}
}

// TestWhatARecordTakesDoesNotDependOnItsNumber, and at the border of an epoch is a chunk for
// each log at most.
func TestWhatARecordTakesDoesNotDependOnItsNumber(t *testing.T) {
	chunks := func(first uint64, deadlineMs int64) (n uint32) {
		w := newWithSequence(0, DefaultGeometry(), first)
		for i := range uint64(1000) {
			w.Add(deadlineMs, i)
		}
		for _, st := range w.store.chunks.state {
			n += st.used
		}
		return n
	}
	for name, deadlineMs := range map[string]int64{"narrow": 10_000, "wide": 1 << 44} {
		want := chunks(1, deadlineMs)
		for _, first := range []uint64{1<<31 - 500, 1 << 31, 3 << 31, 1 << 40, 1<<40 - 500} {
			if got := chunks(first, deadlineMs); got != want {
				t.Errorf("%s: a thousand records from number %d on take %d chunks, from 1 on %d", name, first, got, want)
			}
		}
	}
}

// TestPagesOfLiveBitsAreUsedAgain: records that come and go keep two.
func TestPagesOfLiveBitsAreUsedAgain(t *testing.T) {
	w := New(0, DefaultGeometry())
	for range 10 << pageBits {
		w.Cancel(w.Add(1, 1))
		collect(w, 1, 10)
	}
	if n := w.store.live.pages + len(w.store.live.spare); n != 2 {
		t.Errorf("%d pages are held, want 2", n)
	}
	for i := range uint64(2 * maxSparePages << pageBits) {
		w.Add(10, i)
	}
	collect(w, 10, 1<<20)
	if n := len(w.store.live.spare); n != maxSparePages {
		t.Errorf("%d pages are kept for reuse, want %d", n, maxSparePages)
	}
}

// TestBucketsOfAllLevelsMoveDownBesideSweepsAndCancels: several are open at a time, and are
// taken from, swept and compacted while one of them is half read.
func TestBucketsOfAllLevelsMoveDownBesideSweepsAndCancels(t *testing.T) {
	long.Only(t)
	open := 0 // most levels with an open bucket at a time
	for seed := range seeds(12) {
		g := Geometry{TickMs: 1, Slots: 16, Factor: 8, Levels: 5} // whose buckets move down over most of their width
		m := newPacedModel(t, 0, g, 1, paces[seed%2])
		r := rand.New(rand.NewPCG(seed, 5))
		for step := 0; step < 3000 || len(m.parked) > 0; step++ {
			if step < 3000 && len(m.parked) < 2000 {
				at := m.w.NowMs() + r.Int64N(1<<(3+r.IntN(14)))
				for range r.IntN(60) {
					m.add(at + r.Int64N(9))
				}
			}
			if ms, ok := m.w.NextDeadline(); ok {
				m.advance(ms+r.Int64N(2), 1+r.IntN(40))
			}
			switch n := len(m.parked); {
			case n > 0 && r.IntN(4) == 0:
				for at := r.IntN(n); len(m.parked) > at && r.IntN(20) > 0; {
					m.cancel(at)
				}
			case r.IntN(4) == 0:
				m.takeFarthest(m.w.NowMs()+r.Int64N(1<<(3+r.IntN(14))), 1+r.IntN(40), uint64(1+r.IntN(4)))
			case r.IntN(40) == 0:
				k := uint64(1 + r.IntN(20))
				m.sweep(func(payload uint64) bool { return payload%k == 1 })
			case r.IntN(100) == 0:
				m.sweep(func(uint64) bool { return true })
			case r.IntN(100) == 0:
				checkMemory(t, m.w)
			}
			m.check()
			now := 0
			for i := range m.w.levels {
				if m.w.levels[i].open.rest.ref != 0 {
					now++
				}
			}
			open = max(open, now)
		}
		checkMemory(t, m.w)
		if _, ok := m.w.Earliest(); ok || m.w.Len() != 0 {
			t.Fatalf("seed %d: %d records are left", seed, m.w.Len())
		}
	}
	if open < 3 {
		t.Errorf("at most %d levels had an open bucket at a time", open)
	}
}
