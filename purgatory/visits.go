package purgatory

import (
	"math"
	"time"

	"layover/offsets"
	"layover/purgatory/far"
)

// Visit asks for the copies of a runs partition to be read; the answer goes to Take or to
// Unread. There is one at a time for each partition.
type Visit struct {
	offsets.Assignment
	From, To    int64 // To is not included
	LeaderEpoch int32 // the highest that was seen
	Due         bool  // it is for copies that are due: another one reads a gap, a whole run or nothing
	Whole       bool  // it takes all copies, whenever they are due: see Cleanings
	Most        int64 // bytes of copies at which the reader may end it; 0: the reader knows
	Bytes       int64 // of the copies there, about, before compression; 0: not known
	index       *far.Index
	end         int64 // of what the index knew when the visit began
}

// Visited is the answer to a Visit.
type Visited struct {
	Visit
	Until int64       // it was read up to here, at most to Visit.To
	Found []far.Found // the copies there, ascending
	// Highest is the highest leader epoch of what was read, and of the log where it ends below
	// Visit.From. If it is above the visit's, End is where the log of the visit's epoch ends.
	Highest int32
	End     int64
	// Ended: nothing was read, as the log ends at LogEnd.
	Ended   bool
	LogEnd  int64
	Damaged []int64 // offsets of records that were copies and cannot be read: they are lost

	// Of the reader, for the caller: see Renewed, LogStart and Unread.
	TopicID offsets.TopicID // the topic's, if it is another one by now
	Start   int64           // where the log begins, if that is above the first offset wanted
	Err     error           // the visit failed
	Took    time.Duration
	Waited  time.Duration // for its turn, before that
}

// reading is what a partition asks and reads next in its runs topic.
type reading struct {
	// asks: a flush has ended. Its acknowledgements tell no leader epoch, so the log is asked for it.
	// Otherwise the first visit after an election would have all read again that was moved since.
	asks        bool
	asksAfter   int64 // Clock.MonotonicMs: not asked before
	gapNext     bool  // a visit was the last one: a gap comes first now
	visiting    bool
	visitsAfter int64 // Clock.MonotonicMs: no visit before
	roomless    bool  // that is because the last visit found no room
	unread      bool  // the last visit failed
	// Before endsUntil, in Clock.MonotonicMs, nothing is read from endsAt on: the log that was asked ended there.
	endsAt, endsUntil int64
}

// MostVisit is the bytes of records at which a visit ends early at the latest; the next one goes on.
const MostVisit = 2 << 20

// visitAgainMs is how long after a visit that failed, or found no room, the next one begins.
const visitAgainMs = 1000

// Visits appends to out the visits that are to begin now. A visit reads a gap, which nobody has
// read, or it reads copies. Some of these are due within soonMs, and it reads up to those that
// are due within aheadMs. A visit of no offset asks which log it is: Highest and End of its
// answer count.
func (r *Runs) Visits(out []Visit, soonMs, aheadMs int64) []Visit {
	for p := range r.parts.here() {
		if v, ok := r.begin(p, soonMs, aheadMs); ok {
			out = append(out, v)
		}
	}
	return out
}

// VisitOf is Visits for one assignment, for which there is room: one that found none waits no longer. Its cost grows
// with the runs of that partition alone.
func (r *Runs) VisitOf(a offsets.Assignment, soonMs, aheadMs int64) (v Visit, ok bool) {
	if p := r.parts.find(a.TopicPartition, a.Epoch); p != nil {
		if m := &p.moved; m.roomless {
			m.roomless, m.visitsAfter = false, 0
		}
		return r.begin(p, soonMs, aheadMs)
	}
	return Visit{}, false
}

// begin begins the visit of a partition, if there is one.
func (r *Runs) begin(p *partition, soonMs, aheadMs int64) (Visit, bool) {
	m := &p.moved
	if m.index == nil || m.visiting || p.src.draining || r.now.MonotonicMs < m.visitsAfter {
		return Visit{}, false
	}
	below := m.below(r.now.MonotonicMs)
	from, to, gap := m.index.Gap()
	gap = gap && from < below
	v, ok := m.index.NextBelow(r.now.WallMs+aheadMs, below)
	ok = ok && v.DueMs <= r.now.WallMs+soonMs && p.src.waiting.count == 0 // others would only wait for membership, too
	due, bytes := false, int64(0)
	switch {
	case m.doubtful || m.asks && r.now.MonotonicMs >= m.asksAfter: // nothing is read: the answer tells of which log it is
		from, to, ok, m.asks = m.index.Known(), m.index.Known(), true, false
	case ok && !(gap && m.gapNext): // in turn, as neither may wait for the other
		from, to, bytes, due, m.gapNext = v.From, v.To, v.Bytes, true, true
	default:
		ok, m.gapNext = gap, false
	}
	if !ok {
		return Visit{}, false
	}
	m.visiting = true
	begun := m.visit(p.Assignment, from, to)
	begun.Due, begun.Bytes = due, bytes
	return begun, true
}

// ends notes that nothing can be read from an offset on. For a second the copies below go first.
func (m *reading) ends(offset, nowMs int64) { m.endsAt, m.endsUntil = offset, nowMs+visitAgainMs }

