package far

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"layover/journal/runs"
	"layover/offsets"
)

// list is the runs of a partition with copies that are not finished: those that are whole, and those
// that grow. It knows of each copy whether it is finished or taken; the rest of the log is the index's.
type list struct {
	window *offsets.Window // finished offsets; what is no copy is finished once it is known
	taken  *offsets.Window // the finished ones, and those of copies in memory

	entries []entry // by First, ascending
	growing map[stream]*growing
}

// entry is a run with copies that are not finished.
type entry struct {
	runs.Run
	// nextMs: no copy of the run that is neither finished nor taken is due before.
	nextMs int64
	// from is where the next visit begins at the earliest: each copy of the run below is finished
	// or taken.
	from int64
	// Of the copies from there up to seen, which were read, none that is neither finished nor taken is
	// due before seenMs. A visit may end in the middle of a sixteenth: behind says that what
	// nextMs is about is from seen on.
	seen, seenMs int64
	behind       bool

	listed bool // by a directory: this index has not seen what stands there
}

// begin returns where a visit begins that wants what is due at nextMs.
func (e *entry) begin(r *runs.Run) int64 {
	if e.behind {
		return max(r.Begin(e.nextMs), e.seen)
	}
	return e.front(r, e.nextMs)
}

// front returns an offset below which each copy is finished or taken, where none of the others is due before ms.
func (e *entry) front(r *runs.Run, ms int64) int64 { return max(r.Begin(ms), e.from) }

// nothing is the nextMs of a run that needs no visit.
const nothing = math.MaxInt64

// lookUp sets nextMs where nothing below offset needs a visit.
func (e *entry) lookUp(offset int64) {
	e.behind, e.seenMs = false, nothing
	if offset = max(offset, e.from); offset > e.Last {
		e.nextMs = nothing
		return
	}
	r := e.Run
	r.Position = max(r.Position, offset)
	e.nextMs = r.Soonest()
}

// Finished reports whether an offset is finished.
func (l *list) Finished(offset int64) bool { return l.window.Finished(offset) }

// untakenEnd returns where the stretch of untaken offsets ends that begins at an offset, to at most.
func (l *list) untakenEnd(at, to int64) int64 {
	l.taken.EachFrom(at, func(from, _ int64) bool {
		to = min(to, from)
		return false
	})
	return to
}

// untaken returns a run from its first copy on that is not taken, if there is one.
func (l *list) untaken(e *entry) (r runs.Run, ok bool) {
	r = e.Run
	r.Position = max(r.Position, e.from, l.taken.NextUnfinished(r.Position))
	return r, r.Position <= r.Last
}

// trim moves the positions of all runs, and forgets those that are finished.
func (l *list) trim() {
	n := 0
	for i := range l.entries {
		e := &l.entries[i]
		if e.Position = l.window.NextUnfinished(e.Position); e.Position > e.Last {
			continue
		}
		if n < i {
			l.entries[n] = *e
		}
		n++
	}
	clear(l.entries[n:])
	l.entries = slim(l.entries[:n])
}

// Runs returns the number of runs.
func (l *list) Runs() int { return len(l.entries) + len(l.growing) }

// Full reports whether there are so many runs that no more may begin.
func (l *list) Full() bool { return l.Runs() >= runs.MaxRuns }

// spareRuns is how many runs more there may be while others are moved together. No directory lists them all.
const spareRuns = 64

// Overfull reports whether there are so many runs that not even moving copies together may begin one.
func (l *list) Overfull() bool { return l.Runs() >= runs.MaxRuns+spareRuns }

// first returns the run that is due first, of those whose visits begin below an offset; -1 for none.
func (l *list) first(below int64) int {
	first, firstMs := -1, int64(nothing)
	for i := range l.entries {
		e := &l.entries[i]
		if e.nextMs >= firstMs {
			continue
		}
		if l.taken.NextUnfinished(e.Position) > e.Last {
			e.nextMs = nothing // others' visits have taken all
			continue
		}
		ms := e.nextMs
		if below < nothing {
			r, from := e.Run, int64(0)
			if from, ms = l.visitOf(e, &r, below); from >= below || ms >= firstMs {
				continue
			}
		}
		first, firstMs = i, ms
	}
	return first
}

