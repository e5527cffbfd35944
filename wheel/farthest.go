package wheel

import "math"

// taking is how far the pass of TakeFarthest has come. The pass goes through the levels
// from beyond the top one down to the lowest. In each it reads the buckets from the
// latest slot on, and then the open one. Of far it reads the open one first.
//
// Records move only to where the pass comes later. They move into an open bucket, to a
// lower level, and from the open bucket of far back into far.
type taking struct {
	level   int    // index of the level; after the last comes far, and then its open bucket
	current *level // the level of that index; nil: no pass is going on

	// slot is the one in hand, or the latest that may be the next.
	//
	// Invariant: the pass reads nothing of this level's later slots any more.
	slot int64

	from source // log of the slot's bucket
	prev uint32 // chunk that was read last, of those that are left; 0: none
	read uint32 // places of the chunk after prev that were read and stay

	// open is set in the level's open bucket, whose chunks a flush takes from the front.
	open   bool
	start  int64 // of that bucket
	before int64 // its chunks up to prev
	chunks int64 // all its chunks, when the pass was there last
}

// TakeFarthest takes live records that are due after horizonMs out of the wheel, those
// whose payloads are wanted, and appends the payloads to taken. A record due at the
// wheel's clock stays. The handle of a record taken is void, and its memory is free as
// after Sweep; others keep their place, their order and their handles. wanted must not
// use the wheel.
//
// It reads at most budget records: taken, found dead, or left where they are. more is true
// if that leaves some of the pass unread, and the next call goes on there. With more
// false the pass is over, and the next call begins another at the farthest end. All
// other methods may be called between two calls, and the horizon may change.
//
// The farthest buckets come first: those beyond all levels, then level by level from the
// coarsest to the finest. In a level the latest ones come first. Within a bucket any
// record may come first, and one two buckets later may wait in the level below. Of a
// bucket that the horizon cuts, the records beyond it are taken.
//
// A pass takes every wanted record beyond the horizon that was parked when it began and
// still is. One that was added meanwhile may be left for the next pass. What stays is read
// once a pass, and again if its bucket is swept, opens, or moves down meanwhile. The cost
// is that of the records read, and of compacting four times as many while a third of the
// chunks' memory is free.
func (w *TimingWheel) TakeFarthest(horizonMs int64, budget int, wanted func(payload uint64) bool, taken []uint64) (out []uint64, more bool) {
	s := sieve{horizon: max(w.tickBefore(horizonMs), w.clock), budget: budget, wanted: wanted, taken: taken}
	if s.horizon == math.MaxInt64 {
		w.RewindFarthest()
		return taken, false
	}
	more = w.sift(&s) // a statement of its own: it is what fills taken
	return s.taken, more
}

// Readdress asks for every live record what is to be in place of its payload. Records keep their handles,
// their order and their deadlines. It goes through them in the pass of TakeFarthest, with the same budget
// and the same meaning of more. So a pass of one ends with RewindFarthest before the other's. address must
// not use the wheel. A record that moves to another bucket meanwhile may be asked about again.
func (w *TimingWheel) Readdress(budget int, address func(payload uint64) uint64) (more bool) {
	return w.sift(&sieve{horizon: w.clock, budget: budget, wanted: func(uint64) bool { return false }, address: address})
}

// sift goes on with the pass. It returns true where the budget leaves some of it unread.
func (w *TimingWheel) sift(s *sieve) (more bool) {
	for w.seek(s.horizon) {
		if s.budget <= 0 {
			return true
		}
		left := s.budget
		if w.taking.open {
			w.takeOpen(s)
		} else {
			w.takeParked(s)
		}
		w.compactBeside(left - s.budget)
	}
	return false
}

// RewindFarthest makes the next call of TakeFarthest begin a new pass, at the farthest end.
func (w *TimingWheel) RewindFarthest() { w.taking = taking{} }

