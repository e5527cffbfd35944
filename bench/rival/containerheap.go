package rival

import (
	"container/heap"
	"sync"
)

// containerHeap is what one writes without a wheel: the standard library's
// heap over pointers, with the index that cancelling needs.
type containerHeap struct {
	mu sync.Mutex
	handles[*heapRecord]
	records recordHeap
}

type heapRecord struct {
	deadlineMs int64
	payload    uint64
	index      int // -1: no longer in the heap
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
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	r.index = -1
	return r
}

func newContainerHeap(_ int64, n int) Rival {
	return &containerHeap{handles: newHandles[*heapRecord](n)}
}

func (c *containerHeap) Add(i int, deadlineMs int64, payload uint64) {
	c.mu.Lock()
	r := &heapRecord{deadlineMs: deadlineMs, payload: payload}
	heap.Push(&c.records, r)
	c.mu.Unlock()
	c.keep(i, r)
}

func (c *containerHeap) Cancel(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.kept[i]
	if r.index < 0 {
		return false
	}
	heap.Remove(&c.records, r.index)
	return true
}

func (c *containerHeap) Advance(nowMs int64, budget int, due []uint64) (out []uint64, nextMs int64, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; len(c.records) > 0 && c.records[0].deadlineMs <= nowMs; budget-- {
		if budget <= 0 {
			return due, nowMs, true
		}
		due = append(due, heap.Pop(&c.records).(*heapRecord).payload)
	}
	if len(c.records) == 0 {
		return due, Never, false
	}
	return due, c.records[0].deadlineMs, false
}