// below returns the offset from which on nothing is read for the moment.
func (m *reading) below(nowMs int64) int64 {
	if nowMs < m.endsUntil {
		return m.endsAt
	}
	return math.MaxInt64
}

// visit returns a visit that begins now.
func (m *moved) visit(a offsets.Assignment, from, to int64) Visit {
	return Visit{Assignment: a, From: from, To: to, LeaderEpoch: m.index.LeaderEpoch(), index: m.index, end: m.index.End()}
}

// Take takes the answer to a visit. It appends to take the indices of the copies that Load is
// owed: they are due within aheadMs, and take room bytes at most. An answer of an assignment that
// is over is dropped. So is one of a log that was truncated below what is known of it. Its copies
// count again with the next Begin, which renewed asks for.
func (r *Runs) Take(v *Visited, aheadMs, room int64, take []int) (taken []int, renewed bool) {
	p := r.visited(&v.Visit)
	if p == nil {
		return take, false
	}
	m := &p.moved
	if v.stale() {
		m.asks, m.asksAfter = true, r.now.MonotonicMs+visitAgainMs
		if m.doubtful {
			m.visitsAfter = m.asksAfter
		}
		m.ends(v.LogEnd, r.now.MonotonicMs)
		return take, false
	}
	if lost, truncated := m.index.Raise(v.Highest, v.End); truncated {
		r.renew(p, v.End, lost)
		return take, true
	}
	if v.Ended {
		if lost, cut := m.index.Ends(v.LogEnd, v.end); cut {
			r.renew(p, v.LogEnd, lost)
			return take, true
		}
	}
	m.doubtful = m.doubtful && v.From < v.To
	m.unread = m.unread && v.From == v.To
	if v.From > m.index.Known() { // Raise has found that less is known than was when it was asked for
		return take, false
	}
	for _, offset := range v.Damaged {
		m.index.Damaged(offset)
	}
	before, untilMs := len(take), r.now.WallMs+aheadMs
	if v.Whole {
		untilMs = math.MaxInt64 - 1 // what is for nobody here is never due
	}
	take = m.index.Read(v.From, v.Until, v.Found, untilMs, room, take)
	r.lose(p, m.index.Lost())
	next, ok := m.index.Next(r.now.WallMs + aheadMs)
	ok = ok && next.DueMs <= r.now.WallMs+aheadMs && next.From == v.From && v.From < v.To
	switch {
	case v.Until == v.From && v.From < v.To && !v.Whole: // nothing can be read there
		m.ends(v.From, r.now.MonotonicMs)
	case len(take) == before && (ok || v.Whole): // there was no room
		m.visitsAfter, m.roomless = r.now.MonotonicMs+visitAgainMs, true
	}
	p.commit.dirty = true
	return take, false
}

// stale reports whether the answer is of a leader that does not know that there is another one: its log ends below
// what was acknowledged. A log is cut in a later leader epoch alone. So the leader of the last known one is believed
// where all that it lacks was acknowledged before that was known.
func (v *Visited) stale() bool {
	return v.Ended && v.LogEnd < v.end && (v.Highest < v.LeaderEpoch || v.Highest == v.LeaderEpoch && !v.index.DoubtsFrom(v.LogEnd))
}

// Unread takes a visit that failed. It begins again after a second: also a question, as nothing else may ask it.
func (r *Runs) Unread(v Visit) {
	p := r.visited(&v)
	if p == nil {
		return
	}
	m, again := &p.moved, r.now.MonotonicMs+visitAgainMs
	if v.From == v.To {
		m.asks, m.asksAfter = true, again
	}
	if m.doubtful || v.From < v.To {
		m.visitsAfter, m.unread = again, true
	}
}

// LogStart notes that the log of a runs partition begins at an offset now. What was not read below
// it is gone, and counted. A visit has told it.
func (r *Runs) LogStart(v *Visit, offset int64) {
	if p := r.parts.find(v.TopicPartition, v.Epoch); p != nil && p.moved.index == v.index && v.index != nil {
		r.lose(p, p.moved.index.Start(offset))
		p.commit.dirty = true
	}
}

// visited ends a visit. It returns nil where nobody waits for its answer any more.
func (r *Runs) visited(v *Visit) *partition {
	p := r.parts.find(v.TopicPartition, v.Epoch)
	if p == nil || p.moved.index != v.index || v.index == nil {
		return nil
	}
	p.moved.visiting, p.moved.roomless = false, false
	return p
}

// Loader returns the intake of an assignment's copies; ok is false when the partition has
// moved on. One that has stopped reading ingress takes them.
func (c *Core) Loader(a offsets.Assignment) (r Reader, ok bool) {
	p := c.parts.find(a.TopicPartition, a.Epoch)
	return Reader{c, p}, p != nil
}

// Load parks a copy that Take has chosen, as its rules judge it now, with the offset and the
// deadline of its origin. It is no command, and none finds it.
func (r Reader) Load(copyAt int64, a *Arrival) {
	a.loaded, a.ID, a.Cancel = copyAt+1, nil, false
	r.core.stats.Loaded++
	switch {
	case a.Reason == "":
		r.add(a, 0)
	case r.core.cfg.OnInvalid == Halt: // it stays unfinished
		r.core.stats.Unfinished++
		r.part.moved.halted.Finish(copyAt + 1)
		r.stop(a)
	default:
		r.judge(a)
	}
}
