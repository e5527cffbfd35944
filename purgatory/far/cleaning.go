package far

// thrice is how many times the bytes of waiting copies the log may take, beside the segments that
// deletion cannot free yet.
const thrice = 3

// Cleaning says what is to be moved again.
type Cleaning struct {
	Slack int64 // bytes that the log may take beside three times those of what waits
	Small int64 // a run that holds less than so many bytes is small
	Few   int   // so many small runs become one
}

// Clean returns the offsets of a run that is to be loaded whole and moved again; ok is false where
// none is. It is the oldest one while the log takes more than three times the bytes of what waits, and
// Slack. Deletion then gets past that run, unless what others have written stays in front of it, or an
// own copy at halted. The run is a small one where there are Few of them, until none is left: they become one.
func (x *Index) Clean(c Cleaning, halted int64) (v Visit, ok bool) {
	if _, _, gap := x.Gap(); gap {
		return Visit{}, false
	}
	waiting, _ := x.Waiting()
	oldest, stays := x.bytesFrom(x.window.Low()) > thrice*waiting.Bytes+c.Slack, min(x.stays(), halted)
	few, first := 0, -1
	for i := range x.entries {
		r, left := x.untaken(&x.entries[i])
		if !left || r.LatestMs == nothing { // what is never due, others have written
			continue
		}
		if oldest && r.Position < stays {
			return Visit{From: r.Position, To: r.Last + 1}, true
		}
		if _, a := r.DueBy(nothing); a.Bytes < c.Small {
			if few++; first < 0 {
				first = i
			}
		}
	}
	if x.merging = few >= c.Few || x.merging && few > 0; !x.merging {
		return Visit{}, false
	}
	r, _ := x.untaken(&x.entries[first])
	return Visit{From: r.Position, To: r.Last + 1}, true
}
