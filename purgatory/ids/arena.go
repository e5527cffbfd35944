package ids

import "math/bits"

// A block is a header of two words and then the values of a page, in the order of
// their numbers. The first word has a bit for each number present. The second one has
// the page and the class.
const (
	presentWord = 0
	ownerWord   = 1
	headerWords = 2
)

// capacities are the values that a block of each class has room for. The steps are
// small, so that a page wastes little whatever part of it is left.
var capacities = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}

const classes = len(capacities)

const (
	// slabWords divides well by the sizes of blocks: 13 of the largest, at worst 16 words
	// over. The 6912 bytes are a size of Go's allocator.
	slabWords  = 864
	slabBytes  = 8 * slabWords
	offsetBits = 10 // of a ref: the word in the slab; the others are the slab's number

	// keepSlabs is how many slabs the tables of an empty Slots may have had.
	keepSlabs = 64
)

type slab [slabWords]uint64

// arena hands out blocks. A ref is the number of a slab and a word in it; slab 0 does
// not exist, so that 0 is no block.
type arena struct {
	// slabs are the slabs by number. A released one is nil.
	slabs []*slab

	// below links slabs into stacks: those of each class, the spare ones and the
	// numbers of released ones.
	//
	// Invariant: len(below) == len(slabs).
	below []uint32

	classes [classes]stack

	spare   uint32 // slabs kept for the next block of any class
	spares  int    // at most one, and one more for every 64 slabs held
	vacant  uint32 // numbers of released slabs
	holding int    // slabs that are not nil
}

// stack is the slabs of one class. All below the top are full.
type stack struct {
	top  uint32 // number of the slab; 0 is none
	used int    // blocks used in it, at least one
}

// blockWords is the size of a block.
func blockWords(c int) int { return headerWords + capacities[c] }

// shrinkAt is the number of values at which a page leaves class c for the one below.
// A little room is left, so that a page does not move to and fro.
func shrinkAt(c int) int { return capacities[c-1] - capacities[c-1]/12 }

func owner(page uint32, c int) uint64 { return uint64(page)<<8 | uint64(c) }

func classOf(b []uint64) int { return int(b[ownerWord] & 0xff) }

// at returns the slab from the block on.
func (a *arena) at(ref uint32) []uint64 {
	return a.slabs[ref>>offsetBits][ref&(1<<offsetBits-1):]
}

// take hands out a block with undefined contents.
func (a *arena) take(c int) uint32 {
	k := &a.classes[c]
	if k.top == 0 || (k.used+1)*blockWords(c) > slabWords {
		number := a.newSlab()
		a.below[number] = k.top
		*k = stack{top: number}
	}
	k.used++
	return k.last(c)
}

// last is the ref of the last block of the stack.
func (k *stack) last(c int) uint32 {
	return k.top<<offsetBits | uint32((k.used-1)*blockWords(c))
}

// drop takes the last block of the class back.
func (a *arena) drop(c int) {
	k := &a.classes[c]
	if k.used--; k.used > 0 {
		return
	}
	empty := k.top
	*k = stack{top: a.below[empty]}
	if k.top != 0 {
		k.used = slabWords / blockWords(c)
	}
	if a.spares <= a.holding/64 {
		a.below[empty] = a.spare
		a.spare = empty
		a.spares++
		return
	}
	a.slabs[empty] = nil
	a.holding--
	a.below[empty] = a.vacant
	a.vacant = empty
}

// newSlab returns the number of a slab: a spare one, or a new one.
func (a *arena) newSlab() uint32 {
	if number := a.spare; number != 0 {
		a.spare = a.below[number]
		a.spares--
		return number
	}
	a.holding++
	if number := a.vacant; number != 0 {
		a.vacant = a.below[number]
		a.slabs[number] = new(slab)
		return number
	}
	if len(a.slabs) == 0 {
		a.slabs, a.below = append(a.slabs, nil), append(a.below, 0)
	}
	a.slabs, a.below = append(a.slabs, new(slab)), append(a.below, 0)
	return uint32(len(a.slabs) - 1)
}

// bytes is the memory of the arena.
func (a *arena) bytes() int64 {
	return slabBytes*int64(a.holding) + 8*int64(cap(a.slabs)) + 4*int64(cap(a.below))
}

func (s *Slots) block(ref uint32) []uint64 { return s.blocks.at(ref) }

// resize moves a page to a block of class c and returns that block. Its values must
// fit.
func (s *Slots) resize(page uint32, c int) []uint64 {
	at := &s.leaves[page/leafPages].refs[page%leafPages]
	ref := *at
	*at = s.blocks.take(c)
	from, to := s.block(ref), s.block(*at)
	copy(to, from[:headerWords+bits.OnesCount64(from[presentWord])])
	to[ownerWord] = owner(page, c)
	s.release(ref, classOf(from))
	return to
}

// release takes a block back. The last one of its class moves to its place.
func (s *Slots) release(ref uint32, c int) {
	last := s.blocks.classes[c].last(c)
	if last != ref {
		b := s.block(last)[:blockWords(c)]
		copy(s.block(ref), b)
		page := uint32(b[ownerWord] >> 8)
		s.leaves[page/leafPages].refs[page%leafPages] = ref
	}
	s.blocks.drop(c)
}
