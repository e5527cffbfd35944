package far

import "fmt"

// Visit is the offsets that are read to take copies of a run, and of runs near behind it.
type Visit struct {
	From, To int64 // To is not included
	Bytes    int64 // of the copies there, by the average size of those of the first run; 0: not known
	// DueMs: no copy that the visit is for is due before, in Unix milliseconds.
	DueMs int64
}

// Next returns the visit that is due first; ok is false where nothing is in any run but what
// is taken. It wants the copies that are due at untilMs or before, of a run and of those near behind it.
func (x *Index) Next(untilMs int64) (v Visit, ok bool) { return x.NextBelow(untilMs, nothing) }

// NextBelow is Next of the visits that begin below an offset, where nothing can be read from there on.
func (x *Index) NextBelow(untilMs, below int64) (v Visit, ok bool) {
	first := x.dueFirst(untilMs, below)
	if first < 0 {
		return Visit{}, false
	}
	e := &x.entries[first]
	r := e.Run
	from, dueMs := x.visitOf(e, &r, below)
	if from > x.known { // others wrote in between
		return Visit{From: x.known, To: x.islands[0].from, DueMs: dueMs}, true
	}
	to := x.join(first+1, max(r.End(max(untilMs, dueMs)), from+1), untilMs)
	to = min(to, below)
	return Visit{From: from, To: to, Bytes: (to - from) * e.average(), DueMs: dueMs}, true
}

// NextDueMs returns DueMs of NextBelow, whatever it wants. It is cheaper: where a visit ends may take a look at every
// run behind.
func (x *Index) NextDueMs(untilMs, below int64) (ms int64, ok bool) {
	first := x.dueFirst(untilMs, below)
	if first < 0 {
		return 0, false
	}
	r := x.entries[first].Run
	_, ms = x.visitOf(&x.entries[first], &r, below)
	return ms, true
}

// dueFirst returns the run whose visit is due first, of those that begin below an offset; -1 for none. Those that grow
// and are due at untilMs or before end.
func (x *Index) dueFirst(untilMs, below int64) int {
	for s, g := range x.growing {
		if g.earliestMs <= untilMs {
			x.seal(s)
		}
	}
	return x.first(below)
}

// nearBytes is how much a visit reads over between two runs of which it takes copies. A broker sends as
// much with one copy, as its batch may be so large, and asking again takes longer.
const nearBytes = 64 << 10

// join returns where a visit ends that goes on to the next runs with something due, as long as each is near.
// Without them it ends at end.
func (x *Index) join(next int, end, untilMs int64) int64 {
	for i := next; i < len(x.entries); i++ {
		e := &x.entries[i]
		if e.Last >= x.known || !e.near(end, e.First) {
			break
		}
		if e.nextMs > untilMs {
			continue
		}
		if r, ok := x.untaken(e); ok {
			if !e.near(end, e.begin(&r)) {
				break
			}
			end = max(end, r.End(untilMs))
		}
	}
	return end
}

// near reports whether at most nearBytes are between two offsets, by the average size of a copy.
func (e *entry) near(from, to int64) bool { return to-from <= nearBytes/e.average() }

// average returns the bytes of a copy.
func (e *entry) average() int64 { return e.Bytes/e.Count + 1 }

// Read takes what reading the offsets from from (included) to to (not included) has found:
// all copies there, ascending. It appends to take the indices of those to park. They are due
// at untilMs or before, take room bytes at most in all or are one, and each is given out once.
// Where room is short, the others are visited again; where there is none, all are.
//
// What is no copy is finished, and the known end passes what was read. So nothing is read
// that begins above it.
func (x *Index) Read(from, to int64, found []Found, untilMs, room int64, take []int) []int {
	if from > x.known {
		panic(fmt.Sprintf("far: read from offset %d, want at most the known end %d", from, x.known))
	}
	x.doubts.compare(from, to, found, x.window.Finished)
	x.doubts.lost += x.missing(from, to, found)
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
