package purgatory

import "slices"

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
// is one of each partition that has a flow. They get trialFresh of a look, so that what
// waits is looked at as well. Where more come than that, the newest are enough.
const (
	trialLook   = 1024
	trialFresh  = trialLook / 2
	trialNewest = 128
)

// trialFront is how many of the oldest are looked at beside those, once it is time to try again what is sick. A record that
// was tried in vain has come back among them.
const trialFront = 128

// trialsAtOnce is how many records one turn may send of a held target, see try. Each costs a look.
const trialsAtOnce = 16

// tryHeld looks whether a held target is back, until a record is on its way that others wait for.
func (o *outbox) tryHeld(t *target, out []Delivery, limit int) []Delivery {
	for n := 0; n < trialsAtOnce && len(out) < limit && t.hold.held; n++ {
		before := len(out)
		if out = o.tryOne(t, out, limit); len(out) == before || t.hold.trial != nil {
			break
		}
	}
	return out
}

// tryOne looks whether a held target is back. Where metadata was why, metadata tells. Otherwise one record is sent: the
// best of those that the look finds.
func (o *outbox) tryOne(t *target, out []Delivery, limit int) []Delivery {
	h, now := &t.hold, o.now.WallMs
	if h.backsOff(now) {
		return out
	}
	if h.known && t != o.dir.dead { // for dead letters reading waits until one is written
		return o.askMetadata(t, out, limit)
	}
	if h.fresh > trialLook {
		h.fresh, h.seen = trialNewest, false
	}
	most, failing := trialLook, false
	if ahead(h.lookAtMs, now) || h.seen && ahead(h.retryAtMs, now) {
		most = min(most, int(h.fresh))
	} else {
		h.seen, failing = false, o.failsBeside(t)
	}
	if !ahead(h.lookAtMs, now) {
		h.lookAtMs = now + holdFirstMs
	}
	best, ok := o.lookAgain(t)
	if ok && (best.dest == nil || h.verdict != Rejecting) {
		best, ok = o.look(t, most, best, failing)
	}
	switch {
	case !ok:
	case best.dest != nil:
		return append(out, o.try(t, best))
	case h.verdict == Rejecting && t.fails(): // it is tried in its own time
		h.looked = 0
	case h.seen || int(h.looked) >= t.queue.length:
		if h.seen, h.looked = true, 0; ahead(h.retryAtMs, now) {
			h.lookAtMs = h.retryAtMs
		}
	}
	return out
}

// failsBeside reports whether it is time to try a partition that fails beside a letter that was refused for its content.
func (o *outbox) failsBeside(t *target) bool {
	return t.hold.verdict == Rejecting && t.stalled > 0 && slices.ContainsFunc(t.dests, func(d *dest) bool {
		return d.fails() && d.inFlight == 0 && o.now.MonotonicMs >= d.retryAtMs
	})
}

// lookAgain returns the best candidate of those that were tried before, once it is time to try again what is sick. Most are in
// front. Letters that were refused for their content are behind all others, which are taken all the while and would go
// first each time. Of more than trialLook such letters each look sees others.
func (o *outbox) lookAgain(t *target) (best trial, ok bool) {
	h, length := &t.hold, t.queue.length
	if ahead(h.retryAtMs, o.now.WallMs) {
		return trial{}, true
	}
	from, most := 0, trialFront
	if h.verdict == Rejecting {
		refused := t.queue.refusedFrom()
		if refused+int(h.nextRefused) >= length {
			h.nextRefused = 0
		}
		from, most = refused+int(h.nextRefused), trialLook
		h.nextRefused += trialLook
	}
	for i := from; i < min(from+most, length); i++ {
		c, ok := o.candidate(t, i)
		if !ok {
			return trial{}, false
		}
		if c.betterThan(best, false) {
			best = c
		}
		if h.verdict == Rejecting && best.dest != nil {
			break // it was tried before all that are behind it
		}
	}
	return best, true
}

