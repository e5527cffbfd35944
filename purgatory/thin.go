package purgatory

import (
	"cmp"
	"math/bits"
	"slices"
)

// Moving the farthest takes records out of all chunks of a class, and a chunk counts until its last one has
// left. So what stays is carried together: its chunks of which a quarter or more is not live are emptied. Those of
// records with an id have a way of their own, by names: see index.squeeze. Here the wheel says where the
// records are, and is told where they are then.

// markThin chooses chunks to be emptied, the thinnest first, of which at most size bytes are live: so much more
// memory is used meanwhile. It returns false, and chooses none, where that gives back less than half of it.
//
// Chunks of held records do not count, nor do those that are open.
func (s *store) markThin(size int64) bool {
	var thin []*chunk
	for no, ch := range s.chunks {
		if ch != nil && ch.class < idClass && int(ch.used)*4 < cap(ch.buf)*3 && s.classes[ch.class].open != no {
			thin = append(thin, ch)
		}
	}
	slices.SortFunc(thin, func(a, b *chunk) int {
		return cmp.Compare(int64(a.used)*int64(cap(b.buf)), int64(b.used)*int64(cap(a.buf)))
	})
	live, gain, n := int64(0), int64(0), 0
	for ; n < len(thin) && live+int64(thin[n].used) <= size; n++ {
		live += int64(thin[n].used)
		gain += int64(cap(thin[n].buf)) - int64(thin[n].used)
	}
	if gain < size/2 {
		return false
	}
	for _, ch := range thin[:n] {
		ch.emptied = true
	}
	s.emptying = append(s.emptying, thin[:n]...)
	return true
}

// unmark ends the emptying of chunks. Those with a record that is not in the wheel are not empty.
func (s *store) unmark() {
	for _, ch := range s.emptying {
		ch.emptied = false
	}
	s.emptying = nil
}

// Squeeze begins to carry at most size bytes of parked records together, which are used beside until it is
// done. It returns false where less than half as much is to be gained.
func (r *Runs) Squeeze(size int64) bool {
	if !r.store.markThin(size) {
		return false
	}
	r.parking.wheel.RewindFarthest()
	return true
}

// SqueezeOn goes on with that, and looks at most at budget records; more says that there are others.
func (r *Runs) SqueezeOn(budget int) (more bool) {
	r.giveUp() // nothing is offered before the end of the pass
	if more = r.parking.wheel.Readdress(budget, r.carry); !more {
		r.store.unmark()
	}
	return more
}

// carry carries a parked record out of a chunk that is to be emptied. One whose bytes are retained stays: they do,
// and mayMove knows it by where it is. Copies, late records and those that are too large stay in their classes, which
// count them.
func (r *Runs) carry(payload uint64) uint64 {
	loc, _ := parked(payload)
	if loc&named != 0 || !r.store.chunks[loc>>locationBits].emptied {
		return payload
	}
	if _, flying := r.store.retained[loc]; flying {
		return payload
	}
	h := readHeader(r.store.at(loc))
	classNo := r.store.chunks[loc>>locationBits].class
	if classNo < tooLargeCopies {
		classNo = bits.Len64(uint64(max(h.fireMs(r.now.WallMs)-r.now.WallMs, 0)))
	}
	return uint64(r.store.rechunk(loc, classNo, int(h.total()))) | payload&uint64(isPutBack)
}
