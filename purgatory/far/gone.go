package far

import (
	"cmp"
	"slices"
)

// missing returns how many copies of the offsets from from (included) to to (not included) are gone, where all that is
// there was found: as from the middle of a log that is compacted. They are below the known end, and neither finished
// nor taken. What may be no copy, or was finished, does not count.
func (x *Index) missing(from, to int64, found []Found) (n int64) {
	to = min(to, x.known)
	var across []*entry // the runs there, once something is missing
	for i := 0; from < to; i++ {
		next := to
		if i < len(found) {
			next = min(found[i].Offset, to)
		}
		for at := x.taken.NextUnfinished(from); at < next; at = x.taken.NextUnfinished(at + 1) {
			if across == nil {
				across = x.across(at, to)
			}
			if x.stood(at, across) {
				n++
			}
		}
		from = next + 1
	}
	return n
}

// across returns the runs with offsets from from (included) to to (not included), and not nil.
func (l *list) across(from, to int64) []*entry {
	runs := make([]*entry, 0, 1)
	for i := range l.entries {
		if e := &l.entries[i]; e.First < to && e.Last >= from {
			runs = append(runs, e)
		}
	}
	return runs
}

// stood reports whether an open offset below the known end is that of a copy for certain, given the runs across it. Of
// runs that this index has learned, all else there is finished. A directory does not tell what stands between the copies
// of a run, nor which of them the last commit calls finished. Where a copy is never due, perhaps nobody could read it.
func (x *Index) stood(at int64, across []*entry) bool {
	for _, g := range x.growing {
		i, there := slices.BinarySearchFunc(g.copies, at, func(p place, offset int64) int { return cmp.Compare(p.offset, offset) })
		if there {
			return g.copies[i].deadlineMs < nothing
		}
	}
	var learned, listed, dense bool
	for _, e := range across {
		switch {
		case at < e.First || at > e.Last:
		case e.EarliestMs == nothing:
			return false
		case e.listed:
			listed, dense = true, dense || e.Last-e.First+1 == e.Count && at >= max(e.Position, e.End(x.said.DueMs))
		default:
			learned = true
		}
	}
	return learned && !listed || dense
}

// Damaged takes the offset of a record that may have been a copy, and cannot be read. It is gone, unless it is finished or
// taken.
func (x *Index) Damaged(offset int64) { x.doubts.lost += x.finish(offset, offset+1) }
