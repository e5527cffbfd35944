package wheel

// store is the records of all buckets: the chunks they stand in, and which of them can
// still fire. A level says how its records are written. The store knows neither the clock
// nor which buckets there are.
type store struct {
	chunks arena

	// live has the bit of each record that can still fire.
	live liveSet

	// dead is how many records were cancelled and still take up their places.
	//
	// Invariant: between two calls the chunks hold as many records as are live and dead.
	dead int

	// uneven: chunks that are not the last of their log may have room, as records were taken out.
	uneven bool
}

// newStore returns an empty store whose first sequence number is next.
func newStore(next uint64) store {
	return store{chunks: newArena(), live: newLiveSet(next)}
}

// cancel makes a live record a dead one. It returns false, and changes nothing, if the
// record is not live.
func (s *store) cancel(seq uint64) bool {
	if !s.live.remove(seq) {
		return false
	}
	s.dead++
	return true
}

// fire appends the live payloads of a chunk of level 0: its bucket is one tick,
// and the clock is there.
func (s *store) fire(due []uint64, places []record, epoch uint64) []uint64 {
	before := len(due)
	for _, r := range places {
		if s.live.remove(fullSeq(epoch, r.seq)) {
			due = append(due, r.payload)
		}
	}
	s.dead -= len(places) - (len(due) - before)
	return due
}

// squeeze drops the dead records of a closed chunk, and returns how many of its first read
// places are left.
func (s *store) squeeze(lv *level, ref, read uint32) (left uint32) {
	places, epoch := s.chunks.unread(chain{ref: ref}, largeChunk)
	per, kept := int(lv.places()), 0
	for i := 0; i < len(places); i += per {
		if !s.live.has(fullSeq(epoch, places[i].seq)) {
			s.dead--
			continue
		}
		if kept != i {
			copy(places[kept:kept+per], places[i:i+per])
		}
		if kept += per; uint32(i) < read {
			left = uint32(kept)
		}
	}
	s.chunks.at(ref).seq = uint32(kept)
	s.uneven = s.uneven || kept < len(places)
	return left
}

// refill appends to l the records of the chain that keep wants, and releases the
// chain's chunks. The chain's bucket is of level lv and begins at start.
func (s *store) refill(l *bucketLog, c chain, lv *level, start int64, keep func(tick int64, seq, payload uint64) bool) {
	for c.ref != 0 {
		places, epoch := s.chunks.unread(c, largeChunk)
		for i := 0; i < len(places); i += int(lv.places()) {
			r := places[i]
			seq, tick := fullSeq(epoch, r.seq), lv.tickAt(places, i, start)
			switch {
			case !keep(tick, seq, r.payload):
			case lv.wide:
				s.chunks.appendWide(l, tick, seq, r.payload)
			default:
				s.chunks.append(l, tick, seq, r.payload)
			}
		}
		s.chunks.skip(&c, uint32(len(places)))
	}
}

// sift reads on in a closed chunk behind its first read places, as far as the budget of by
// goes. The chunk's bucket is of level lv and begins at start. It takes what is wanted and
// drops what is dead, and returns how many places of the chunk were read by now and stay.
func (s *store) sift(by *sieve, lv *level, ref, read uint32, start int64) uint32 {
	header := s.chunks.at(ref)
	places, epoch := s.chunks.unread(chain{ref: ref, read: read}, largeChunk)
	per, kept := int(lv.places()), 0
	n := min(len(places), per*min(by.budget, largeChunk))
	for i := 0; i < n; i += per {
		seq := fullSeq(epoch, places[i].seq)
		switch {
		case !s.live.has(seq):
			s.dead--
		case lv.tickAt(places, i, start) > by.horizon && by.wanted(places[i].payload):
			s.live.remove(seq)
			by.taken = append(by.taken, places[i].payload)
		default:
			if by.address != nil {
				places[i].payload = by.address(places[i].payload)
			}
			copy(places[kept:kept+per], places[i:i+per])
			kept += per
		}
	}
	copy(places[kept:], places[n:])
	header.seq -= uint32(n - kept)
	s.uneven = s.uneven || kept < n
	by.budget -= n / per
	return read + uint32(kept)
}
