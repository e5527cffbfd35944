package rival

import "sync"

// HashedWheelSlots and its tick of 1 ms are PowerJob's. Netty's own defaults,
// 512 slots of 100 ms, would be late by up to a tenth of a second.
const HashedWheelSlots = 4096

// hashedWheel is the structure of Netty's HashedWheelTimer and of PowerJob's. It
// is one ring of doubly linked buckets, and each node says how many rounds of
// the ring it still waits. A tick walks its whole bucket, for those that are due
// and to take a round off all others. As in Netty, nodes are allocated one by
// one and left to the garbage collector. A tick is never interrupted, either:
// budget means nothing to it.
//
// Netty hands new and cancelled timers to its worker through queues. Here the
// caller links and unlinks them itself under the lock, which is less work.
type hashedWheel struct {
	mu sync.Mutex
	handles[*hashedNode]
	buckets []hashedBucket
	clockMs int64 // the last tick that was walked
	parked  int
}

type hashedBucket struct{ head, tail *hashedNode }

type hashedNode struct {
	next, prev *hashedNode
	bucket     *hashedBucket // nil: no longer parked
	rounds     int64
	payload    uint64
}

func newHashedWheel(startMs int64, n int) Rival {
	return &hashedWheel{
		handles: newHandles[*hashedNode](n),
		buckets: make([]hashedBucket, HashedWheelSlots),
		clockMs: startMs,
	}
}

func (h *hashedWheel) Add(i int, deadlineMs int64, payload uint64) {
	h.mu.Lock()
	tick := max(deadlineMs, h.clockMs+1)
	n := &hashedNode{payload: payload, rounds: (tick - h.clockMs - 1) / HashedWheelSlots}
	h.buckets[tick&(HashedWheelSlots-1)].append(n)
	h.parked++
	h.mu.Unlock()
	h.keep(i, n)
}

func (h *hashedWheel) Cancel(i int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.kept[i]
	if n.bucket == nil {
		return false
	}
	n.bucket.remove(n)
	h.parked--
	return true
}

func (h *hashedWheel) Advance(nowMs int64, _ int, due []uint64) (out []uint64, nextMs int64, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.clockMs < nowMs && h.parked > 0 {
		h.clockMs++
		due = h.tick(due)
	}
	if h.parked == 0 {
		h.clockMs = max(h.clockMs, nowMs)
		return due, Never, false
	}
	return due, h.clockMs + 1, false
}

func (h *hashedWheel) tick(due []uint64) []uint64 {
	b := &h.buckets[h.clockMs&(HashedWheelSlots-1)]
	for n := b.head; n != nil; {
		next := n.next
		if n.rounds > 0 {
			n.rounds--
		} else {
			due = append(due, n.payload)
			b.remove(n)
			h.parked--
		}
		n = next
	}
	return due
}

func (b *hashedBucket) append(n *hashedNode) {
	n.bucket, n.prev = b, b.tail
	if b.tail == nil {
		b.head = n
	} else {
		b.tail.next = n
	}
	b.tail = n
}

func (b *hashedBucket) remove(n *hashedNode) {
	if n.prev == nil {
		b.head = n.next
	} else {
		n.prev.next = n.next
	}
	if n.next == nil {
		b.tail = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.next, n.prev, n.bucket = nil, nil, nil
}
