package wheel

import "unsafe"

// record is a parked record in a bucket: 16 bytes and no pointer, so that the
// garbage collector never looks at it.
//
// The tick is the low 32 bits of the deadline in ticks, which the bucket's start
// completes. The seq is the low 32 bits of the sequence number, which the chunk's
// epoch completes.
type record struct {
	payload uint64
	tick    uint32
	seq     uint32
}

// A chunk is a header and then records, in consecutive places of a slab. The
// header is itself a record. Its payload is the tag: the chunk's epoch, and its
// number within the log. Its tick is the ref of the next chunk, its seq the number
// of places that follow. Both are written when the chunk is closed or its bucket is
// taken.
//
// A bucket's first chunk is small, so that a bucket with one record stays cheap; the
// others are large.
const (
	smallChunk = 4  // places: 64 B, 3 records
	largeChunk = 32 // places: 512 B, 31 records
)

const (
	slabBits   = 11
	slabPlaces = 1 << slabBits // 32 KiB, Go's largest small object

	// maxSpareSlabs bounds the empty slabs kept for the next burst, 256 KiB.
	maxSpareSlabs = 8
)

type slab [slabPlaces]record

// slabState is the free list of one slab.
type slabState struct {
	free  uint32 // ref of the chunk freed last, linked through the headers; 0 is none
	fresh uint32 // places from here on were never handed out
	used  uint32 // chunks handed out
	size  uint32 // places of each chunk
}

// arena hands out chunks. A ref is the number of the chunk's first place,
// counted over all slabs; 0 is no chunk. A ref of 32 bits addresses 64 GiB.
//
// Chunks come from the lowest slab that has one, so that the higher ones run
// empty and can be given back.
type arena struct {
	// slabs are the slabs by number. Slab 0 does not exist, and a released one is nil.
	slabs []*slab

	// state is that of each slab.
	//
	// Invariant: len(state) == len(slabs).
	state []slabState

	// partial holds the slabs with chunks both handed out and free, for small
	// and large chunks.
	partial [2]bitset

	spare  []uint32 // slabs with no chunk handed out, at most maxSpareSlabs
	vacant []uint32 // numbers of released slabs
	held   int      // slabs that are not nil
	used   int      // places of the chunks handed out
}

func newArena() arena {
	return arena{slabs: make([]*slab, 1), state: make([]slabState, 1)}
}

// at is the place with the given number.
func (a *arena) at(ref uint32) *record {
	return &a.slabs[ref>>slabBits][ref&(slabPlaces-1)]
}

// class is the index of a chunk size in partial.
func class(size uint32) int {
	if size == smallChunk {
		return 0
	}
	return 1
}

// alloc hands out a chunk with undefined contents.
func (a *arena) alloc(size uint32) uint32 {
	partial := &a.partial[class(size)]
	i := partial.next(0)
	if i < 0 {
		i = a.emptySlab(size)
		partial.grow(i + 1)
		partial.set(i)
	}
	st := &a.state[i]
	ref := st.free
	if ref != 0 {
		st.free = a.at(ref).tick
	} else {
		ref = uint32(i)<<slabBits + st.fresh
		st.fresh += size
	}
	st.used++
	a.used += int(size)
	if st.used*size == slabPlaces {
		partial.clear(i)
	}
	return ref
}

// emptySlab returns the number of a slab prepared for chunks of size: a spare
// one, or a new one.
func (a *arena) emptySlab(size uint32) int {
	if n := len(a.spare); n > 0 {
		i := a.spare[n-1]
		a.spare = a.spare[:n-1]
		a.state[i] = slabState{size: size}
		return int(i)
	}
	a.held++
	if n := len(a.vacant); n > 0 {
		i := a.vacant[n-1]
		a.vacant = a.vacant[:n-1]
		a.slabs[i], a.state[i] = new(slab), slabState{size: size}
		return int(i)
	}
	a.slabs = append(a.slabs, new(slab))
	a.state = append(a.state, slabState{size: size})
	return len(a.slabs) - 1
}

// release takes a chunk back, and gives its slab back to the runtime if that
// leaves the slab empty and enough others are spare.
func (a *arena) release(ref uint32) {
	i := ref >> slabBits
	st := &a.state[i]
	partial := &a.partial[class(st.size)]
	a.at(ref).tick = st.free
	st.free = ref
	st.used--
	a.used -= int(st.size)
	if st.used > 0 {
		partial.set(int(i))
		return
	}
	partial.clear(int(i))
	if len(a.spare) < maxSpareSlabs {
		a.spare = append(a.spare, i)
		return
	}
	a.slabs[i] = nil
	a.held--
	a.vacant = append(a.vacant, i)
}

// trim gives the spare slabs back to the runtime.
func (a *arena) trim() {
	for _, i := range a.spare {
		a.slabs[i] = nil
	}
	a.held -= len(a.spare)
	a.vacant, a.spare = append(a.vacant, a.spare...), nil
}

// sparse reports whether more than a third of the memory is free, and more than minFree
// slabs. Moving chunks to lower slabs would then give some back.
func (a *arena) sparse(minFree int) bool {
	free := a.held*slabPlaces - a.used
	return free > a.used/maxDeadShare && free > minFree*slabPlaces
}

// bytes is the memory of the arena.
func (a *arena) bytes() int64 {
	return int64(a.held)*int64(unsafe.Sizeof(slab{})) +
		int64(cap(a.slabs))*8 +
		int64(cap(a.state))*int64(unsafe.Sizeof(slabState{})) +
		a.partial[0].bytes() + a.partial[1].bytes() +
		4*int64(cap(a.spare)+cap(a.vacant))
}
