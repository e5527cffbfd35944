package wheel

// sieve is what one call of TakeFarthest takes.
type sieve struct {
	horizon int64 // last tick whose records stay
	budget  int   // records that may still be read
	wanted  func(payload uint64) bool
	taken   []uint64
	// address returns what is to be in place of the payload of a record that stays; nil: nothing changes.
	address func(payload uint64) uint64
}

// takeParked takes from the next chunk of a bucket that is not open.
func (w *TimingWheel) takeParked(s *sieve) {
	t, lv, a := &w.taking, w.taking.current, &w.store.chunks
	bucket := int(t.slot & w.mask)
	l := &lv.logs[t.from][bucket]
	ref := l.head
	if t.prev != 0 {
		ref = a.at(t.prev).tick
	}
	isTail := ref == l.tail()
	if isTail {
		a.close(l, 0)
	}
	t.read = w.store.sift(s, lv, ref, t.read, t.slot<<lv.shift)
	done := t.read == a.at(ref).seq
	if done {
		a.merge(t.prev, ref, lv.places())
	}
	if isTail {
		l.next = ref + 1 + a.at(ref).seq
	}
	if !done {
		return
	}
	t.read = 0
	if a.at(ref).seq == 0 {
		a.unlink(l, t.prev, ref)
		w.compaction.moved(ref, t.prev)
		w.dequeueEmpty(lv, bucket)
	} else {
		t.prev = ref
	}
	if isTail {
		t.from, t.prev = t.from+1, 0
	}
}

// takeOpen takes from the next chunk of an open bucket.
func (w *TimingWheel) takeOpen(s *sieve) {
	t, a := &w.taking, &w.store.chunks
	open, flushed := &t.current.open, uint32(0)
	ref := open.rest.ref
	if t.prev != 0 {
		ref = a.at(t.prev).tick
	} else {
		flushed = open.rest.read
	}
	if t.read = w.store.sift(s, t.current, ref, t.read, t.start); t.read < a.at(ref).seq {
		return
	}
	t.read = 0
	if a.merge(t.prev, ref, t.current.places()); a.at(ref).seq > flushed {
		t.prev, t.before = ref, t.before+1
		return
	}
	following := a.at(ref).tick
	if t.prev == 0 {
		open.rest = chain{ref: following}
	} else {
		a.at(t.prev).tick = following
	}
	a.release(ref)
	open.chunks--
	t.chunks--
	if w.flushing.level == t.current {
		if t.before < w.flushing.chunks {
			w.flushing.chunks--
		}
	} else if open.chunks == 0 {
		*open = openBucket{}
		w.head.known = false
	}
}
