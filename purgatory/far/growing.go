package far

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"unsafe"

	"layover/journal/runs"
)

const (
	entrySize = int64(unsafe.Sizeof(entry{}))
	placeSize = int64(unsafe.Sizeof(place{}))
	earlySize = 32 // of a place in a map, about
)

// maxGrowing bounds the copies of a run while it grows: 16 MiB of places.
const maxGrowing = 1 << 20

// place is where a copy of a run is, and when it is due.
type place struct{ offset, deadlineMs int64 }

// stream is one of two orders in which a writer's copies come: those that have a batch of their own do
// not keep the order with the others.
type stream struct {
	writer uint64
	second bool
}

// growing is a run of which other copies may come.
type growing struct {
	number     uint64
	bytes      int64
	copies     []place // ascending by both
	earliestMs int64   // of those that are not taken, nothing if all are
}

// grow adds a copy to a run of its writer. Where it does not ascend in either stream, other runs
// begin: the order of a run is what its visits rely on, and its name is nothing to rely on.
func (x *Index) grow(f Found) {
	p := place{f.Offset, max(f.DeadlineMs, 0)}
	s := x.streamOf(&f, p)
	g := x.growing[s]
	if g == nil {
		g = &growing{number: f.Run, earliestMs: nothing}
		x.growing[s] = g
	}
	g.copies = append(g.copies, p)
	g.bytes += f.Bytes
	if !x.taken.Finished(p.offset) {
		g.earliestMs = min(g.earliestMs, p.deadlineMs)
	}
}

// streamOf returns the stream that goes on with a copy: of two, the one that is due next before it.
func (x *Index) streamOf(f *Found, p place) stream {
	first, second := stream{writer: f.Writer}, stream{f.Writer, true}
	one, other := x.growing[first], x.growing[second]
	goes, otherGoes := one != nil && one.goesOn(f.Run, p), other != nil && other.goesOn(f.Run, p)
	switch {
	case one == nil || goes && !(otherGoes && other.last().deadlineMs > one.last().deadlineMs):
		return first
	case otherGoes || other == nil && one.number == f.Run:
		return second
	}
	x.seal(first)
	x.seal(second)
	return first
}

func (g *growing) last() place { return g.copies[len(g.copies)-1] }

func (g *growing) goesOn(run uint64, p place) bool {
	last := g.last()
	return g.number == run && p.offset > last.offset && p.deadlineMs >= last.deadlineMs && len(g.copies) < maxGrowing
}

// Seal ends the runs that grow: at the end of a flush, and of reading.
func (x *Index) Seal() {
	for s := range x.growing {
		x.seal(s)
	}
}

// seal ends the run of a stream, if one grows.
func (x *Index) seal(s stream) {
	g := x.growing[s]
	if g == nil {
		return
	}
	delete(x.growing, s)
	r, err := runs.NewRun(s.writer, g.number, int64(len(g.copies)), g.bytes, func(i int64) (offset, deadlineMs int64) {
		return g.copies[i].offset, g.copies[i].deadlineMs
	})
	if err != nil { // it ascends
		panic(fmt.Sprintf("far: %v", err))
	}
	e := entry{Run: r, nextMs: nothing}
	for _, p := range g.copies {
		if !x.taken.Finished(p.offset) {
			e.nextMs = p.deadlineMs
			break
		}
	}
	i, _ := slices.BinarySearchFunc(x.entries, r.First, func(e entry, first int64) int { return cmp.Compare(e.First, first) })
	x.entries = slices.Insert(x.entries, i, e)
}

// Full reports whether there are so many runs that no more may begin.
func (x *Index) Full() bool { return len(x.entries)+len(x.growing) >= runs.MaxRuns }

// spareRuns is how many runs more there may be while others are moved together. No directory lists them all.
const spareRuns = 64

// Overfull reports whether there are so many runs that not even moving copies together may begin one.
func (x *Index) Overfull() bool { return len(x.entries)+len(x.growing) >= runs.MaxRuns+spareRuns }

// Directory returns the runs with copies that are not finished. It ends those that grow. One
// that could not be written is asked for anew by Unlisted. The error is more runs than a directory lists, or a gap that was not read.
func (x *Index) Directory() (runs.Directory, error) {
	if from, to, ok := x.Gap(); ok {
		return runs.Directory{}, fmt.Errorf("the offsets %d to %d were not read", from, to-1)
	}
	x.Seal()
	x.trim()
	if len(x.entries) > runs.MaxRuns {
		return runs.Directory{}, fmt.Errorf("%d runs, want at most %d", len(x.entries), runs.MaxRuns)
	}
	x.newCopies = false
	d := runs.Directory{Writer: x.writer, LeaderEpoch: x.epoch, End: x.known, Runs: make([]runs.Run, len(x.entries))}
	for i := range x.entries {
		d.Runs[i] = x.entries[i].Run
	}
	return d, nil
}

