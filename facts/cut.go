package facts

import (
	"encoding/binary"

	"layover/offsets"
)

// Cut appends the records that are to be written now. With all, what waits becomes a
// record however little it is. leaderEpoch is that of what is finished, as in a commit.
//
// The cost is that of what finished since the last call. The parts of a snapshot are
// CutPart's. nowMs is a clock that does not go back.
func (l *Ledger) Cut(out []Write, leaderEpoch int32, all bool, nowMs int64) []Write {
	if all && l.mode == Metadata {
		l.foresee()
	}
	if l.mode != Journal || !l.usable || nowMs < l.retryAt {
		return out
	}
	if !l.snap.active && l.room() && (l.gap || l.leaving && !l.base.leave || l.facts > max(l.base.bytes, int64(minSnapshot*l.limit))) {
		l.begin()
	}
	if all || l.fresh.size() >= l.limit/cutShare {
		out = l.cutFacts(out, l.header(leaderEpoch))
	}
	return out
}

// WantsPart says whether a snapshot is being written whose next part may be cut.
func (l *Ledger) WantsPart() bool {
	return l.mode == Journal && l.usable && l.snap.active && !l.snap.cut && l.room()
}

// CutPart appends the next part of a snapshot that is being written. Its cost is
// bounded by the size of a record: under a millisecond.
func (l *Ledger) CutPart(out []Write, leaderEpoch int32) []Write {
	if !l.WantsPart() {
		return out
	}
	return l.cutPart(out, l.header(leaderEpoch))
}

func (l *Ledger) header(leaderEpoch int32) Header {
	return Header{Writer: l.writer, LeaderEpoch: leaderEpoch, Low: l.window.Low()}
}

// foresee enters the journal before a commit that would have no room: it waits for the
// snapshot then, instead of saying less than the one before it.
func (l *Ledger) foresee() {
	const perRun = 12 // characters that a run takes at most, nearly always
	if !l.usable || l.mute || l.text == 0 || l.window.Runs()*perRun < l.most {
		return
	}
	ext := offsets.Extension{Incarnation: l.id.Incarnation}
	if enc := offsets.Encode(l.window, l.id.Identity, ext, l.text); enc.Metadata != "" && (!enc.Complete || len(enc.Metadata) > l.most) {
		l.enter()
	}
}

// room says whether another record may be in flight.
func (l *Ledger) room() bool { return l.flown < maxFlying*l.limit }

// begin starts a snapshot: from here on what finishes is in a fact or in a part.
func (l *Ledger) begin() {
	l.number++
	l.snap = snapshot{active: true, from: -1, leave: l.leaving}
	if l.gap {
		l.fresh.reset()
		l.lostBefore = l.lost
	}
}

// cutFacts makes records of all that waits, as far as there is room in flight.
func (l *Ledger) cutFacts(out []Write, h Header) []Write {
	if l.fresh.count == 0 || !l.room() {
		return out
	}
	h.Kind = Fact
	left := merge(l.fresh.appendTo(nil, int(l.fresh.count)), h.Low)
	l.below += l.fresh.count
	for _, r := range left {
		l.below -= r.To - r.From
	}
	l.below = max(l.below, 0)
	l.fresh.reset()
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
	h.Kind, h.Number, h.From = Snapshot, l.number, max(l.snap.next, h.Low)
	value := l.id.appendHeader(make([]byte, 0, l.limit), h)
	last := h.Low
	value, _, end := offsets.AppendRuns(value, h.Low, l.limit, func(f func(from, to int64) bool) {
		l.window.EachFrom(h.From, func(from, to int64) bool {
			last = to
			return f(from, to)
		})
	})
	l.snap.next = end
	if last == end { // nothing was left out
		l.snap.cut = true
		value[endWriter] = byte(LastPart)
	}
	return l.fly(out, value, flight{last: l.snap.cut, snap: l.number})
}

// fly hands a record out.
func (l *Ledger) fly(out []Write, value []byte, f flight) []Write {
	l.id.seal(value)
	l.seq++
	f.news, l.below = l.below+f.runs.count, 0
	f.seq, f.size, f.sum = l.seq, len(value), binary.BigEndian.Uint32(value[endVersions:])
	f.runs.close()
	l.flying = append(l.flying, f)
	l.flown += f.size
	return append(out, Write{l.seq, value})
}

// Result is how a record's writing ended.
type Result struct {
	Seq    uint64
	Offset int64 // in the journal
	Err    error
	// TooLarge: the topic takes less than it was said to.
	TooLarge bool
}

// Written takes the answer for one record. What is not known to be written is written
// anew, as a snapshot: facts that come twice do no harm.
func (l *Ledger) Written(r Result, nowMs int64) {
	i := 0
	for i < len(l.flying) && l.flying[i].seq != r.Seq {
		i++
	}
	if i == len(l.flying) {
		return // of a topic that is gone
	}
	f := l.flying[i]
	l.flying = append(l.flying[:i], l.flying[i+1:]...)
	if len(l.flying) == 0 {
		l.flying = nil
	}
	l.flown -= f.size
	if r.Err != nil || r.Offset < 0 {
		l.failed(&f, r.TooLarge, nowMs)
		return
	}
	l.stats.Records++
	l.stats.Bytes += int64(f.size)
	if r.Offset <= l.to { // what stood there is gone: the journal was truncated
		l.forget()
		return
	}
	l.to, l.sum = r.Offset, f.sum
	switch {
	case f.snap == 0:
		l.facts += int64(f.size)
		l.snap.facts += int64(f.size)
	case f.snap == l.number && l.snap.active:
		l.snap.bytes += int64(f.size)
		if l.snap.from < 0 {
			l.snap.from = r.Offset
		}
		if f.last {
			l.complete()
		}
	}
}

func (l *Ledger) failed(f *flight, tooLarge bool, nowMs int64) {
	l.stats.Failures++
	l.retryAt = nowMs + retryMs
	if tooLarge && f.size <= l.limit && f.size > l.limit/2 {
		// It may have been the batch that it was in with others: once for all of it.
		l.limit = max(l.limit/2, l.least())
	}
	l.lost += f.news
	l.open()
}

// complete ends a snapshot all of whose parts were acknowledged: parts are, one after
// the other, or one has failed.
func (l *Ledger) complete() {
	l.stats.Snapshots++
	l.base = base{ok: true, from: l.snap.from, bytes: l.snap.bytes, leave: l.snap.leave}
	l.facts = l.snap.facts
	l.lost -= l.lostBefore
	l.gap, l.snap, l.lostBefore = false, snapshot{}, 0
}
