package purgatory

import (
	"cmp"
	"slices"
)

// target is a topic that records go to, the dead-letter topic included.
type target struct {
	// key tells targets apart: by name, and with Config.ApartByIngress by ingress topic.
	// Of the dead-letter topic there is one.
	key   TargetName
	name  string
	label string // for metrics: the name, or the glob that allowed it
	index uint32
	// unrouted is how many records in front of the queue were there as the last hold ended, or came back since.
	unrouted int32
	refs     int // records whose bytes name this target, and 1 for the dead-letter topic
	// copies is the bytes of those that were read from runs topics.
	copies int64

	state TargetState // as it was last told; Pending before

	elsewhere ShareBytes // of other cores for the topic, as of the last Elsewhere
	shared    bool       // Shares has told of bytes that wait here

	dests    []*dest // by partition number: those that ever had a record
	nextDest int     // where the next round over dests begins
	stalled  int     // of dests
	inFlight int
	// Of inFlight, without stuck records.
	occupying      int
	occupyingBytes int64
	late           *Histogram // its label's, of Stats; nil before the first delivery
	// givenUp counts the held records that became dead letters since it was last usable.
	givenUp int64

	// Every turn of the loop looks at each busy target, so what it looks at comes together.
	queue    queue // due; oldest first
	overflow int   // records in the overflow queues of dests
	// busy: it is in outbox.busy. Invariant: a target with something in its queue or
	// in an overflow queue is busy.
	busy bool
	// pending: nothing is known about the topic yet, ask again.
	pending bool
	// pendingMs is the Clock.AnsweredMs since which nothing is known about the topic; 0: something is.
	pendingMs int64
	hold      hold
}

// dest is one partition of a target.
type dest struct {
	target   *target
	no       int32
	alone    int32 // in flight in a batch of their own, at most 1
	overflow queue // routed here while the partition had its fill in flight
	inFlight int
	bytes    int64 // in flight
	refusals
	allowance
	// answeredMs is the Clock.AnsweredMs when the partition last answered, or was
	// first given a record after having none in flight; proven: it has answered since.
	answeredMs int64
	proven     bool
	// stuck: its records in flight count as stuck, and no more are offered.
	stuck bool
	// stalled: nothing in flight has been answered for stallMs, or it fails. The records
	// behind it count as held, since stalledMs of the wall clock.
	stalled      bool
	stalledMs    int64
	stalledSince int64 // Clock.AnsweredMs of that, at least 1
	givenUp      int64 // records that were held behind it since then and became dead letters
	failing
}

// directory has the targets that records name.
type directory struct {
	list  []*target // by index; nil: free
	free  []uint32  // free indexes
	byKey map[TargetName]*target
	last  *target // the one that was asked for last, nil where it is gone
	dead  *target // the dead-letter topic, nil for none
	// events is the topic of events, nil for none. It is no target of any record.
	events *target
	room
	copies int64 // bytes of the records that were read from runs topics
	texts  int64 // bytes of the failures that entries have
	shared int64 // of those, the bytes of failures that many letters share
	store  *store
	apart  bool // Config.ApartByIngress
}

func newDirectory(s *store, apart bool) directory {
	return directory{byKey: make(map[TargetName]*target), store: s, apart: apart}
}

// targetOf returns the target of that name for records of an ingress topic.
func (d *directory) targetOf(ingress, name, label string) *target {
	if !d.apart {
		ingress = ""
	}
	return d.target(TargetName{name, ingress}, label)
}

// target returns the target of a key, and makes it where it is new.
func (d *directory) target(key TargetName, label string) *target {
	if d.last != nil && d.last.key == key {
		return d.last
	}
	if d.last = d.byKey[key]; d.last == nil {
		d.last = d.make(key, label)
	}
	return d.last
}

func (d *directory) make(key TargetName, label string) *target {
	name := key.Name
	t := &target{key: key, name: name, label: label, state: TargetState{Verdict: Pending}, queue: queue{memory: &d.room, store: d.store}}
	if n := len(d.free); n > 0 {
		t.index, d.free = d.free[n-1], d.free[:n-1]
	} else {
		t.index = uint32(len(d.list))
		d.list = append(d.list, nil)
	}
	d.list[t.index] = t
	d.byKey[key] = t
	d.overhead += targetSize + int64(len(name))
	return t
}

