package wheel

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"
)

// benchPending is how many records are parked while a benchmark measures: too
// many for the caches, few enough to be parked anew for each run.
const benchPending = 1 << 20

// benchDeadlinesMs are uniform from a minute to an hour: beyond level 0, so
// that each record is moved once before it expires.
func benchDeadlinesMs(n int) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	deadlinesMs := make([]int64, n)
	for i := range deadlinesMs {
		deadlinesMs[i] = 60_000 + r.Int64N(3_540_000)
	}
	return deadlinesMs
}

// heapRecord and recordHeap are the baseline, what one writes without a wheel:
// container/heap, with the index that cancelling needs.
type heapRecord struct {
	deadlineMs int64
	payload    uint64
	index      int
}

type recordHeap []*heapRecord

func (h recordHeap) Len() int           { return len(h) }
func (h recordHeap) Less(i, j int) bool { return h[i].deadlineMs < h[j].deadlineMs }

func (h recordHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *recordHeap) Push(x any) {
	r := x.(*heapRecord)
	r.index = len(*h)
	*h = append(*h, r)
}

func (h *recordHeap) Pop() any {
	r := (*h)[len(*h)-1]
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	return r
}

func (h *recordHeap) add(deadlineMs int64, payload uint64) *heapRecord {
	r := &heapRecord{deadlineMs: deadlineMs, payload: payload}
	heap.Push(h, r)
	return r
}

func filledWheel(deadlinesMs []int64) (*TimingWheel, []Handle) {
	w, handles := New(0, DefaultGeometry()), make([]Handle, len(deadlinesMs))
	for i, deadlineMs := range deadlinesMs {
		handles[i] = w.Add(deadlineMs, 0)
	}
	return w, handles
}

func filledHeap(deadlinesMs []int64) (recordHeap, []*heapRecord) {
	h, records := recordHeap{}, make([]*heapRecord, len(deadlinesMs))
	for i, deadlineMs := range deadlinesMs {
		records[i] = h.add(deadlineMs, 0)
	}
	return h, records
}

// What does parking one record cost, into a structure that grows from nothing
// (fresh) and into one that already holds a million (loaded)?
func BenchmarkInsert(b *testing.B) {
	deadlinesMs := benchDeadlinesMs(benchPending)
	b.Run("wheel/fresh", func(b *testing.B) {
		var w *TimingWheel
		for i := range b.N {
			if i%benchPending == 0 {
				w = New(0, DefaultGeometry())
			}
			w.Add(deadlinesMs[i%benchPending], uint64(i))
		}
		b.ReportMetric(float64(w.Bytes())/float64(w.Len()), "B/record")
	})
	b.Run("heap/fresh", func(b *testing.B) {
		var h recordHeap
		for i := range b.N {
			if i%benchPending == 0 {
				h = nil
			}
			h.add(deadlinesMs[i%benchPending], uint64(i))
		}
	})
	// A round drops the second million and parks it again; the dropping is not
	// timed. The heap keeps its array, the wheel gives all but its spare slabs
	// back and allocates them again.
	b.Run("wheel/loaded", func(b *testing.B) {
		w, _ := filledWheel(deadlinesMs)
		for i := range b.N {
			if i%benchPending == 0 {
				b.StopTimer()
				w.Sweep(func(payload uint64) bool { return payload == 1 })
				b.StartTimer()
			}
			w.Add(deadlinesMs[i%benchPending], 1)
		}
	})
	b.Run("heap/loaded", func(b *testing.B) {
		h, _ := filledHeap(deadlinesMs)
		for i := range b.N {
			if i%benchPending == 0 {
				b.StopTimer()
				clear(h[benchPending:])
				h = h[:benchPending]
				b.StartTimer()
			}
			h.add(deadlinesMs[i%benchPending], 1)
		}
	})
}

// What does cancelling one of a million cost, in random order?
func BenchmarkCancel(b *testing.B) {
	deadlinesMs := benchDeadlinesMs(benchPending)
	order := rand.New(rand.NewPCG(3, 4)).Perm(benchPending)
	b.Run("wheel", func(b *testing.B) {
		var w *TimingWheel
		var handles []Handle
		for i := range b.N {
			if i%benchPending == 0 {
				b.StopTimer()
				w, handles = filledWheel(deadlinesMs)
				b.StartTimer()
			}
			if !w.Cancel(handles[order[i%benchPending]]) {
				b.Fatal("not parked")
			}
		}
	})
	b.Run("heap", func(b *testing.B) {
		var h recordHeap
		var records []*heapRecord
		for i := range b.N {
			if i%benchPending == 0 {
				b.StopTimer()
				h, records = filledHeap(deadlinesMs)
				b.StartTimer()
			}
			heap.Remove(&h, records[order[i%benchPending]].index)
		}
	})
}

// What does it cost until a record is handed out, cascade included? The clock
// moves millisecond by millisecond through the hour (each), or a million are
// due at once (jump).
func BenchmarkExpire(b *testing.B) {
	deadlinesMs := benchDeadlinesMs(benchPending)
	due := make([]uint64, 0, 2048)
	for name, step := range map[string]int64{"each": 1, "jump": math.MaxInt32} {
		b.Run("wheel/"+name, func(b *testing.B) {
			w := New(0, DefaultGeometry())
			for fired := 0; fired < b.N; fired += len(due) {
				if w.Len() == 0 {
					b.StopTimer()
					w, _ = filledWheel(deadlinesMs)
					b.StartTimer()
				}
				var more bool
				nowMs := w.NowMs() + step
				for more = true; more && fired < b.N; fired += len(due) {
					due, more = w.AdvanceClock(nowMs, 1024, due[:0])
				}
				due = due[:0]
			}
		})
	}
	b.Run("heap/each", func(b *testing.B) {
		var h recordHeap
		nowMs := int64(0)
		for fired := 0; fired < b.N; nowMs++ {
			if len(h) == 0 {
				b.StopTimer()
				h, _ = filledHeap(deadlinesMs)
				nowMs = 0
				b.StartTimer()
			}
			due = due[:0]
			for len(h) > 0 && h[0].deadlineMs <= nowMs {
				due = append(due, heap.Pop(&h).(*heapRecord).payload)
			}
			fired += len(due)
		}
	})
}

// What does it cost to look for the earliest record? The loop publishes it several
// times a second. One wheel is handing out a tick with very many records. In another
// one many were cancelled. A wheel that has one record is beside them.
func BenchmarkEarliest(b *testing.B) {
	one := New(0, DefaultGeometry())
	one.Add(1000, 1)
	giant := New(0, DefaultGeometry())
	for range 300_000 {
		giant.Add(1000, 1)
	}
	giant.AdvanceClock(1000, 100, nil)
	dead := New(0, DefaultGeometry())
	for range 4000 { // too few to be compacted
		dead.Cancel(dead.Add(3000, 1))
	}
	dead.Add(4000, 2)
	for name, w := range map[string]*TimingWheel{"one": one, "giant tick": giant, "behind dead": dead} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w.Earliest()
			}
		})
	}
}
