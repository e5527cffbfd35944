package purgatory

import (
	"sort"

	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory/far"
)

// RunsOutlook is what waits in runs topics, as of the last look. Of very many runs a part is some looks older.
type RunsOutlook struct {
	// Copies and Bytes are those of copies that wait, at most so many. A run tells only in part
	// how many of its copies are finished.
	Copies, Bytes int64
	// DueWithin counts Copies, and the records on their way, by horizon. They are in Outlook.DueWithin,
	// too.
	DueWithin  [len(Horizons)]int64
	NextDueMs  int64 // none of them is due before; 0: there is none
	Partitions []RunsView
	lateMs     int64 // as NextDueMs, of partitions that have overdue copies and can be read
}

// RunsView is the runs of one assigned partition.
type RunsView struct {
	offsets.TopicPartition
	Known  bool // its runs topic was asked about; otherwise all is 0
	Holds  bool // it is not Known, and the last commit says that copies may wait there: they are late once they are due
	Runs   int
	Copies int64 // that wait, at most so many
	Bytes  int64 // of those
	// Overdue estimates the copies that are due and not read yet; 0 where no visit is late.
	Overdue    int64
	FurthestMs int64 // latest deadline of the runs, and of what is on its way; 0: there is none
	// LogBytes estimates what the runs partition's log holds: its offsets, by the average size
	// of a copy.
	LogBytes int64
	// GapSinceMs is when a look first saw the present gap begin where it does, in Unix milliseconds; 0: there is none.
	// Nobody has read what stands in it, so copies that wait there count nowhere in here. Reading moves where it begins.
	GapSinceMs int64
	Full       bool // it has so many runs that nothing more is moved
	// FullSinceMs is when Full was first seen, in Unix milliseconds; 0 while it is not. A look is taken when somebody
	// asks, every second at most, and of very many runs at a part.
	FullSinceMs int64
}

// RunsPace is how the owner of a core moves records and reads them back, for it to fill in.
type RunsPace struct {
	HorizonMs  int64     // what is due within it is not moved
	AheadMs    int64     // copies are read so long before they are due
	Visits     int64     // answered
	LateVisits int64     // of them, those that brought a copy that was due already
	LastLateMs int64     // when the last of those was answered, in Unix milliseconds; 0: none was
	Took       Histogram // LatenessBounds
}

// Observe counts a visit that took so long.
func (p *RunsPace) Observe(tookMs int64, late bool) {
	p.Visits++
	if late {
		p.LateVisits++
	}
	p.Took.observe(&LatenessBounds, tookMs)
}

// runsLookEvery is the least time between two looks at the runs. A look costs some for the copies in flight.
const runsLookEvery = 1000

// runsLookMost is how many runs one look is about, and those of one partition beyond: a few milliseconds, see
// BenchmarkALookAtRuns. Nothing is delivered meanwhile. Where there are more, the next look goes on with them. With the
// most runs that 32 partitions may have, what is told of each is up to eight looks old.
const runsLookMost = 4 * runs.MaxRuns

// lookAtRuns completes an outlook with the runs, as of the last second. Of very many a part is older.
func (c *Core) lookAtRuns(o *Outlook) {
	r := &c.runs
	if r.lookedMs == 0 || c.now.MonotonicMs-r.lookedMs >= runsLookEvery {
		r.lookedMs, r.seen = max(c.now.MonotonicMs, 1), c.runs.outlook()
	}
	o.Runs = r.seen
	o.Runs.Partitions = append([]RunsView(nil), r.seen.Partitions...)
	for i, n := range r.seen.DueWithin {
		o.DueWithin[i] += n
	}
	for i := range r.seen.Partitions {
		if r.seen.Partitions[i].Overdue > 0 {
			o.overdue(r.seen.NextDueMs, c.now.WallMs, true)
		}
	}
	o.overdue(r.seen.lateMs, c.now.WallMs, false)
}

// gathered counts records by their deadlines, which ascend.
func (o *RunsOutlook) gathered(list []waiting, nowMs int64) {
	for i, within := range Horizons {
		o.DueWithin[i] += int64(sort.Search(len(list), func(j int) bool { return list[j].deadlineMs-nowMs > within }))
	}
	o.next(list[0].deadlineMs)
}