// at reports whether the pass is in the bucket, and the bucket is not open.
func (t *taking) at(lv *level, bucket int, mask int64) bool {
	return t.current == lv && !t.open && int(t.slot&mask) == bucket
}

// opened makes the pass read a bucket in hand again that is about to be opened.
func (t *taking) opened(lv *level, bucket int, mask int64, isFar bool) {
	switch {
	case t.current != lv:
	case isFar:
		*t = taking{}
	case t.at(lv, bucket, mask):
		t.restart()
	}
}

// restart makes the pass read the bucket in hand from its beginning.
func (t *taking) restart() {
	t.from, t.prev, t.read, t.before = added, 0, 0, 0
	if t.open {
		t.chunks = t.current.open.chunks
	}
}

// moved takes notice that the chunk was moved, or that the records up to its end now end
// with the chunk to.
func (t *taking) moved(ref, to uint32) {
	if t.prev == ref {
		t.prev = to
	}
}

// enter begins a level.
func (w *TimingWheel) enter(level int) {
	w.taking = taking{level: level, current: &w.far} // all of far is slot 0
	if level < len(w.levels) {
		lv := &w.levels[level]
		w.taking.current, w.taking.slot = lv, math.MaxInt64>>lv.shift
	}
}

// seek moves the pass to the next chunk that may hold records beyond the horizon. It
// returns false, and ends the pass, if there is none.
func (w *TimingWheel) seek(horizon int64) bool {
	t, far := &w.taking, len(w.levels)
	if t.current == nil {
		w.enter(far + 1)
	}
	for {
		clockSlot, least, mask := int64(0), int64(0), int64(0)
		if lv := t.current; lv != &w.far {
			clockSlot, least, mask = w.clock>>lv.shift, (horizon+1)>>lv.shift, w.mask
		}
		if t.level <= far && !t.open && w.seekParked(clockSlot, least, mask) || t.level != far && w.seekOpen(least) {
			return true
		}
		if t.level == 0 {
			w.RewindFarthest()
			return false
		}
		w.enter(t.level - 1)
	}
}

// seekParked is seek within the buckets of a level from the slot least on.
func (w *TimingWheel) seekParked(clockSlot, least, mask int64) bool {
	t, lv := &w.taking, w.taking.current
	for lv.queued > 0 && t.slot >= least {
		limit := t.slot
		if uint64(limit-clockSlot) > uint64(mask) { // as in place
			limit = clockSlot + mask
		}
		slot := lv.last(limit, mask)
		if slot < least {
			return false
		}
		if slot != t.slot {
			t.slot, t.from, t.prev, t.read = slot, added, 0, 0
		}
		for ; t.from <= cascaded; t.from, t.prev, t.read = t.from+1, 0, 0 {
			logs := lv.logs[t.from]
			if logs != nil && logs[slot&mask].head != 0 && (t.prev == 0 || w.store.chunks.at(t.prev).tick != 0) {
				return true
			}
		}
		t.slot, t.from = slot-1, added
	}
	return false
}

// seekOpen is seek within the level's open bucket, if that is one of the slot least or
// later.
func (w *TimingWheel) seekOpen(least int64) bool {
	t, lv := &w.taking, w.taking.current
	open := &lv.open
	if open.rest.ref == 0 || t.open && t.start != open.start {
		return false
	}
	if !t.open {
		if lv != &w.far && open.start>>lv.shift < least {
			return false
		}
		t.open, t.start = true, open.start
		t.restart()
	}
	if flushed := t.chunks - open.chunks; flushed > 0 {
		if t.before -= flushed; t.before < 0 {
			t.before, t.read = 0, 0
		}
		if t.before == 0 {
			t.prev = 0
		}
		t.chunks = open.chunks
	}
	if t.prev == 0 {
		t.read = max(t.read, open.rest.read)
		return true
	}
	return w.store.chunks.at(t.prev).tick != 0
}
