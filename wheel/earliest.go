package wheel

import "math"

// Earliest returns the deadline of the record that is due first, rounded up to a
// tick, or false where nothing is parked. Unlike NextDeadline it looks into the
// buckets, and reads up to two of each level above the lowest. It is not made for
// every turn of a loop.
func (w *TimingWheel) Earliest() (ms int64, ok bool) {
	if w.Len() == 0 {
		return 0, false
	}
	first := int64(math.MaxInt64)
	for i := range w.levels {
		lv := &w.levels[i]
		if lv.open.start < first {
			if tick, live := w.store.earliestOpen(lv); live {
				first = min(first, tick)
			}
		}
		here := w.clock >> lv.shift
		for from := here; from-here <= w.mask; {
			slot, found := lv.first(from, w.mask)
			if !found || slot-here > w.mask || slot<<lv.shift >= first {
				break
			}
			if tick, live := w.store.earliestIn(lv, int(slot&w.mask), slot<<lv.shift); live {
				first = min(first, tick)
				break
			}
			from = slot + 1
		}
	}
	if tick, live := w.store.earliestOpen(&w.far); live {
		first = min(first, tick)
	}
	if w.far.queue.next(0) == 0 {
		if tick, live := w.store.earliestIn(&w.far, 0, 0); live {
			first = min(first, tick)
		}
	}
	return max(w.toMs(first), w.nowMs), true
}

// earliestOpen returns the least tick of the live records in the bucket that the
// level is emptying.
func (s *store) earliestOpen(lv *level) (tick int64, live bool) {
	tick = math.MaxInt64
	for c := lv.open.rest; c.ref != 0; c = (chain{ref: s.chunks.at(c.ref).tick}) {
		places, epoch := s.chunks.unread(c, largeChunk)
		at, some := s.earliestOf(lv, places, epoch, lv.open.start)
		tick, live = min(tick, at), live || some
		if live && lv.oneTick() {
			break // all of it is for one tick
		}
	}
	return tick, live
}

// earliestOf returns the least tick of the live records in a part of a chunk,
// whose bucket's span begins at start.
func (s *store) earliestOf(lv *level, places []record, epoch uint64, start int64) (tick int64, live bool) {
	tick = math.MaxInt64
	for i := 0; i < len(places); i += int(lv.places()) {
		if !s.live.has(fullSeq(epoch, places[i].seq)) {
			continue
		}
		tick, live = min(tick, lv.tickAt(places, i, start)), true
		if lv.oneTick() {
			break // all of it is for one tick
		}
	}
	return tick, live
}

// earliestIn returns the least tick of the live records in a bucket, whose span
// begins at start.
func (s *store) earliestIn(lv *level, bucket int, start int64) (tick int64, live bool) {
	tick = math.MaxInt64
	for _, logs := range lv.logs {
		if logs == nil {
			continue
		}
		s.chunks.each(&logs[bucket], func(places []record, epoch uint64) bool {
			at, some := s.earliestOf(lv, places, epoch, start)
			tick, live = min(tick, at), live || some
			return !live || !lv.oneTick()
		})
	}
	return tick, live
}

// each visits the chunks of a log that stays as it is, until f returns false.
func (a *arena) each(l *bucketLog, f func(places []record, epoch uint64) (more bool)) {
	if l.head == 0 {
		return
	}
	last := l.tail()
	for ref := l.head; ; {
		header := a.at(ref)
		count, following := header.seq, header.tick
		if ref == last {
			count = l.next - 1 - last
		}
		from := ref&(slabPlaces-1) + 1
		if !f(a.slabs[ref>>slabBits][from:from+count], tagEpoch(header.payload)) || ref == last {
			return
		}
		ref = following
	}
}
