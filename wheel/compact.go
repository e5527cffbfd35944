package wheel

// maxDeadShare begins a pass of compaction: at more than one dead record to two live
// ones. The pass goes on to its end, and gives memory back only near it. With the usual
// pace that keeps a wheel at 28 bytes a live record at most, whatever is cancelled.
// Compaction with fewer dead records would mean less memory and dearer cancels.
const maxDeadShare = 2

// stepPlaces is how much a step of compaction reads: a chunk, or several of the
// small ones.
const stepPlaces = largeChunk

// compaction is how far the pass over all buckets has come.
type compaction struct {
	cancels uint   // since the beginning
	reads   int    // of TakeFarthest since the last step, in records
	level   int    // index of the level; the one after the last is far
	bucket  int    // of that level
	from    source // log of that bucket
	prev    uint32 // chunk of that log that was read last; 0: none yet
	current *level // the level of that index; nil: no pass is going on
}

// at reports whether the pass is within the bucket.
func (c *compaction) at(lv *level, bucket int) bool {
	return c.current == lv && c.bucket == bucket
}

// skip leaves the bucket that the pass is in, which has been taken.
func (c *compaction) skip() { c.bucket, c.from, c.prev = c.bucket+1, added, 0 }

// moved takes notice that the records up to a chunk's end now end with the chunk to.
func (c *compaction) moved(ref, to uint32) {
	if c.prev == ref {
		c.prev = to
	}
}

// compact does one Cancel's share of a pass.
func (w *TimingWheel) compact() {
	if w.compaction.cancels++; w.compaction.cancels%w.pace.cancelsPerStep == 0 {
		w.compactStep()
	}
}

// compactBeside does the share of a pass that belongs to as many records read by
// TakeFarthest. A pass begins where much is free, though nothing is dead.
func (w *TimingWheel) compactBeside(reads int) {
	c := &w.compaction
	for c.reads += reads; c.reads >= w.pace.readsPerStep; c.reads -= w.pace.readsPerStep {
		if c.current != nil || w.store.chunks.sparse(w.pace.minFree) {
			w.compactStep()
		}
	}
}

// compactStep does a step of a pass, and begins one if none is going on.
func (w *TimingWheel) compactStep() {
	c := &w.compaction
	for work := uint32(0); work < stepPlaces; {
		c.current = &w.far
		if c.level < len(w.levels) {
			c.current = &w.levels[c.level]
		}
		bucket := c.current.queue.next(c.bucket)
		if bucket < 0 {
			if c.current == &w.far {
				*c = compaction{cancels: c.cancels, reads: c.reads}
				return
			}
			c.level, c.bucket, c.from, c.prev = c.level+1, 0, added, 0
			continue
		}
		if bucket != c.bucket {
			c.bucket, c.from, c.prev = bucket, added, 0
		}
		work += smallChunk + w.compactChunk()
	}
}

// compactChunk drops the dead records of the bucket's next chunk, and returns how many
// places it has read. Live ones fill up the chunk before. The rest goes to the lowest
// slab with room, so that higher slabs run empty. Order is kept, and every chunk that
// the pass has left is full.
func (w *TimingWheel) compactChunk() uint32 {
	c, lv, a := &w.compaction, w.compaction.current, &w.store.chunks
	if lv.logs[c.from] == nil || lv.logs[c.from][c.bucket].head == 0 {
		w.nextLog()
		return 0
	}
	l := &lv.logs[c.from][c.bucket]
	ref := l.head
	if c.prev != 0 {
		ref = a.at(c.prev).tick
	}
	if ref == 0 { // TakeFarthest has emptied the rest of the log
		w.nextLog()
		return 0
	}
	isTail := ref == l.tail()
	if isTail {
		a.close(l, 0)
	}
	read := a.at(ref).seq
	if t := &w.taking; t.at(lv, c.bucket, w.mask) && t.from == c.from && t.prev == c.prev {
		// TakeFarthest goes on in this chunk: nothing unread may get to the one before.
		t.read = w.store.squeeze(lv, ref, t.read)
	} else {
		w.store.squeeze(lv, ref, 0)
		a.merge(c.prev, ref, lv.places())
	}
	if a.at(ref).seq == 0 {
		a.unlink(l, c.prev, ref)
		w.taking.moved(ref, c.prev)
		w.dequeueEmpty(lv, c.bucket)
	} else {
		from := ref
		ref = a.lower(l, c.prev, from)
		w.taking.moved(from, ref)
		if isTail {
			l.next = ref + 1 + a.at(ref).seq
		}
		c.prev = ref
	}
	if isTail {
		w.nextLog()
	}
	return read
}

// nextLog goes on to the bucket's other log or to the next bucket.
func (w *TimingWheel) nextLog() {
	c := &w.compaction
	if c.prev = 0; c.from == added {
		c.from = cascaded
		return
	}
	c.skip()
}

// merge moves records from the front of a closed chunk to the end of the one before it,
// as far as there is room. 0: there is none. Records of different epochs stay apart.
func (a *arena) merge(prev, ref, per uint32) {
	if prev == 0 {
		return
	}
	to, from := a.at(prev), a.at(ref)
	if tagEpoch(to.payload) != tagEpoch(from.payload) {
		return
	}
	room := (a.state[prev>>slabBits].size - 1 - to.seq) / per * per
	n := min(room, from.seq)
	if n == 0 {
		return
	}
	places, _ := a.unread(chain{ref: ref}, largeChunk)
	end := prev&(slabPlaces-1) + 1 + to.seq
	copy(a.slabs[prev>>slabBits][end:end+n], places[:n])
	copy(places, places[n:])
	to.seq += n
	from.seq -= n
}

// lower moves a closed chunk to a lower slab, if one has room, and returns its ref.
// For the log's last chunk the caller sets the end of the log.
func (a *arena) lower(l *bucketLog, prev, ref uint32) uint32 {
	size := a.state[ref>>slabBits].size
	if i := a.partial[class(size)].next(0); i < 0 || uint32(i) >= ref>>slabBits {
		return ref
	}
	to := a.alloc(size)
	from := ref & (slabPlaces - 1)
	copy(a.slabs[to>>slabBits][to&(slabPlaces-1):], a.slabs[ref>>slabBits][from:from+1+a.at(ref).seq])
	if prev == 0 {
		l.head = to
	} else {
		a.at(prev).tick = to
	}
	a.release(ref)
	return to
}

// unlink takes an empty closed chunk out of a log and releases it. If it was the
// tail, the chunk before it, prev, becomes the tail.
func (a *arena) unlink(l *bucketLog, prev, ref uint32) {
	following, tail := a.at(ref).tick, l.tail()
	count := a.count(l) - 1
	a.release(ref)
	if prev == 0 {
		l.head = following
	} else {
		a.at(prev).tick = following
	}
	switch {
	case ref != tail:
		a.at(tail).payload = chunkTag(count, uint32(tagEpoch(a.at(tail).payload)))
	case prev == 0:
		*l = bucketLog{}
	default:
		header := a.at(prev)
		header.payload = chunkTag(count, uint32(tagEpoch(header.payload)))
		size := a.state[prev>>slabBits].size
		l.next, l.mask, l.epoch = prev+1+header.seq, size-1, uint32(tagEpoch(header.payload))
	}
}
