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

// mayNot returns why a record is not to be offered. A dead letter has no deadline to wait
// for, and no expiry. Neither matters to a record that may have been written.
func (o *outbox) mayNot(e *entry) unfit {
	if !e.from.mayDeliver() {
		return unconfirmed
	}
	if e.from.shut && e.loc&named != 0 {
		return barred
	}
	if e.failure != nil {
		return fit
	}
	h := readHeader(o.store.at(e.loc))
	switch {
	case h.marks&hasExpiry != 0 && !e.unsure && h.expireMs <= max(o.now.WallMs, h.deadlineMs):
		return late
	case h.deadlineMs > o.now.WallMs && !h.atOnce:
		return early
	}
	return fit
}

// turnAway takes a record out of the queues of targets that is not to be offered.
func (o *outbox) turnAway(e entry) bool {
	if o.keep(e) {
		return true
	}
	switch o.mayNot(&e) {
	case early:
		e.from.due--
		o.early = append(o.early, e)
	case late:
		o.expire(e)
	default:
		return false
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
	o.deadLetter(e, reasonExpired, expiredText(&h, o.now.WallMs))
}
