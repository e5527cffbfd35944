package far

import (
	"math"
	"slices"

	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
)

// Said is what the last commit says of a runs partition; the zero value is nothing.
type Said struct {
	// Known is the known end: copies below it that are due by DueMs are finished.
	Known int64
	DueMs int64 // Unix milliseconds
}

// Beginning is what an index begins with.
type Beginning struct {
	Writer uint64          // unique to the assignment
	Window *offsets.Window // the finished offsets; the index's from now on
	Facts  *facts.Writer   // has finished offsets written to the journal; nil: nobody has
	Said   Said
	// LeaderEpoch is that of the log's end, as the assignment found it.
	LeaderEpoch int32
}

// New returns an index that knows nothing but finished offsets. Adopt and Log tell it the rest,
// in this order.
func New(b Beginning) *Index {
	x := &Index{writer: b.Writer, said: b.Said, facts: b.Facts, epoch: b.LeaderEpoch, directory: -1, early: make(map[int64]int64),
		list: list{window: b.Window, taken: offsets.NewWindow(b.Window.Low()), growing: make(map[stream]*growing)}}
	x.known = b.Window.Low()
	b.Window.Each(func(from, to int64) bool {
		x.taken.FinishRange(from, to)
		return true
	})
	return x
}

// Adopt takes a directory, which stands at an offset, in place of reading what is below its end. What could not
// be read then is read again, with all behind it: a later release may be able to, or a larger memory bound.
func (x *Index) Adopt(d *runs.Directory, offset int64) {
	at, unread := x.known, int64(math.MaxInt64)
	for _, r := range d.Runs {
		x.finish(at, min(r.Position, d.End))
		at = max(at, r.Last+1)
		e := entry{Run: r, listed: true}
		e.lookUp(max(r.Position, x.taken.Low()))
		x.entries = append(x.entries, e)
		if r.EarliestMs == nothing && r.Number != Foreign {
			unread = min(unread, r.First)
		}
	}
	x.finish(at, d.End)
	x.known = max(x.known, d.End)
	x.directory = offset
	x.forget(unread)
}

// forget has the log read from an offset on as if nothing were known of runs there. Those that reach there are
// read again from their beginning: what is left of one is not known otherwise. It returns where reading
// begins.
func (x *Index) forget(from int64) int64 {
	for i := len(x.entries) - 1; i >= 0; i-- { // they ascend by First, so one pass finds all that overlap
		if e := &x.entries[i]; e.Last >= from {
			from = min(from, e.First)
		}
	}
	x.entries = slices.DeleteFunc(x.entries, func(e entry) bool { return e.First >= from })
	x.known = max(min(x.known, from), x.window.Low())
	return from
}

// Log takes the bounds of the log at the beginning of the assignment: what it holds beyond the
// known end is to be read. It returns how many offsets are gone, see Start.
func (x *Index) Log(b offsets.Bounds) (lost int64) {
	x.until = x.said.Known // of what is gone, that much was there
	lost = x.Start(b.Start)
	x.until, x.sure = b.End, b.End
	x.deletion.done = b.Start
	return lost
}

// Start notes that the log begins at an offset now. It returns how many offsets are gone that
// were in the log and neither finished nor taken: each may have been a copy.
func (x *Index) Start(offset int64) (lost int64) {
	lost = x.finish(x.window.Low(), min(offset, max(x.top(), x.until)))
	x.finish(x.known, offset)
	x.known = max(x.known, offset)
	x.doubts.begin(offset) // lost has them
	x.absorb()
	for i := range x.entries {
		if e := &x.entries[i]; e.First < offset {
			e.lookUp(x.taken.NextUnfinished(e.Position))
		}
	}
	return lost
}

// LeaderEpoch returns the highest leader epoch that was seen: finished offsets are about the
// log of epochs up to it.
func (x *Index) LeaderEpoch() int32 { return x.epoch }

// Raise takes a leader epoch that was read, and where the log of LeaderEpoch ends. Truncated:
// the log ended below what is sure or finished, so the index may be about another log. It is to be
// replaced, and lost is how many offsets from there on were neither finished nor taken. Where it ended
// above, what was acknowledged is read again and compared: see Lost.
func (x *Index) Raise(epoch int32, end int64) (lost int64, truncated bool) {
	if epoch <= x.epoch {
		return 0, false
	}
	if end < x.sure {
		return x.cut(end), true
	}
	x.doubts.raise(end, x.window.Finished)
	if end < x.window.Low() { // an own directory, and the low offset cannot go back
		return 0, true
	}
	x.epoch = epoch
	if top := x.top(); end < top {
		x.reread(end, top)
	}
	return 0, false
}