// next notes that something is due, not before an instant.
func (o *RunsOutlook) next(ms int64) { o.NextDueMs = oldest(o.NextDueMs, ms) }

// full notes whether a look has found that there are too many runs.
func (m *moved) full(is bool, nowMs int64) {
	switch {
	case !is:
		m.fullSinceMs = 0
	case m.fullSinceMs == 0:
		m.fullSinceMs = nowMs
	}
}

// gap notes the gap that a look has found, if there is one, and returns since when it begins where it does.
func (m *moved) gap(nowMs int64) (sinceMs int64) {
	from, is := int64(0), false
	if m.index != nil {
		from, _, is = m.index.Gap()
	}
	switch {
	case !is:
		m.gapSinceMs = 0
	case m.gapSinceMs == 0 || from != m.gapFrom:
		m.gapFrom, m.gapSinceMs = from, nowMs
	}
	return m.gapSinceMs
}

// runsSeen is what the last look at a partition has found.
type runsSeen struct {
	of        *far.Index // nil: nothing was known
	view      RunsView
	dueWithin [len(Horizons)]int64
	nextMs    int64 // as in RunsOutlook
}

// look looks at the runs of a partition. It returns how many there are.
func (p *partition) look(nowMs int64) int {
	m := &p.moved
	x, s := m.index, &m.seen
	*s = runsSeen{of: x, view: RunsView{TopicPartition: p.TopicPartition, Holds: x == nil && p.Runs.Holds, GapSinceMs: m.gap(nowMs)}}
	if x == nil {
		return 0
	}
	instants := Horizons
	for i := range instants {
		instants[i] += nowMs
	}
	a, n := x.Count(instants[:], s.dueWithin[:])
	v := &s.view
	v.Known, v.Runs, v.Copies, v.Bytes, v.LogBytes, v.Full = true, n, a.Copies, a.Bytes, x.LogBytes(), x.Full()
	m.full(v.Full, nowMs)
	v.FullSinceMs = m.fullSinceMs
	v.Overdue, v.FurthestMs = x.Overdue(nowMs), x.FurthestMs()
	if ms, ok := x.NextMs(); ok {
		s.nextMs = ms
	}
	return n
}

// lookOn looks at the runs of partitions, runsLookMost of them, and goes on where the last one has ended.
func (r *Runs) lookOn() {
	left, next := runsLookMost, -1
	for i := range r.parts.list {
		slot := (r.lookFrom + i) % len(r.parts.list)
		p := r.parts.list[slot]
		switch {
		case p == nil || p.src.gone:
		case left > 0 || p.moved.index == nil:
			left -= p.look(r.now.WallMs)
		case next < 0:
			next = slot
		}
	}
	r.lookFrom = max(next, 0)
}

// outlook adds up the runs of all partitions, and what is on its way there.
func (r *Runs) outlook() (o RunsOutlook) {
	r.lookOn()
	furthest := make(map[*partition]int64)
	for i := range r.flying {
		if c := &r.flying[i]; c.from != nil && !c.from.gone && !c.given {
			p := r.parts.list[c.from.slot]
			o.gathered([]waiting{{c.loc, c.deadlineMs}}, r.now.WallMs)
			furthest[p] = max(furthest[p], c.deadlineMs)
		}
	}
	for p := range r.parts.here() {
		s := &p.moved.seen
		if s.of != p.moved.index { // it has begun since it was looked at
			*s = runsSeen{view: RunsView{TopicPartition: p.TopicPartition, Holds: p.Runs.Holds}}
		}
		v := s.view
		v.FurthestMs = max(v.FurthestMs, furthest[p])
		for _, list := range p.moved.gathered {
			o.gathered(list, r.now.WallMs)
			v.FurthestMs = max(v.FurthestMs, list[len(list)-1].deadlineMs)
		}
		o.Copies, o.Bytes = o.Copies+v.Copies, o.Bytes+v.Bytes
		for i, n := range s.dueWithin {
			o.DueWithin[i] += n
		}
		if s.nextMs != 0 {
			o.next(s.nextMs)
		}
		if v.Overdue > 0 && !p.moved.unread {
			o.lateMs = oldest(o.lateMs, s.nextMs)
		}
		o.Partitions = append(o.Partitions, v)
	}
	return o
}