// trim moves the positions of all runs, and forgets those that are finished.
func (x *Index) trim() {
	x.entries = slices.DeleteFunc(x.entries, func(e entry) bool { return x.window.NextUnfinished(e.Position) > e.Last })
	for i := range x.entries {
		e := &x.entries[i]
		e.Position = x.window.NextUnfinished(e.Position)
	}
}

// DueMs returns the latest instant by which all copies below the known end are finished that
// are due then, in Unix milliseconds: that of Said. A copy that is never due here may be due for a newer
// release, and nobody knows when.
func (x *Index) DueMs() int64 {
	x.trim()
	ms := int64(nothing)
	for i := range x.entries {
		next, _ := x.entries[i].Next()
		ms = min(ms, knownMs(next))
	}
	for _, g := range x.growing {
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
func (x *Index) Waiting() (a runs.Amount, count int) {
	a = x.DueBy(nothing)
	return a, len(x.entries) + len(x.growing)
}

// NextMs returns an instant before which no copy is due that is neither finished nor taken, in Unix
// milliseconds; ok is false where there is none, or none that is ever due.
func (x *Index) NextMs() (ms int64, ok bool) {
	ms = nothing
	if i := x.first(); i >= 0 {
		ms = x.entries[i].nextMs
	}
	for _, g := range x.growing {
		ms = min(ms, g.earliestMs)
	}
	return ms, ms < nothing
}

// FurthestMs returns the latest deadline of all runs, in Unix milliseconds; 0 where there is none,
// or none that is ever due.
func (x *Index) FurthestMs() (ms int64) {
	for i := range x.entries {
		if last := x.entries[i].LatestMs; last < nothing {
			ms = max(ms, last)
		}
	}
	for _, g := range x.growing {
		if last := g.last().deadlineMs; last < nothing {
			ms = max(ms, last)
		}
	}
	return ms
}

// Overdue estimates how many copies in runs are neither finished nor taken though they are due at an
// instant, in Unix milliseconds. It is 0 where no visit is late, and else not. Runs that grow do not
// count.
func (x *Index) Overdue(ms int64) (n int64) {
	for i := range x.entries {
		e := &x.entries[i]
		if r, ok := x.untaken(e); ok && e.nextMs <= ms {
			lower, _ := r.DueBy(ms)
			n += max(lower.Copies, 1)
		}
	}
	return n
}

// untaken returns a run from its first copy on that is not taken, if there is one.
func (x *Index) untaken(e *entry) (r runs.Run, ok bool) {
	r = e.Run
	r.Position = max(r.Position, e.from, x.taken.NextUnfinished(r.Position))
	return r, r.Position <= r.Last
}

// LogBytes estimates the bytes of the log from where it is not deleted on: its offsets, by the average
// size of the copies of all runs.
func (x *Index) LogBytes() int64 {
	return x.bytesFrom(x.deletion.done)
}

// bytesFrom estimates the bytes of the log from an offset on.
func (x *Index) bytesFrom(offset int64) int64 {
	var count, bytes int64
	for i := range x.entries {
		count, bytes = count+x.entries[i].Count, bytes+x.entries[i].Bytes
	}
	for _, g := range x.growing {
		count, bytes = count+int64(len(g.copies)), bytes+g.bytes
	}
	if count == 0 {
		return 0
	}
	return int64(float64(x.top()-offset) * float64(bytes) / float64(count))
}

// DueBy adds up the copies in runs that are neither finished nor taken and due at an instant or
// before, in Unix milliseconds: at most so many.
func (x *Index) DueBy(ms int64) (a runs.Amount) {
	x.trim()
	for i := range x.entries {
		r, ok := x.untaken(&x.entries[i])
		if !ok {
			continue
		}
		_, upper := r.DueBy(ms)
		a.Copies, a.Bytes = a.Copies+upper.Copies, a.Bytes+upper.Bytes
	}
	for _, g := range x.growing {
		n := int64(sort.Search(len(g.copies), func(i int) bool { return g.copies[i].deadlineMs > ms }))
		a.Copies, a.Bytes = a.Copies+n, a.Bytes+g.bytes*n/int64(len(g.copies))
	}
	return a
}
