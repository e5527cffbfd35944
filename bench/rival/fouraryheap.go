package rival

import "sync"

// root is where the heap begins. The three places before it are empty, so that
// four siblings lie in one cache line. The children of a node at k are at
// 4(k-2) and after.
const root = 3

// pageBits is the size, as a power of two, of the pages that hold nodes and
// records. Growing by pages copies nothing, which is several times faster into
// fresh memory than append.
const pageBits = 12

// fourAryHeap is the best heap we know to write. It has four children to a
// node, which makes the tree half as deep for one cache line a level. No
// pointer is in its nodes or records.
//
// A record has a number for as long as it is parked. Its node names it, and the
// record knows where the node is, so that cancelling finds it.
type fourAryHeap struct {
	mu sync.Mutex
	handles[uint64]

	// nodes is the heap, from root to end.
	nodes pages[heapNode]
	end   int

	// records by number.
	//
	// Invariant: records[nodes[at].number].at == at.
	records pages[slabRecord]
	numbers uint32 // handed out so far

	// free are the numbers given up, the last one handed out first. A list of
	// them, linked through the records, would need no memory. But each insert
	// would wait for a cache miss before it could begin the next.
	free []uint32
}

// heapNode is what sifting compares: 16 bytes, so that it reads no record.
type heapNode struct {
	deadlineMs int64
	number     uint32
	_          uint32
}

type slabRecord struct {
	payload uint64
	at      uint32

	// generation goes up each time the number is given up, so that the handle
	// of what was there before cancels nothing.
	generation uint32
}

// pages is an array that grows without moving.
type pages[T any] []*[1 << pageBits]T

func (p pages[T]) at(i int) *T { return &p[i>>pageBits][i&(1<<pageBits-1)] }

// reach makes room for element i, the one after the last.
func (p *pages[T]) reach(i int) {
	if i>>pageBits == len(*p) {
		*p = append(*p, new([1 << pageBits]T))
	}
}

func newFourAryHeap(_ int64, n int) Rival {
	f := &fourAryHeap{handles: newHandles[uint64](n), end: root}
	f.nodes.reach(0)
	return f
}

func (f *fourAryHeap) Add(i int, deadlineMs int64, payload uint64) {
	f.mu.Lock()
	handle := f.add(deadlineMs, payload)
	f.mu.Unlock()
	f.keep(i, handle)
}

func (f *fourAryHeap) Cancel(i int) bool {
	f.mu.Lock()
	cancelled := f.remove(f.kept[i])
	f.mu.Unlock()
	return cancelled
}

func (f *fourAryHeap) Advance(nowMs int64, budget int, due []uint64) (out []uint64, nextMs int64, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; f.end > root && f.nodes.at(root).deadlineMs <= nowMs; budget-- {
		if budget <= 0 {
			return due, nowMs, true
		}
		number := f.nodes.at(root).number
		due = append(due, f.records.at(int(number)).payload)
		f.giveUp(number)
		f.removeAt(root)
	}
	if f.end == root {
		return due, Never, false
	}
	return due, f.nodes.at(root).deadlineMs, false
}

func (f *fourAryHeap) add(deadlineMs int64, payload uint64) (handle uint64) {
	number := f.numbers
	if last := len(f.free) - 1; last >= 0 {
		number, f.free = f.free[last], f.free[:last]
	} else {
		f.numbers++
		f.records.reach(int(number))
	}
	r := f.records.at(int(number))
	r.payload = payload
	f.nodes.reach(f.end)
	f.end++
	f.siftUp(f.end-1, heapNode{deadlineMs: deadlineMs, number: number})
	return uint64(r.generation)<<32 | uint64(number)
}

func (f *fourAryHeap) remove(handle uint64) bool {
	number := uint32(handle)
	if number >= f.numbers || f.records.at(int(number)).generation != uint32(handle>>32) {
		return false
	}
	at := f.records.at(int(number)).at
	f.giveUp(number)
	f.removeAt(int(at))
	return true
}

func (f *fourAryHeap) giveUp(number uint32) {
	f.records.at(int(number)).generation++
	f.free = append(f.free, number)
}

// removeAt closes the gap at a node with the last one.
func (f *fourAryHeap) removeAt(at int) {
	f.end--
	n := *f.nodes.at(f.end)
	switch {
	case at == f.end:
	case at > root && n.deadlineMs < f.nodes.at(parent(at)).deadlineMs:
		f.siftUp(at, n)
	default:
		f.siftDown(at, n)
	}
}

func parent(at int) int { return at/4 + 2 }

// siftUp puts n where it belongs between the gap at a node and the root. It
// moves the gap instead of swapping, which halves the writes.
func (f *fourAryHeap) siftUp(at int, n heapNode) {
	for at > root {
		above := *f.nodes.at(parent(at))
		if above.deadlineMs <= n.deadlineMs {
			break
		}
		f.put(at, above)
		at = parent(at)
	}
	f.put(at, n)
}

// siftDown puts n where it belongs between the gap at a node and the leaves.
func (f *fourAryHeap) siftDown(at int, n heapNode) {
	for {
		first := 4 * (at - 2)
		if first >= f.end {
			break
		}
		from := first & (1<<pageBits - 1)
		children := f.nodes[first>>pageBits][from : from+min(4, f.end-first)]
		least := 0
		for i := 1; i < len(children); i++ {
			if children[i].deadlineMs < children[least].deadlineMs {
				least = i
			}
		}
		if n.deadlineMs <= children[least].deadlineMs {
			break
		}
		f.put(at, children[least])
		at = first + least
	}
	f.put(at, n)
}

func (f *fourAryHeap) put(at int, n heapNode) {
	*f.nodes.at(at) = n
	f.records.at(int(n.number)).at = uint32(at)
}
