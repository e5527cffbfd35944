package purgatory

import "layover/purgatory/ids"

// location names a record's bytes: chunk number in the upper bits, offset in
// the chunk in the lower 20. It is the wheel's payload, so that nothing but the
// chunk table stands between a deadline and its record.
type location uint64

const (
	locationBits = 20 // offsets within a chunk; only a chunk's first record may reach beyond 1 MiB
	minChunk     = 4 << 10
	maxChunk     = 256 << 10

	// firstHeldChunk is the first chunk of a target that is held: with globs allowed there
	// may be thousands of targets with a record each.
	firstHeldChunk = 256

	// chunkOverhead is the cost of a chunk beside its bytes: header and table entry.
	chunkOverhead = 64

	// delayClasses is one class per log2 of the remaining delay in milliseconds.
	delayClasses = 64
	// lateClass is the class of records that are read late, and may be put back. No delay is
	// long enough for it. In chunks of what leaves at once they would pin much else.
	lateClass = delayClasses - 1
	// reloadedClass is the class of copies that were loaded to be moved again. They leave together, and are counted by
	// their chunks: see usedBy.
	reloadedClass = delayClasses - 3
	// copiesClass is the class of copies that were read for their deadlines. They are due soon, and are not moved.
	copiesClass = delayClasses - 2
	// tooLargeClass and tooLargeCopies are the classes of records, and of copies that were loaded to be moved again, that
	// the runs topic has refused for their size: see Runs.setApart.
	tooLargeClass  = delayClasses - 4
	tooLargeCopies = delayClasses - 5
	// idClass is the class of records with an id. Many of them are cancelled, so its chunks
	// are compacted: see squeeze.
	idClass = delayClasses
	// heldClass is the class of records moved out of their delay class because
	// their target is held; one such class per target, from here on.
	heldClass = idClass + 1

	// named marks a location as the number of a slot. Its record has an id, and the slot
	// says where its bytes are: they may move.
	named location = 1 << 63
	// isPutBack marks a wheel's payload: the record waits for its instant of the catch-up. No
	// other location has it.
	isPutBack location = 1 << 62
	// gone is the value of a slot whose record was cancelled while a queue still has an
	// entry for it.
	gone location = 1<<64 - 1
)

// chunk is an append-only run of records whose lives end at about the same time.
type chunk struct {
	buf  []byte
	live int32 // records not yet released; Invariant: a chunk with live > 0 is never reset or dropped
	// class is the class whose open chunk this is or was.
	class int

	used    int32 // bytes of the live records
	emptied bool  // those that are parked are carried to others: see markThin

	// Of idClass alone:
	flying int32 // records in flight, whose bytes somebody reads
	thin   bool  // it is in store.thin
}

// class is the state of one class of chunks.
type class struct {
	open   int // chunk number, -1 for none
	chunks int // of this class
	next   int // size of the next chunk, doubling from minChunk to the store's largest
}

// store keeps the bytes of parked records in chunks, one open chunk per class.
//
// Records with like remaining delays share a chunk, so that chunks empty as a whole. With 99 % of
// delays 1 s and 1 % 600 s, chunks in arrival order take 83 times the live bytes. Chunks by log2 of the
// remaining delay take 1.05 times. Compacted are the chunks of records with an id, and those that
// moving the farthest has made thin. Chunk bytes are accounted, so a bound on them is exact.
type store struct {
	slots ids.Slots // locations of the records with an id
	thin  []int     // chunks of idClass to be compacted: less than half of each is live
	// emptying is the chunks that are marked for it.
	emptying []*chunk
	chunks   []*chunk
	free     []int // numbers in chunks
	classes  map[int]*class
	largest  int   // size of the largest regular chunk
	bytes    int64 // of all chunks
	used     int64 // of them by records that are not released
	live     int64 // records that are not released
	movable  int64 // of used, by records that may be moved: they have no id, and are neither late nor held, nor copies that are due soon, nor too large
	// retained is the size of records whose bytes somebody reads whatever becomes of them, once
	// they are released; 0 before. No record with an id is among them.
	retained map[location]int
}

func newStore(largest int) *store {
	if largest <= 0 || largest > maxChunk {
		largest = maxChunk
	}
	return &store{classes: make(map[int]*class), largest: max(largest, minChunk), retained: make(map[location]int)}
}

// alloc returns size bytes of a chunk of the class and their location. The
// bytes are the caller's to fill, once. Amortised constant time.
func (s *store) alloc(classNo, size int) (location, []byte) {
	c := s.classes[classNo]
	if c == nil {
		c = &class{open: -1, next: minChunk}
		if classNo >= heldClass {
			c.next = firstHeldChunk
		}
		s.classes[classNo] = c
	}
	if c.open < 0 || cap(s.chunks[c.open].buf)-len(s.chunks[c.open].buf) < size {
		s.openChunk(classNo, c, size)
	}
	ch := s.chunks[c.open]
	at := len(ch.buf)
	ch.buf = ch.buf[:at+size]
	s.count(ch, 1, size)
	return location(uint64(c.open)<<locationBits | uint64(at)), ch.buf[at : at+size]
}

