package far

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"unsafe"

	"layover/journal/runs"
)

// RunSize is the memory of a run, in bytes. A list of them grows by a quarter.
const RunSize = int64(unsafe.Sizeof(entry{}))

const (
	placeSize = int64(unsafe.Sizeof(place{}))
	earlySize = 32 // of a place in a map, about
)

// maxGrowing bounds the copies of a run while it grows: 16 MiB of places.
const maxGrowing = 1 << 20

// place is where a copy of a run is, and when it is due.
type place struct{ offset, deadlineMs int64 }

// stream is one of two orders in which a writer's copies come. Copies that have a batch of their own
// do not keep the order with the others.
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
// begin. The visits of a run rely on its order, and its name is nothing to rely on.
func (l *list) grow(f Found) {
	p := place{f.Offset, max(f.DeadlineMs, 0)}
	s := l.streamOf(&f, p)
	g := l.growing[s]
	if g == nil {
		g = &growing{number: f.Run, earliestMs: nothing}
		l.growing[s] = g
	}
	g.copies = append(g.copies, p)
	g.bytes += f.Bytes
	if !l.taken.Finished(p.offset) {
		g.earliestMs = min(g.earliestMs, p.deadlineMs)
	}
}

// streamOf returns the stream that goes on with a copy: of two, the one that is due next before it.
func (l *list) streamOf(f *Found, p place) stream {
	first, second := stream{writer: f.Writer}, stream{f.Writer, true}
	one, other := l.growing[first], l.growing[second]
	goes, otherGoes := one != nil && one.goesOn(f.Run, p), other != nil && other.goesOn(f.Run, p)
	switch {
	case one == nil || goes && !(otherGoes && other.last().deadlineMs > one.last().deadlineMs):
		return first
	case otherGoes || other == nil && one.number == f.Run:
		return second
	}
	l.seal(first)
	l.seal(second)
	return first
}

func (g *growing) last() place { return g.copies[len(g.copies)-1] }

// dueBy returns how many of the copies are due at an instant or before, in Unix milliseconds.
func (g *growing) dueBy(ms int64) int64 {
	return int64(sort.Search(len(g.copies), func(i int) bool { return g.copies[i].deadlineMs > ms }))
}

func (g *growing) goesOn(run uint64, p place) bool {
	last := g.last()
	return g.number == run && p.offset > last.offset && p.deadlineMs >= last.deadlineMs && len(g.copies) < maxGrowing
}

// Seal ends the runs that grow: at the end of a flush, and of reading.
func (l *list) Seal() {
	for s := range l.growing {
		l.seal(s)
	}
}

// seal ends the run of a stream, if one grows.
func (l *list) seal(s stream) {
	g := l.growing[s]
	if g == nil {
		return
	}
	delete(l.growing, s)
	r, err := runs.NewRun(s.writer, g.number, int64(len(g.copies)), g.bytes, func(i int64) (offset, deadlineMs int64) {
		return g.copies[i].offset, g.copies[i].deadlineMs
	})
	if err != nil { // it ascends
		panic(fmt.Sprintf("far: %v", err))
	}
	e := entry{Run: r, nextMs: nothing}
	for _, p := range g.copies {
		if !l.taken.Finished(p.offset) {
			e.nextMs = p.deadlineMs
			break
		}
	}
	i, _ := slices.BinarySearchFunc(l.entries, r.First, func(e entry, first int64) int { return cmp.Compare(e.First, first) })
	l.entries = slices.Insert(l.entries, i, e)
}
