package offsets

import "math"

// Finished reports whether offset is finished. Every offset below low is.
func (w *Window) Finished(offset int64) bool {
	if offset <= w.low {
		return offset < w.low
	}
	number, at := w.locate(offset)
	i, ok := w.find(number)
	return ok && (w.spans[i].page == nil || w.spans[i].page.has(at))
}

// NextUnfinished returns the first unfinished offset from from on; if from is below
// low, that is low. It looks at no more than three spans.
func (w *Window) NextUnfinished(from int64) int64 {
	from = max(from, w.low)
	number, _ := w.locate(from)
	i, ok := w.find(number)
	for ok {
		s := &w.spans[i]
		first := w.start(s.first)
		at := s.next(from-first, math.MaxUint64)
		from = first + at
		i++
		ok = at == s.count<<pageShift && i < len(w.spans) && w.spans[i].first == s.first+s.count
	}
	return from
}

// Each calls f with the maximal runs of finished offsets above low, ascending
// and half open, until f returns false. f must not change the window.
func (w *Window) Each(f func(from, to int64) bool) { w.each(w.low, math.MaxInt64, f) }

// EachFrom is Each without the offsets below from.
func (w *Window) EachFrom(from int64, f func(from, to int64) bool) { w.each(from, math.MaxInt64, f) }

// each calls f with the parts in [from, to) of the runs above low. The cost grows
// with the spans and runs it passes. It stops one run after f returned false.
func (w *Window) each(from, to int64, f func(from, to int64) bool) {
	from = max(from, w.low)
	// A run may go over the end of a span, so f gets a run when the next piece
	// does not continue it.
	runFrom, runTo := int64(-1), int64(-1)
	number, _ := w.locate(from)
	for i, _ := w.find(number); i < len(w.spans); i++ {
		s := &w.spans[i]
		first := w.start(s.first)
		if first >= to {
			break
		}
		size := s.count << pageShift
		for at := s.next(max(from-first, 0), 0); at < size; {
			end := s.next(at, math.MaxUint64)
			pieceFrom, pieceTo := first+at, min(first+end, to)
			if pieceFrom >= to {
				break
			}
			if pieceFrom != runTo {
				if runFrom < runTo && !f(runFrom, runTo) {
					return
				}
				runFrom = pieceFrom
			}
			runTo = pieceTo
			at = s.next(end, 0)
		}
	}
	if runFrom < runTo {
		f(runFrom, runTo)
	}
}

// measure returns how many offsets of [from, to) above low are finished, and
// the number of runs they belong to.
func (w *Window) measure(from, to int64) (finished, runs int64) {
	w.each(from, to, func(from, to int64) bool {
		finished += to - from
		runs++
		return true
	})
	return finished, runs
}
