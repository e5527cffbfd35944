package purgatory

import "fmt"

// Back-off between tries of a held target, doubling, in milliseconds.
const (
	holdFirstMs = 100
	holdMaxMs   = 2000
)

// hold is why a target gets no records for the time being.
type hold struct {
	held bool
	// exhausted: patience or share is used up and there is no dead-letter topic.
	exhausted bool
	// known: metadata gave the verdict, not an answer to a record. So metadata can
	// take it back. A verdict of an answer only another answer takes back.
	known bool
	// seen: looks have gone round the whole queue and found nothing to send before retryAtMs.
	seen      bool
	verdict   Verdict
	backoffMs uint16
	// retryAtMs is the wall clock of the next try with what is sick, by backoffMs. That is no reason to look for others
	// less often.
	retryAtMs int64
	lookAtMs  int64 // wall clock of the next look
	look      int32 // index in the queue where it begins
	round     int32 // index in the queue where the round of looks ends
	looked    int32 // records that were looked at since looks last had nothing to send in the whole queue
	fresh     int32 // newest records that no look has seen: the last ones, but letters in front of those that were refused
	// nextRefused is where the next look for a refused letter begins, counted from the first of those.
	nextRefused int32
	returned    int32 // records in front that may have to go behind others, see settle
	trial       *dest // has the record that is on its way to see whether the target is back
	sinceMs     int64 // wall clock
	since       int64 // Clock.AnsweredMs of that, at least 1
	detail      string
}

// backsOff says whether a held target is not to be looked at now: one record is on its way, or the time has not come.
func (h *hold) backsOff(nowMs int64) bool {
	return h.trial != nil || ahead(h.lookAtMs, nowMs) && (h.fresh == 0 || h.verdict != Rejecting)
}

// ahead says whether the instant of a look or a try is to come. A clock that was stepped back is no reason to wait long.
func ahead(atMs, nowMs int64) bool { return nowMs < atMs && atMs-nowMs <= holdMaxMs }

// backOff has the next try with what failed before wait for twice as long as the last.
func (h *hold) backOff(nowMs int64) {
	h.backoffMs = min(2*h.backoffMs, holdMaxMs)
	h.retryAtMs = nowMs + int64(h.backoffMs)
}

// sick reports whether a record was refused before, or its partition fails or has called the topic missing or forbidden
// under this hold.
func (h *hold) sick(d *dest, e *entry) bool { return e.refused || d.fails() || d.denied == h.since }

// rejects reports whether it is the hold of a topic that refuses letters for their content.
func (h *hold) rejects() bool { return h.held && h.verdict == Rejecting }

// paced reports whether a record waits for retryAtMs. Beside a letter that was refused for its content a partition that
// fails is tried in its own time, as without a hold.
func (h *hold) paced(d *dest, e *entry) bool {
	if h.verdict == Rejecting {
		return e.refused
	}
	return h.sick(d, e)
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
		t.settle()
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
	oldest := t.heldQueues(o.shares.oldest)
	o.shares.oldest = oldest
	defer clear(oldest)
	for ; records > 0; given++ {
		q, d := oldest[0].queue, oldest[0].of
		full := held > limit || f != nil && f.own.Held > f.limit
		if !full && o.now.AnsweredMs-oldest[0].since < o.cfg.Patience.Milliseconds() {
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
		e := oldest.pop()
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