// count counts a record and its bytes, or takes both off.
func (s *store) count(ch *chunk, n int32, size int) {
	ch.live += n
	ch.used += int32(size)
	s.live += int64(n)
	s.used += int64(size)
	if movableClass(ch.class) {
		s.movable += int64(size)
	}
}

// movableClass reports whether the records of a class count as movable.
func movableClass(classNo int) bool { return classNo < tooLargeCopies || classNo == reloadedClass }

// openChunk replaces the class's open chunk by one with room for size bytes. A
// record larger than a regular chunk gets one of exactly its size.
func (s *store) openChunk(classNo int, c *class, size int) {
	if last := c.open; last >= 0 {
		c.open = -1
		if s.chunks[last].live == 0 {
			s.drop(last)
		} else {
			s.thinned(last)
		}
	}
	want := min(c.next, s.largest)
	for want < size && want < s.largest {
		want *= 2
	}
	want = max(min(want, s.largest), size)
	c.next = min(max(c.next*2, minChunk), s.largest)
	no := len(s.chunks)
	if n := len(s.free); n > 0 {
		no, s.free = s.free[n-1], s.free[:n-1]
	} else {
		s.chunks = append(s.chunks, nil)
	}
	s.classes[classNo] = c // dropping its last chunk took it out
	s.chunks[no] = &chunk{buf: make([]byte, 0, want), class: classNo}
	s.bytes += int64(want) + chunkOverhead
	c.open = no
	c.chunks++
}

// at returns the bytes from a location to the end of its chunk's records.
func (s *store) at(l location) []byte {
	if l&named != 0 {
		return s.atName(l)
	}
	return s.chunks[l>>locationBits].buf[l&(1<<locationBits-1):]
}

// atName is at for a location that is a name, apart so that at is inlined for all others.
func (s *store) atName(l location) []byte { return s.at(s.place(l)) }

// release ends the life of one record of that size, and of its name.
func (s *store) release(l location, size int) {
	if l&named == 0 {
		s.discard(l, size)
		return
	}
	s.entomb(l, size)
	s.slots.Remove(uint32(l))
}

// discard ends the life of the bytes of one record. A chunk whose last record goes is left to
// the garbage collector. The only chunk of its class is used again from its start if it is open.
// Records in flight are alive, so nobody reads the chunk's bytes any more. Those of a
// retained record live until letGo.
func (s *store) discard(l location, size int) {
	if len(s.retained) > 0 {
		if _, ok := s.retained[l]; ok {
			s.retained[l] = size
			return
		}
	}
	no := int(l >> locationBits)
	ch := s.chunks[no]
	s.count(ch, -1, -size)
	if ch.live > 0 {
		s.thinned(no)
		return
	}
	if c := s.classes[ch.class]; c.open == no && cap(ch.buf) <= s.largest && c.chunks == 1 {
		ch.buf = ch.buf[:0]
		return
	}
	s.drop(no)
}

// rechunk copies the bytes of a record, without a name, to the chunks of a class.
func (s *store) rechunk(l location, classNo, size int) location {
	to, dst := s.alloc(classNo, size)
	copy(dst, s.at(l)[:size])
	s.discard(l, size)
	return to
}

// retain keeps the bytes of a record until letGo, also where it is released before.
func (s *store) retain(l location) { s.retained[l] = 0 }

func (s *store) letGo(l location) {
	size := s.retained[l]
	delete(s.retained, l)
	if size > 0 {
		s.discard(l, size)
	}
}

// drop forgets an empty chunk. A class without chunks starts small again.
func (s *store) drop(no int) {
	ch := s.chunks[no]
	c := s.classes[ch.class]
	s.bytes -= int64(cap(ch.buf)) + chunkOverhead
	s.chunks[no] = nil
	s.free = append(s.free, no)
	c.chunks--
	if c.open == no {
		c.open = -1
	}
	if c.chunks == 0 {
		delete(s.classes, ch.class)
	}
}

// usedBy returns the bytes of a class's records that are not released. Its cost grows with the chunks.
func (s *store) usedBy(classNo int) (bytes int64) {
	if s.classes[classNo] == nil {
		return 0
	}
	for _, ch := range s.chunks {
		if ch != nil && ch.class == classNo {
			bytes += int64(ch.used)
		}
	}
	return bytes
}

// trim gives back the chunks that are kept open without a record in them.
func (s *store) trim() {
	for _, c := range s.classes {
		if c.open >= 0 && s.chunks[c.open].live == 0 {
			s.drop(c.open)
		}
	}
}
