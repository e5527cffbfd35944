package sim

import (
	"layover/purgatory"
)

// offer takes up to n deliveries and holds each to the promises.
func (in *instance) offer(n int) {
	w := in.w
	in.core.Targets(w.told(in.core.Wanted(nil)))
	for _, d := range in.core.Offer(nil, n) {
		own := in.partition(int(d.Partition))
		if own == nil || own.revoking || !own.accepted {
			w.fail("%d@%d is offered, though its partition may not deliver", d.Partition, d.Offset)
			return
		}
		f := &produce{part: int(d.Partition), epoch: own.epoch, d: d}
		if d.Event {
			in.holdEvent(own, f)
		} else {
			in.hold(own, f)
		}
		if f.entry == nil {
			return
		}
		in.flying = append(in.flying, f)
	}
	if most := w.cfg.MaxBuffered; most > 0 && len(in.flying) > most {
		w.fail("%d records are in flight, the client has room for %d", len(in.flying), most)
	}
	in.observe()
}

// hold holds the offer of a record to the promises.
func (in *instance) hold(own *partition, f *produce) {
	w, now, d := in.w, in.clock().WallMs, &f.d
	e := own.held[d.Offset]
	if d.Copy > 0 {
		if c := own.copyAt(d.Copy-1, d.Offset); c != nil {
			e = c.entry
		} else {
			e = nil
		}
	}
	switch {
	case d.Copy > 0 && e == nil:
		w.fail("the copy of %d@%d at %d is offered, but it is finished or was not loaded", d.Partition, d.Offset, d.Copy-1)
		return
	case d.Copy > 0:
	case e == nil || own.isDone(d.Offset) || d.Offset >= own.read:
		w.fail("%d@%d is offered, but it is finished or was not read", d.Partition, d.Offset)
		return
	}
	switch {
	case in.flyingOf(own, d.Offset, d.Copy) >= own.inMemory(d.Offset, d.Copy):
		w.fail("%v is offered twice at a time", e)
	case d.Reason == "" && !e.passed && e.deadlineMs > now:
		w.fail("EARLY: %v is offered %d ms before its deadline", e, e.deadlineMs-now)
	case string(d.Body) != e.body:
		w.fail("%v is offered with other bytes: %q, want %q", e, d.Body, e.body)
	case d.Reason == "" && d.Target != e.target || d.DeadLettered != (d.Target == graves) || d.Reason == "" && d.DeadLettered:
		w.fail("%v is offered to %s, want %s", e, d.Target, e.target)
	}
	if d.Copy == 0 {
		in.holdOffer(own, e, d)
	}
	f.entry = e
	w.say("%s offers %v to %s %s", in.member, e, d.Target, d.Reason)
}

// holdEvent holds the offer of an event to the promises.
func (in *instance) holdEvent(own *partition, f *produce) {
	h := own.events[string(f.d.Body)]
	switch {
	case h == nil:
		in.w.fail("the event %s is offered, which there is not", f.d.Body)
		return
	case in.onTheWay(h):
		in.w.fail("the event %s is offered twice at a time", h.body)
	case f.d.Target != happenings || f.d.Reason != "":
		in.w.fail("the event %s is offered to %s %s", h.body, f.d.Target, f.d.Reason)
	}
	f.event, f.entry = h, &entry{part: f.part, offset: f.d.Offset, body: h.body}
	in.w.say("%s offers the event %s", in.member, h.body)
}

// isFlying says whether a record of an assignment is in flight.
func (in *instance) isFlying(own *partition, offset, copied int64) bool {
	return in.flyingOf(own, offset, copied) > 0
}

// flyingOf counts the deliveries of a record in flight.
func (in *instance) flyingOf(own *partition, offset, copied int64) (n int) {
	for _, f := range in.flying {
		if f.event == nil && f.epoch == own.epoch && f.d.Offset == offset && f.d.Copy == copied {
			n++
		}
	}
	return n
}

// inMemory counts the records of one place in memory. A copy that was moved again, and cut off meanwhile, may stand
// in the log once more where it stood before.
func (own *partition) inMemory(offset, copied int64) (n int) {
	if copied == 0 {
		return 1
	}
	for _, c := range own.loaded {
		if c.is(copied-1, offset) {
			n++
		}
	}
	return n
}

// outcome ends a delivery. What was written stays written, whatever the core is told.
func (in *instance) outcome(k int, class purgatory.Class) {
	f := in.flying[k]
	in.flying = append(in.flying[:k:k], in.flying[k+1:]...)
	w := in.w
	if class == purgatory.Delivered && !f.applied {
		w.write(f)
		f.applied = true
	}
	if class == purgatory.Unknown {
		if f.entry.unknown++; f.event != nil {
			f.event.unknown++
		}
		w.haunt(f)
	}
	w.say("%s hears of %v: %s", in.member, f.entry, className(class))
	own := in.still(f.part, f.epoch)
	withdrawn := false
	switch refused := class == purgatory.Rejected && (f.d.Alone || f.d.Hurried) || class == purgatory.TooLarge && f.d.Bare; {
	case own == nil:
	case f.event != nil:
		if class == purgatory.Delivered || refused {
			own.acknowledge(w, f.event)
		}
	case f.d.Copy > 0:
		in.copyAnswered(own, f, class == purgatory.Delivered, refused)
	default:
		withdrawn = in.settleTimer(own, f, class)
		if withdrawn || class == purgatory.Delivered || f.d.Reason == "" && len(own.by[f.d.Offset]) > 0 { // sent again for its command
			break
		}
		in.refused(own, f, refused)
	}
	in.core.Outcomes(in.clock(), []purgatory.Result{{ID: f.d.ID, Class: class, Verdict: purgatory.Missing, Detail: "says the model"}})
	in.effects()
	in.observe()
	if own != nil && f.event == nil && f.d.Copy == 0 {
		in.carriedOut(own, f, withdrawn)
	}
}

// refused notes what becomes of a record that its target will never take.
func (in *instance) refused(own *partition, f *produce, refused bool) {
	switch w := in.w; {
	case !refused || f.d.DeadLettered || w.cfg.DeadLetters:
	case w.cfg.OnInvalid == purgatory.Drop:
		own.done[f.d.Offset], f.entry.dropped = true, true
	case own.notices == 0:
		own.mayHalt = f.d.Offset
	}
}

// copyAnswered notes what becomes of a copy.
func (in *instance) copyAnswered(own *partition, f *produce, delivered, refused bool) {
	switch w := in.w; {
	case delivered:
		own.end(f.entry, f.d.Copy)
	case !refused || f.d.DeadLettered || w.cfg.DeadLetters:
	case w.cfg.OnInvalid == purgatory.Drop:
		f.entry.dropped = true
		own.end(f.entry, f.d.Copy)
	case own.notices == 0:
		own.mayHalt = f.d.Offset
	}
}

// carriedOut holds the core to the commands that waited for an answer.
func (in *instance) carriedOut(own *partition, f *produce, withdrawn bool) {
	o := f.d.Offset
	if withdrawn && !own.ended[o] {
		in.w.fail("%v was refused, and the commands about it are not carried out: %v", f.entry, own.by[o])
	}
	if !own.isDone(o) || own.ended[o] {
		return
	}
	for _, c := range own.by[o] {
		if c.cancel {
			in.w.fail("%v was delivered, and nothing becomes of its cancel %v", f.entry, c)
		}
	}
	delete(own.by, o)
}

func className(c purgatory.Class) string {
	return [...]string{"delivered", "too large", "rejected", "target unavailable", "unknown", "no room"}[c]
}
