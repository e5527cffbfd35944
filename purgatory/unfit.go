package purgatory

// unfit is why a due record is not to be offered now.
type unfit uint8

const (
	fit         unfit = iota
	unconfirmed       // its partition may not deliver
	barred            // commands may not have been read that are about it
	early             // the clock was stepped back to before its deadline
	late              // its expiry has come
)

// heldBack returns why a due record has to wait with its source.
func (s *source) heldBack(e *entry) unfit {
	switch {
	case !s.mayDeliver():
		return unconfirmed
	case s.shut && e.loc&named != 0:
		return barred
	}
	return fit
}

// mayNot returns why a record with that header is not to be offered. A dead letter has no
// deadline to wait for, and no expiry.
func (e *entry) mayNot(h *header, nowMs int64) unfit {
	if why := e.from.heldBack(e); why != fit || e.failure != nil {
		return why
	}
	switch {
	case h.hasExpired(nowMs):
		return late
	case h.deadlineMs > nowMs && !h.atOnce:
		return early
	}
	return fit
}

// keep puts a due record with its source, if it is to wait there. Its clock is looked at
// when it is offered.
func (o *outbox) keep(e entry) bool {
	why := e.from.heldBack(&e)
	return why != fit && o.divert(e, why)
}

// turnAway takes a record with that header out of the queues of targets that is not to be
// offered.
func (o *outbox) turnAway(e entry, h *header) bool {
	why := e.mayNot(h, o.now.WallMs)
	return why != fit && o.divert(e, why)
}

// divert puts a record that is unfit where it belongs, and returns true.
func (o *outbox) divert(e entry, why unfit) bool {
	switch why {
	case unconfirmed:
		if e.from.waiting.count == 0 {
			e.from.waitsMs = o.now.WallMs
		}
		e.since = 0 // it is not held meanwhile
		e.note(o.store, inWaiting, 0)
		e.from.waiting.pushBack(e)
	case barred:
		if e.from.behind.count == 0 {
			e.from.behindMs = o.now.WallMs
		}
		e.since = 0
		e.note(o.store, behindBarrier, 0)
		e.from.behind.pushBack(e)
	case early:
		e.from.due--
		h := readHeader(o.store.at(e.loc))
		o.returned = append(o.returned, returned{e, h.deadlineMs})
		if e.admitted {
			o.cfg.CatchUp.Waiting(e.target.label, 1)
		}
	case late:
		o.expire(e)
	}
	return true
}

// expire ends a due record whose expiry has come.
func (o *outbox) expire(e entry) {
	if o.cfg.OnExpired == Drop || o.dir.dead == nil {
		e.from.due--
		o.end(e, expired)
		return
	}
	h := readHeader(o.store.at(e.loc))
	o.deadLetter(e, &failure{reason: reasonExpired, message: expiredText(&h, o.now.WallMs)})
}
