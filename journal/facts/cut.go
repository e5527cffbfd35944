package facts

import (
	"encoding/binary"

	"layover/offsets"
)

// Cut appends the facts that are to be written now, and may begin a snapshot, whose parts
// CutPart cuts. With all, even a single offset becomes a record. leaderEpoch is that of
// the finished offsets, as in a commit. nowMs is a clock that does not go back.
//
// The cost grows with the number of runs that finished since the last call.
func (w *Writer) Cut(out []Write, leaderEpoch int32, all bool, nowMs int64) []Write {
	if all && w.mode == InMetadata {
		w.foresee()
	}
	if w.mode != InJournal || !w.usable || nowMs < w.retryAt {
		return out
	}
	if !w.written.snap.active && w.room() && (w.unwritten.gap || w.refresh || w.leaving && !w.written.base.leave || w.written.facts > max(w.written.base.bytes, int64(minSnapshot*w.limit))) {
		w.begin()
	}
	if all || w.unwritten.fresh.size() >= w.limit/cutShare {
		out = w.cutFacts(out, w.header(leaderEpoch))
	}
	return out
}

// WantsPart reports whether CutPart has something to cut: a snapshot is being written,
// and there is room in flight.
func (w *Writer) WantsPart() bool {
	return w.mode == InJournal && w.usable && w.written.snap.active && !w.written.snap.cut && w.room()
}

// CutPart appends the next part of the snapshot that is being written. The size of a
// record bounds its cost: under a millisecond.
func (w *Writer) CutPart(out []Write, leaderEpoch int32) []Write {
	if !w.WantsPart() {
		return out
	}
	return w.cutPart(out, w.header(leaderEpoch))
}

func (w *Writer) header(leaderEpoch int32) Header {
	return Header{Writer: w.number, LeaderEpoch: leaderEpoch, Low: w.window.Low()}
}

// foresee enters the journal before a commit whose metadata would be too small. That
// commit then waits for the snapshot, instead of saying less than the one before it.
func (w *Writer) foresee() {
	const perRun = 12 // characters that a run takes at most, nearly always
	if !w.usable || w.commit.empty || w.commit.limit == 0 || w.window.Runs()*perRun < w.commit.large-w.commit.copies.Characters() {
		return
	}
	ext := offsets.Extension{Incarnation: w.id.Incarnation, Runs: w.commit.copies}
	if enc := offsets.Encode(w.window, w.id.Identity, ext, w.commit.limit); enc.Metadata != "" && (!enc.Complete || len(enc.Metadata)-ext.Runs.Characters() > w.commit.large) {
		w.enter()
	}
}

// room reports whether another record may be in flight.
func (w *Writer) room() bool { return w.flights.bytes < maxFlying*w.limit }

// begin starts a snapshot: offsets that finish from here on are in a fact or in a part.
func (w *Writer) begin() {
	w.refresh = false
	w.written.begin(w.leaving)
	w.unwritten.snapshotBegins()
}

// cutFacts makes records of all fresh offsets if there is room in flight. Those that the low offset has
// passed need none: a commit tells it. A set that the journal alone has gets one that tells it.
func (w *Writer) cutFacts(out []Write, h Header) []Write {
	if w.unwritten.fresh.count == 0 || !w.room() {
		return out
	}
	h.Kind = Fact
	left := w.unwritten.take(h.Low)
	for low := w.only; len(left) > 0 || low; low = false {
		value := w.id.appendHeader(make([]byte, 0, min(w.limit, 256+8*len(left))), h)
		value, _, end := offsets.AppendRuns(value, h.Low, w.limit, each(left))
		f := flight{}
		for _, r := range left {
			if r.From < end {
				f.runs.add(r.From, min(r.To, end))
			}
		}
		left = beyond(left, end)
		out = w.fly(out, value, f)
	}
	return out
}

// cutPart makes the next part of the snapshot.
func (w *Writer) cutPart(out []Write, h Header) []Write {
	h.Kind, h.Number, h.From = Snapshot, w.written.number, max(w.written.snap.next, h.Low)
	value := w.id.appendHeader(make([]byte, 0, w.limit), h)
	last := h.Low
	value, _, end := offsets.AppendRuns(value, h.Low, w.limit, func(f func(from, to int64) bool) {
		w.window.EachFrom(h.From, func(from, to int64) bool {
			last = to
			return f(from, to)
		})
	})
	w.written.snap.next = end
	if last == end { // nothing was left out
		w.written.snap.cut = true
		value[endWriter] = byte(LastPart)
	}
	return w.fly(out, value, flight{last: w.written.snap.cut, snap: w.written.number})
}

// Low returns the highest low offset in an acknowledged record: a restart that finds the
// journal finds everything below finished.
func (w *Writer) Low() int64 { return w.written.low }

// fly hands a record out.
func (w *Writer) fly(out []Write, value []byte, f flight) []Write {
	w.id.seal(value)
	f.first = w.unwritten.cut(f.runs.count)
	f.low = w.window.Low()
	f.sum = binary.BigEndian.Uint32(value[endVersions:])
	return append(out, w.flights.add(f, value))
}

// Result is the outcome of writing one record.
type Result struct {
	Seq    uint64
	Offset int64 // in the journal
	Err    error
	// TooLarge: the topic refused the record for its size, which is below the known limit.
	TooLarge bool
}

// Written takes the answer for one record. After a failure the whole set is written as a
// snapshot, whether the record is there or not: facts that come twice do no harm.
func (w *Writer) Written(r Result, nowMs int64) {
	f, ok := w.flights.answered(r.Seq)
	if !ok {
		return // of a topic that is gone
	}
	if r.Err != nil || r.Offset < 0 {
		w.failed(&f, r.TooLarge, nowMs)
		return
	}
	w.stats.Records++
	w.stats.Bytes += int64(f.size)
	if r.Offset <= w.written.to { // an acknowledged record stood there: the journal was truncated
		w.forget()
		return
	}
	if w.written.acknowledged(&f, r.Offset) {
		w.stats.Snapshots++
		w.unwritten.snapshotEnds()
	}
}

// failed counts a failure, pauses cutting, and gives up the facts in hand for a snapshot.
func (w *Writer) failed(f *flight, tooLarge bool, nowMs int64) {
	w.stats.Failures++
	w.retryAt = nowMs + retryMs
	if tooLarge && f.size <= w.limit && f.size > w.limit/2 {
		// The batch with other records may have been too large: halve once for all of them.
		w.limit = max(w.limit/2, w.least())
	}
	w.unwritten.lost += f.first
	w.open()
}
