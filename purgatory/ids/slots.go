package ids

import (
	"fmt"
	"math/bits"
)

// Slots keeps values under stable numbers. The lowest free number is used first, so
// that the numbers in use stay together and the end of their range empties.
//
// The zero value is empty and ready. One goroutine owns it.
//
// Numbers come in pages of 64. A page with values has a block: a bitmap of the numbers
// present, and their values in order. The blocks of one capacity, a class, lie one
// behind the other. When one of them is released, the last takes its place. So no
// pattern of additions and removals leaves holes.
type Slots struct {
	values int

	// leaves have the blocks of 256 pages each. The last one is not empty.
	leaves []leaf

	// room has a bit for each leaf.
	//
	// Invariant: the bit is set exactly when the leaf has a page with a free number.
	room []uint64

	// spareRefs is the array of a leaf that became empty, kept for the next one.
	spareRefs *[leafPages]uint32

	blocks arena
}

// leaf is the table of 256 pages.
type leaf struct {
	// refs are the blocks by page; 0 is an empty page. It is nil if all are empty.
	refs *[leafPages]uint32

	// room has a bit for each page with a free number.
	room [leafPages / 64]uint64

	values int
}

const (
	pageNumbers = 64
	leafPages   = 256
	leafNumbers = leafPages * pageNumbers

	// maxLeaves bounds the numbers to 3.2 thousand million. If each page had a block of
	// the largest class, the slabs would still have numbers of 22 bits.
	maxLeaves = 3 << 30 / leafNumbers
)

// Add keeps v and returns its number, which no other value has until Remove. It
// panics at 3.2 thousand million values.
func (s *Slots) Add(v uint64) uint32 {
	i := s.roomyLeaf()
	l := &s.leaves[i]
	if l.refs == nil {
		l.refs = s.newRefs()
	}
	word := 0
	for l.room[word] == 0 {
		word++
	}
	p := word*64 + bits.TrailingZeros64(l.room[word])
	page := uint32(i*leafPages + p)
	if l.refs[p] == 0 {
		l.refs[p] = s.blocks.take(0)
		b := s.block(l.refs[p])
		b[presentWord], b[ownerWord] = 0, owner(page, 0)
	}
	b := s.block(l.refs[p])
	held := bits.OnesCount64(b[presentWord])
	if c := classOf(b); held == capacities[c] {
		b = s.resize(page, c+1)
	}
	bit := bits.TrailingZeros64(^b[presentWord]) // as all lower ones are set, it is the rank, too
	values := b[headerWords : headerWords+held+1]
	copy(values[bit+1:], values[bit:])
	values[bit] = v
	b[presentWord] |= 1 << bit
	if held+1 == pageNumbers {
		s.full(i, p)
	}
	l.values++
	s.values++
	return page*pageNumbers + uint32(bit)
}

// Get returns the value of n, which must be present: it panics otherwise.
func (s *Slots) Get(n uint32) uint64 { return *s.at(n) }

// Set replaces the value of n, which must be present: it panics otherwise.
func (s *Slots) Set(n uint32, v uint64) { *s.at(n) = v }

// Remove forgets the value of n, which must be present: it panics otherwise. Any later
// Add may return n again.
func (s *Slots) Remove(n uint32) {
	s.at(n) // panics unless it is present
	i, p := int(n/leafNumbers), int(n/pageNumbers%leafPages)
	l := &s.leaves[i]
	ref := l.refs[p]
	b := s.block(ref)
	bit := n % pageNumbers
	held := bits.OnesCount64(b[presentWord])
	values := b[headerWords : headerWords+held]
	rank := rankOf(b[presentWord], bit)
	copy(values[rank:], values[rank+1:])
	b[presentWord] &^= 1 << bit
	l.room[p/64] |= 1 << (p % 64)
	s.room[i/64] |= 1 << (i % 64)
	switch c := classOf(b); {
	case held == 1:
		l.refs[p] = 0
		s.release(ref, c)
	case held-1 <= shrinkAt(c): // class 0 has one value, so c is higher
		s.resize(n/pageNumbers, c-1)
	}
	s.values--
	if l.values--; l.values == 0 {
		s.vacate(i)
	}
}

// Len is the number of values.
func (s *Slots) Len() int { return s.values }

// Bytes is the memory held, arrays that are kept for later included. The cost is
// constant for each sixteen thousand numbers.
func (s *Slots) Bytes() int64 {
	bytes := int64(cap(s.leaves))*leafBytes + 8*int64(cap(s.room)) + s.blocks.bytes()
	for i := range s.leaves {
		if s.leaves[i].refs != nil {
			bytes += refsBytes
		}
	}
	if s.spareRefs != nil {
		bytes += refsBytes
	}
	return bytes
}

const (
	leafBytes = 8 + 8*leafPages/64 + 8
	refsBytes = 4 * leafPages
)

// at is the place of a value. It panics unless n is present.
func (s *Slots) at(n uint32) *uint64 {
	if i := n / leafNumbers; int(i) < len(s.leaves) && s.leaves[i].refs != nil {
		if ref := s.leaves[i].refs[n/pageNumbers%leafPages]; ref != 0 {
			b := s.block(ref)
			if present := b[presentWord]; present>>(n%pageNumbers)&1 != 0 {
				return &b[headerWords+rankOf(present, n%pageNumbers)]
			}
		}
	}
	panic(fmt.Sprintf("ids: slot %d is not in use", n))
}

// rankOf is how many numbers of a page are present below bit.
func rankOf(present uint64, bit uint32) int {
	return bits.OnesCount64(present & (1<<bit - 1))
}

// roomyLeaf returns the first leaf with a free number, a new one if need be.
func (s *Slots) roomyLeaf() int {
	for i, word := range s.room {
		if word != 0 {
			return i*64 + bits.TrailingZeros64(word)
		}
	}
	i := len(s.leaves)
	if i == maxLeaves {
		panic(fmt.Sprintf("ids: all %d slots are in use", s.values))
	}
	s.leaves = append(s.leaves, leaf{})
	if len(s.room) < (i+64)/64 {
		s.room = append(s.room, 0)
	}
	l := &s.leaves[i]
	for w := range l.room {
		l.room[w] = ^uint64(0)
	}
	s.room[i/64] |= 1 << (i % 64)
	return i
}

// full notes that page p of leaf i has no free number.
func (s *Slots) full(i, p int) {
	l := &s.leaves[i]
	l.room[p/64] &^= 1 << (p % 64)
	if l.room == [leafPages / 64]uint64{} {
		s.room[i/64] &^= 1 << (i % 64)
	}
}

func (s *Slots) newRefs() *[leafPages]uint32 {
	refs := s.spareRefs
	s.spareRefs = nil
	if refs == nil {
		refs = new([leafPages]uint32)
	}
	return refs
}

// vacate gives the array of an empty leaf back, and the leaves at the end that are
// empty, too. All its refs are 0 by now.
func (s *Slots) vacate(i int) {
	s.spareRefs, s.leaves[i].refs = s.leaves[i].refs, nil
	for end := len(s.leaves) - 1; end >= 0 && s.leaves[end].values == 0; end-- {
		s.leaves = s.leaves[:end]
		s.room[end/64] &^= 1 << (end % 64)
	}
	// The tables stay as large as they ever were, a fiftieth of a byte for each value
	// of then. Nothing needs them any more.
	if s.values == 0 && len(s.blocks.slabs) > keepSlabs {
		*s = Slots{}
	}
}