// targetSize and destSize are the accounted sizes of a target and of each of its
// partitions beside queues and name, in bytes. They count struct, map and list
// entries.
const (
	targetSize = 544
	destSize   = 272
)

// has reports whether the target has that partition still, as far as it is known.
func (t *target) has(d *dest) bool { return t.state.Partitions == 0 || d.no < t.state.Partitions }

// heldSince is the Clock.AnsweredMs since which what waits for a partition of a held target, or for a stalled one, is held.
// d is nil where the partition is not known.
func (t *target) heldSince(d *dest) int64 {
	if d != nil && d.stalled {
		return d.stalledSince
	}
	return t.hold.since
}

// backedUp reports whether all partitions of a target have records waiting that were routed to
// them before, and none is stuck or held. The target's queue then has none that may go now, or that would be held.
func (t *target) backedUp() bool {
	if t.state.Partitions == 0 || len(t.dests) < int(t.state.Partitions) {
		return false
	}
	for _, d := range t.dests {
		if d.stuck || d.stalled || d.overflow.count == 0 {
			return false
		}
	}
	return true
}

// give notes why a record goes elsewhere than to its target.
func (d *directory) give(e *entry, f *failure) {
	d.take(e.failure)
	if f.entries++; f.entries == 1 {
		d.countText(f, f.bytes())
	}
	e.failure = f
}

// take notes that a record no longer has a failure.
func (d *directory) take(f *failure) {
	if f == nil {
		return
	}
	if f.entries--; f.entries == 0 {
		d.countText(f, -f.bytes())
	}
}

// countText adds the bytes of a failure, or takes them off.
func (d *directory) countText(f *failure, bytes int64) {
	if d.texts += bytes; f.shared {
		d.shared += bytes
	}
}

// letters returns the bytes of dead letters that wait, with what they say. A text that many share is there until the
// last of them has left.
func (d *directory) letters() int64 {
	if bytes := d.dead.waiting(); bytes > 0 {
		return bytes + d.shared
	}
	return 0
}

// drop takes a target out.
func (d *directory) drop(t *target) {
	d.last = nil
	t.queue.free()
	for _, p := range t.dests {
		p.overflow.free()
	}
	d.overhead -= targetSize + int64(len(t.name)) + int64(len(t.dests))*destSize
	delete(d.byKey, t.key)
	d.list[t.index] = nil
	d.free = append(d.free, t.index)
}

// trim gives back the room that empty queues keep, of targets and of sources. While none is kept it costs nothing.
func (d *directory) trim(parts *partitions) {
	if d.kept == 0 {
		return
	}
	for p := range parts.here() {
		p.src.waiting.trim()
		p.src.behind.trim()
	}
	for _, t := range d.list {
		if t == nil {
			continue
		}
		t.queue.trim()
		for _, p := range t.dests {
			p.overflow.trim()
		}
	}
}

// park writes a record for a target into a class of chunks.
func (d *directory) park(t *target, h *header, body Body, classNo int) location {
	size := body.Size()
	h.size, h.target = uint32(size), t.index
	var scratch [maxHeader]byte
	head := h.encode(&scratch)
	loc, dst := d.store.alloc(classNo, len(head)+size)
	copy(dst, head)
	body.Put(dst[len(head):])
	t.refs++
	d.countCopy(h, 1)
	return loc
}

// countCopy adds a record's bytes to those of loaded copies, if it is one, or takes them off.
func (d *directory) countCopy(h *header, sign int64) {
	if h.marks&isCopy != 0 {
		d.copies += sign * int64(h.total())
		d.list[h.target].copies += sign * int64(h.total())
	}
}

// forgetAbove is the number of known targets from which unused ones are dropped.
const forgetAbove = 256

// find returns where the partition of a number is in dests, or would be.
func (t *target) find(no int32) (at int, known bool) {
	return slices.BinarySearchFunc(t.dests, no, func(p *dest, no int32) int { return cmp.Compare(p.no, no) })
}

// dest returns the partition of a target, and makes it where it is new.
func (d *directory) dest(t *target, no int32) *dest {
	at, known := t.find(no)
	if !known {
		t.dests = slices.Insert(t.dests, at, &dest{target: t, no: no, overflow: queue{memory: &d.room, store: d.store}})
		d.overhead += destSize
	}
	return t.dests[at]
}
