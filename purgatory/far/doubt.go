package far

import (
	"cmp"
	"slices"
	"unsafe"
)

// Doubt is a copy that was acknowledged. An acknowledgement tells no leader epoch. Where the log of the
// last known epoch ends below the copy, the copy was cut off, or was written in a later epoch.
type Doubt struct {
	Offset int64
	Origin int64 // offset of the record in ingress
	Writer uint64
}

// DoubtSize is the memory of a doubt, in bytes.
const DoubtSize = int64(unsafe.Sizeof(Doubt{}))

func (d *Doubt) is(f *Found) bool { return f.Writer == d.Writer && f.Origin == d.Origin }

// doubts are the copies of one log of which it is not known whether they are still there.
//
//	acknowledged ─► unsure ─the log stood─► forgotten
//	                   └────it was cut────► open ─read─► there, or lost
type doubts struct {
	unsure []Doubt // own copies, acknowledged in a leader epoch that nobody knows
	open   []Doubt // copies that may be gone, by offset: reading tells
	lost   int64   // see Lost
}

func (d *doubts) acknowledged(c Doubt) { d.unsure = append(d.unsure, c) }

// stood notes that all below an offset stood in a log of no later leader epoch.
func (d *doubts) stood(end int64) {
	d.unsure = slim(slices.DeleteFunc(d.unsure, func(c Doubt) bool { return c.Offset < end }))
}

// raise opens the unsure copies from an offset on, without those that are finished.
func (d *doubts) raise(from int64, finished func(int64) bool) {
	d.unsure = slim(slices.DeleteFunc(d.unsure, func(c Doubt) bool {
		if c.Offset >= from && !finished(c.Offset) {
			d.open = append(d.open, c)
		}
		return c.Offset >= from
	}))
	slices.SortFunc(d.open, func(a, b Doubt) int { return cmp.Compare(a.Offset, b.Offset) })
}

// cut ends all doubts from an offset on, and makes the others sure: somebody else has counted them.
func (d *doubts) cut(end int64) { d.unsure, d.open = nil, slim(d.open[:d.at(end)]) }

// begin ends the doubts below an offset: somebody else has counted them.
func (d *doubts) begin(offset int64) { d.close(0, d.at(offset)) }

// compare ends the doubts about the offsets from from (included) to to (not included): all copies there
// were found.
func (d *doubts) compare(from, to int64, found []Found, finished func(int64) bool) {
	first, end := d.at(from), d.at(to)
	for _, c := range d.open[first:end] {
		if finished(c.Offset) {
			continue
		}
		i, ok := slices.BinarySearchFunc(found, c.Offset, func(f Found, offset int64) int { return cmp.Compare(f.Offset, offset) })
		if !ok || !c.is(&found[i]) {
			d.lost++
		}
	}
	d.close(first, end)
}

// replaced ends the doubt about an offset: a copy was acknowledged there, or nil for a directory.
func (d *doubts) replaced(offset int64, f *Found) {
	if i := d.at(offset); i < len(d.open) && d.open[i].Offset == offset {
		if f == nil || !d.open[i].is(f) {
			d.lost++
		}
		d.close(i, i+1)
	}
}

func (d *doubts) close(first, end int) {
	if end > first {
		d.open = slim(slices.Delete(d.open, first, end))
	}
}

// at returns the index of the first open doubt from an offset on.
func (d *doubts) at(offset int64) int {
	i, _ := slices.BinarySearchFunc(d.open, offset, func(c Doubt, offset int64) int { return cmp.Compare(c.Offset, offset) })
	return i
}

func (d *doubts) bytes() int64 { return int64(cap(d.unsure)+cap(d.open)) * DoubtSize }

// slim gives memory back that is no longer needed: it counts as used, and the partition may move nothing more
// for long.
func slim[T any](list []T) []T {
	if cap(list) > 4*len(list) {
		return append([]T(nil), list...)
	}
	return list
}

// DoubtsFrom reports whether all that End has from an offset on is in doubt: since Raise has taken LeaderEpoch
// nothing was found or acknowledged there.
func (x *Index) DoubtsFrom(offset int64) bool { return max(x.sure, x.top()) <= offset }

// Unsure returns the number of copies that were acknowledged since the log was last known to be of no later
// leader epoch. Asking for its end makes them sure, see Ends.
func (x *Index) Unsure() int { return len(x.doubts.unsure) }

// ensure notes that all below an offset stood in a log of no later leader epoch.
func (x *Index) ensure(end int64) {
	if end > x.sure {
		x.sure = end
		x.doubts.stood(end)
	}
}

// Doubts returns the copies that may be gone, for the index that takes the place of this one. Neither
// Raise nor Ends has said of these that they are gone.
func (x *Index) Doubts() []Doubt { return x.doubts.open }

// Doubt takes the doubts of the index before, after Log. It returns how many of the copies are gone.
func (x *Index) Doubt(before []Doubt) (lost int64) {
	for _, d := range before {
		switch {
		case x.window.Finished(d.Offset):
		case d.Offset < x.known || d.Offset >= x.until:
			lost++
		default:
			x.doubts.open = append(x.doubts.open, d)
		}
	}
	return lost
}

// Lost returns how many copies turned out to be gone since the last call: those that were in doubt, and those that
// visits have not found.
func (x *Index) Lost() (n int64) {
	n, x.doubts.lost = x.doubts.lost, 0
	return n
}
