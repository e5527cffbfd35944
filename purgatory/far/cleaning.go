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

// Clean returns the offsets of runs that are to be loaded whole and moved again; ok is false where
// none are. It is the oldest one while the log takes more than three times the bytes of what waits, and
// Slack. Deletion then gets past that run, unless what others have written stays in front of it, or an
// own copy at halted. It is small ones that are near each other where there are Few of them, until none of those is left:
// they become one, or as many as memory makes of them. Bytes is of all those then.
//
// No own copy may be in flight: runs that grow end here, such as one that was read through. Its cost grows with the runs.
func (x *Index) Clean(c Cleaning, halted int64) (v Visit, ok bool) {
	if _, _, gap := x.Gap(); gap {
		return Visit{}, false
	}
	x.Seal()
	x.trim()
	log := x.bytesFrom(x.window.Low())
	if log <= c.Slack && len(x.entries) < c.Few && !x.Merging() {
		return Visit{}, false
	}
	waiting, few, small, joins := int64(0), 0, Visit{}, true
	for i := range x.entries {
		e := &x.entries[i]
		r, left := x.untaken(e)
		if !left {
			continue
		}
		a := r.Left()
		waiting += a.Bytes
		if r.LatestMs == nothing || a.Bytes >= c.Small { // what is never due, others have written
			joins = joins && small.To == 0
			continue
		}
		few++
		if x.Merging() && e.First >= x.merging {
			continue
		}
		small.Bytes += a.Bytes
		switch {
		case small.To == 0:
			small.From, small.To = r.Position, r.Last+1
		case joins && e.near(small.To, r.Position):
			small.To = max(small.To, r.Last+1)
		default:
			joins = false
		}
	}
	if log > thrice*waiting+c.Slack {
		if v, ok := x.oldest(halted); ok {
			x.merging = 0
			return v, true
		}
	}
	switch {
	case small.To == 0:
		x.merging = 0
	case few >= c.Few && !x.Merging():
		x.merging = x.top()
	}
	return small, x.Merging()
}

// Merging reports whether Clean has begun with small runs, and some of those are left.
func (x *Index) Merging() bool { return x.merging > 0 }

// oldest returns the offsets of the first run that is to be loaded, below what stays.
func (x *Index) oldest(halted int64) (v Visit, ok bool) {
	stays := min(x.stays(), halted)
	for i := range x.entries {
		if r, left := x.untaken(&x.entries[i]); left && r.LatestMs != nothing && r.Position < stays {
			return Visit{From: r.Position, To: r.Last + 1, Bytes: r.Left().Bytes}, true
		}
	}
	return Visit{}, false
}
