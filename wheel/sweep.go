package wheel

// Drain hands back all records that have not fired, in no particular order. It leaves
// the wheel empty, without their memory, and its clock where it was. Each handle is
// void before f sees its record, and f may use the wheel.
//
// deadlineMs is the deadline given to Add, in Unix milliseconds, rounded up to a
// tick. For a deadline that had passed by then it is the tick of the wheel's clock at
// that moment.
func (w *TimingWheel) Drain(f func(deadlineMs int64, payload uint64)) {
	old := *w
	w.store = newStore(old.store.live.next)
	w.clearBuckets()
	old.rewrite(func(tick int64, seq, payload uint64) bool {
		if old.store.live.has(seq) {
			f(old.toMs(tick), payload)
		}
		return false
	})
}

// Sweep removes every live record whose payload matches, in one pass over the
// whole wheel, and returns how many there were. Records that were cancelled
// before go with them, so that their memory is free, too. match must not use
// the wheel. The cost is that of reading and writing every record once.
func (w *TimingWheel) Sweep(match func(payload uint64) bool) int {
	before := w.store.live.live
	w.rewrite(func(_ int64, seq, payload uint64) bool {
		if !w.store.live.has(seq) {
			return false
		}
		if match(payload) {
			w.store.live.remove(seq)
			return false
		}
		return true
	})
	w.store.dead, w.compaction = 0, compaction{cancels: w.compaction.cancels}
	w.taking.restart()
	return before - w.store.live.live
}

// rewrite writes every log anew with only the records for which keep returns true.
// It keeps their order, and releases the chunks that this saves.
func (w *TimingWheel) rewrite(keep func(tick int64, seq, payload uint64) bool) {
	for i := range w.levels {
		lv := &w.levels[i]
		w.rewriteOpen(lv, keep)
		here := w.clock >> lv.shift
		for bucket := lv.queue.next(0); bucket >= 0; bucket = lv.queue.next(bucket + 1) {
			slot := here + (int64(bucket)-here)&w.mask
			w.rewriteBucket(lv, bucket, slot<<lv.shift, keep)
		}
	}
	w.rewriteOpen(&w.far, keep)
	if w.far.queue.next(0) == 0 {
		w.rewriteBucket(&w.far, 0, 0, keep)
	}
}

// rewriteOpen is rewrite for the rest of the bucket that is being emptied.
func (w *TimingWheel) rewriteOpen(lv *level, keep func(tick int64, seq, payload uint64) bool) {
	open := &lv.open
	if open.rest.ref == 0 {
		return
	}
	var none, rest bucketLog
	w.store.refill(&rest, open.rest, lv, open.start, keep)
	open.chunks = w.store.chunks.count(&rest)
	open.rest = w.store.chunks.take(&none, &rest)
	if w.flushing.level == lv {
		w.flushing.chunks = open.share(w.clock, w.pace.shareChunks) // chunks may be smaller, and more
	} else if open.chunks == 0 {
		*open = openBucket{}
		w.head.known = false
	}
}

// rewriteBucket is rewrite for one bucket, whose span begins at start.
func (w *TimingWheel) rewriteBucket(lv *level, bucket int, start int64, keep func(tick int64, seq, payload uint64) bool) {
	for _, logs := range lv.logs {
		if logs == nil {
			continue
		}
		var none bucketLog
		l := &logs[bucket]
		w.store.refill(l, w.store.chunks.take(&none, l), lv, start, keep)
	}
	w.dequeueEmpty(lv, bucket)
}
