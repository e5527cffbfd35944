package purgatory

import "layover/offsets"

// outbox has the records that are due, until each has its ending. They wait for their
// membership, for their target, or for room, are in flight, and wait again.
//
//	enqueue ─► waiting of its source ─confirm─► queue of its target ─offer─► in flight
//	                                             │ ▲    ▲ overflow of its partition │
//	                      endings ◄─ dead letter ┘ └────┴───────── outcomes ────────┤
//	                         ▲                                                      │
//	                         └──────────────────────────────────────────────────────┘
//
// It is a state machine of its own, as pure as the core, and knows no offset, window or
// commit. A record that ends leaves as an ending, for the core to settle. One that has to
// wait for an instant again is returned, for the wheel.
type outbox struct {
	cfg   *Config
	store *store // the core's: the bytes of due records
	stats *Stats // the core's: here Produced, ProduceErrors and the errors are counted
	now   *Clock // the core's: of the last event

	dir     directory
	holds   holds
	flights flights
	shares  shares
	busy    []*target // with something to offer, or lately so
	next    int       // where the next round of offer over busy begins

	endings []ending // not settled yet, in the order in which they came
	// returned are to be parked again: late ones for their instant, and those that a clock
	// which was stepped back has made early.
	returned []returned
	putBacks int // late ones of the last offer
}

// source is where due records are from: a partition, during one assignment, as the outbox sees it.
type source struct {
	offsets.TopicPartition
	// slot is its partition's in the core. Invariant: the partition stays there while
	// anything of the source is due or in flight; audit in the tests checks it.
	slot      uint32
	confirmed bool  // a commit succeeded since the assignment, or since the lease ran out
	draining  bool  // revoked: nothing is offered any more
	revokedMs int64 // Clock.AnsweredMs of that
	gone      bool  // swept; alive only until its records in flight have outcomes

	// shut: nothing with an id is offered before its partition is read up to the end that the
	// assignment found.
	shut bool

	waiting  queue // due, but not to be offered before membership is confirmed
	waitsMs  int64 // wall clock since which waiting is not empty
	behind   queue // due and with an id, behind the barrier
	behindMs int64 // wall clock since which behind is not empty
	due      int   // in a queue
	inFlight int
	moving   int // copies in flight
}

func (s *source) mayDeliver() bool { return s.confirmed && !s.draining && !s.gone }

// fate is how a due record ended.
type fate uint8

const (
	taken      fate = iota // by its target, or by the dead-letter topic
	dropped                // no target takes it, and the policy drops it
	unfinished             // no target takes it, and its partition stops for it
	handedOver             // its partition is gone: the next owner reads it again
	withdrawn              // a command ended it, and no target has it
	expired                // dropped: its expiry has come
	unsaid                 // an event that its topic did not take
)

// ending is a due record that has left the outbox. Its bytes are still in the store.
type ending struct {
	entry
	fate fate
}

func newOutbox(cfg *Config, s *store, stats *Stats, now *Clock) *outbox {
	o := &outbox{cfg: cfg, store: s, stats: stats, now: now, dir: newDirectory(s, cfg.ApartByIngress), flights: flights{cfg: cfg, store: s}, shares: shares{families: make(families)}}
	o.holds = holds{cfg: cfg, store: s, stats: stats, now: now, dir: &o.dir}
	if cfg.DeadLetterTopic != "" {
		o.dir.dead = o.dir.target(TargetName{Name: cfg.DeadLetterTopic}, cfg.DeadLetterTopic)
		o.dir.dead.refs++ // never forgotten
	}
	if cfg.EventsTopic != "" {
		o.dir.events = o.dir.target(TargetName{Name: cfg.EventsTopic}, cfg.EventsTopic)
		o.dir.events.refs++
	}
	return o
}

// source returns the source of an assignment that begins.
func (o *outbox) source(tp offsets.TopicPartition, slot uint32, confirmed bool) *source {
	return &source{TopicPartition: tp, slot: slot, confirmed: confirmed, waiting: queue{memory: &o.dir.room, store: o.store}, behind: queue{memory: &o.dir.room, store: o.store}}
}

// enqueue puts a due record where it waits. It waits with its source until
// membership is confirmed, or until all is read that may cancel it. Otherwise it
// waits with its target.
func (o *outbox) enqueue(e entry) {
	e.from.due++
	if o.keep(e) {
		return
	}
	o.join(e)
}

// enqueueFailed puts a record where it waits that goes elsewhere than it asked.
func (o *outbox) enqueueFailed(e entry, why *failure) {
	o.dir.give(&e, why)
	o.enqueue(e)
}

// join queues a due record at its target that may leave. A letter comes before those that were refused, and goes at once.
func (o *outbox) join(e entry) {
	t := e.target
	if h := &t.hold; h.rejects() && !e.refused {
		o.waitInFront(e, t, nil)
		h.fresh++
		return
	}
	o.wait(e)
}

// wait queues a due record at its target.
func (o *outbox) wait(e entry) {
	t := e.target
	if h := &t.hold; h.held {
		o.holds.keep(&e, h.since)
		if h.verdict != Rejecting && !h.known { // it may be for a partition that is well
			h.fresh++
			h.lookAtMs = min(h.lookAtMs, o.now.WallMs+holdFirstMs)
		}
	}
	o.occupy(t)
	e.note(o.store, inQueue, 0)
	t.queue.pushBack(e)
}

