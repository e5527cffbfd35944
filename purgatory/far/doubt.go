package far

import (
	"cmp"
	"slices"
	"unsafe"
)

// Doubt is a copy that was acknowledged. An acknowledgement tells no leader epoch: where the log of the
// last known one ends below the copy, it was cut off, or was written in a later one.
type Doubt struct {
	Offset int64
	Origin int64 // offset of the record in ingress
	Writer uint64
}

// DoubtSize is the memory of a doubt, in bytes.
const DoubtSize = int64(unsafe.Sizeof(Doubt{}))

// Unsure returns the number of copies that were acknowledged since the log was last known to be of no later
// leader epoch. Asking for its end makes them sure, see Ends.
func (x *Index) Unsure() int { return len(x.unsure) }

// ensure notes that all below an offset stood in a log of no later leader epoch.
func (x *Index) ensure(end int64) {
	if end > x.sure {
		x.sure = end
		x.unsure = slices.DeleteFunc(x.unsure, func(d Doubt) bool { return d.Offset < end })
		if cap(x.unsure) > 4*len(x.unsure) { // it counts as used memory, and this partition may move nothing more for long
			x.unsure = slices.Clone(x.unsure)
		}
	}
}

// doubt has the unsure copies from an offset on compared with what is read there.
func (x *Index) doubt(from int64) {
	x.unsure = slices.DeleteFunc(x.unsure, func(d Doubt) bool {
		if d.Offset >= from && !x.window.Finished(d.Offset) {
			x.doubts = append(x.doubts, d)
		}
		return d.Offset >= from
	})
	slices.SortFunc(x.doubts, func(a, b Doubt) int { return cmp.Compare(a.Offset, b.Offset) })
}

// Doubts returns the copies that may be gone, for the index that takes the place of this one: those of
// which neither Raise nor Ends has said that they are.
func (x *Index) Doubts() []Doubt { return x.doubts }

// Doubt takes the doubts of the index before, after Log. It returns how many of the copies are gone.
func (x *Index) Doubt(doubts []Doubt) (lost int64) {
	for _, d := range doubts {
		switch {
		case x.window.Finished(d.Offset):
		case d.Offset < x.known || d.Offset >= x.until:
			lost++
		default:
			x.doubts = append(x.doubts, d)
		}
	}
	return lost
}

// compare ends the doubts about the offsets from from (included) to to (not included): all copies there
// were found.
func (x *Index) compare(from, to int64, found []Found) {
	first, end := x.doubtAt(from), x.doubtAt(to)
	for _, d := range x.doubts[first:end] {
		if x.window.Finished(d.Offset) {
			continue
		}
		i, ok := slices.BinarySearchFunc(found, d.Offset, func(f Found, offset int64) int { return cmp.Compare(f.Offset, offset) })
		if !ok || !d.is(&found[i]) {
			x.lost++
		}
	}
	x.doubts = slices.Delete(x.doubts, first, end)
}

// doubted ends the doubt about an offset: a copy was acknowledged there, or nil for a directory.
func (x *Index) doubted(offset int64, f *Found) {
	if i := x.doubtAt(offset); i < len(x.doubts) && x.doubts[i].Offset == offset {
		if f == nil || !x.doubts[i].is(f) {
			x.lost++
		}
		x.doubts = slices.Delete(x.doubts, i, i+1)
	}
}

func (d *Doubt) is(f *Found) bool { return f.Writer == d.Writer && f.Origin == d.Origin }

// doubtAt returns the index of the first doubt from an offset on.
func (x *Index) doubtAt(offset int64) int {
	i, _ := slices.BinarySearchFunc(x.doubts, offset, func(d Doubt, offset int64) int { return cmp.Compare(d.Offset, offset) })
	return i
}

// Lost returns how many copies turned out to be gone since the last call, of those that were in doubt.
func (x *Index) Lost() (n int64) {
	n, x.lost = x.lost, 0
	return n
}
