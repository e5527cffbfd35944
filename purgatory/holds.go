package purgatory

import (
	"cmp"
	"slices"
)

// holds begins and ends the holds of targets, and of target partitions that have stopped
// answering, and tells of each. When a held target is tried, and how long its records wait,
// is the outbox's affair.
type holds struct {
	cfg   *Config
	store *store
	stats *Stats // the core's: here errors are kept
	now   *Clock // the core's
	dir   *directory

	notices []HoldNotice // not taken yet
}

// begin stops giving a target records until a later try. known: metadata says so.
func (hs *holds) begin(t *target, v Verdict, detail string, known bool) {
	h := &t.hold
	notice := HoldNotice{Target: t.name, Label: t.label, Held: true, Verdict: v, Detail: detail}
	if h.held {
		if notice.Changed = h.verdict != v; notice.Changed {
			hs.notices = append(hs.notices, notice)
			if v == Rejecting {
				hs.part(t)
			}
		}
		h.verdict, h.detail, h.known = v, detail, h.known && known
		h.lookAtMs = hs.now.WallMs + holdFirstMs
		if known {
			h.backOff(hs.now.WallMs)
			h.lookAtMs = h.retryAtMs
		}
		if notice.Changed {
			h.look, h.fresh = 0, 0
			hs.sortRefused(t)
		}
		return
	}
	*h = hold{held: true, verdict: v, detail: detail, known: known, backoffMs: holdFirstMs, retryAtMs: hs.now.WallMs + holdFirstMs, lookAtMs: hs.now.WallMs + holdFirstMs, sinceMs: hs.now.WallMs, since: max(hs.now.AnsweredMs, 1)}
	t.queue.each(func(e *entry) { hs.keep(e, h.since) })
	hs.gather(t)
	if h.fresh = trialNewest; v == Rejecting {
		h.fresh = 0
	}
	hs.sortRefused(t)
	hs.notices = append(hs.notices, notice)
}

// sortRefused puts the letters that were refused behind all others, where their topic refuses letters for their content.
//
// Invariant: there they stay, as long as the hold has that verdict; audit in the tests checks it.
func (hs *holds) sortRefused(t *target) {
	if t.hold.verdict == Rejecting {
		t.queue.refusedLast()
	}
}

// gather takes what waits for a target's partitions into its queue. There is one, so that there is one oldest record. It
// comes in front, as it was routed before what is there. What was held longest is the first.
func (hs *holds) gather(t *target) {
	var held []entry
	for _, d := range t.dests {
		for d.overflow.count > 0 {
			t.overflow--
			e := d.overflow.popBack()
			e.note(hs.store, inQueue, 0)
			hs.keep(&e, t.heldSince(d))
			if d.stalled {
				held = append(held, e)
			} else {
				t.queue.pushFront(e)
			}
		}
	}
	slices.SortStableFunc(held, func(a, b entry) int { return cmp.Compare(b.since, a.since) })
	for _, e := range held {
		t.queue.pushFront(e)
	}
}

// works ends the hold of a target that took a record, or refused it for itself. One that refuses letters for their content
// takes others all the while: it gets them one by one. Its hold ends with the first of those that it
// takes, or once none of them waits. One may be in flight as the trial, beside which a partition that failed took this.
func (hs *holds) works(t *target, e *entry, trial bool) {
	h := &t.hold
	switch {
	case !h.held || !trial && h.verdict != Unreachable:
	case h.verdict == Rejecting && !e.refused && (h.trial != nil || t.queue.refusedFrom() < t.queue.length):
		h.lookAtMs = hs.now.WallMs
	default:
		hs.end(t)
	}
}

// end ends a hold: the target took a record, or metadata has taken it back. What waits for partitions that denied the
// topic until now is held since the hold began.
func (hs *holds) end(t *target) {
	hs.notices = append(hs.notices, HoldNotice{Target: t.name, Label: t.label})
	hs.part(t)
	t.unrouted = int32(t.queue.count)
	if t.hold = (hold{}); t.stalled == 0 {
		t.givenUp = 0
	}
}

// part has the partitions that called the topic missing or forbidden under a target's hold fail from now on, each on its
// own: another one knows the topic.
func (hs *holds) part(t *target) {
	for _, d := range t.dests {
		if d.denied == t.hold.since && t.has(d) {
			hs.fail(d, d.detail, false)
			d.apart, d.retryAtMs, d.denied = true, hs.now.MonotonicMs, 0 // it may be back as well
		}
	}
}

// stall holds the records behind a target partition that has stopped answering. Under a hold they have waited for as long as
// that lasts, but beside a letter that was refused others were taken until now.
func (hs *holds) stall(d *dest) {
	t := d.target
	d.stalled, d.stalledMs, d.stalledSince = true, hs.now.WallMs, max(hs.now.AnsweredMs, 1)
	d.givenUp = 0
	if t.hold.held && t.hold.verdict != Rejecting {
		d.stalledMs, d.stalledSince = t.hold.sinceMs, t.hold.since
	}
	t.stalled++
	d.overflow.each(func(e *entry) { hs.keep(e, d.stalledSince) })
	hs.stats.noteError(t.name, d.why())
	hs.notices = append(hs.notices, HoldNotice{Target: t.name, Label: t.label, Held: true, Verdict: Unreachable, Detail: d.why()})
}

// fail notes that a target partition has answered with an error. retry: it failed before, and this was to see whether it
// still does.
func (hs *holds) fail(d *dest, detail string, retry bool) {
	switch d.detail = detail; {
	case !d.fails():
		d.backoffMs = holdFirstMs
	case retry:
		d.backoffMs = min(2*d.backoffMs, holdMaxMs)
	}
	d.retryAtMs = hs.now.MonotonicMs + int64(d.backoffMs)
	if !d.stalled {
		hs.stall(d)
	}
}

