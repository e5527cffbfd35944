package offsets

import (
	"math"
	"math/bits"
	"slices"
)

const (
	pageShift = 12
	// pageSize is the offsets in a page. Its 512 bytes are few enough for a lone
	// straggler to hold. Beside them the 24 bytes of an entry in the table of spans,
	// and the shifting of that table, do not matter.
	pageSize = 1 << pageShift

	// deadSpans is how many more dropped spans than live ones may stay in the
	// table's array. It keeps small tables from being copied at each page.
	deadSpans = 64
)

// page is one bit for each of pageSize offsets, set when finished.
type page [pageSize / 64]uint64

// span is either one page with bits, or count pages with every offset finished,
// which need no bits. Pages without a finished offset have no span.
type span struct {
	first int64 // number of the first page, counted from the window's origin
	count int64 // pages; 1 if there are bits
	page  *page // nil if all is finished
}

// has reports whether bit at is set.
func (p *page) has(at int) bool { return p[at/64]>>(at%64)&1 != 0 }

// full reports whether every bit is set.
func (p *page) full() bool {
	for _, word := range p {
		if word != math.MaxUint64 {
			return false
		}
	}
	return true
}

// next returns the first set bit from at on, or pageSize. invert is zero, or all
// ones for the first clear bit.
func (p *page) next(at int, invert uint64) int {
	if at >= pageSize {
		return pageSize
	}
	i := at / 64
	word := (p[i] ^ invert) &^ (1<<(at%64) - 1)
	for word == 0 {
		if i++; i == len(p) {
			return pageSize
		}
		word = p[i] ^ invert
	}
	return i*64 + bits.TrailingZeros64(word)
}

// highest returns the highest set bit, or -1.
func (p *page) highest() int {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0 {
			return i*64 + bits.Len64(p[i]) - 1
		}
	}
	return -1
}

// fill sets the bits [from, to).
func (p *page) fill(from, to int) {
	for from < to {
		end := min(to, from|63+1)
		p[from/64] |= math.MaxUint64 >> (64 - (end - from)) << (from % 64)
		from = end
	}
}

// next returns the first finished offset of the span from at on, or the
// span's size; both count from the start of the span. With invert all ones it
// is the first unfinished one.
func (s *span) next(at int64, invert uint64) int64 {
	switch {
	case s.page != nil:
		return int64(s.page.next(int(at), invert))
	case invert == 0:
		return at
	}
	return s.count << pageShift
}

// below returns the part of the span below bit at of page number. The span's page
// is not touched.
func (s *span) below(number int64, at int) []span {
	var kept []span
	if number > s.first {
		kept = append(kept, span{first: s.first, count: number - s.first})
	}
	rest := new(page)
	rest.fill(0, at)
	if s.page != nil {
		for i := range rest {
			rest[i] &= s.page[i]
		}
	}
	if rest.highest() >= 0 {
		kept = append(kept, span{first: number, count: 1, page: rest})
	}
	return kept
}

// locate returns the number of the offset's page and the bit in it. The offset
// must not be below the window's origin.
func (w *Window) locate(offset int64) (number int64, at int) {
	distance := offset - w.origin
	return distance >> pageShift, int(distance & (pageSize - 1))
}

// start returns the first offset of a page.
func (w *Window) start(number int64) int64 { return w.origin + number<<pageShift }

// find returns the index of the first span that ends after page number starts, and
// whether that span holds the page. If not, a new span for the page goes there.
func (w *Window) find(number int64) (int, bool) {
	if len(w.spans) == 0 || number < w.spans[0].first {
		return 0, false
	}
	// A span takes at least one page, so the index is at most the distance from
	// the first page. It is that distance if every page between has bits.
	distance := number - w.spans[0].first
	lo, hi := 0, len(w.spans)
	if distance < int64(hi) {
		hi = int(distance)
		if w.spans[hi].first == number {
			return hi, true
		}
	}
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if w.spans[mid].first+w.spans[mid].count <= number {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(w.spans) && w.spans[lo].first <= number
}

// insert puts an empty page in the table at i, where find says it belongs. In
// the page of low, the bits below low are set.
func (w *Window) insert(i int, number int64) {
	p := new(page)
	if lowest, at := w.locate(w.low); lowest == number {
		p.fill(0, at)
	}
	w.replace(i, i, span{first: number, count: 1, page: p})
}

// fill sets the bits of [from, to), which is not empty and above low. The caller
// keeps the counts.
func (w *Window) fill(from, to int64) {
	first, fromBit := w.locate(from)
	last, toBit := w.locate(to)
	if fromBit != 0 && first == last {
		w.fillPage(first, fromBit, toBit)
		return
	}
	if fromBit != 0 {
		w.fillPage(first, fromBit, pageSize)
		first++
	}
	if first < last {
		w.setFull(first, last)
	}
	if toBit != 0 {
		w.fillPage(last, 0, toBit)
	}
}

// fillPage sets the bits [from, to) of one page.
func (w *Window) fillPage(number int64, from, to int) {
	i, ok := w.find(number)
	if !ok {
		w.insert(i, number)
	}
	p := w.spans[i].page
	if p == nil {
		return
	}
	p.fill(from, to)
	if p.full() {
		w.setFull(number, number+1)
	}
}

// setFull makes the pages [from, to) one full span, together with the full
// spans that they overlap or touch.
func (w *Window) setFull(from, to int64) {
	i, _ := w.find(from)
	if i > 0 {
		if s := w.spans[i-1]; s.page == nil && s.first+s.count == from {
			i--
		}
	}
	j, ok := w.find(to)
	if ok && w.spans[j].page == nil {
		j++ // the full span that starts at to or before
	}
	if i < j {
		lowest, highest := w.spans[i], w.spans[j-1]
		from = min(from, lowest.first)
		to = max(to, highest.first+highest.count)
	}
	w.replace(i, j, span{first: from, count: to - from})
}

// replace puts other spans in the place of spans [i, j).
func (w *Window) replace(i, j int, with ...span) {
	for _, s := range w.spans[i:j] {
		if s.page != nil {
			w.pages--
		}
	}
	for _, s := range with {
		if s.page != nil {
			w.pages++
		}
	}
	if len(w.spans)-(j-i)+len(with) > cap(w.spans) {
		w.dead = 0 // A new array replaces this one and its dead places.
	}
	w.spans = slices.Replace(w.spans, i, j, with...)
}

// dropFront drops the first n spans. The others are not moved. The array is copied
// only when more than half of it is dead, so that drops pay for the copy.
func (w *Window) dropFront(n int) {
	for _, s := range w.spans[:n] {
		if s.page != nil {
			w.pages--
		}
	}
	clear(w.spans[:n])
	w.spans = w.spans[n:]
	w.dead += n
	if w.dead > len(w.spans)+deadSpans {
		w.compact()
	}
}

// compact moves the table to an array of its own size. slices.Clone would not
// do: of an empty slice it keeps the array.
func (w *Window) compact() {
	w.spans = append([]span(nil), w.spans...)
	w.dead = 0
}
