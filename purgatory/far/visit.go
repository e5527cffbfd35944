package far

import (
	"cmp"
	"fmt"
	"slices"
)

// Visit is the offsets of a run that are read to take its copies.
type Visit struct {
	From, To int64 // To is not included
	// DueMs: no copy that the visit is for is due before, in Unix milliseconds.
	DueMs int64
}

// Next returns the visit that is due first; ok is false where nothing is in any run but what
// is taken. It wants the copies that are due at untilMs or before.
func (x *Index) Next(untilMs int64) (v Visit, ok bool) {
	for s, g := range x.growing {
		if g.earliestMs <= untilMs {
			x.seal(s)
		}
	}
	first := x.first()
	if first < 0 {
		return Visit{}, false
	}
	e := &x.entries[first]
	r := e.Run
	r.Position = max(r.Position, x.taken.NextUnfinished(r.Position))
	from := e.begin(&r)
	if from > x.known { // others wrote in between
		return Visit{From: x.known, To: x.islands[0].from, DueMs: e.nextMs}, true
	}
	return Visit{From: from, To: max(r.End(max(untilMs, e.nextMs)), from+1), DueMs: e.nextMs}, true
}

// first returns the run that is due first, -1 for none.
func (x *Index) first() int {
	first := -1
	for i := range x.entries {
		e := &x.entries[i]
		if e.nextMs == nothing || first >= 0 && e.nextMs >= x.entries[first].nextMs {
			continue
		}
		if x.taken.NextUnfinished(e.Position) > e.Last {
			e.nextMs = nothing // others' visits have taken all
			continue
		}
		first = i
	}
	return first
}

// Read takes what reading the offsets from from (included) to to (not included) has found:
// all copies there, ascending. It appends to take the indices of those to park: they are due
// at untilMs or before, take room bytes at most in all or are one, and each is given out once.
// Where room is short, the others are visited again; where there is none, all are.
//
// What is no copy is finished, and the known end passes what was read. So nothing is read
// that begins above it.
func (x *Index) Read(from, to int64, found []Found, untilMs, room int64, take []int) []int {
	if from > x.known {
		panic(fmt.Sprintf("far: read from offset %d, want at most the known end %d", from, x.known))
	}
	x.compare(from, to, found)
	x.learn(from, to, found)
	before, short := len(take), false
	for i := range found {
		f := &found[i]
		if f.DeadlineMs > untilMs || x.taken.Finished(f.Offset) {
			continue
		}
		if short = room <= 0 || f.Bytes > room && len(take) > before; short {
			break
		}
		x.taken.Finish(f.Offset)
		room -= f.Bytes
		take = append(take, i)
	}
	x.known = max(x.known, to)
	x.ensure(to)
	x.absorb()
	x.visited(from, to, found, short)
	return take
}

// learn finishes what is no copy, and what the last commit calls finished, and adds to runs
// what was not known.
func (x *Index) learn(from, to int64, found []Found) {
	at := from
	for i := range found {
		f := &found[i]
		if f.Offset < at || f.Offset >= to {
			panic(fmt.Sprintf("far: a copy at offset %d, want %d to %d", f.Offset, at, to))
		}
		x.finish(at, f.Offset)
		at = f.Offset + 1
		if f.Offset < x.said.Known && f.DeadlineMs <= x.said.DueMs {
			x.finish(f.Offset, at)
		}
		if x.window.Finished(f.Offset) {
			continue
		}
		if f.Offset < x.known {
			if !x.taken.Finished(f.Offset) && !x.inRun(f) {
				x.grow(*f) // a directory has left it out as finished, and its outcome was never told
			}
			continue
		}
		if _, acked := x.island(f.Offset); !acked {
			x.grow(*f)
			if f.Writer == x.writer && f.Offset >= x.heard {
				x.early[f.Offset] = f.Origin
			}
		}
	}
	x.finish(at, to)
}

// inRun reports whether a run has a copy, or may have it.
func (x *Index) inRun(f *Found) bool {
	for i := range x.entries {
		if x.entries[i].First > f.Offset {
			break
		}
		if x.entries[i].mayHold(f) {
			return true
		}
	}
	for _, g := range x.growing {
		_, there := slices.BinarySearchFunc(g.copies, f.Offset, func(p place, offset int64) int { return cmp.Compare(p.offset, offset) })
		if there {
			return true
		}
	}
	return false
}

// visited says of the runs that a read has touched when they are visited again. Where room was short,
// nothing behind what was read is of use before that.
func (x *Index) visited(from, to int64, found []Found, short bool) {
	for i := range x.entries {
		e := &x.entries[i]
		if e.First >= to {
			break
		}
		if e.Last < from || e.nextMs == nothing {
			continue
		}
		r := e.Run
		r.Position = max(r.Position, x.taken.NextUnfinished(r.Position))
		first, seenMs := to, int64(nothing)
		if r.Position <= r.Last && e.front(&r) < from {
			if !e.behind || e.seen < from || to <= e.seen {
				continue // others in front were not read
			}
			first, seenMs = e.from, e.seenMs
		}
		for j := range found {
			f := &found[j]
			if e.mayHold(f) && !x.taken.Finished(f.Offset) {
				seenMs, first = min(seenMs, f.DeadlineMs), min(first, f.Offset)
			}
		}
		e.read(first, to, seenMs, x.taken.NextUnfinished(to))
		e.behind = e.behind && !short
	}
}

// read notes that a run was read up to an offset, and when what is left in front of it is due. The first
// offset behind it that is neither finished nor taken is next.
func (e *entry) read(first, to, seenMs, next int64) {
	e.from = to
	e.lookUp(next)
	e.from, e.seen, e.seenMs = first, to, seenMs
	e.behind, e.nextMs = e.nextMs < seenMs, min(e.nextMs, seenMs)
}

// mayHold reports whether a copy that is not finished may be of the run: it stands among its
// copies, and is due among them.
func (e *entry) mayHold(f *Found) bool {
	return e.Position <= f.Offset && f.Offset <= e.Last && e.EarliestMs <= f.DeadlineMs && f.DeadlineMs <= e.LatestMs
}
