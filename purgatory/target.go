package purgatory

import (
	"cmp"
	"fmt"
	"slices"
)

// Back-off between tries of a held target, doubling, in milliseconds.
const (
	holdFirstMs = 100
	holdMaxMs   = 2000
)

// target is a topic that records go to, the dead-letter topic included.
type target struct {
	key   targetKey
	name  string
	label string // for metrics: the name, or the glob that allowed it
	index uint32
	refs  int // records whose bytes name this target, and 1 for what is never forgotten

	elsewhere int64 // bytes that other cores hold for the topic, as of the last look
	shared    bool  // other cores were told of bytes held here

	queue    queue   // due; oldest first
	dests    []*dest // by partition number: those that ever had a record
	nextDest int     // where the next round over dests begins
	overflow int     // records in the overflow queues of dests
	inFlight int
	hold     hold
	// busy: it is in Core.busy. Invariant: a target with something in its queue or
	// in an overflow queue is busy.
	busy bool
	// pending: nothing is known about the topic yet, ask the router again.
	pending bool
}

// hold is why a target gets no records for the time being.
type hold struct {
	held      bool
	verdict   Verdict
	detail    string
	retryAtMs int64 // wall clock of the next try
	backoffMs int64
	trial     bool // one record is on its way to see whether the target is back
	sinceMs   int64
	// exhausted: patience or share is used up and there is no dead-letter topic.
	exhausted bool
}

// dest is one partition of a target.
type dest struct {
	target   *target
	no       int32
	overflow queue // routed here while the partition had its fill in flight
	inFlight int
	bytes    int64 // in flight
	alone    int   // in flight in a batch of their own, at most 1
	// answeredMs is the patience clock when the partition last answered, or was
	// first given a record after having none in flight.
	answeredMs int64
	// stalled: nothing in flight has been answered for stallMs, and what waits
	// behind it counts as held.
	stalled bool
}

// targetKey tells targets apart: by name, and by ingress topic where what is wrong with
// one may depend on where its records are from. Of the dead-letter topic there is one.
type targetKey struct{ name, ingress string }

// targetOf returns the target of that name for records of an ingress topic.
func (c *Core) targetOf(ingress, name, label string) *target {
	if !c.cfg.ApartByIngress {
		ingress = ""
	}
	return c.target(targetKey{name, ingress}, label)
}

// target returns the target of a key, and makes it where it is new.
func (c *Core) target(key targetKey, label string) *target {
	if t := c.byKey[key]; t != nil {
		return t
	}
	name := key.name
	t := &target{key: key, name: name, label: label, queue: queue{held: &c.overhead}}
	if n := len(c.freeTarget); n > 0 {
		t.index, c.freeTarget = c.freeTarget[n-1], c.freeTarget[:n-1]
	} else {
		t.index = uint32(len(c.targets))
		c.targets = append(c.targets, nil)
	}
	c.targets[t.index] = t
	c.byKey[key] = t
	c.overhead += targetSize + int64(len(name))
	return t
}

// targetSize and destSize are what a target and each of its partitions are
// accounted with beside queues and name, in bytes: struct, map and list entries.
const (
	targetSize = 384
	destSize   = 160
)

// forget drops a target that no record names any more: with globs allowed, their
// number would otherwise grow with every name that ever came.
func (c *Core) forget(t *target) {
	over := HoldNotice{Target: t.name, Label: t.label, Forgotten: true}
	if t.hold.held {
		c.effects.Holds = append(c.effects.Holds, over)
	}
	t.queue.free()
	for _, d := range t.dests {
		if d.stalled {
			c.effects.Holds = append(c.effects.Holds, over)
		}
		d.overflow.free()
	}
	c.overhead -= targetSize + int64(len(t.name)) + int64(len(t.dests))*destSize
	delete(c.byKey, t.key)
	c.targets[t.index] = nil
	c.freeTarget = append(c.freeTarget, t.index)
}

