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

	Target          string
	TargetPartition int32
	Reason, Message string // why it is an error record; Reason is "" for an ordinary delivery
	// Last and Records are of a letter that stands for a batch: the last offset, and how
	// many records. Records is 0 for a record.
	Last, Records int64
	DeadLettered  bool // it goes to the dead-letter topic
	Alone         bool // in a batch of its own
	Bare          bool // without what we add; to the dead-letter topic: without its value
}

// Offer appends to out what may be produced now, at most limit records: due, its
// partition's membership confirmed, its target taking records, its target
// partition not at its fill.
func (c *Core) Offer(out []Delivery, limit int) []Delivery {
	limit = min(limit, len(out)+c.Room())
	c.divide()
	n := len(c.busy)
	if c.full() {
		n = 0
	}
	for i := 0; i < n && len(out) < limit; i++ {
		out = c.offerTarget(c.busy[(c.nextTarget+i)%n], out, limit)
	}
	c.nextTarget++
	c.rest()
	return out
}

// fullPauseMs is how long nothing is offered after the client had no room.
const fullPauseMs = 100

// full says whether the client lately had no room. Nothing but its own answers makes
// some, and without a pause the loop would ask it without end.
func (c *Core) full() bool { return c.fullMs > 0 && c.now.MonotonicMs-c.fullMs < fullPauseMs }

// rest takes the targets out of busy that have nothing left to offer.
func (c *Core) rest() {
	kept := c.busy[:0]
	for _, t := range c.busy {
		if t.queue.count+t.overflow > 0 {
			kept = append(kept, t)
			continue
		}
		t.busy, t.pending, t.hold.exhausted = false, false, false
		c.restHold(t)
		c.share(t)
	}
	clear(c.busy[len(kept):])
	c.busy = kept
	if c.nextTarget >= len(kept) {
		c.nextTarget = 0
	}
}

// restHold ends the hold of a target that nothing is there for any more: it would be sick
// for ever. For the dead-letter topic reading waits until it takes a record.
func (c *Core) restHold(t *target) {
	if t.hold.held && t.inFlight == 0 && t != c.dead {
		t.hold = hold{}
		c.effects.Holds = append(c.effects.Holds, HoldNotice{Target: t.name, Label: t.label, Forgotten: true})
	}
}

// offerTarget offers what one target takes: first what was routed before, then
// its queue in order.
func (c *Core) offerTarget(t *target, out []Delivery, limit int) []Delivery {
	t.pending = false
	if t.hold.held {
		return c.try(t, out, limit)
	}
	if t.overflow > 0 {
		out = c.offerOverflow(t, out, limit)
	}
	for t.queue.count > 0 && len(out) < limit && c.fair(t) {
		e := t.queue.pop()
		if c.parkAgain(e) {
			continue
		}
		d, ok := c.route(t, e)
		if !ok {
			c.wait(e, true)
			return out
		}
		if d.overflow.count > 0 || !c.room(d, &e) { // not past those that were routed before it
			c.spill(e, d)
			continue
		}
		out = append(out, c.start(e, d, false))
	}
	return out
}

// offerOverflow offers what was routed before, beginning at another partition each
// time: where bytes in flight are short, all get their turn.
func (c *Core) offerOverflow(t *target, out []Delivery, limit int) []Delivery {
	n := len(t.dests)
	t.nextDest = (t.nextDest + 1) % n
	for i := range n {
		d := t.dests[(t.nextDest+i)%n]
		for d.overflow.count > 0 && len(out) < limit && c.fair(t) && c.room(d, d.overflow.front()) {
			t.overflow--
			e := d.overflow.pop()
			if c.parkAgain(e) {
				continue
			}
			out = append(out, c.start(e, d, false))
		}
	}
	return out
}

// parkAgain takes back a record that may not be delivered any more: its partition
// may not, or the clock was stepped back to before its deadline. What goes
// elsewhere than to its target has no deadline to wait for.
func (c *Core) parkAgain(e entry) bool {
	if !c.early(&e) {
		return false
	}
	if !e.part.mayDeliver() {
		e.part.waiting.pushBack(e)
		return true
	}
	h := readHeader(c.store.at(e.loc))
	e.part.due--
	e.part.parked++
	e.part.furthestMs = max(e.part.furthestMs, h.deadlineMs)
	c.stats.Parked++
	c.wheel.Add(h.deadlineMs, uint64(e.loc))
	return true
}

// early says whether parkAgain would take a record back.
func (c *Core) early(e *entry) bool {
	if !e.part.mayDeliver() {
		return true
	}
	h := readHeader(c.store.at(e.loc))
	return h.deadlineMs > c.now.WallMs && !h.atOnce && e.failure == nil
}

// route asks where a record goes. Where the target is known to be unusable, it is
// held from now on.
func (c *Core) route(t *target, e entry) (*dest, bool) {
	_, body := c.store.read(e.loc)
	r := c.router.Route(t.name, e.part.TopicPartition, body)
	switch r.Verdict {
	case Usable:
	case Pending:
		t.pending = true
		return nil, false
	default:
		c.holdTarget(t, r.Verdict, r.Detail, true)
		return nil, false
	}
	return c.dest(t, r.Partition), true
}

// room says whether a target partition takes one more record: it has a bound in
// records and in bytes, so that one partition without a leader cannot fill what
// is there for all, and one record at a time that must be alone.
func (c *Core) room(d *dest, e *entry) bool {
	switch {
	case d.stuck:
		return false
	case c.Occupying() == 0:
		return true
	case c.byteRoom() <= 0:
		return false
	case d.inFlight == 0:
		return true
	case !d.proven && c.wary():
		return false
	case e.try != together:
		return d.alone == 0
	}
	return d.inFlight < c.cfg.MaxInFlight && d.bytes+int64(e.size) <= c.cfg.MaxInFlightBytes/4
}

// start puts a record in flight.
func (c *Core) start(e entry, d *dest, trial bool) Delivery {
	id := int32(len(c.flight))
	if n := len(c.freeFlight); n > 0 {
		id, c.freeFlight = c.freeFlight[n-1], c.freeFlight[:n-1]
	} else {
		c.flight = append(c.flight, flight{})
	}
	c.flight[id] = flight{entry: e, dest: d, sinceMs: c.now.WallMs, monotonicMs: c.now.MonotonicMs, busy: true, trial: trial}
	if d.inFlight == 0 {
		d.proven = d.proven && c.now.PatienceMs-d.answeredMs < stuckMs
		d.answeredMs = c.now.PatienceMs
	}
	d.inFlight++
	d.bytes += int64(e.size)
	if e.try != together {
		d.alone++
	}
	d.target.inFlight++
	c.inFlight++
	c.occupy(d.target, 1, int64(e.size))
	e.part.due--
	e.part.inFlight++
	h, body := c.store.read(e.loc)
	del := Delivery{
		ID: id, Topic: e.part.Topic, Partition: e.part.Partition, Offset: h.offset,
		TimestampMs: h.timestampMs, DeadlineMs: h.deadlineMs, Body: body,
		Target: d.target.name, TargetPartition: d.no, DeadLettered: d.target == c.dead,
		Alone: e.try != together, Bare: e.try == bare,
	}
	if e.failure != nil {
		del.Reason, del.Message = e.failure.reason, e.failure.message
		del.Last, del.Records = e.failure.span.last, e.failure.span.records
	}
	return del
}
