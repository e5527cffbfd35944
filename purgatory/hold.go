package purgatory

import "fmt"

// Back-off between tries of a held target, doubling, in milliseconds.
const (
	holdFirstMs = 100
	holdMaxMs   = 2000
)

// trialLook is how many held records one try looks at to find one whose partition has
// room. A thousand cost some 0.1 ms, ten times a second at most. A million held for
// one silent partition are looked through in two minutes, well within the patience.
const trialLook = 1024

// hold is why a target gets no records for the time being.
type hold struct {
	held bool
	// exhausted: patience or share is used up and there is no dead-letter topic.
	exhausted bool
	// known: metadata gave the verdict, not an answer to a record. So metadata can
	// take it back. A verdict of an answer only another answer takes back.
	known     bool
	verdict   Verdict
	retryAtMs int64 // wall clock of the next try
	backoffMs int64
	look      int   // index in the queue where the next try begins to look
	any       bool  // the last try found records of partitions alone that fail: one of them is the next
	trial     *dest // has the record that is on its way to see whether the target is back
	sinceMs   int64 // wall clock
	since     int64 // Clock.AnsweredMs of that, at least 1
	detail    string
}

// backsOff says whether a held target is not to be tried now: one record is on its way, or
// the back-off is not over.
func (h *hold) backsOff(nowMs int64) bool {
	return h.trial != nil || nowMs < h.retryAtMs && h.retryAtMs-nowMs <= holdMaxMs
}

// tryHeld looks whether a held target is back, when its back-off is over. Where metadata
// was why, metadata tells. Otherwise one record is sent: the first from where the last
// look ended whose partition has nothing in flight and has room.
func (o *outbox) tryHeld(t *target, out []Delivery, limit int) []Delivery {
	h := &t.hold
	if h.backsOff(o.now.WallMs) {
		return out
	}
	if h.known && t != o.dir.dead {
		h.look = 0
	}
	for n := min(trialLook, t.queue.length); n > 0 && t.queue.count > 0; n-- {
		if h.look >= t.queue.length {
			h.look = 0
		}
		e := t.queue.at(h.look)
		if o.store.isGone(e.loc) {
			h.look++
			continue
		}
		read, body := o.store.read(e.loc)
		if e.mayNot(&read, o.now.WallMs) != fit {
			if h.look == 0 {
				o.turnAway(t.queue.pop(), &read)
			} else {
				h.look++ // its turn to leave comes when it is in front
			}
			continue
		}
		d, ok := o.routed(t, e.from, body)
		if !ok {
			return out
		}
		if h.known && t != o.dir.dead { // for dead letters reading waits until one is written
			o.holds.end(t)
			return o.offerTarget(t, out, limit)
		}
		if d.inFlight == 0 && (h.any || !d.fails()) && o.takes(d, e) {
			h.trial, h.any = d, false
			return append(out, o.start(t.queue.take(h.look), &read, body, d, true))
		}
		h.look++
	}
	h.any, h.retryAtMs = true, o.now.WallMs+holdFirstMs
	return out
}

// trialFailed takes back the record of a trial that failed, to those that have waited as long.
// A letter that is refused for its content goes behind all others, which may be taken: the next is tried at once. One
// that was refused before, anew is false, has none in front that can be tried now.
func (o *outbox) trialFailed(e entry, anew bool) {
	t := e.target
	if e.refused && t.hold.verdict == Rejecting {
		t.hold.look = 0
		if o.wait(e, false); anew && !t.queue.front().refused {
			t.hold.retryAtMs = o.now.WallMs
		}
		return
	}
	o.wait(e, true)
	at := 0
	for at+1 < t.queue.length && t.queue.at(at+1).since < e.since {
		at++
	}
	t.queue.put(at)
}

// tick looks at patience, shares, and the memory of dead letters.
func (o *outbox) tick() {
	o.checkPatience()
	if o.dir.dead != nil {
		o.shares.burden(&o.dir, o.cfg.HeldShare)
	}
}

// checkPatience dead-letters the oldest held records where patience or the share of memory
// is used up, and finds target partitions that have stopped answering.
//
// Its cost grows with the targets that have something waiting, so it looks at them
// ten times a second and not at every tick.
func (o *outbox) checkPatience() {
	if !o.shares.due(o.now.WallMs) {
		return
	}
	o.shares.checkedMs = o.now.WallMs
	if o.flights.count > 0 {
		for _, t := range o.dir.list {
			if t != nil && t.inFlight > 0 {
				o.silence(t)
			}
		}
	}
	o.shares.families.addUp(o.busy, o.dir.dead, o.now.MonotonicMs)
	o.shares.families.weigh(o.cfg.HeldShare)
	given, busy, first := 0, o.busy, o.shares.first
	for i := range busy {
		at := (first + i) % len(busy)
		t := busy[at]
		if t.hold.exhausted = false; t != o.dir.dead {
			before := given
			if given += o.giveUp(t, given); before < giveUpBudget && given >= giveUpBudget { // the next look begins behind it
				o.shares.first = at + 1
			}
		}
		o.holds.endIdleFaults(t)
	}
}

