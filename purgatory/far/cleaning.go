package far

const (
	// fewSmall is the number of small runs that become one.
	fewSmall = 64
	// thrice is how many times the bytes of waiting copies the log may take, beside the segments that
	// deletion cannot free yet.
	thrice = 3
)

// Clean returns the offsets of a run that is to be loaded whole and moved again; ok is false where
// none is. It is the oldest one while the log takes more than three times the bytes of what waits, and
// slack: then deletion gets past it, unless what others have written stays in front of it, or an own copy
// at halted. It is a small one where 64 hold less than small bytes each, until none is left: they become one.
func (x *Index) Clean(slack, small, halted int64) (v Visit, ok bool) {
	if _, _, gap := x.Gap(); gap {
		return Visit{}, false
	}
	waiting, _ := x.Waiting()
	oldest, stays := x.bytesFrom(x.window.Low()) > thrice*waiting.Bytes+slack, min(x.stays(), halted)
	few, first := 0, -1
	for i := range x.entries {
		r, left := x.untaken(&x.entries[i])
		if !left || r.LatestMs == nothing { // what is never due, others have written
			continue
		}
		if oldest && r.Position < stays {
			return Visit{From: r.Position, To: r.Last + 1}, true
		}
		if _, a := r.DueBy(nothing); a.Bytes < small {
			if few++; first < 0 {
				first = i
			}
		}
	}
	if x.merging = few >= fewSmall || x.merging && few > 0; !x.merging {
		return Visit{}, false
	}
	r, _ := x.untaken(&x.entries[first])
	return Visit{From: r.Position, To: r.Last + 1}, true
}
