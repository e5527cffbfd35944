package wheel

import (
	"math"
	"testing"
)

// TestAnOpenBucketThatIsTakenWhollyIsWaitedForNoMore.
func TestAnOpenBucketThatIsTakenWhollyIsWaitedForNoMore(t *testing.T) {
	for name, deadlineMs := range map[string]int64{"narrow": 1 << 30, "wide": 1 << 44} {
		w := New(0, DefaultGeometry())
		for i := range uint64(300) { // so that the first share moves nothing
			w.Cancel(w.Add(deadlineMs, i))
		}
		for i := range uint64(3000) {
			w.Add(deadlineMs, i)
		}
		ms, _ := w.NextDeadline()
		if _, more := w.AdvanceClock(ms, 10_000, nil); more || w.Len() != 3000 {
			t.Fatalf("%s: the bucket is not open", name)
		}
		w.NextDeadline()
		if taken, _ := takeAll(w, ms, 100, everything); len(taken) != 3000 {
			t.Errorf("%s: %d records were taken", name, len(taken))
		}
		if next, ok := w.NextDeadline(); ok {
			t.Errorf("%s: nothing is parked, and the next deadline is %d", name, next)
		}
		checkMemory(t, w)
	}
}

// TestAnOpenBucketIsReadOnce, though flushes read from its front, and chunks are taken.
func TestAnOpenBucketIsReadOnce(t *testing.T) {
	for name, deadlineMs := range map[string]int64{"narrow": 1 << 30, "wide": 1 << 44} {
		for take, wanted := range map[string]func(payload uint64) bool{
			"nothing": nothing, "one in three": func(payload uint64) bool { return payload%3 == 0 }, "runs": func(payload uint64) bool { return payload/64%2 == 0 },
		} {
			t.Run(name+", "+take, func(t *testing.T) {
				w := New(0, DefaultGeometry())
				const records = 5000
				for i := range uint64(records) {
					w.Add(deadlineMs, i)
				}
				ms, _ := w.NextDeadline()
				w.AdvanceClock(ms, 0, nil)
				asked := map[uint64]bool{}
				for more, calls := true, 0; more && (calls == 0 || w.taking.open); calls++ {
					share, behind := w.flushing, int64(0)
					if w.taking.open { // less the chunks flushed since
						behind = w.taking.before - (w.taking.chunks - w.taking.current.open.chunks)
					}
					_, more = w.TakeFarthest(ms, 70, func(payload uint64) bool {
						if asked[payload] && w.taking.open {
							t.Fatalf("payload %d is asked about again", payload)
						}
						asked[payload] = true
						return wanted(payload)
					}, nil)
					checkMemory(t, w)
					if w.flushing != share && behind >= share.chunks {
						t.Fatalf("a share of %d chunks has %d when others were taken", share.chunks, w.flushing.chunks)
					}
					w.AdvanceClock(ms, 20, nil)
					ms, _ = w.NextDeadline()
				}
				if len(asked) < records/2 {
					t.Errorf("%d records were asked about", len(asked))
				}
			})
		}
	}
}

// TestWhatStaysOfAnOpenBucketFillsItsChunks, as it does elsewhere.
func TestWhatStaysOfAnOpenBucketFillsItsChunks(t *testing.T) {
	for name, test := range map[string]struct{ deadlineMs, most int64 }{"narrow": {1 << 30, 11}, "wide": {1 << 44, 22}} {
		w := New(0, DefaultGeometry())
		for i := range uint64(3000) {
			w.Add(test.deadlineMs, i)
		}
		ms, _ := w.NextDeadline()
		w.AdvanceClock(ms, 10_000, nil)
		takeAll(w, ms, 100, func(payload uint64) bool { return payload%10 > 0 })
		checkMemory(t, w)
		for i := range w.levels {
			if n := w.levels[i].open.chunks; n > test.most {
				t.Errorf("%s: 300 records are in %d chunks, want %d at most", name, n, test.most)
			}
		}
		if out := collect(w, math.MaxInt64, 1000); len(out) != 300 {
			t.Errorf("%s: %d records came out", name, len(out))
		}
	}
}

// TestAPassInAnOpenBucketLeavesTheNextOne: while it is away the next bucket opens.
func TestAPassInAnOpenBucketLeavesTheNextOne(t *testing.T) {
	for name, width := range map[string]int64{"narrow": 1 << 22, "wide": 1 << 33} {
		for first := range 2 {
			m := newPacedModel(t, 0, DefaultGeometry(), 1, usualPace)
			at := 5 * width
			for range []int{2500, 900}[first] {
				m.add(at)
			}
			for range []int{900, 2500}[first] {
				m.add(at + width)
			}
			ms, _ := m.w.NextDeadline()
			m.advanceAll(ms, 1000)
			for !m.w.taking.open {
				m.takeFarthest(at-1, 40, 1)
			}
			for range 5 {
				m.takeFarthest(at-1, 40, 1)
			}
			if !m.w.taking.open || m.w.taking.before < 3 {
				t.Fatalf("%s: the pass is not within the open bucket", name)
			}
			m.advanceAll(at+width-width/8, 1000)
			checkMemory(t, m.w)
			for more := true; more; checkMemory(t, m.w) {
				more = m.takeFarthest(at, 100, 2)
			}
			m.advanceAll(at+2*width, 1000)
			m.check()
		}
	}
}
