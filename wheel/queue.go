package wheel

import "math"

// queueHead is the place that is due first: a share of an open bucket, or a bucket that is
// to be opened.
type queueHead struct {
	known bool
	level *level // nil: every bucket is empty
	open  bool   // a share of the level's open bucket, not a bucket to be opened
	tick  int64  // when that is due
}

// offer puts a bucket that is about to hold its first record into the queue.
func (w *TimingWheel) offer(lv *level, slot int64) {
	lv.offer(slot, w.mask)
	if lv.due <= w.head.tick {
		w.head.known = false
	}
}

// dequeueEmpty takes a bucket out of the queue if nothing is left in it.
func (w *TimingWheel) dequeueEmpty(lv *level, bucket int) {
	for from := range lv.logs {
		if lv.logs[from] != nil && lv.logs[from][bucket].head != 0 {
			return
		}
	}
	lv.remove(bucket, w.clock, w.mask)
	w.head.known = false
}

// parkFar appends a record that no level reaches.
func (w *TimingWheel) parkFar(from source, tick int64, seq, payload uint64) {
	l := w.far.log(from, 0, 1)
	if l.head == 0 && w.far.queued == 0 {
		w.farTick = math.MaxInt64
		w.far.offer(0, 0)
	}
	if tick <= w.farTick {
		// A pass over these records is half a turn before the earliest is due. It
		// also places those due in the half turn after that one, so that the next
		// pass is at least half a turn away.
		shift := w.levels[len(w.levels)-1].shift
		w.farTick, w.far.due = tick, (tick>>shift-int64(w.geometry.Slots/2))<<shift
		w.head.known = false
	}
	w.store.chunks.appendWide(l, tick, seq, payload)
}

// peek finds the bucket that is due first, and returns false if the wheel is empty.
// Of several due at one tick it is the coarsest, because records may cascade from it
// into the others.
func (w *TimingWheel) peek() (queueHead, bool) {
	if w.head.known {
		return w.head, w.head.level != nil
	}
	h := queueHead{known: true, tick: math.MaxInt64}
	if w.far.queued > 0 {
		h.level, h.tick = &w.far, w.far.due
	}
	for i := len(w.levels) - 1; i >= 0; i-- {
		lv := &w.levels[i]
		if lv.open.rest.ref != 0 && (h.level == nil || lv.open.next < h.tick) {
			h.level, h.open, h.tick = lv, true, lv.open.next
		}
		if lv.queued > 0 && (h.level == nil || lv.due < h.tick) {
			h.level, h.open, h.tick = lv, false, lv.due
		}
	}
	w.head = h
	return h, h.level != nil
}

// poll moves the clock to the bucket that is due first, if it is due by target, and
// hands it to flush.
func (w *TimingWheel) poll(target int64) bool {
	h, ok := w.peek()
	if !ok || h.tick > target {
		return false
	}
	w.clock = h.tick
	w.nowMs = max(w.nowMs, w.toMs(h.tick))
	if !h.open {
		w.open(h.level)
	}
	w.flushing = flushing{level: h.level, chunks: h.level.open.share(w.clock, w.pace.shareChunks)}
	w.head.known = false
	return true
}

// open opens the first bucket of a level.
func (w *TimingWheel) open(lv *level) {
	start, bucket := lv.slot<<lv.shift, int(lv.slot&w.mask)
	if lv == &w.far {
		start = w.clock
	}
	if w.compaction.at(lv, bucket) {
		w.compaction.skip()
	}
	w.taking.opened(lv, bucket, w.mask, lv == &w.far)
	lv.take(&w.store.chunks, bucket, start, w.clock, w.mask)
}
