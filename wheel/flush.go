package wheel

// flushing is the bucket that an advance has begun to empty and not finished.
type flushing struct {
	level  *level // whose open bucket it is; nil: nothing is being flushed
	chunks int64  // of that bucket, still to be read
}

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
		w.append(lv, lv.log(from, int(slot&w.mask), w.geometry.Slots), slot, tick, seq, payload)
		return
	}
	w.parkFar(from, tick, seq, payload)
}

// append adds a record to the log of a slot.
func (w *TimingWheel) append(lv *level, l *bucketLog, slot, tick int64, seq, payload uint64) {
	if l.head == 0 {
		w.offer(lv, slot)
	}
	if lv.wide {
		w.store.chunks.appendWide(l, tick, seq, payload)
	} else {
		w.store.chunks.append(l, tick, seq, payload)
	}
}

// flush reads at most budget records of the bucket that poll found. It appends those that
// are due, places the others anew, and returns the rest of the budget. Dead records end
// here.
func (w *TimingWheel) flush(due []uint64, budget int) ([]uint64, int) {
	f, open := &w.flushing, &w.flushing.level.open
	per := f.level.places()
	for f.chunks > 0 && budget > 0 {
		places, epoch := w.store.chunks.unread(open.rest, per*uint32(min(budget, largeChunk)))
		switch {
		case f.level.wide:
			w.cascadeWide(places, epoch)
		case f.level.shift > 0:
			w.cascade(places, epoch, open.start)
		default:
			due = w.store.fire(due, places, epoch)
		}
		budget -= len(places) / int(per)
		if w.store.chunks.skip(&open.rest, uint32(len(places))) {
			open.chunks--
			f.chunks--
		}
	}
	if f.chunks == 0 {
		open.schedule(w.clock, w.pace.shareChunks)
		w.flushing = flushing{}
		w.head.known = false
	}
	return due, budget
}

// cascade places the live records of a chunk anew. It does not fire those that
// are due at this very tick: older ones may already wait in level 0.
func (w *TimingWheel) cascade(places []record, epoch uint64, start int64) {
	for _, r := range places {
		if seq := fullSeq(epoch, r.seq); w.store.live.has(seq) {
			w.place(cascaded, fullTick(start, r.tick), seq, r.payload)
		} else {
			w.store.dead--
		}
	}
}

// cascadeWide is cascade for records that take two places.
func (w *TimingWheel) cascadeWide(places []record, epoch uint64) {
	for i := 0; i < len(places); i += 2 {
		if seq := fullSeq(epoch, places[i].seq); w.store.live.has(seq) {
			w.place(cascaded, int64(places[i+1].payload), seq, places[i].payload)
		} else {
			w.store.dead--
		}
	}
}
