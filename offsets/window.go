package offsets

import (
	"math"
	"unsafe"
)

// Window is the finished set of one partition: everything below Low is
// finished, and above it there is one bit for each offset. Finished is for
// ever: only ClipAbove, for a log that was truncated, takes anything back.
//
// Offsets run from 0 to math.MaxInt64-1; the largest int64 serves as the end
// of half-open ranges and never is finished. There is no bound on the distance
// from Low to the highest finished offset: stretches wholly finished or wholly
// unfinished cost nothing by their length.
//
// A Window has one owner and no lock. The zero value is a window at low 0.
type Window struct {
	// low is the lowest unfinished offset.
	// Invariant: its bit is not set, and every bit below it in a page that is
	// held is set (TestWindowAgreesWithModel).
	low int64

	// origin is low as it was when the window was made. Pages are counted
	// from it, so that the first page has no part below low.
	origin int64

	// spans holds the pages that have something finished, ascending.
	// Invariant: spans do not overlap; full spans do not touch; a page with
	// bits is not full, and is not empty unless it is the page of low
	// (TestWindowAgreesWithModel).
	spans []span

	// dead counts the spans that were dropped from the front of the array
	// behind spans and still take its memory.
	// Invariant: dead <= len(spans) + deadSpans (TestWindowAgreesWithModel).
	dead int

	// pages counts the spans that have a page of bits.
	// Invariant: agrees with spans (TestWindowAgreesWithModel).
	pages int64

	// above counts finished offsets above low, and runs the maximal runs they
	// form.
	// Invariant: both agree with a recount (TestWindowAgreesWithModel).
	above, runs int64
}

// NewWindow returns a window in which exactly the offsets below low are
// finished. A negative low, which Kafka uses for "none", is taken as 0.
func NewWindow(low int64) *Window {
	low = max(low, 0)
	return &Window{low: low, origin: low}
}

// Finish marks offset as finished. If it was the low offset, low moves past it and
// the finished offsets behind it. False leaves the window as it was: offset already
// was finished, as every offset below low is, or is math.MaxInt64, which is no offset.
//
// The cost is constant while all pages have bits, and logarithmic in their number
// where finished or untouched ones lie between them. Once in a page of offsets the
// table moves 24 bytes for each page.
func (w *Window) Finish(offset int64) bool {
	if offset < w.low || offset == math.MaxInt64 {
		return false
	}
	if offset == w.low {
		w.advance(offset + 1)
		return true
	}
	number, at := w.locate(offset)
	i, ok := w.find(number)
	if !ok {
		w.insert(i, number)
	}
	p := w.spans[i].page
	if p == nil || p.has(at) {
		return false
	}
	if !w.Finished(offset - 1) {
		w.runs++
	}
	if w.Finished(offset + 1) {
		w.runs--
	}
	w.above++
	p[at/64] |= 1 << (at % 64)
	// full reads a page's words 64 times in its life, once for each complete word.
	// That is one word for each offset, and no counter to keep.
	if p[at/64] == math.MaxUint64 && p.full() {
		w.setFull(number, number+1)
	}
	return true
}

// FinishRange marks the offsets from (included) to to (not included) as
// finished and returns how many of them were not. An empty range, or one below
// low, changes nothing. The cost depends on the pages and runs that the range
// covers, not on its length.
func (w *Window) FinishRange(from, to int64) int64 {
	from = max(from, w.low)
	switch {
	case from >= to:
		return 0
	case from == w.low:
		return w.advance(to)
	}
	had, _ := w.measure(from, to)
	if had == to-from {
		return 0
	}
	// All runs that overlap or touch the range become one.
	_, touching := w.measure(from-1, min(to, math.MaxInt64-1)+1)
	w.runs += 1 - touching
	w.above += to - from - had
	w.fill(from, to)
	return to - from - had
}

// advance finishes [low, to), moves low to the first unfinished offset from to on, and
// forgets the pages now below low. It returns how many offsets were newly finished.
func (w *Window) advance(to int64) int64 {
	from, next := w.low, w.NextUnfinished(to)
	had, runs := w.measure(from, next)
	w.above -= had
	w.runs -= runs
	w.low = next

	number, at := w.locate(next)
	i, ok := w.find(number)
	w.dropFront(i)
	if ok {
		// The page of low is kept with no hole below low, or it could never
		// become full.
		first := w.start(w.spans[0].first)
		w.spans[0].page.fill(int(max(from-first, 0)), at)
	}
	return next - from - had
}

// ClipAbove forgets the finished offsets from end on, as after a truncation of
// the log to end, and returns how many there were. Low stays where it is, also
// when end is below it: the window does not know any more which offsets were
// unfinished there. The caller decides about a committed offset beyond the end
// of the log.
func (w *Window) ClipAbove(end int64) int64 {
	end = max(end, w.low)
	gone, runs := w.measure(end, math.MaxInt64)
	if gone == 0 {
		return 0
	}
	if end > w.low && w.Finished(end-1) && w.Finished(end) {
		runs-- // The run across end keeps its lower part.
	}
	w.above -= gone
	w.runs -= runs

	number, at := w.locate(end)
	i, ok := w.find(number)
	var keep []span
	if ok {
		keep = w.spans[i].below(number, at)
	}
	w.replace(i, len(w.spans), keep...)
	w.compact()
	return gone
}

// Low returns the lowest unfinished offset, which is the offset to commit.
func (w *Window) Low() int64 { return w.low }

// Above returns how many offsets above low are finished.
func (w *Window) Above() int64 { return w.above }

// Runs returns how many maximal runs the finished offsets above low form. The
// cost is constant: the count is kept.
func (w *Window) Runs() int { return int(w.runs) }

// Highest returns the highest finished offset, which is low-1 if none above
// low is finished.
func (w *Window) Highest() int64 {
	if w.above == 0 {
		return w.low - 1
	}
	s := w.spans[len(w.spans)-1]
	if s.page == nil {
		return w.start(s.first+s.count) - 1
	}
	return w.start(s.first) + int64(s.page.highest())
}

// Bytes returns the memory that the window holds, in bytes, without the
// rounding of the allocator. The cost is constant.
func (w *Window) Bytes() int64 {
	spans := int64(cap(w.spans)+w.dead) * int64(unsafe.Sizeof(span{}))
	return int64(unsafe.Sizeof(*w)) + spans + w.pages*int64(unsafe.Sizeof(page{}))
}