// visitOf returns where the next visit of a run begins and when what it is for is due, and moves the position of its
// copy. Where nothing can be read from below on, it is for what stands in front of that, which was not due when it was
// read.
func (l *list) visitOf(e *entry, r *runs.Run, below int64) (from, dueMs int64) {
	r.Position = max(r.Position, l.taken.NextUnfinished(r.Position))
	if from = e.begin(r); e.behind && from >= below {
		return e.front(r, e.seenMs), e.seenMs
	}
	return from, e.nextMs
}

// inRun reports whether a run has a copy, or may have it. Runs of several writers may overlap; mostly it is the last
// that begins before.
func (l *list) inRun(f *Found) bool {
	behind := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].First > f.Offset })
	for i := behind - 1; i >= 0; i-- {
		if l.entries[i].mayHold(f) {
			return true
		}
	}
	for _, g := range l.growing {
		_, there := slices.BinarySearchFunc(g.copies, f.Offset, func(p place, offset int64) int { return cmp.Compare(p.offset, offset) })
		if there {
			return true
		}
	}
	return false
}

// visited says of the runs that a read has touched when they are visited again. Where room was short,
// nothing behind what was read is of use before that.
func (l *list) visited(from, to int64, found []Found, short bool) {
	for i := range l.entries {
		e := &l.entries[i]
		if e.First >= to {
			break
		}
		if e.Last < from || e.nextMs == nothing {
			continue
		}
		r := e.Run
		r.Position = max(r.Position, l.taken.NextUnfinished(r.Position))
		first, seenMs := to, int64(nothing)
		if r.Position <= r.Last && e.front(&r, e.nextMs) < from {
			if !e.behind || e.seen < from || to <= e.seen {
				continue // others in front were not read
			}
			first, seenMs = e.from, e.seenMs
		}
		for j := range found {
			f := &found[j]
			if e.mayHold(f) && !l.taken.Finished(f.Offset) {
				seenMs, first = min(seenMs, f.DeadlineMs), min(first, f.Offset)
			}
		}
		e.read(first, to, seenMs, l.taken.NextUnfinished(to))
		e.behind = e.behind && !short
	}
}

// read notes that a run was read up to an offset, and when what is left in front of it is due. The first
// offset behind it that is neither finished nor taken is next.
func (e *entry) read(first, to, seenMs, next int64) {
	e.lookUp(next)
	e.from, e.seen, e.seenMs = first, to, seenMs
	e.behind, e.nextMs = e.nextMs < seenMs, min(e.nextMs, seenMs)
}

// mayHold reports whether a copy that is not finished may be of the run: it stands among its
// copies, and is due among them.
func (e *entry) mayHold(f *Found) bool {
	return e.Position <= f.Offset && f.Offset <= e.Last && e.EarliestMs <= f.DeadlineMs && f.DeadlineMs <= e.LatestMs
}

// DueMs returns the latest instant by which all copies below the known end are finished that
// are due then, in Unix milliseconds: that of Said. A copy that is never due here may be due for a newer
// release, and nobody knows when.
func (l *list) DueMs() int64 {
	l.trim()
	ms := int64(nothing)
	for i := range l.entries {
		if e := &l.entries[i]; e.EarliestMs < ms || e.EarliestMs == nothing {
			ms = min(ms, knownMs(e.Soonest()))
		}
	}
	for _, g := range l.growing {
		ms = min(ms, knownMs(g.copies[0].deadlineMs))
	}
	return ms - 1
}

// knownMs returns a deadline, or the earliest one for a copy that is never due here.
func knownMs(ms int64) int64 {
	if ms == nothing {
		return 0
	}
	return ms
}

// Waiting adds up the copies that are neither finished nor taken, in runs: at most so many, as
// finished ones between others count. It returns the number of runs as well.
func (l *list) Waiting() (a runs.Amount, count int) { return l.Count(nil, nil) }