// How many records become dead letters in one look, ten times a second. They may all have come at once, and others are
// to go meanwhile.
const (
	giveUpBudget = 16 << 10 // because their patience is used up: a million in six seconds
	shareBudget  = 64 << 10 // because their share of memory is: more than come in meanwhile
)

// giveUp applies share and patience to what is held for a target, the oldest first, whichever of its partitions that is
// for. before is how many records this look has given up for other targets. It returns how many it adds.
func (o *outbox) giveUp(t *target, before int) (given int) {
	records, held := t.held()
	limit := partOf(o.cfg.HeldShare, held, t.elsewhere.Held)
	f := o.shares.families[t.label]
	whys := make(map[givenUp]*failure)
	var q *queue
	var d *dest
	for since := int64(0); records > 0; given++ {
		if q == nil || q.count == 0 || q.front().since > since { // many have been held since the same instant
			q, d = t.oldestHeld()
			since = q.front().since
		}
		full := held > limit || f != nil && f.own.Held > f.limit
		if !full && o.now.AnsweredMs-since < o.cfg.Patience.Milliseconds() {
			return given
		}
		h := readHeader(o.store.at(q.front().loc))
		expired := q.front().failure == nil && h.hasExpired(o.now.WallMs) // perhaps long before it was due
		if !expired && o.dir.dead == nil && t != o.dir.events {
			t.hold.exhausted = true
			return given
		}
		if all := before + given; all >= shareBudget || !full && all >= giveUpBudget {
			return given
		}
		e := q.pop()
		records, held = records-1, held-e.weight()
		f.shed(e.weight(), records)
		if d != nil {
			t.overflow--
		} else {
			t.hold.look = max(t.hold.look-1, 0)
		}
		if expired {
			o.expire(e)
			continue
		}
		if t.givenUp++; d != nil {
			d.givenUp++
		}
		why := givenUp{d, full}
		if whys[why] == nil {
			whys[why] = o.givesUp(t, why)
		}
		o.deadLetter(e, whys[why])
	}
	return given
}

// givenUp is what the records have in common that one look gives up for a target. So they have one text.
type givenUp struct {
	dest *dest // nil: they were held for the whole target
	full bool  // not because their patience is used up
}

// givesUp is why records are given up that are held for a target.
func (o *outbox) givesUp(t *target, common givenUp) *failure {
	v, detail := t.hold.verdict, t.hold.detail
	if common.dest != nil {
		v, detail = Unreachable, common.dest.why()
	}
	why := fmt.Sprintf("target %s is %s, and the record was held for LAYOVER_TARGET_PATIENCE (%s)", t.name, v, o.cfg.PatienceText)
	if common.full {
		why = fmt.Sprintf("target %s is %s, and the records held for it, or for all targets that %s allows, fill their share of memory, %d bytes", t.name, v, t.label, o.cfg.HeldShare)
	}
	if detail != "" {
		why += ": " + detail
	}
	return &failure{reason: reasonUnavailable, message: why, shared: true}
}

// held returns the target's held records, and the bytes they take.
func (t *target) held() (records int, bytes int64) {
	if t.hold.held {
		records, bytes = t.queue.count, t.queue.bytes
	}
	if t.overflow == 0 {
		return records, bytes
	}
	for _, d := range t.dests {
		if d.stalled {
			records += d.overflow.count
			bytes += d.overflow.bytes
		}
	}
	return records, bytes
}

// oldestHeld returns the queue of a target whose first record has been held longest, and the partition that it is of;
// nil: it is the target's own.
func (t *target) oldestHeld() (oldest *queue, of *dest) {
	if t.hold.held && t.queue.count > 0 {
		oldest = &t.queue
	}
	if t.overflow == 0 {
		return oldest, nil
	}
	for _, d := range t.dests {
		if d.stalled && d.overflow.count > 0 && (oldest == nil || d.overflow.front().since < oldest.front().since) {
			oldest, of = &d.overflow, d
		}
	}
	return oldest, of
}

// waiting returns the bytes of all records that wait for the target, held or not.
func (t *target) waiting() int64 {
	bytes := t.queue.bytes
	if t.overflow > 0 {
		for _, d := range t.dests {
			bytes += d.overflow.bytes
		}
	}
	return bytes
}
