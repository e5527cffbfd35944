package wheel

import "math"

// place appends a record to the bucket it belongs to now: in the lowest level
// that reaches its tick, or parked beyond them all. The tick is not before the
// clock.
func (w *TimingWheel) place(from source, tick int64, seq, payload uint64) {
	for i := range w.levels {
		lv := &w.levels[i]
		slot := tick >> (lv.shift & 63)
		// The difference is that of two int64, so it fits a uint64.
		if uint64(slot-w.clock>>(lv.shift&63)) > uint64(w.mask) {
			continue
		}
		l := lv.log(from, int(slot&w.mask), w.geometry.Slots)
		if l.head == 0 {
			w.offer(lv, slot)
		}
		if lv.wide {
			w.chunks.appendWide(l, tick, seq, payload)
		} else {
			w.chunks.append(l, tick, seq, payload)
		}
		return
	}
	w.parkFar(from, tick, seq, payload)
}

// offer puts a bucket that is about to hold its first record into the queue.
func (w *TimingWheel) offer(lv *level, slot int64) {
	lv.queue.set(int(slot & w.mask))
	if slot<<lv.shift <= w.head.start {
		w.head.known = false
	}
}

// parkFar appends a record that no level reaches.
func (w *TimingWheel) parkFar(from source, tick int64, seq, payload uint64) {
	l := w.far.log(from, 0, 1)
	if w.far.queue.next(0) < 0 {
		w.far.queue.set(0)
		w.farTick = math.MaxInt64
		w.head.known = false
	}
	if tick < w.farTick {
		w.farTick = tick
		w.head.known = false
	}
	w.chunks.appendWide(l, tick, seq, payload)
}

// peek finds the non-empty bucket that is due first, and returns false if there
// is none. Of several due at one tick it is the coarsest, because the others
// have to wait for what cascades out of it.
func (w *TimingWheel) peek() (queueHead, bool) {
	if w.head.known {
		return w.head, w.head.level != nil
	}
	h := queueHead{known: true, start: math.MaxInt64}
	if w.far.queue.next(0) == 0 {
		// Half a turn before the earliest of them is due. The other half is
		// room, so that a pass over what is parked places all that is due in
		// the next half turn, and the next pass is at least that far away.
		shift := w.levels[len(w.levels)-1].shift
		h.level, h.start = &w.far, (w.farTick>>shift-int64(w.geometry.Slots/2))<<shift
	}
	for i := len(w.levels) - 1; i >= 0; i-- {
		lv := &w.levels[i]
		slot, ok := lv.first(w.clock>>lv.shift, w.mask)
		if ok && (h.level == nil || slot<<lv.shift < h.start) {
			h.level, h.slot, h.start = lv, slot, slot<<lv.shift
		}
	}
	w.head = h
	return h, h.level != nil
}

// poll takes the bucket that is due first, if it is due by target, and moves
// the clock to it.
func (w *TimingWheel) poll(target int64) bool {
	h, ok := w.peek()
	if !ok || h.start > target {
		return false
	}
	w.clock = h.start
	w.nowMs = max(w.nowMs, w.toMs(h.start))
	rest := h.level.take(&w.chunks, int(h.slot&w.mask))
	w.flushing = flushing{rest: rest, level: h.level, start: h.start}
	w.head.known = false
	return true
}

// flush reads at most budget records of the taken bucket, appends those that
// are due, places the others anew, and returns what is left of the budget. Dead
// records end here.
func (w *TimingWheel) flush(due []uint64, budget int) ([]uint64, int) {
	f := &w.flushing
	per := f.level.places()
	for f.rest.ref != 0 && budget > 0 {
		places, epoch := w.chunks.unread(f.rest, per*uint32(min(budget, largeChunk)))
		switch {
		case f.level.wide:
			w.cascadeWide(places, epoch)
		case f.level.shift > 0:
			w.cascade(places, epoch)
		default:
			due = w.fire(due, places, epoch)
		}
		budget -= len(places) / int(per)
		w.chunks.skip(&f.rest, uint32(len(places)))
	}
	return due, budget
}

// fire appends the live payloads of a chunk of level 0: its bucket is one tick,
// and the clock is there.
func (w *TimingWheel) fire(due []uint64, places []record, epoch uint64) []uint64 {
	for _, r := range places {
		if w.live.remove(fullSeq(epoch, r.seq)) {
			due = append(due, r.payload)
		}
	}
	return due
}

// cascade places the live records of a chunk anew. It does not fire those that
// are due at this very tick: older ones may already wait in level 0.
func (w *TimingWheel) cascade(places []record, epoch uint64) {
	for _, r := range places {
		if seq := fullSeq(epoch, r.seq); w.live.has(seq) {
			w.place(cascaded, w.flushing.fullTick(r.tick), seq, r.payload)
		}
	}
}

// cascadeWide is cascade for records that take two places.
func (w *TimingWheel) cascadeWide(places []record, epoch uint64) {
	for i := 0; i < len(places); i += 2 {
		if seq := fullSeq(epoch, places[i].seq); w.live.has(seq) {
			w.place(cascaded, int64(places[i+1].payload), seq, places[i].payload)
		}
	}
}

// fullTick completes the low 32 bits of a deadline in ticks. A bucket that is
// not wide spans at most 2^32 of them.
func (f *flushing) fullTick(low uint32) int64 {
	return f.start + int64(low-uint32(f.start))
}