// look looks at some records of a held target, and returns the best candidate of them and of best, which was found before.
// With failing it looks for one whose partition fails: such a record may have come back in front.
// It returns false where metadata calls the target unusable.
func (o *outbox) look(t *target, most int, best trial, failing bool) (trial, bool) {
	h := &t.hold
	for n := range min(most, t.queue.length) {
		if t.queue.count == 0 {
			break
		}
		i := min(n, t.queue.length-1) // some may have been turned away
		if !failing || n >= trialFront {
			i = h.next(t.queue.length, n < trialFresh)
		}
		if i == 0 && o.turnFrontAway(t) { // the turn of others to leave comes when they are in front
			h.look = max(h.look-1, 0)
			best = trial{}
			continue
		}
		c, ok := o.candidate(t, i)
		if !ok {
			return trial{}, false
		}
		if c.betterThan(best, failing) {
			best = c
		}
		if c.dest != nil && c.sick == failing && (h.verdict == Rejecting || c.dest.answeredMs <= h.since) {
			break // nothing is better
		}
	}
	return best, true
}

// candidate returns the record at an index of a held target's queue as a trial, where its partition has nothing in flight
// and has room, and no trial otherwise. It returns false where metadata calls the target unusable.
func (o *outbox) candidate(t *target, i int) (c trial, ok bool) {
	e := t.queue.at(i)
	if o.store.isGone(e.loc) {
		return trial{}, true
	}
	read, body := o.store.read(e.loc)
	if e.mayNot(&read, o.now.WallMs) != fit {
		return trial{}, true
	}
	d, ok := o.routed(t, e.from, body)
	if !ok {
		return trial{}, false
	}
	h := &t.hold
	if d.inFlight > 0 || !o.takes(d, e) || h.paced(d, e) && ahead(h.retryAtMs, o.now.WallMs) {
		return trial{}, true
	}
	return trial{d, i, h.sick(d, e)}, true
}

// turnFrontAway takes the first record out of a held target's queue where it is not to be offered.
func (o *outbox) turnFrontAway(t *target) bool {
	e := t.queue.front()
	h, _ := o.store.read(e.loc)
	return e.mayNot(&h, o.now.WallMs) != fit && o.turnAway(t.queue.pop(), &h)
}

// next returns the index in a queue of the record to look at next: with fresh the oldest of those that no look has seen.
// Without, or where all have been seen, it is the one where the last look ended. A round goes through those that were there
// as it began: behind what comes meanwhile it might never end.
func (h *hold) next(length int, fresh bool) int {
	if h.fresh = min(h.fresh, int32(length)); fresh && h.fresh > 0 {
		if h.fresh--; h.verdict == Rejecting {
			return int(h.fresh)
		}
		return length - 1 - int(h.fresh)
	}
	h.looked++
	if h.look >= min(h.round, int32(length)) {
		h.look, h.round = 0, int32(length)
	}
	h.look++
	return int(h.look) - 1
}

// betterThan reports whether a trial is to be sent rather than one that was found before. What did not fail goes first, or
// with failing what did, and partitions have turns.
func (c trial) betterThan(found trial, failing bool) bool {
	if c.dest == nil || found.dest == nil {
		return c.dest != nil
	}
	if c.sick != found.sick {
		return c.sick == failing
	}
	if c.dest.answeredMs != found.dest.answeredMs {
		return c.dest.answeredMs < found.dest.answeredMs
	}
	return c.at < found.at
}

// try sends a held record. Beside a letter that was refused for its content others do not wait for the answer of a partition
// that fails: it gets one at a time.
func (o *outbox) try(t *target, c trial) Delivery {
	if c.at < int(t.hold.look) {
		t.hold.look--
	}
	if h := &t.hold; h.verdict == Rejecting && c.dest.fails() {
		h.lookAtMs = o.now.WallMs
	} else {
		h.trial = c.dest
	}
	e := t.queue.take(c.at)
	read, body := o.store.read(e.loc)
	return o.start(e, &read, body, c.dest, true)
}

// askMetadata goes on with a target that metadata has called unusable, where it does no more.
func (o *outbox) askMetadata(t *target, out []Delivery, limit int) []Delivery {
	for n := trialLook; n > 0 && t.queue.count > 0; n-- {
		if o.turnFrontAway(t) {
			continue
		}
		e := t.queue.front()
		_, body := o.store.read(e.loc)
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
