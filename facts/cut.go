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
func (l *Ledger) Cut(out []Write, leaderEpoch int32, all bool, nowMs int64) []Write {
	if all && l.mode == Metadata {
		l.foresee()
	}
	if l.mode != Journal || !l.usable || nowMs < l.retryAt {
		return out
	}
	if !l.written.snap.active && l.room() && (l.unwritten.gap || l.leaving && !l.written.base.leave || l.written.facts > max(l.written.base.bytes, int64(minSnapshot*l.limit))) {
		l.begin()
	}
	if all || l.unwritten.fresh.size() >= l.limit/cutShare {
		out = l.cutFacts(out, l.header(leaderEpoch))
	}
	return out
}

// WantsPart reports whether CutPart has something to cut: a snapshot is being written,
// and there is room in flight.
func (l *Ledger) WantsPart() bool {
	return l.mode == Journal && l.usable && l.written.snap.active && !l.written.snap.cut && l.room()
}

// CutPart appends the next part of the snapshot that is being written. The size of a
// record bounds its cost: under a millisecond.
func (l *Ledger) CutPart(out []Write, leaderEpoch int32) []Write {
	if !l.WantsPart() {
		return out
	}
	return l.cutPart(out, l.header(leaderEpoch))
}

func (l *Ledger) header(leaderEpoch int32) Header {
	return Header{Writer: l.writer, LeaderEpoch: leaderEpoch, Low: l.window.Low()}
}

// foresee enters the journal before a commit whose metadata would be too small. That
// commit then waits for the snapshot, instead of saying less than the one before it.
func (l *Ledger) foresee() {
	const perRun = 12 // characters that a run takes at most, nearly always
	if !l.usable || l.commit.empty || l.commit.limit == 0 || l.window.Runs()*perRun < l.commit.large {
		return
	}
	ext := offsets.Extension{Incarnation: l.id.Incarnation}
	if enc := offsets.Encode(l.window, l.id.Identity, ext, l.commit.limit); enc.Metadata != "" && (!enc.Complete || len(enc.Metadata) > l.commit.large) {
		l.enter()
	}
}

// room reports whether another record may be in flight.
func (l *Ledger) room() bool { return l.flights.bytes < maxFlying*l.limit }

// begin starts a snapshot: offsets that finish from here on are in a fact or in a part.
func (l *Ledger) begin() {
	l.written.begin(l.leaving)
	l.unwritten.snapshotBegins()
}

// cutFacts makes records of all fresh offsets if there is room in flight.
func (l *Ledger) cutFacts(out []Write, h Header) []Write {
	if l.unwritten.fresh.count == 0 || !l.room() {
		return out
	}
	h.Kind = Fact
	left := l.unwritten.take(h.Low)
	for len(left) > 0 {
		value := l.id.appendHeader(make([]byte, 0, min(l.limit, 256+8*len(left))), h)
		value, _, end := offsets.AppendRuns(value, h.Low, l.limit, each(left))
		f := flight{}
		for _, r := range left {
			if r.From < end {
				f.runs.add(r.From, min(r.To, end))
			}
		}
		left = beyond(left, end)
		out = l.fly(out, value, f)
	}
	return out
}

// cutPart makes the next part of the snapshot.
func (l *Ledger) cutPart(out []Write, h Header) []Write {
	h.Kind, h.Number, h.From = Snapshot, l.written.number, max(l.written.snap.next, h.Low)
	value := l.id.appendHeader(make([]byte, 0, l.limit), h)
	last := h.Low
	value, _, end := offsets.AppendRuns(value, h.Low, l.limit, func(f func(from, to int64) bool) {
		l.window.EachFrom(h.From, func(from, to int64) bool {
			last = to
			return f(from, to)
		})
	})
	l.written.snap.next = end
	if last == end { // nothing was left out
		l.written.snap.cut = true
		value[endWriter] = byte(LastPart)
	}
	return l.fly(out, value, flight{last: l.written.snap.cut, snap: l.written.number})
}

// fly hands a record out.
func (l *Ledger) fly(out []Write, value []byte, f flight) []Write {
	l.id.seal(value)
	f.first = l.unwritten.cut(f.runs.count)
	f.sum = binary.BigEndian.Uint32(value[endVersions:])
	return append(out, l.flights.add(f, value))
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
func (l *Ledger) Written(r Result, nowMs int64) {
	f, ok := l.flights.answered(r.Seq)
	if !ok {
		return // of a topic that is gone
	}
	if r.Err != nil || r.Offset < 0 {
		l.failed(&f, r.TooLarge, nowMs)
		return
	}
	l.stats.Records++
	l.stats.Bytes += int64(f.size)
	if r.Offset <= l.written.to { // an acknowledged record stood there: the journal was truncated
		l.forget()
		return
	}
	if l.written.acknowledged(&f, r.Offset) {
		l.stats.Snapshots++
		l.unwritten.snapshotEnds()
	}
}

// failed counts a failure, pauses cutting, and gives up the facts in hand for a snapshot.
func (l *Ledger) failed(f *flight, tooLarge bool, nowMs int64) {
	l.stats.Failures++
	l.retryAt = nowMs + retryMs
	if tooLarge && f.size <= l.limit && f.size > l.limit/2 {
		// The batch with other records may have been too large: halve once for all of them.
		l.limit = max(l.limit/2, l.least())
	}
	l.unwritten.lost += f.first
	l.open()
}
