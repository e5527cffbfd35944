package facts

import "layover/offsets"

// Encode returns what a commit at the low offset says, in at most limit characters:
// the whole set if it fits, otherwise what the journal has and what it has not, as far
// as that fits. It also decides where the set is kept: in the journal from when it
// takes more than most characters, until half of them hold it again.
//
// journal is what the metadata names, for Committed.
func (l *Ledger) Encode(limit, most int) (enc offsets.Encoded, journal offsets.Journal) {
	ext := offsets.Extension{Incarnation: l.id.Incarnation}
	if l.mode == Journal && l.base.ok {
		ext.Journal = offsets.Journal{TopicID: l.topic, From: l.base.from, To: l.to, Sum: l.sum}
	}
	enc = offsets.Encode(l.window, l.id.Identity, ext, limit)
	l.fits, l.mute = enc.Complete, enc.Metadata == ""
	l.text, l.most = limit, most
	switch {
	case l.mute:
		l.left()
		return enc, offsets.Journal{}
	case l.mode == Metadata:
		if l.usable && (!enc.Complete || len(enc.Metadata) > most) {
			l.enter()
		}
		return enc, ext.Journal
	case enc.Complete && len(enc.Metadata) <= most/2:
		l.leave()
		return enc, ext.Journal
	}
	l.leaving = l.leaving && enc.Complete
	if enc.Complete || l.gap || !l.base.ok {
		if !enc.Complete {
			enc.Left = min(enc.Left, l.unwritten())
		}
		return enc, ext.Journal
	}
	t, whole := l.tail(l.window.Low())
	enc = offsets.Encode(t, l.id.Identity, ext, limit)
	if !whole {
		enc.Complete, enc.Left = false, l.unwritten()-enc.Covered
	}
	return enc, ext.Journal
}

// tail returns what is in no acknowledged record; not the whole of it where no metadata
// could hold that.
func (l *Ledger) tail(low int64) (t *tail, whole bool) {
	var rs []Run
	for i := range l.flying {
		rs = l.flying[i].runs.appendTo(rs, tailRuns)
	}
	rs = l.fresh.appendTo(rs, tailRuns)
	whole = len(rs) < tailRuns
	t = &tail{low: low, runs: merge(rs, low)}
	for _, r := range t.runs {
		t.above += r.To - r.From
	}
	return t, whole
}

// enter begins to keep the set in the journal, with a snapshot: nothing counts as
// written.
func (l *Ledger) enter() {
	l.mode, l.leaving, l.gap, l.lost, l.lostBefore = Journal, false, true, l.window.Above(), 0
	l.fresh.reset()
	l.base, l.snap, l.to = base{}, snapshot{}, -1
}

// leave ends that: with a snapshot, which is small, so that nothing but it is left in
// the journal, and a late older commit still finds all there is.
func (l *Ledger) leave() {
	l.leaving = true
	if !l.usable {
		l.left()
	}
}

func (l *Ledger) left() {
	l.mode, l.leaving, l.gap, l.lost, l.lostBefore = Metadata, false, false, 0, 0
	l.fresh = runs{}
	l.base, l.snap = base{}, snapshot{}
	l.facts = 0
}

// Committed takes a commit that succeeded and the records that it named. It returns the
// journal offset below which records are to be deleted, -1 for nothing. A commit of
// this tenure is later than all before it: what it names is what the next owner finds.
func (l *Ledger) Committed(j offsets.Journal, nowMs int64) (below int64) {
	if j.IsZero() || j.TopicID != l.topic || l.mode != Journal {
		return -1
	}
	leave := l.leaving && l.base.leave && l.base.from == j.From
	below = -1
	if j.From > l.deleted && !l.deleting && nowMs >= l.deleteAt {
		l.deleting = true
		below = j.From
	}
	if leave {
		l.left()
	}
	return below
}

// Deleted takes the answer to a deletion below an offset.
func (l *Ledger) Deleted(below int64, err error, nowMs int64) {
	l.deleting = false
	if err != nil {
		l.deleteAt = nowMs + deleteRetryMs
		return
	}
	l.stats.Deletions++
	l.deleted = max(l.deleted, below)
}
