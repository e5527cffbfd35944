package offsets

import (
	"math"
	"runtime"
	"slices"
	"testing"
)

func runsOf(w *Window) (runs []int64) {
	w.Each(func(from, to int64) bool {
		runs = append(runs, from, to)
		return true
	})
	return runs
}

func TestLowPassesOverTheFinishedPrefix(t *testing.T) {
	w := NewWindow(42)
	for _, offset := range []int64{44, 47, 45} {
		if !w.Finish(offset) {
			t.Fatalf("Finish(%d) says it already was", offset)
		}
	}
	if got := runsOf(w); !slices.Equal(got, []int64{44, 46, 47, 48}) || w.Low() != 42 || w.Highest() != 47 {
		t.Fatalf("low %d, highest %d, runs %d", w.Low(), w.Highest(), got)
	}
	w.Finish(42)
	if w.Low() != 43 {
		t.Fatalf("low is %d after 42 finished, want 43", w.Low())
	}
	w.Finish(43)
	if w.Low() != 46 || w.Above() != 1 || w.Runs() != 1 {
		t.Fatalf("low %d, above %d, runs %d after 43 finished, want 46, 1, 1", w.Low(), w.Above(), w.Runs())
	}
	if w.Finish(44) || w.Finish(47) {
		t.Fatal("Finish of a finished offset says it was not")
	}
}

func TestOffsetsOutsideTheRangeChangeNothing(t *testing.T) {
	for name, low := range map[string]int64{"zero": 0, "middle": 1 << 62, "end": math.MaxInt64} {
		t.Run(name, func(t *testing.T) {
			w := NewWindow(low)
			for _, offset := range []int64{math.MinInt64, -1, low - 1, math.MaxInt64} {
				if offset != low && w.Finish(offset) || offset == math.MaxInt64 && w.Finish(offset) {
					t.Errorf("Finish(%d) with low %d changed something", offset, low)
				}
			}
			if n := w.FinishRange(math.MinInt64, low); n != 0 {
				t.Errorf("FinishRange below low finished %d", n)
			}
			if n := w.FinishRange(low+5, low+5); n != 0 {
				t.Errorf("an empty FinishRange finished %d", n)
			}
			if w.Low() != low || w.Above() != 0 || w.Highest() != low-1 || w.Runs() != 0 {
				t.Errorf("low %d above %d highest %d runs %d", w.Low(), w.Above(), w.Highest(), w.Runs())
			}
			if w.Finished(low) || !w.Finished(low-1) || w.Finished(math.MaxInt64) {
				t.Error("Finished is not offset < low")
			}
		})
	}
	if w := NewWindow(-1); w.Low() != 0 {
		t.Errorf("low is %d for -1, want 0", w.Low())
	}
}

func TestTheWholeRangeOfOffsetsCanFinish(t *testing.T) {
	var w Window
	if !w.Finish(math.MaxInt64 - 1) {
		t.Fatal("the highest offset cannot finish")
	}
	if n := w.FinishRange(5, 1<<62); n != 1<<62-5 {
		t.Fatalf("%d finished, want %d", n, int64(1<<62-5))
	}
	checkInvariants(t, &w)
	if got := runsOf(&w); !slices.Equal(got, []int64{5, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}) {
		t.Fatalf("runs %d", got)
	}
	if n := w.FinishRange(1, math.MaxInt64); n != math.MaxInt64-1-(1<<62-5)-1 {
		t.Fatalf("%d finished", n)
	}
	if got := w.NextUnfinished(1); got != math.MaxInt64 {
		t.Fatalf("NextUnfinished is %d, want the end", got)
	}
	if !w.Finish(0) || w.Low() != math.MaxInt64 || w.Above() != 0 || w.Runs() != 0 {
		t.Fatalf("low %d above %d runs %d at the end of all", w.Low(), w.Above(), w.Runs())
	}
}

func TestLongRangesTakeNoMemoryByTheirLength(t *testing.T) {
	w := NewWindow(100)
	const length = 1_000_000_000
	if n := w.FinishRange(101, 101+length); n != length {
		t.Fatalf("%d finished, want %d", n, length)
	}
	if w.Bytes() > 4096 {
		t.Errorf("%d bytes for one run", w.Bytes())
	}
	if n := w.FinishRange(50, 102+length); n != 2 || w.Low() != 102+length {
		t.Errorf("%d newly finished and low %d, want 2 and %d", n, w.Low(), 102+length)
	}
	if w.Above() != 0 || w.Runs() != 0 || w.Bytes() > 4096 {
		t.Errorf("above %d, runs %d, %d bytes when all is below low", w.Above(), w.Runs(), w.Bytes())
	}
}

func TestEachStopsWhenToldTo(t *testing.T) {
	w := NewWindow(0)
	for offset := int64(1); offset < 100; offset += 2 {
		w.Finish(offset)
	}
	calls := 0
	w.Each(func(_, _ int64) bool { calls++; return calls < 3 })
	if calls != 3 {
		t.Errorf("%d calls, want 3", calls)
	}
}

func TestClipBelowLowKeepsLow(t *testing.T) {
	w := NewWindow(1000)
	w.FinishRange(1001, 1010)
	if n := w.ClipAbove(10); n != 9 || w.Low() != 1000 || w.Highest() != 999 {
		t.Errorf("%d gone, low %d, highest %d, want 9, 1000, 999", n, w.Low(), w.Highest())
	}
	if n := w.ClipAbove(0); n != 0 {
		t.Errorf("%d gone from an empty window", n)
	}
	if !w.Finish(1001) {
		t.Error("a clipped offset is still finished")
	}
}

// scatter finishes half of n offsets above low, in an order without locality,
// and never low itself, as long random delays do.
func scatter(w *Window, n int64) {
	const stride = 6_700_417 // A prime: the walk meets every offset once.
	for i := int64(1); i <= n/2; i++ {
		w.Finish(w.Low() + i*stride%n)
	}
}

func TestTenMillionOffsetsTakeTwoBitsEach(t *testing.T) {
	const n = 10_000_000
	heap := func() int64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC() // The first may have left spans unswept.
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := heap()
	w := NewWindow(7)
	scatter(w, n)
	used := heap() - before
	if w.Above() != n/2 {
		t.Fatalf("%d finished, want %d", w.Above(), n/2)
	}
	const most = n * 2 / 8
	if w.Bytes() > most || used > most {
		t.Errorf("%d bytes by count, %d on the heap, want at most %d", w.Bytes(), used, most)
	}
	if w.Bytes() < used*9/10 {
		t.Errorf("%d bytes by count, but %d on the heap", w.Bytes(), used)
	}

	w.FinishRange(w.Low(), w.Low()+n)
	if w.Bytes() > 8192 {
		t.Errorf("%d bytes when all is finished", w.Bytes())
	}
}

func TestBytesForgetsDroppedPagesWithTheirArray(t *testing.T) {
	w := NewWindow(0)
	for page := int64(0); page < 20; page++ {
		w.Finish(page*pageSize + 1)
	}
	w.FinishRange(0, 10*pageSize)
	if w.dead != 10 {
		t.Fatalf("%d dead spans after ten pages were passed, want 10", w.dead)
	}
	for page := int64(20); page < 200; page++ {
		w.Finish(page*pageSize + 1)
	}
	if w.dead != 0 {
		t.Errorf("%d dead spans counted in an array that was left", w.dead)
	}
}
