package wheel

// epochBits is how many low bits of a sequence number its epoch leaves out. A chunk
// holds sequence numbers of its own epoch and the next, 2^32 in a row, so the
// low 32 bits tell them apart.
const epochBits = 31

// bucketLog is a chain of chunks that is only ever appended to. The zero value
// is an empty log. Its 16 bytes hold all that an append needs to know, so that
// an append touches two cache lines: the log and the place written.
type bucketLog struct {
	// head is the ref of the first chunk; 0 is an empty log.
	head uint32

	// next is the place for the next record. Chunks are aligned to their size,
	// so the last chunk is full, or missing, when next&mask is 0.
	next uint32

	// mask is the size of the last chunk minus one; 0 when there is none.
	mask uint32

	// epoch is that of the last chunk.
	epoch uint32
}

// epochOf is the epoch of a sequence number.
func epochOf(seq uint64) uint32 { return uint32(seq >> epochBits) }

// fullSeq completes the low 32 bits of a sequence number from a chunk of the
// given epoch.
func fullSeq(epoch uint64, low uint32) uint64 {
	first := epoch << epochBits
	return first + uint64(low-uint32(first))
}

// append adds one record. The cost is one write, and a chunk every 31.
func (a *arena) append(l *bucketLog, tick int64, seq, payload uint64) {
	if l.next&l.mask == 0 || epochOf(seq)-l.epoch > 1 {
		a.extend(l, epochOf(seq))
	}
	*a.at(l.next) = record{payload: payload, tick: uint32(tick), seq: uint32(seq)}
	l.next++
}

// appendWide adds one record in two places of the same chunk, the second with
// the whole deadline. A bucket that spans more than 2^32 ticks needs it.
func (a *arena) appendWide(l *bucketLog, tick int64, seq, payload uint64) {
	if l.next&l.mask == 0 || l.next&l.mask == l.mask || epochOf(seq)-l.epoch > 1 {
		a.extend(l, epochOf(seq))
	}
	*a.at(l.next) = record{payload: payload, seq: uint32(seq)}
	*a.at(l.next + 1) = record{payload: uint64(tick)}
	l.next += 2
}

// chunkTag is the payload of a chunk's header: how many chunks the log has up to
// this one, and the epoch of the sequence numbers.
func chunkTag(count int64, epoch uint32) uint64 { return uint64(count)<<32 | uint64(epoch) }

// tagEpoch is the epoch in a chunk's header.
func tagEpoch(tag uint64) uint64 { return tag & (1<<32 - 1) }

// tail is the ref of the last chunk of a log that is not empty.
func (l *bucketLog) tail() uint32 { return (l.next - 1) &^ l.mask }

// count is how many chunks a log has.
func (a *arena) count(l *bucketLog) int64 {
	if l.head == 0 {
		return 0
	}
	return int64(a.at(l.tail()).payload >> 32)
}

// extend closes the last chunk, if there is one, and opens another.
func (a *arena) extend(l *bucketLog, epoch uint32) {
	size := uint32(largeChunk)
	if l.head == 0 {
		size = smallChunk
	}
	ref := a.alloc(size)
	if l.head == 0 {
		l.head = ref
		a.at(ref).payload = chunkTag(1, epoch)
	} else {
		a.close(l, ref)
		a.at(ref).payload = chunkTag(a.count(l)+1, epoch)
	}
	l.next, l.mask, l.epoch = ref+1, size-1, epoch
}

// close writes the header of the last chunk of a log that is not empty.
// following is the ref of the chunk that comes next, or 0.
func (a *arena) close(l *bucketLog, following uint32) {
	last := l.tail()
	header := a.at(last)
	header.tick, header.seq = following, l.next-1-last
}

// chain is the chunks of a log that was taken to be read, and how far they were read.
// Nothing is appended to them any more.
type chain struct {
	ref  uint32 // first chunk that still holds records; 0 is the end
	read uint32 // places of that chunk that were read, without the header
}

// take empties the logs and returns their chunks, one log after the other.
func (a *arena) take(first, second *bucketLog) chain {
	c := chain{ref: second.head}
	if second.head != 0 {
		a.close(second, 0)
	}
	if first.head != 0 {
		a.close(first, second.head)
		c.ref = first.head
	}
	*first, *second = bucketLog{}, bucketLog{}
	return c
}

// unread returns at most n places of the first chunk that were not read yet,
// and the epoch of that chunk. The chain must not be at its end.
func (a *arena) unread(c chain, n uint32) (places []record, epoch uint64) {
	header := a.at(c.ref)
	from := c.ref&(slabPlaces-1) + 1 + c.read
	n = min(n, header.seq-c.read)
	return a.slabs[c.ref>>slabBits][from : from+n], tagEpoch(header.payload)
}

// skip marks n places of the first chunk as read, and reports whether they were its
// last. If so, the chunk is released, and the slice from unread is not valid any more.
func (a *arena) skip(c *chain, n uint32) bool {
	header := a.at(c.ref)
	c.read += n
	if c.read < header.seq {
		return false
	}
	ref := c.ref
	*c = chain{ref: header.tick}
	a.release(ref)
	return true
}