// Count is Waiting, and adds to due how many of the copies are due at each of some instants or before, at most. The
// instants, in Unix milliseconds, ascend. Each run is looked at once for all of them.
func (l *list) Count(ms, due []int64) (a runs.Amount, count int) {
	l.trim()
	instants, most := append(slices.Clone(ms), nothing), make([]int64, len(ms)+1)
	for i := range l.entries {
		e := &l.entries[i]
		r, ok := l.untaken(e)
		if !ok {
			continue
		}
		r.Most(instants, most)
		all := most[len(ms)]
		a.Copies, a.Bytes = a.Copies+all, a.Bytes+r.Share(all)
		for k := range ms {
			if e.nextMs <= ms[k] {
				due[k] += most[k]
			}
		}
	}
	for _, g := range l.growing {
		a.Copies, a.Bytes = a.Copies+int64(len(g.copies)), a.Bytes+g.bytes
		for k := range ms {
			due[k] += g.dueBy(ms[k])
		}
	}
	return a, l.Runs()
}

// NextMs returns an instant before which no copy is due that is neither finished nor taken, in Unix
// milliseconds. ok is false where there is no such copy, or none that is ever due.
func (l *list) NextMs() (ms int64, ok bool) {
	ms = nothing
	if i := l.first(nothing); i >= 0 {
		ms = l.entries[i].nextMs
	}
	for _, g := range l.growing {
		ms = min(ms, g.earliestMs)
	}
	return ms, ms < nothing
}

// FurthestMs returns the latest deadline of all runs, in Unix milliseconds; 0 where there is none,
// or none that is ever due.
func (l *list) FurthestMs() (ms int64) {
	for i := range l.entries {
		if last := l.entries[i].LatestMs; last < nothing {
			ms = max(ms, last)
		}
	}
	for _, g := range l.growing {
		if last := g.last().deadlineMs; last < nothing {
			ms = max(ms, last)
		}
	}
	return ms
}

// Overdue estimates how many copies in runs are neither finished nor taken though they are due at an
// instant, in Unix milliseconds. It is 0 where no visit is late, and else not. Runs that grow do not
// count.
func (l *list) Overdue(ms int64) (n int64) {
	for i := range l.entries {
		e := &l.entries[i]
		if r, ok := l.untaken(e); ok && e.nextMs <= ms {
			lower, _ := r.DueBy(ms)
			n += max(lower.Copies, 1)
		}
	}
	return n
}

// RunsDueBy returns how many runs have a copy that is neither finished nor taken and due at an instant or before.
func (l *list) RunsDueBy(ms int64) (n int) {
	for i := range l.entries {
		if l.entries[i].nextMs <= ms {
			n++
		}
	}
	for _, g := range l.growing {
		if g.earliestMs <= ms {
			n++
		}
	}
	return n
}

// DueBy adds up the copies in runs that are neither finished nor taken and due at an instant or
// before, in Unix milliseconds. There are at most so many.
func (l *list) DueBy(ms int64) (a runs.Amount) {
	instants, most := [1]int64{ms}, [1]int64{}
	for i := range l.entries {
		e := &l.entries[i]
		if e.nextMs > ms {
			continue
		}
		if r, ok := l.untaken(e); ok {
			r.Most(instants[:], most[:])
			a.Copies, a.Bytes = a.Copies+most[0], a.Bytes+r.Share(most[0])
		}
	}
	for _, g := range l.growing {
		n := g.dueBy(ms)
		a.Copies, a.Bytes = a.Copies+n, a.Bytes+g.bytes*n/int64(len(g.copies))
	}
	return a
}

// stays returns the first offset that is never finished, as a copy is there that is never due.
func (l *list) stays() (offset int64) {
	offset = math.MaxInt64
	for i := range l.entries {
		if e := &l.entries[i]; e.LatestMs == nothing { // trimmed, so its position is unfinished
			offset = min(offset, e.Position)
		}
	}
	for _, g := range l.growing {
		if g.last().deadlineMs == nothing {
			offset = min(offset, g.copies[0].offset)
		}
	}
	return offset
}
