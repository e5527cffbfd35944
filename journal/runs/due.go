package runs

import "math/bits"

// Amount is a number of copies and their bytes.
type Amount struct{ Copies, Bytes int64 }

// bounds are the deadlines with which the sixteenths begin, and the latest one behind
// them: the i-th is at least lower[i] and at most upper[i].
type bounds struct{ lower, upper [sixteenths + 1]int64 }

func (r *Run) bounds() (b bounds) {
	span := uint64(r.LatestMs - r.EarliestMs)
	at := uint64(0)
	b.lower[0], b.upper[0] = r.EarliestMs, r.EarliestMs
	for i, s := range r.steps {
		b.upper[i+1] = r.EarliestMs + int64(min(at+s.most(), span))
		at += s.least()
		b.lower[i+1] = r.EarliestMs + int64(at)
	}
	b.lower[sixteenths], b.upper[sixteenths] = r.LatestMs, r.LatestMs
	return b
}

// DueBy returns how much of the run is due at ms or before, in Unix milliseconds: copies
// from the position on, whether finished or not. Copies is at least lower's and
// at most upper's. Bytes is an estimate from them: every copy counts as an average one.
//
// Between lower and upper is usually less than an eighth of the copies; foreign offsets
// around the position add to that.
func (r *Run) DueBy(ms int64) (lower, upper Amount) {
	least, most := r.dueBy(ms)
	from, to := r.before()
	lower.Copies, upper.Copies = max(least-to, 0), max(most-from, 0)
	lower.Bytes, _ = r.share(lower.Copies)
	_, upper.Bytes = r.share(upper.Copies)
	return lower, upper
}

// Left returns the copies from the position on, at most so many, as DueBy has them in upper for an instant behind all.
func (r *Run) Left() Amount {
	from, _ := r.before()
	_, bytes := r.share(r.Count - from)
	return Amount{r.Count - from, bytes}
}

// Most fills in the most copies that are due at each of some instants or before, as DueBy has them in upper. The
// instants, in Unix milliseconds, ascend. Many cost about as much as one.
func (r *Run) Most(ms, most []int64) {
	from, _ := r.before()
	i, lower := 0, r.EarliestMs // a sixteenth, and the least deadline with which it begins
	for k, ms := range ms {
		for i < sixteenths && lower <= ms {
			if i++; i < sixteenths {
				lower += int64(r.steps[i-1].least())
			}
		}
		most[k] = max(r.index(i)-from, 0)
	}
}

// Share estimates the bytes of some copies: every one counts as an average one.
func (r *Run) Share(copies int64) (bytes int64) {
	_, bytes = r.share(copies)
	return bytes
}

// dueBy bounds the number of all copies that are due at ms or before.
func (r *Run) dueBy(ms int64) (least, most int64) {
	b := r.bounds()
	for i := sixteenths; i >= 0 && least == 0; i-- {
		if b.upper[i] <= ms {
			least = min(r.index(i)+1, r.Count) // the copy with which it begins is due, too
		}
	}
	for i, lower := range b.lower {
		if lower > ms {
			return least, r.index(i)
		}
	}
	return least, r.Count
}

// before bounds the number of copies in front of the position.
func (r *Run) before() (least, most int64) {
	i := r.holding(r.Position)
	from, to := r.index(i), r.index(i+1)
	least = max(from, to-(r.start(i+1)-r.Position))
	return least, min(to, from+r.Position-r.start(i))
}

// holding returns the last sixteenth that begins at offset or before.
func (r *Run) holding(offset int64) int {
	i := 0
	for half := sixteenths / 2; half > 0; half /= 2 {
		if r.start(i+half) <= offset {
			i += half
		}
	}
	return i
}

// share returns the bytes of some copies by average, rounded down and up.
func (r *Run) share(copies int64) (down, up int64) {
	high, low := bits.Mul64(uint64(r.Bytes), uint64(copies))
	n, rest := bits.Div64(high, low, uint64(r.Count))
	return int64(n), int64(n + min(rest, 1))
}

// Next bounds the deadline of the copy at the position, in Unix milliseconds: nothing
// unfinished of the run is due before lower.
func (r *Run) Next() (lower, upper int64) {
	b := r.bounds()
	lower, upper = b.lower[r.holding(r.Position)], r.LatestMs
	for i := sixteenths - 1; i >= 0 && r.start(i) >= r.Position; i-- {
		upper = min(upper, b.upper[i])
	}
	return lower, upper
}

// Soonest returns an instant before which nothing unfinished of the run is due, as Next has it in lower.
func (r *Run) Soonest() int64 {
	ms := r.EarliestMs
	for _, s := range r.steps[:r.holding(r.Position)] {
		ms += int64(s.least())
	}
	return ms
}

// Begin returns the offset at which a visit begins that wants the copies due at ms or
// later: no unfinished one is below it.
func (r *Run) Begin(ms int64) int64 {
	b := r.bounds()
	i := sixteenths
	for i > 0 && b.upper[i] >= ms {
		i--
	}
	return max(r.start(i), r.Position)
}

// End returns the offset at which a visit ends that wants the copies due at ms or
// before: none is there or above.
func (r *Run) End(ms int64) int64 {
	b := r.bounds()
	for i, lower := range b.lower {
		if lower > ms {
			return r.start(i)
		}
	}
	return r.Last + 1
}

// DueBy adds up what is due of all runs at ms or before. The cost grows with the runs.
func (d *Directory) DueBy(ms int64) (lower, upper Amount) {
	for i := range d.Runs {
		l, u := d.Runs[i].DueBy(ms)
		lower.Copies, lower.Bytes = lower.Copies+l.Copies, lower.Bytes+l.Bytes
		upper.Copies, upper.Bytes = upper.Copies+u.Copies, upper.Bytes+u.Bytes
	}
	return lower, upper
}
