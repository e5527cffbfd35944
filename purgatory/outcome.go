package purgatory

import "fmt"

// Reasons of dead letters that the core itself gives; they are among the stable
// codes of package delay, and a test holds them to it.
const (
	reasonTooLarge    = "too_large"
	reasonRejected    = "rejected"
	reasonUnavailable = "target_unavailable"

	reasonTooLargeToRead = "too_large_to_read" // of a whole batch
)

// Class is how a produce ended.
type Class uint8

const (
	Delivered   Class = iota
	TooLarge          // the broker or the client calls the record or its batch too large
	Rejected          // the broker will never take this record
	Unavailable       // the target is missing, forbidden or unreachable
	Unknown           // it may or may not have been written: sent again
	NoRoom            // it was not sent: the producer's client had no room for it
)

// Result is the outcome of one delivery.
type Result struct {
	ID      int32
	Class   Class
	Verdict Verdict // with Unavailable: what is wrong with the target
	Detail  string  // the error's text, for Class other than Delivered
}

// Outcomes takes the results of deliveries, in the order in which they ended.
// Records that have to be sent again keep their order.
func (c *Core) Outcomes(now Clock, results []Result) {
	c.now = now
	for i := range results {
		if results[i].Class == Delivered {
			c.outcome(&results[i])
		}
	}
	for i := len(results) - 1; i >= 0; i-- { // each goes back to the front of its queue
		if results[i].Class != Delivered {
			c.outcome(&results[i])
		}
	}
}

func (c *Core) outcome(r *Result) {
	f := c.flight[r.ID]
	if !f.busy {
		panic(fmt.Sprintf("purgatory: delivery %d ended twice", r.ID))
	}
	c.flight[r.ID] = flight{}
	c.freeFlight = append(c.freeFlight, r.ID)
	e, d, t := f.entry, f.dest, f.dest.target
	c.land(e, d)
	if f.trial && t.hold.trial == d {
		t.hold.trial = nil
	}
	if r.Class == NoRoom {
		c.noRoom(e, d)
		return
	}
	c.stats.Produced.observe(&LatenessBounds, c.now.MonotonicMs-f.monotonicMs)
	c.answered(d)
	if r.Class == Delivered {
		if t.hold.held && (f.trial || t.hold.verdict == Unreachable) {
			c.releaseTarget(t)
		}
		c.delivered(e, t)
		return
	}
	c.stats.ProduceErrors[TargetKind{t.label, kindOf(r.Class)}]++
	c.stats.noteError(t.name, r.Detail)
	if e.part.gone {
		c.abandon(e)
		return
	}
	switch r.Class {
	case TooLarge:
		c.tooLarge(e, t, r)
	case Rejected:
		c.refused(e, t, reasonRejected, r)
	case Unavailable:
		c.again(e, t, f.trial, r.Verdict, r.Detail)
	default:
		c.again(e, t, f.trial, Unreachable, r.Detail)
	}
}

// land takes a record out of flight.
func (c *Core) land(e entry, d *dest) {
	d.inFlight--
	d.bytes -= int64(e.size)
	if e.try != together {
		d.alone--
	}
	d.target.inFlight--
	c.inFlight--
	if d.stuck {
		c.stuck--
		c.stuckBytes -= int64(e.size)
	} else {
		c.occupy(d.target, -1, -int64(e.size))
	}
	e.part.inFlight--
}

// noRoom queues a record that the client had no room for, where it came from. That is
// nobody's fault: its target is not held, its partition has not answered.
func (c *Core) noRoom(e entry, d *dest) {
	c.fullMs = max(c.now.MonotonicMs, 1)
	if d.stuck {
		c.unstick(d)
	}
	if e.part.gone {
		c.abandon(e)
		return
	}
	e.part.due++
	if d.overflow.count == 0 {
		c.wait(e, true)
		return
	}
	d.target.overflow++
	d.overflow.pushFront(e)
}

// abandon forgets a record whose partition is gone: its next owner reads it again.
func (c *Core) abandon(e entry) {
	c.stats.HandedOver += e.records()
	c.release(e)
	c.retire(e.part)
}

// delivered finishes a record that its target, or the dead-letter topic, took.
func (c *Core) delivered(e entry, t *target) {
	h := readHeader(c.store.at(e.loc))
	if t == c.dead {
		c.stats.DeadLettered[TopicReason{e.part.Topic, e.failure.reason}] += e.records()
	} else {
		c.stats.Delivered[TopicTarget{e.part.Topic, t.label}]++
		// An instant from before the record was written is its producer's affair.
		c.stats.late(t.label, c.now.WallMs-max(h.deadlineMs, h.timestampMs))
	}
	c.stats.LastDeliveryMs = c.now.WallMs
	if e.part.gone {
		c.release(e) // finished for its reader, unknown to its partition's next owner
		c.retire(e.part)
		return
	}
	if e.failure != nil && e.failure.span.records > 0 {
		e.part.finished += e.part.finishRange(e.failure.span.from, e.failure.span.to)
	} else {
		c.finish(e.part, h.offset)
	}
	c.release(e)
}

// again queues a record whose target could not take it, and holds the target.
func (c *Core) again(e entry, t *target, trial bool, v Verdict, detail string) {
	if !t.hold.held {
		e.since = 0 // what it waited for an earlier hold is over
	}
	if trial || !t.hold.held {
		c.holdTarget(t, v, detail, false)
	}
	e.part.due++
	if trial {
		c.tried(e)
		return
	}
	c.wait(e, true)
}

// tooLarge climbs the ladder: the answer may have been about a batch, then about
// the headers that we added, then it is about the record.
func (c *Core) tooLarge(e entry, t *target, r *Result) {
	if e.try < bare {
		e.try++
		e.part.due++
		c.wait(e, true)
		return
	}
	if t == c.dead { // even without its value: nothing is finished, an operator has to act
		c.again(e, t, true, Forbidden, "refuses a record even without its value: "+r.Detail)
		return
	}
	c.refused(e, t, reasonTooLarge, r)
}

// refused ends a record that its target will never take.
func (c *Core) refused(e entry, t *target, reason string, r *Result) {
	if t == c.dead {
		c.again(e, t, true, Forbidden, r.Detail)
		return
	}
	e.part.due++
	c.deadLetter(e, reason, fmt.Sprintf("target %s: %s", t.name, r.Detail))
}

// deadLetter sends a due record to the dead-letter topic; where there is none, the
// policy for invalid records decides, and delivering counts as halting.
func (c *Core) deadLetter(e entry, reason, message string) {
	e.part.due--
	if e.part.gone {
		c.abandon(e)
		return
	}
	if c.dead == nil {
		offset := readHeader(c.store.at(e.loc)).offset
		if c.cfg.OnInvalid == Drop {
			c.stats.Dropped[e.part.Topic]++
			c.finish(e.part, offset)
		} else {
			c.stats.Unfinished++
			c.halt(e.part, HaltNotice{Offset: offset, Reason: reason + ": " + message})
		}
		c.release(e)
		return
	}
	e.failure = &failure{reason: reason, message: message}
	e.target, e.try, e.since = c.dead, together, 0
	c.enqueue(e)
}
