package purgatory

// Delivery is a record to be produced now. Its outcome is owed under its id.
type Delivery struct {
	ID          int32
	Topic       string // ingress
	Partition   int32
	Offset      int64
	TimestampMs int64
	DeadlineMs  int64
	Body        []byte // aliases the store until the outcome is in
	// Copy is one more than the offset in the runs topic of the copy that it was read from; 0:
	// it was read from ingress.
	Copy int64

	Target          string
	TargetPartition int32
	Reason, Message string // why it is an error record; Reason is "" for an ordinary delivery
	// Last and Records are of a letter that stands for a batch: the last offset, and how
	// many records. Records is 0 for a record.
	Last, Records int64
	DeadLettered  bool // it goes to the dead-letter topic
	Event         bool // it goes to the topic of events, as it is
	Alone         bool // in a batch of its own
	Hurried       bool // where its batch is rejected it ends, and is not sent again alone
	Bare          bool // without headers of ours; to the dead-letter topic: without its value
}

// offer appends to out at most limit records to be produced now.
func (o *outbox) offer(out []Delivery, limit int) []Delivery {
	o.putBacks = 0
	if len(o.busy) == 0 {
		return out
	}
	limit = min(limit, len(out)+o.flights.room())
	o.flights.divide(o.busy)
	n := len(o.busy)
	if o.flights.full(o.now.MonotonicMs) {
		n = 0
	}
	i := 0
	for ; i < n && len(out) < limit; i++ {
		out = o.offerTarget(o.busy[(o.next+i)%n], out, limit)
	}
	if i == n { // all had their turn: another is the first of the next
		i = 1
	}
	o.dropIdle((o.next + i) % len(o.busy))
	return out
}

// dropIdle takes the targets out of busy that have nothing left to offer. next is the place in busy of the one that
// is asked first in the next turn.
func (o *outbox) dropIdle(next int) {
	kept := o.busy[:0]
	o.next = 0
	for i, t := range o.busy {
		if i == next {
			o.next = len(kept)
		}
		if t.queue.count+t.overflow > 0 {
			kept = append(kept, t)
			continue
		}
		t.busy, t.pending, t.pendingMs, t.hold.exhausted = false, false, 0, false
		o.holds.endIdle(t)
		o.shares.clear(t)
	}
	clear(o.busy[len(kept):])
	if o.busy = kept; o.next == len(kept) {
		o.next = 0
	}
}

// offerTarget offers the records that one target takes: first those that were routed
// before, then its queue in order.
func (o *outbox) offerTarget(t *target, out []Delivery, limit int) []Delivery {
	t.pending = false
	if t.hold.held {
		return o.tryHeld(t, out, limit)
	}
	if t.overflow > 0 {
		if out = o.offerOverflow(t, out, limit); t.backedUp() {
			return out
		}
	}
	for t.queue.count > 0 && len(out) < limit && o.flights.fair(t) && o.putBacks < putBackBudget {
		e, unrouted := t.queue.pop(), t.unrouted
		t.unrouted = max(unrouted-1, 0)
		h, body := o.store.read(e.loc) // once for all that looks at it on its way out
		if o.turnAway(e, &h) {
			continue
		}
		d, ok := o.routed(t, e.from, body)
		if !ok {
			o.waitInFront(e, t, nil)
			t.unrouted = unrouted // it is one of those still
			return out
		}
		if o.cfg.CatchUp != nil && o.putBack(&e, &h) {
			continue
		}
		if d.overflow.count > 0 || !o.takes(d, &e) { // not past those that were routed before it
			if o.spill(e, d); d.overflow.count == 1 && t.backedUp() {
				return out
			}
			continue
		}
		out = append(out, o.start(e, &h, body, d, false))
	}
	return out
}

// offerOverflow offers the records that were routed before, beginning at another partition
// each time: where bytes in flight are short, all get their turn.
func (o *outbox) offerOverflow(t *target, out []Delivery, limit int) []Delivery {
	n := len(t.dests)
	t.nextDest = (t.nextDest + 1) % n
	for i := range n {
		d := t.dests[(t.nextDest+i)%n]
		for d.overflow.count > 0 && len(out) < limit && o.putBacks < putBackBudget && o.flights.fair(t) && o.takes(d, d.overflow.front()) {
			t.overflow--
			e := d.overflow.pop()
			h, body := o.store.read(e.loc)
			if o.turnAway(e, &h) || o.cfg.CatchUp != nil && o.putBack(&e, &h) {
				continue
			}
			out = append(out, o.start(e, &h, body, d, false))
		}
	}
	return out
}

// routed returns the target partition that a record with that body goes to. Where the
// target is known to be unusable, it is held from now on.
func (o *outbox) routed(t *target, from *source, body []byte) (*dest, bool) {
	r := Route{Verdict: t.state.Verdict, Detail: t.state.Detail}
	if r.Verdict == Usable && o.cfg.Place != nil {
		r = o.cfg.Place(&t.state, from.TopicPartition, body)
	}
	switch r.Verdict {
	case Usable:
		t.pendingMs = 0
	case Pending:
		t.pending = true
		if t.pendingMs == 0 {
			t.pendingMs = max(o.now.AnsweredMs, 1)
		}
		if o.now.AnsweredMs-t.pendingMs >= stallMs { // brokers answer, and not about it
			o.holds.begin(t, Unreachable, "brokers do not tell whether the topic exists", true)
		}
		return nil, false
	default:
		t.pendingMs = 0
		o.holds.begin(t, r.Verdict, r.Detail, true)
		return nil, false
	}
	return o.dir.dest(t, r.Partition), true
}

// start puts a record in flight; h and body are those of its bytes.
func (o *outbox) start(e entry, h *header, body []byte, d *dest, trial bool) Delivery {
	if d.limit == 1 && e.try == together {
		e.try = alone
	}
	if e.since == 0 {
		e.since = max(o.now.AnsweredMs, 1)
	}
	id := o.flights.start(flight{entry: e, dest: d, trial: trial}, *o.now)
	e.note(o.store, inFlight, uint64(id))
	del := Delivery{
		ID: id, Topic: e.from.Topic, Partition: e.from.Partition, Offset: h.offset,
		TimestampMs: h.timestampMs, DeadlineMs: h.deadlineMs, Body: body,
		Target: d.target.name, TargetPartition: d.no, DeadLettered: d.target == o.dir.dead, Event: d.target == o.dir.events,
		Alone: e.try != together, Hurried: o.flights.list[id].hurried, Bare: e.try == bare,
	}
	if copyAt, ok := h.place().inRuns(); ok {
		del.Copy = copyAt + 1
	}
	if e.failure != nil {
		del.Reason, del.Message = e.failure.reason, e.failure.message
		del.Last, del.Records = e.failure.span.last, e.failure.span.records
	}
	return del
}
