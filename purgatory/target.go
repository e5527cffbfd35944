package purgatory

import (
	"cmp"
	"slices"
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
	stalled  int     // dests that are
	inFlight int
	// Of inFlight, without what is stuck.
	occupying      int
	occupyingBytes int64
	hold           hold
	// busy: it is in Core.busy. Invariant: a target with something in its queue or
	// in an overflow queue is busy.
	busy bool
	// pending: nothing is known about the topic yet, ask the router again.
	pending bool
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
	// first given a record after having none in flight; proven: it has answered since.
	answeredMs int64
	proven     bool
	// stuck: what is in flight counts as stuck, and nothing more is offered.
	stuck bool
	// stalled: nothing in flight has been answered for stallMs, and what waits
	// behind it counts as held, since stalledMs of the wall clock.
	stalled   bool
	stalledMs int64
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