// reread has the offsets from (included) to to (not included) read as if they had not been heard
// of. They were acknowledged, and nobody knows in which leader epoch: others may stand there. A directory that
// lists some of it is of an earlier leader epoch than they are, and no start believes it: another one is wanted.
func (x *Index) reread(from, to int64) {
	x.Seal()
	if x.window.ClipAbove(from) > 0 && x.facts != nil { // directories
		x.facts.Lose()
	}
	x.taken.ClipAbove(from)
	x.heard, x.newCopies = max(x.heard, x.known), true
	x.until = max(x.until, to)
	x.clipIslands(x.forget(from))
}

// clipIslands forgets the islands from an offset on. Those below stand in runs, and reading ends in front of them.
func (x *Index) clipIslands(from int64) {
	i, within := x.island(from)
	if within && x.islands[i].from < from {
		x.islands[i].to = from
		i++
	}
	x.islands = x.islands[:i]
}

// Writer returns the number that is unique to the index.
func (x *Index) Writer() uint64 { return x.writer }

// top returns the end of what the index knows.
func (x *Index) top() int64 {
	if n := len(x.islands); n > 0 {
		return x.islands[n-1].to
	}
	return x.known
}

// End returns the end of what the index knows of the log, or has to read.
func (x *Index) End() int64 { return max(x.top(), x.until) }

// Ends takes where the log ends, of the leader epochs up to LeaderEpoch: it was asked for when End was
// before. Cut: the log lacks what the index knew of it then. The caller has seen a later epoch just now, or
// DoubtsFrom holds. Without either the answer may be of a leader that does not know that there is another. The
// index is to be replaced, and lost is how many offsets are gone that were neither finished nor taken. Else all
// that was acknowledged when the end was asked for is sure.
func (x *Index) Ends(end, before int64) (lost int64, cut bool) {
	if end >= before {
		x.ensure(before)
		return 0, false
	}
	return x.cut(end), true
}

// cut counts what is gone from an offset on: there is no doubt of that any more.
func (x *Index) cut(end int64) (lost int64) {
	x.doubts.cut(end)
	return x.Beyond(end)
}

// Beyond returns how many offsets of the log, from one on, are neither finished nor taken: each may be a
// copy. What the assignment found and has not read yet is among them.
func (x *Index) Beyond(offset int64) int64 { return x.countUntaken(offset, x.End()) }

// countUntaken counts the offsets between two that are neither finished nor taken.
func (x *Index) countUntaken(from, to int64) (n int64) {
	for at := x.taken.NextUnfinished(from); at < to; {
		end := x.untakenEnd(at, to)
		n += end - at
		at = x.taken.NextUnfinished(end)
	}
	return n
}

// Taken yields the offsets of the copies that are in memory, ascending.
func (x *Index) Taken(yield func(offset int64) bool) {
	top := max(x.taken.Low(), x.taken.Highest()+1)
	for at := x.window.NextUnfinished(x.window.Low()); at < top; at = x.window.NextUnfinished(at) {
		if !x.taken.Finished(at) {
			at = x.untakenEnd(at, top)
			continue
		}
		if !yield(at) {
			return
		}
		at++
	}
}

// Holds reports whether the copy at an offset was taken, and is not finished.
func (x *Index) Holds(offset int64) bool {
	return x.taken.Finished(offset) && !x.window.Finished(offset)
}

// Left returns the finished offsets below one, with which another index may begin.
func (x *Index) Left(end int64) *offsets.Window { return Clip(x.window, end) }

// Clip returns a copy of a window without what is finished from an offset on.
func Clip(w *offsets.Window, end int64) *offsets.Window {
	left := offsets.NewWindow(min(w.Low(), end))
	w.Each(func(from, to int64) bool {
		left.FinishRange(from, min(to, end))
		return true
	})
	return left
}

// Carry notes that a copy is in memory already: the index before took it.
func (x *Index) Carry(offset int64) { x.taken.Finish(offset) }
