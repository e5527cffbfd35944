package facts

import "layover/offsets"

// Encode returns the metadata of a commit at the low offset, in at most limit characters.
// It holds the whole set if that fits. Otherwise it names the journal's records, and
// holds the offsets that are in none of them, as far as they fit.
//
// Encode also decides where the set is kept: it moves to the journal when its metadata
// exceeds large characters, and back when half of them hold it. journal is the records
// that the metadata names, for Committed.
func (l *Ledger) Encode(limit, large int) (enc offsets.Encoded, journal offsets.Journal) {
	ext := offsets.Extension{Incarnation: l.id.Incarnation}
	if l.mode == Journal {
		ext.Journal = l.written.named(l.topic)
	}
	enc = offsets.Encode(l.window, l.id.Identity, ext, limit)
	l.commit = lastCommit{fits: enc.Complete, empty: enc.Metadata == "", limit: limit, large: large}
	switch {
	case l.commit.empty:
		l.left()
		return enc, offsets.Journal{}
	case l.mode == Metadata:
		if l.usable && (!enc.Complete || len(enc.Metadata) > large) {
			l.enter()
		}
		return enc, ext.Journal
	case enc.Complete && len(enc.Metadata) <= large/2:
		l.leave()
		return enc, ext.Journal
	}
	l.leaving = l.leaving && enc.Complete
	if enc.Complete || l.unwritten.gap || !l.written.base.ok {
		if !enc.Complete {
			enc.Left = min(enc.Left, l.notAcknowledged())
		}
		return enc, ext.Journal
	}
	t, whole := l.tail(l.window.Low())
	enc = offsets.Encode(t, l.id.Identity, ext, limit)
	if !whole {
		enc.Complete, enc.Left = false, l.notAcknowledged()-enc.Covered
	}
	return enc, ext.Journal
}

// tail returns the finished offsets that are in no acknowledged record. Not whole: there
// are more runs than any metadata could hold, and the last ones are left out.
func (l *Ledger) tail(low int64) (t *tail, whole bool) {
	var rs []Run
	for i := range l.flights.records {
		rs = l.flights.records[i].runs.appendTo(rs, tailRuns)
	}
	rs = l.unwritten.fresh.appendTo(rs, tailRuns)
	whole = len(rs) < tailRuns
	t = &tail{low: low, runs: merge(rs, low)}
	for _, r := range t.runs {
		t.above += r.To - r.From
	}
	return t, whole
}

// enter moves the set to the journal, beginning with a snapshot: nothing counts as written.
func (l *Ledger) enter() {
	l.mode, l.leaving = Journal, false
	l.unwritten.restart(l.window.Above())
	l.written.restart()
}

// leave begins to move the set back to metadata. A last snapshot, which is small, replaces
// all other records, so that a late older commit still finds the whole set.
func (l *Ledger) leave() {
	l.leaving = true
	if !l.usable {
		l.left()
	}
}

// left ends the use of the journal: the set is in metadata.
func (l *Ledger) left() {
	l.mode, l.leaving = Metadata, false
	l.unwritten.forget()
	l.written.forget()
}

// Committed takes a commit that succeeded and the records that it named. It returns the
// journal offset below which records are to be deleted, -1 for none. They may be, because
// the next owner finds this commit or a later one.
func (l *Ledger) Committed(j offsets.Journal, nowMs int64) (below int64) {
	if j.IsZero() || j.TopicID != l.topic || l.mode != Journal {
		return -1
	}
	below = -1
	if l.deletion.begin(j.From, nowMs) {
		below = j.From
	}
	if l.leaving && l.written.base.leave && l.written.base.from == j.From {
		l.left()
	}
	return below
}

// Deleted takes the answer to a deletion below an offset.
func (l *Ledger) Deleted(below int64, err error, nowMs int64) {
	if l.deletion.ended(below, err, nowMs) {
		l.stats.Deletions++
	}
}