// waitInFront queues a record that its target t had before. d is the partition that it comes back from, nil for none.
// Under a hold it may be in front of some that have been held for longer, until settle. A letter that was refused goes behind
// all others, which may be taken.
func (o *outbox) waitInFront(e entry, t *target, d *dest) {
	if e.refused && t.hold.rejects() {
		o.wait(e)
		return
	}
	if h := &t.hold; h.held {
		o.holds.keep(&e, t.heldSince(d))
		if h.look > 0 { // it goes on where it was
			h.look++
			h.round++
		}
		if t != o.dir.dead { // its letters have no patience
			h.returned++
		}
	}
	if t.unrouted > 0 {
		t.unrouted++
	}
	o.occupy(t)
	e.note(o.store, inQueue, 0)
	t.queue.pushFront(e)
}

// occupy has offer look at a target.
func (o *outbox) occupy(t *target) {
	if !t.busy {
		t.busy = true
		o.busy = append(o.busy, t)
	}
}

// confirm lets the records of a source go that waited for its membership.
func (o *outbox) confirm(s *source) {
	if s.confirmed || s.gone {
		return
	}
	s.confirmed = true
	if s.draining {
		return
	}
	if !s.shut {
		o.open(s) // all was read meanwhile
	}
	for s.waiting.count > 0 {
		if e := s.waiting.pop(); !o.keep(e) {
			o.join(e)
		}
	}
}

// open lets the records of a source go that waited for all to be read. Without membership
// they wait on for that: see confirm.
func (o *outbox) open(s *source) {
	s.shut = false
	if !s.mayDeliver() {
		return
	}
	for s.behind.count > 0 {
		o.join(s.behind.pop())
	}
}

// sweep ends all waiting records of sources that are gone; waiting are those sources.
func (o *outbox) sweep(waiting []*source) {
	gone := func(e *entry) bool { return e.from.gone }
	forget := func(e entry) {
		e.from.due--
		o.end(e, handedOver)
	}
	for _, s := range waiting {
		for _, q := range []*queue{&s.waiting, &s.behind} {
			q.remove(gone, forget)
			q.free()
		}
	}
	for _, t := range o.busy {
		t.queue.remove(gone, forget)
		for _, d := range t.dests {
			before := d.overflow.count
			d.overflow.remove(gone, forget)
			t.overflow -= before - d.overflow.count
		}
	}
}

// takeOut takes a record with an id out of the queue that it waits in, and gives its bytes
// back. The queue keeps a dead entry.
func (o *outbox) takeOut(s *source, l location, at spot, h *header) {
	t := o.dir.list[h.target]
	q := &t.queue
	switch at.where {
	case inWaiting:
		q = &s.waiting
	case behindBarrier:
		q = &s.behind
	case inOverflow:
		q = &o.dir.dest(t, int32(at.at)).overflow
		t.overflow--
	}
	s.due--
	o.store.entomb(l, int(h.total()))
	q.lost(weightOf(h.total())) // a record that a command finds has no text
	o.unref(t)
}

// end notes that a record leaves the outbox.
func (o *outbox) end(e entry, f fate) {
	o.endings = append(o.endings, ending{entry: e, fate: f})
	o.dir.take(e.failure)
}

// release gives back the bytes of a record and its place among its target's.
func (o *outbox) release(loc location, h *header) {
	o.store.release(loc, int(h.total()))
	o.dir.countCopy(h, -1)
	o.unref(o.dir.list[h.target])
}

// unref gives back one place of a target's.
func (o *outbox) unref(t *target) {
	if t.refs--; t.refs == 0 && len(o.dir.byKey) > forgetAbove {
		o.forget(t)
	}
}

// forget drops a target that no record names any more: with globs allowed, their
// number would otherwise grow with every name that ever came.
func (o *outbox) forget(t *target) {
	o.holds.forget(t)
	o.dir.drop(t)
}

// forgetUnused drops all targets that no record names.
func (o *outbox) forgetUnused() {
	for _, t := range o.dir.list {
		if t != nil && t.refs == 0 {
			o.forget(t)
		}
	}
}

// bytes returns the memory of queues, targets, what letters say, and the list of records in flight.
func (o *outbox) bytes() int64 { return o.dir.overhead + o.dir.texts + o.flights.memory() }

// unsettled says whether something waits that no event announces: a held or unknown
// target, or a client without room.
func (o *outbox) unsettled() bool {
	if o.flights.full(o.now.MonotonicMs) {
		return true
	}
	for _, t := range o.busy {
		if (t.hold.held || t.pending) && t.queue.count > 0 || t.overflow > 0 {
			return true
		}
	}
	return false
}

// pauses returns why reading has to pause now.
func (o *outbox) pauses() []Pause {
	var out []Pause
	if dead := o.dir.dead; dead != nil && o.deadLettersWait() {
		out = append(out, Pause{"dead_letter", dead.name, dead.name})
	}
	for _, t := range o.busy {
		if t.hold.exhausted {
			out = append(out, Pause{"target", t.name, t.label})
		}
	}
	return out
}

// deadLettersWait says whether dead letters wait for a topic that takes none. The
// topic is held, a partition of it has stopped answering, or too many letters wait.
// Without a letter that waits nothing would ever try the topic again.
func (o *outbox) deadLettersWait() bool {
	d := o.dir.dead
	waiting := d.queue.count + d.overflow
	return d.hold.held && waiting+d.inFlight > 0 || d.stalled > 0 && (d.inFlight > 0 || d.fails()) || o.shares.overburdened && waiting > 0
}
