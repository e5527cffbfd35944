package purgatory

import "fmt"

// Reasons of dead letters that the core itself gives; they are among the stable
// codes of package delay, and a test compares them.
const (
	reasonTooLarge    = "too_large"
	reasonRejected    = "rejected"
	reasonUnavailable = "target_unavailable"
	reasonExpired     = "expired"

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

// outcomes takes the results of deliveries, in the order in which they ended.
// Records that have to be sent again keep their order.
func (o *outbox) outcomes(results []Result) {
	for i := range results {
		if results[i].Class == Delivered {
			o.outcome(&results[i])
		}
	}
	for i := len(results) - 1; i >= 0; i-- { // each goes back to the front of its queue
		if results[i].Class != Delivered {
			o.outcome(&results[i])
		}
	}
}

func (o *outbox) outcome(r *Result) {
	f, ok := o.flights.land(r.ID)
	if !ok {
		panic(fmt.Sprintf("purgatory: delivery %d ended twice", r.ID))
	}
	e, d, t := f.entry, f.dest, f.dest.target
	defer o.holds.endIdle(t)
	if f.trial && t.hold.trial == d {
		t.hold.trial = nil
	}
	if r.Class == NoRoom {
		o.noRoom(e, d)
		return
	}
	o.stats.Produced.observe(&LatenessBounds, o.now.MonotonicMs-f.monotonicMs)
	o.flights.answered(d, o.now)
	if r.Class != Unknown && r.Class != Unavailable || e.from.gone && !d.fails() {
		o.holds.answered(d)
	}
	if r.Class == Delivered {
		o.holds.works(t, &e, f.trial)
		if t.stalled == 0 && !t.hold.held {
			t.givenUp = 0
		}
		d.took(o.cfg.MaxInFlight)
		o.end(e, taken)
		return
	}
	o.stats.ProduceErrors[TargetKind{t.label, kindOf(r.Class)}]++
	o.stats.noteError(t.name, r.Detail)
	if e.from.gone {
		o.end(e, handedOver)
		return
	}
	switch r.Class {
	case TooLarge:
		o.tooLarge(&f, r)
	case Rejected:
		o.rejected(&f, r)
	case Unavailable:
		o.denied(&f, r)
	default:
		o.failed(&f, r)
	}
}

// withdraw ends a record that was refused for certain while a command waited for that.
func (o *outbox) withdraw(e entry) bool {
	if !o.superseded(e) {
		return false
	}
	o.end(e, withdrawn)
	return true
}

// superseded reports whether a command waits for what becomes of a record.
func (o *outbox) superseded(e entry) bool {
	return e.loc&named != 0 && e.failure == nil && o.store.spot(e.loc).superseded
}

// unknown reports whether a command waits for a record that an earlier attempt may have written. An answer that is not
// about the record itself does not tell.
func (o *outbox) unknown(e entry) bool {
	if !o.superseded(e) {
		return false
	}
	h := readHeader(o.store.at(e.loc))
	return h.marks&unsure != 0
}

// noRoom queues a record that the client had no room for, where it came from. That is
// nobody's fault: its target is not held, its partition has not answered.
func (o *outbox) noRoom(e entry, d *dest) {
	o.flights.fullMs = max(o.now.MonotonicMs, 1)
	if d.stuck {
		o.flights.unstick(d)
	}
	if e.from.gone {
		o.end(e, handedOver)
		return
	}
	if !o.unknown(e) && o.withdraw(e) {
		return
	}
	e.from.due++
	o.store.exempt(e.loc)
	o.waitAgain(e, d)
}

// waitAgain queues a record that came back in front of those for its partition.
func (o *outbox) waitAgain(e entry, d *dest) {
	if d.target.hold.held || d.overflow.count == 0 && !d.fails() {
		o.waitInFront(e, d.target, d)
		return
	}
	if d.stalled {
		o.holds.keep(&e, d.stalledSince)
	}
	o.occupy(d.target)
	e.note(o.store, inOverflow, uint64(d.no))
	d.target.overflow++
	d.overflow.pushFront(e)
}

// again queues a record whose target could not take it, and holds the target. Where a letter is refused for its content the
// next is tried at once. Such a hold goes on with any other answer, for which only the partition is held.
func (o *outbox) again(f *flight, v Verdict, detail string) {
	e, d, t := f.entry, f.dest, f.dest.target
	rejecting := t.hold.rejects()
	trial := f.trial || v == Rejecting
	if t.hold.held && trial && f.retry && (e.refused || !rejecting) {
		t.hold.backOff(o.now.WallMs)
	}
	e.refused = e.refused || v == Rejecting
	if trial && (v == Rejecting || !rejecting) || !t.hold.held {
		o.holds.begin(t, v, detail, false)
	}
	if v == Unreachable {
		o.store.doubt(e.loc)
	} else if !o.unknown(e) && o.withdraw(e) {
		return
	}
	e.from.due++
	o.store.exempt(e.loc)
	if rejecting || v == Rejecting {
		t.hold.lookAtMs = o.now.WallMs
	}
	o.waitInFront(e, t, d)
	if trial {
		t.settle()
	}
}

// climb sends a record again by the next attempt: the answer may not have been about it.
func (o *outbox) climb(e entry, d *dest) {
	if e.try == together && o.unknown(e) {
		o.store.exempt(e.loc)
	} else if o.withdraw(e) {
		return
	}
	e.try++
	e.from.due++
	o.waitInFront(e, d.target, d)
}

// tooLarge climbs the ladder: the answer may have been about a batch, then about
// the headers that we added, then it is about the record.
func (o *outbox) tooLarge(f *flight, r *Result) {
	e := f.entry
	if e.try < bare {
		o.climb(e, f.dest)
		return
	}
	if o.withdraw(e) {
		return
	}
	if e.target == o.dir.dead { // even without its value: nothing is finished, an operator has to act
		o.again(f, Rejecting, "refuses a record even without its value: "+r.Detail)
		return
	}
	o.refused(f, reasonTooLarge, r)
}

// refused ends a record that its target will never take.
func (o *outbox) refused(f *flight, reason string, r *Result) {
	e, t := f.entry, f.dest.target
	if t == o.dir.dead {
		o.again(f, Rejecting, r.Detail)
		return
	}
	e.from.due++
	o.deadLetter(e, &failure{reason: reason, message: fmt.Sprintf("target %s: %s", t.name, r.Detail)})
}

// deadLetter sends a due record to the dead-letter topic; where there is none, the
// policy for invalid records decides, and delivering counts as halting.
func (o *outbox) deadLetter(e entry, why *failure) {
	e.from.due--
	if e.from.gone {
		o.end(e, handedOver)
		return
	}
	if e.target == o.dir.events {
		o.end(e, unsaid)
		return
	}
	if o.withdraw(e) {
		return
	}
	o.dir.give(&e, why)
	switch {
	case o.dir.dead != nil:
		o.store.move(e.loc, lettered, 0)
		o.store.exempt(e.loc)
		e.target, e.try, e.since = o.dir.dead, together, 0
		o.enqueue(e)
	case o.cfg.OnInvalid == Drop:
		o.end(e, dropped)
	default:
		o.end(e, unfinished)
	}
}