// forgetAbove is the number of known targets from which unused ones are dropped.
const forgetAbove = 256

// dest returns the partition of a target, and makes it where it is new.
func (c *Core) dest(t *target, no int32) *dest {
	at, ok := slices.BinarySearchFunc(t.dests, no, func(d *dest, no int32) int { return cmp.Compare(d.no, no) })
	if !ok {
		t.dests = slices.Insert(t.dests, at, &dest{target: t, no: no, overflow: queue{held: &c.overhead}})
		c.overhead += destSize
	}
	return t.dests[at]
}

func (c *Core) release(e entry) {
	c.stats.Referred -= e.records() - 1
	h := readHeader(c.store.at(e.loc))
	c.releaseAt(e.loc, &h)
}

func (c *Core) releaseAt(loc location, h *header) {
	c.store.release(loc, int(h.total()))
	t := c.targets[h.target]
	if t.refs--; t.refs == 0 && len(c.byKey) > forgetAbove {
		c.forget(t)
	}
}

// wait queues a due record at its target, in front where it has been there before.
func (c *Core) wait(e entry, front bool) {
	t := e.target
	if t.hold.held {
		c.rehome(&e)
	} else {
		e.since = 0 // what it waited for an earlier hold is over
	}
	if !t.busy {
		t.busy = true
		c.busy = append(c.busy, t)
	}
	if front {
		t.queue.pushFront(e)
	} else {
		t.queue.pushBack(e)
	}
}

// rehome copies a held record into its target's own class of chunks, so that what
// one target holds pins no chunk of anybody else and is accounted exactly.
func (c *Core) rehome(e *entry) {
	if e.since == 0 {
		e.since = max(c.now.PatienceMs, 1)
	}
	if e.rehomed || e.target == c.dead {
		return
	}
	old := c.store.at(e.loc)[:e.size]
	loc, dst := c.store.alloc(heldClass+int(e.target.index), int(e.size))
	copy(dst, old)
	c.store.release(e.loc, int(e.size))
	e.loc, e.rehomed = loc, true
}

// holdTarget stops giving a target records until a later try.
func (c *Core) holdTarget(t *target, v Verdict, detail string) {
	h := &t.hold
	if h.held {
		if h.verdict != v || h.detail != detail {
			h.verdict, h.detail = v, detail
		}
		h.backoffMs = min(2*h.backoffMs, holdMaxMs)
		h.retryAtMs = c.now.WallMs + h.backoffMs
		return
	}
	*h = hold{held: true, verdict: v, detail: detail, backoffMs: holdFirstMs, retryAtMs: c.now.WallMs + holdFirstMs, sinceMs: c.now.WallMs}
	for _, d := range t.dests { // one queue, so that there is one oldest record
		if d.stalled {
			c.resume(d)
		}
		for d.overflow.count > 0 { // in front: it was routed before what is in the queue
			t.overflow--
			t.queue.pushFront(d.overflow.popBack())
		}
	}
	t.queue.each(func(e *entry) { c.rehome(e) })
	c.effects.Holds = append(c.effects.Holds, HoldNotice{Target: t.name, Label: t.label, Held: true, Verdict: v, Detail: detail})
}

// releaseTarget ends a hold: the target took a record.
func (c *Core) releaseTarget(t *target) {
	t.hold = hold{}
	t.queue.each(func(e *entry) { e.since = 0 })
	c.effects.Holds = append(c.effects.Holds, HoldNotice{Target: t.name, Label: t.label})
}

// endurance dead-letters the oldest of what targets hold when patience or share of
// memory is used up, and finds target partitions that have stopped answering.
//
// Its cost grows with the targets that have something waiting, so it looks at them
// ten times a second and not at every tick.
func (c *Core) endurance() {
	if since := c.now.WallMs - c.enduredMs; since >= 0 && since < endureEveryMs {
		return
	}
	c.enduredMs = c.now.WallMs
	if c.inFlight > 0 {
		for _, t := range c.targets {
			if t != nil && t.inFlight > 0 {
				c.stall(t)
			}
		}
	}
	for _, t := range c.busy {
		t.hold.exhausted = false
		c.share(t)
		if t.overflow > 0 && t != c.dead {
			for _, d := range t.dests {
				if d.stalled {
					c.endure(t, &d.overflow, Unreachable)
				}
			}
		}
		if t.hold.held && t != c.dead {
			c.endure(t, &t.queue, t.hold.verdict)
		}
	}
}

