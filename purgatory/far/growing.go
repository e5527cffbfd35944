package far

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"

	"layover/journal/runs"
)

const (
	entrySize = int64(unsafe.Sizeof(entry{}))
	placeSize = int64(unsafe.Sizeof(place{}))
)

// maxGrowing bounds the copies of a run while it grows: 16 MiB of places.
const maxGrowing = 1 << 20

// place is where a copy of a run is, and when it is due.
type place struct{ offset, deadlineMs int64 }

// growing is a run of which other copies may come.
type growing struct {
	number     uint64
	bytes      int64
	copies     []place // ascending by both
	earliestMs int64   // of those that are not taken, nothing if all are
}

// grow adds a copy to the run of its writer. Where it does not ascend, another run begins:
// the order of a run is what its visits rely on, and its name is nothing to rely on.
func (x *Index) grow(f Found) {
	p := place{f.Offset, max(f.DeadlineMs, 0)}
	g := x.growing[f.Writer]
	if g != nil && !g.goesOn(f.Run, p) {
		x.seal(f.Writer)
		g = nil
	}
	if g == nil {
		g = &growing{number: f.Run, earliestMs: nothing}
		x.growing[f.Writer] = g
	}
	g.copies = append(g.copies, p)
	g.bytes += f.Bytes
	if !x.taken.Finished(p.offset) {
		g.earliestMs = min(g.earliestMs, p.deadlineMs)
	}
}

func (g *growing) goesOn(run uint64, p place) bool {
	last := g.copies[len(g.copies)-1]
	return g.number == run && p.offset > last.offset && p.deadlineMs >= last.deadlineMs && len(g.copies) < maxGrowing
}

// Seal ends the runs that grow: at the end of a flush, and of reading.
func (x *Index) Seal() {
	for writer := range x.growing {
		x.seal(writer)
	}
}

// seal ends the run of a writer.
func (x *Index) seal(writer uint64) {
	g := x.growing[writer]
	delete(x.growing, writer)
	r, err := runs.NewRun(writer, g.number, int64(len(g.copies)), g.bytes, func(i int64) (offset, deadlineMs int64) {
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
// are due then, in Unix milliseconds: that of Said.
func (x *Index) DueMs() int64 {
	x.trim()
	ms := int64(nothing)
	for i := range x.entries {
		next, _ := x.entries[i].Next()
		ms = min(ms, next)
	}
	for _, g := range x.growing {
		ms = min(ms, g.copies[0].deadlineMs)
	}
	return ms - 1
}

// Waiting adds up the copies that are not finished, in runs: at most so many, as finished
// ones between others count.
func (x *Index) Waiting() (a runs.Amount, count int) {
	x.trim()
	for i := range x.entries {
		_, upper := x.entries[i].DueBy(nothing)
		a.Copies, a.Bytes = a.Copies+upper.Copies, a.Bytes+upper.Bytes
	}
	for _, g := range x.growing {
		a.Copies, a.Bytes = a.Copies+int64(len(g.copies)), a.Bytes+g.bytes
	}
	return a, len(x.entries) + len(x.growing)
}
