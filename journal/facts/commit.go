package facts

import (
	"math"

	"layover/offsets"
)

// Encode returns the metadata of a commit at the low offset, in at most limit characters.
// It holds the whole set if that fits. Otherwise it names the journal's records, and
// holds the offsets that are in none of them, as far as they fit.
//
// Encode also decides where the set is kept. The set moves to the journal when its metadata
// exceeds large characters, and back when half of them hold it. journal is the records
// that the metadata names, for Committed.
//
// again is the offset from which on finished commands count again, 0 for all. It is left
// out of a commit that leaves out any finished offset. That offset may be one of a record
// which any finished command has ended. copies is what the commit says of the partition's runs.
func (w *Writer) Encode(limit, large int, again int64, copies offsets.RunsState) (enc offsets.Encoded, journal offsets.JournalRange) {
	ext := offsets.Extension{Incarnation: w.id.Incarnation, Runs: copies}
	if w.mode == InJournal {
		ext.Journal = w.written.named(w.topic)
	}
	enc = w.encode(w.window, ext, limit, again)
	if enc.Metadata == "" && !copies.IsZero() { // a restart reads the runs through
		ext.Runs = offsets.RunsState{Holds: copies.Holds}
		enc = w.encode(w.window, ext, limit, again)
	}
	w.commit = lastCommit{fits: enc.Complete, empty: enc.Metadata == "", limit: limit, large: large, copies: ext.Runs}
	size := len(enc.Metadata) - ext.Runs.Characters() // the journal makes the runs' part no smaller
	switch {
	case w.commit.empty:
		w.left()
		return enc, offsets.JournalRange{}
	case w.mode == InMetadata:
		if w.usable && (!enc.Complete || size > large) {
			w.enter()
		}
		return enc, ext.Journal
	case enc.Complete && size <= large/2:
		w.leave()
		return enc, ext.Journal
	}
	w.leaving = w.leaving && enc.Complete
	if enc.Complete || w.unwritten.gap || !w.written.base.ok {
		if !enc.Complete {
			enc.Left = min(enc.Left, w.notAcknowledged())
		}
		return enc, ext.Journal
	}
	t, whole := w.tail(w.window.Low())
	if !whole {
		again = 0
	}
	enc = w.encode(t, ext, limit, again)
	if !whole {
		enc.Complete, enc.Left = false, w.notAcknowledged()-enc.Covered
	}
	return enc, ext.Journal
}

// encode encodes a set, and where all of it fits says from which offset on commands count
// again.
func (w *Writer) encode(set offsets.Set, ext offsets.Extension, limit int, again int64) offsets.Encoded {
	if again > 0 {
		ext.Again = again
		if enc := offsets.Encode(set, w.id.Identity, ext, limit); enc.Complete {
			return enc
		}
		ext.Again = 0
	}
	return offsets.Encode(set, w.id.Identity, ext, limit)
}

// tail returns the finished offsets that are in no acknowledged record. whole is false
// where there are more runs than any metadata could hold; the last ones are then left out.
func (w *Writer) tail(low int64) (t *tail, whole bool) {
	var rs []Run
	for i := range w.flights.records {
		rs = w.flights.records[i].runs.appendTo(rs, tailRuns)
	}
	rs = w.unwritten.fresh.appendTo(rs, tailRuns)
	whole = len(rs) < tailRuns
	t = &tail{low: low, runs: merge(rs, low)}
	for _, r := range t.runs {
		t.above += r.To - r.From
	}
	return t, whole
}

// enter moves the set to the journal, beginning with a snapshot: nothing counts as written.
func (w *Writer) enter() {
	w.mode, w.leaving = InJournal, false
	w.unwritten.restart(w.window.Above())
	w.written.restart()
}

// leave begins to move the set back to metadata. A last snapshot, which is small, replaces
// all other records, so that a late older commit still finds the whole set.
func (w *Writer) leave() {
	w.leaving = true
	if !w.usable {
		w.left()
	}
}

// left ends the use of the journal: the set is in metadata.
func (w *Writer) left() {
	w.mode, w.leaving = InMetadata, false
	w.unwritten.forget()
	w.written.forget()
}

// Named returns the records that a commit names now, its zero value for none.
func (w *Writer) Named() offsets.JournalRange {
	if w.mode != InJournal {
		return offsets.JournalRange{}
	}
	return w.written.named(w.topic)
}

// Needed returns the journal offset from which on records are needed after a commit that named
// these has succeeded: none below are. It is math.MaxInt64 where none are needed at all.
func (w *Writer) Needed(j offsets.JournalRange) int64 {
	switch {
	case w.mode != InJournal:
		return math.MaxInt64
	case j.IsZero() || j.TopicID != w.topic:
		return 0
	}
	return j.From
}

// Committed takes a commit that succeeded and the records that it named. It returns the
// journal offset below which records are to be deleted, -1 for none. Nobody needs these
// records any more, because the next owner finds this commit or a later one. The partition's
// other writer needs those from beside on, see Needed; math.MaxInt64: there is no other.
func (w *Writer) Committed(j offsets.JournalRange, beside, nowMs int64) (below int64) {
	below = -1
	needed := w.Needed(j)
	if w.mode == InMetadata && nowMs < w.leftUntil {
		needed = w.leftFrom
	}
	if b := min(needed, beside); b < math.MaxInt64 && w.deletion.begin(b, nowMs) {
		below = b
	}
	if w.leaving && w.written.base.leave && !j.IsZero() && j.TopicID == w.topic && w.written.base.from == j.From {
		w.leftFrom, w.leftUntil = j.From, nowMs+leftMs
		w.left()
	}
	return below
}

// Deleted takes the answer to a deletion below an offset.
func (w *Writer) Deleted(below int64, err error, nowMs int64) {
	if w.deletion.ended(below, err, nowMs) {
		w.stats.Deletions++
	}
}