// endureEveryMs is how often patience and share are looked at, in milliseconds.
const endureEveryMs = 100

// endure applies share and patience to one queue of held records.
func (c *Core) endure(t *target, q *queue, v Verdict) {
	for q.count > 0 {
		waited := c.now.PatienceMs - q.front().since
		_, held := t.held()
		full := held+t.elsewhere > c.cfg.HeldShare
		if !full && waited < c.cfg.Patience.Milliseconds() {
			return
		}
		if c.dead == nil {
			t.hold.exhausted = true
			return
		}
		e := q.pop()
		if q != &t.queue {
			t.overflow--
		}
		why := fmt.Sprintf("target %s is %s, held for %d ms", t.name, v, max(waited, 0))
		if full {
			why = fmt.Sprintf("target %s is %s, and its held records fill their share of memory, %d bytes", t.name, v, c.cfg.HeldShare)
		}
		c.deadLetter(e, reasonUnavailable, why)
	}
}

// share tells other cores what is held for a target here, and hears what they hold.
func (c *Core) share(t *target) {
	if _, own := t.held(); c.cfg.HeldElsewhere != nil && (own > 0 || t.shared) {
		t.shared = own > 0
		t.elsewhere = c.cfg.HeldElsewhere(t.name, t.key.ingress, own)
	}
}

// held returns what is held for the target: records, and the store bytes they take.
func (t *target) held() (records int, bytes int64) {
	if t.hold.held {
		records, bytes = t.queue.count, t.queue.bytes
	}
	for _, d := range t.dests {
		if d.stalled {
			records += d.overflow.count
			bytes += d.overflow.bytes
		}
	}
	return records, bytes
}

// stallMs is how long a target partition may leave everything in flight
// unanswered, while brokers answer, before it counts as unreachable.
const stallMs = 10_000

// stall holds what waits behind a target partition that has stopped answering.
// What is in flight stays with the producer, which alone may send it again; it no
// longer counts in the bounds that all targets share, so that one without a leader
// does not stop the others.
func (c *Core) stall(t *target) {
	for _, d := range t.dests {
		if d.stalled || d.inFlight == 0 || c.now.PatienceMs-d.answeredMs < stallMs {
			continue
		}
		d.stalled = true
		c.stuck += d.inFlight
		c.flightBytes -= d.bytes
		d.overflow.each(func(e *entry) { c.rehome(e) })
		detail := fmt.Sprintf("partition %d has not answered for %d s", d.no, stallMs/1000)
		c.stats.noteError(t.name, detail)
		c.effects.Holds = append(c.effects.Holds, HoldNotice{Target: t.name, Label: t.label, Held: true, Verdict: Unreachable, Detail: detail})
	}
}

// resume lets a stalled target partition count again.
func (c *Core) resume(d *dest) {
	d.stalled = false
	c.stuck -= d.inFlight
	c.flightBytes += d.bytes
}

// answered notes that a target partition gave some answer.
func (c *Core) answered(d *dest) {
	d.answeredMs = c.now.PatienceMs
	if d.stalled {
		c.resume(d)
		d.overflow.each(func(e *entry) { e.since = 0 })
		c.effects.Holds = append(c.effects.Holds, HoldNotice{Target: d.target.name, Label: d.target.label})
	}
}

// spill queues a record whose target partition has its fill in flight.
func (c *Core) spill(e entry, d *dest) {
	if d.stalled {
		c.rehome(&e)
	}
	d.target.overflow++
	d.overflow.pushBack(e)
}
