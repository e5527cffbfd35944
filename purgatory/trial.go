package purgatory

// trial is a held record that may be sent to see whether its target is back.
type trial struct {
	dest *dest // nil: none
	at   int   // in the target's queue
	sick bool  // see hold.sick
}

// trialLook is how many held records one try looks at to find one whose partition has
// room. A thousand cost some 0.1 ms, ten times a second at most. A million held for
// one silent partition are looked through in two minutes, well within the patience.
// The newest trialNewest are looked at first, and those that come then: among them
// is one of each partition that has a flow.
const (
	trialLook   = 1024
	trialNewest = 128
)

// tryHeld looks whether a held target is back. Where metadata was why, metadata tells. Otherwise one record is sent: the
// best of those that the look finds.
func (o *outbox) tryHeld(t *target, out []Delivery, limit int) []Delivery {
	h, now := &t.hold, o.now.WallMs
	if h.backsOff(now) {
		return out
	}
	if h.known && t != o.dir.dead { // for dead letters reading waits until one is written
		return o.askMetadata(t, out, limit)
	}
	most := trialLook
	if ahead(h.lookAtMs, now) || h.seen && ahead(h.retryAtMs, now) {
		most = min(most, int(h.fresh))
	} else {
		h.seen = false
	}
	if !ahead(h.lookAtMs, now) {
		h.lookAtMs = now + holdFirstMs
	}
	best, ok := o.look(t, most)
	switch {
	case !ok:
	case best.dest != nil:
		return append(out, o.try(t, best))
	case h.seen || int(h.looked) >= t.queue.length:
		if h.seen, h.looked = true, 0; ahead(h.retryAtMs, now) {
			h.lookAtMs = h.retryAtMs
		}
	}
	return out
}

// look looks at some records of a held target, and returns the best of those whose partition has nothing in flight and
// has room. It returns false where metadata calls the target unusable.
func (o *outbox) look(t *target, most int) (best trial, ok bool) {
	h := &t.hold
	for n := min(most, t.queue.length); n > 0 && t.queue.count > 0; n-- {
		i := h.next(t.queue.length)
		e := t.queue.at(i)
		if o.store.isGone(e.loc) {
			continue
		}
		read, body := o.store.read(e.loc)
		if e.mayNot(&read, o.now.WallMs) != fit {
			if i == 0 { // the turn of others to leave comes when they are in front
				h.look = max(h.look-1, 0)
				best = trial{}
				o.turnAway(t.queue.pop(), &read)
			}
			continue
		}
		d, ok := o.routed(t, e.from, body)
		if !ok {
			return trial{}, false
		}
		next := trial{d, i, h.sick(d, e)}
		if d.inFlight > 0 || !o.takes(d, e) || next.sick && ahead(h.retryAtMs, o.now.WallMs) {
			continue
		}
		if next.betterThan(best) {
			best = next
		}
		if !next.sick && (h.verdict == Rejecting || d.answeredMs <= h.since) {
			break // nothing is better
		}
	}
	return best, true
}

// next returns the index in a queue of the record to look at next: the oldest of those that no look has seen, or where the
// last look ended.
func (h *hold) next(length int) int {
	if h.fresh = min(h.fresh, int32(length)); h.fresh > 0 {
		if h.fresh--; h.verdict == Rejecting {
			return int(h.fresh)
		}
		return length - 1 - int(h.fresh)
	}
	h.looked++
	if int(h.look) >= length {
		h.look = 0
	}
	h.look++
	return int(h.look) - 1
}

// betterThan reports whether a trial is to be sent rather than one that was found before. What did not fail goes first,
// and partitions have turns.
func (c trial) betterThan(found trial) bool {
	if found.dest == nil || c.sick != found.sick {
		return found.dest == nil || found.sick
	}
	if c.dest.answeredMs != found.dest.answeredMs {
		return c.dest.answeredMs < found.dest.answeredMs
	}
	return c.at < found.at
}

// try sends a held record.
func (o *outbox) try(t *target, c trial) Delivery {
	if c.at < int(t.hold.look) {
		t.hold.look--
	}
	t.hold.trial = c.dest
	e := t.queue.take(c.at)
	read, body := o.store.read(e.loc)
	return o.start(e, &read, body, c.dest, true)
}

// askMetadata goes on with a target that metadata has called unusable, where it does no more.
func (o *outbox) askMetadata(t *target, out []Delivery, limit int) []Delivery {
	for n := trialLook; n > 0 && t.queue.count > 0; n-- {
		e := t.queue.front()
		read, body := o.store.read(e.loc)
		if e.mayNot(&read, o.now.WallMs) != fit {
			o.turnAway(t.queue.pop(), &read)
			continue
		}
		if _, ok := o.routed(t, e.from, body); !ok {
			return out
		}
		o.holds.end(t)
		return o.offerTarget(t, out, limit)
	}
	t.hold.lookAtMs = o.now.WallMs + holdFirstMs
	return out
}

// settle puts the records of a held target that came back in order.
func (t *target) settle() {
	if t.hold.returned > 0 {
		t.queue.settle(int(t.hold.returned))
		t.hold.returned = 0
	}
}