// answered ends the stall of a target partition that gave some answer.
func (hs *holds) answered(d *dest) {
	if d.denied = 0; !d.stalled {
		return
	}
	d.stalled, d.failing = false, failing{}
	if d.target.stalled--; d.target.stalled == 0 && !d.target.hold.held {
		d.target.givenUp = 0
	}
	hs.notices = append(hs.notices, HoldNotice{Target: d.target.name, Label: d.target.label})
}

// endIdle ends the hold of a target that nothing is there for any more, and that of its
// partitions: they would be sick for ever. While the target is busy dropIdle does it.
func (hs *holds) endIdle(t *target) {
	if t.busy || t.inFlight > 0 {
		return
	}
	if t.hold.held {
		t.hold = hold{}
		hs.notices = append(hs.notices, HoldNotice{Target: t.name, Label: t.label, Forgotten: true})
	}
	hs.endIdleFaults(t)
}

// endIdleFaults says of the partitions for which nothing is there any more that they are no longer held: nothing would
// ever try them. The client may have had no room for the last record, which then went with its partition. After a hold of
// the target what waits for them is in its queue, until it is routed. So it is beside a letter that was refused: there a
// partition has nothing that is not tried for idleFaultMs.
func (hs *holds) endIdleFaults(t *target) {
	beside := t.hold.rejects()
	if t.stalled == 0 || !beside && (t.hold.held || min(int(t.unrouted), t.queue.count) > 0) {
		return
	}
	for _, d := range t.dests {
		idle := !beside || hs.now.MonotonicMs-d.retryAtMs >= idleFaultMs
		if d.stalled && idle && d.inFlight == 0 && d.overflow.count == 0 {
			d.stalled, d.failing = false, failing{}
			t.stalled--
			hs.notices = append(hs.notices, HoldNotice{Target: t.name, Label: t.label, Forgotten: true})
		}
	}
}

// forget says of a target that no record names any more that its holds are over.
func (hs *holds) forget(t *target) {
	over := HoldNotice{Target: t.name, Label: t.label, Forgotten: true}
	if t.hold.held {
		hs.notices = append(hs.notices, over)
	}
	for range t.stalled {
		hs.notices = append(hs.notices, over)
	}
	t.hold, t.stalled = hold{}, 0 // it may be busy still, and dropIdle would say so again
}

// keep notes that a record is held from now on, by what began at since of the Clock.AnsweredMs. One that was held or in
// flight before has waited from then on at least, a new one begins to wait.
func (hs *holds) keep(e *entry, since int64) {
	if e.since == 0 {
		since = max(hs.now.AnsweredMs, 1)
	}
	e.since = max(e.since, since)
	hs.rehome(e)
}

// rehome copies a held record into its target's own class of chunks. So one target's held
// records pin no chunk of anybody else, and are accounted exactly.
func (hs *holds) rehome(e *entry) {
	if e.rehomed || e.target == hs.dir.dead || e.loc&named != 0 { // those with an id pin nobody's chunks
		return
	}
	e.loc, e.rehomed = hs.store.rechunk(e.loc, heldClass+int(e.target.index), int(e.size)), true
}

// views returns the targets that hold records, and counts by label those beyond mostViews.
func (hs *holds) views() (views []HeldView, rest map[string]HeldCount) {
	globbed, described := 0, make(map[string]bool) // labels, which are few
	for _, t := range hs.dir.list {
		if t == nil || !t.hold.held && t.stalled == 0 {
			continue
		}
		n, bytes := t.held()
		if t.label != t.name {
			globbed++
		}
		if t.label == t.name || globbed <= mostViews || !described[t.label] {
			described[t.label] = true
			views = append(views, hs.view(t, n, bytes))
			continue
		}
		if rest == nil {
			rest = make(map[string]HeldCount)
		}
		sum := rest[t.label]
		rest[t.label] = HeldCount{sum.Targets + 1, sum.Records + n, sum.Bytes + bytes}
	}
	return views, rest
}

// view is the state of a target that holds records.
func (hs *holds) view(t *target, records int, bytes int64) HeldView {
	v := HeldView{Target: t.name, Label: t.label, Verdict: t.hold.verdict, Detail: t.hold.detail, Records: records, Bytes: bytes, SinceMs: t.hold.sinceMs,
		PatienceLeftMs: hs.cfg.Patience.Milliseconds(), GivenUp: t.givenUp}
	if t.hold.held {
		if v.PatienceLeftMs = hs.patienceLeftMs(&t.queue); v.Verdict == Rejecting {
			v.Partitions = hs.partitions(t)
		}
		return v
	}
	v.Verdict, v.Partitions = Unreachable, hs.partitions(t)
	for _, p := range v.Partitions {
		v.PatienceLeftMs = min(v.PatienceLeftMs, p.PatienceLeftMs)
		if v.SinceMs == 0 || p.SinceMs < v.SinceMs {
			v.SinceMs, v.Detail = p.SinceMs, p.Detail
		}
	}
	return v
}

// partitions returns the state of a target's partitions that have stopped answering, or fail.
func (hs *holds) partitions(t *target) (out []HeldPartition) {
	for _, d := range t.dests {
		if d.stalled {
			out = append(out, HeldPartition{d.no, d.why(), d.overflow.count, d.stalledMs, hs.patienceLeftMs(&d.overflow), d.givenUp})
		}
	}
	return out
}

// patienceLeftMs returns how long the first record of a queue of held ones may still wait.
func (hs *holds) patienceLeftMs(q *queue) int64 {
	patienceMs := hs.cfg.Patience.Milliseconds()
	if q.count == 0 {
		return patienceMs
	}
	return max(patienceMs-(hs.now.AnsweredMs-q.front().since), 0)
}
