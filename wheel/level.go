package wheel

import "unsafe"

// source is how a record came to a bucket.
type source int

const (
	added    source = iota // by Add
	cascaded               // from a coarser level, or from beyond them all
)

// level is one of the wheels of the hierarchy. A slot is a number on the whole
// of time, tick >> shift; slots that are a turn apart share a bucket.
type level struct {
	// shift is the width of a bucket as a power of two of ticks. Kafka's
	// tickMs of this level is 1<<shift ticks.
	shift uint

	// lead is how many ticks before its span a bucket is opened, and margin how
	// many before it has to be empty. Both are 0 at level 0 and without overlap.
	//
	// Invariant: lead is at most the width of a bucket. So the level below reaches
	// all of an open one, and nothing is added to it any more.
	//
	// Invariant: margin is at least the reach of the level two below. So records of
	// an open bucket go to the level below. A record that passed that level by would
	// get ahead of older records of its tick there.
	lead, margin int64

	// wide is set where a bucket spans more than 2^32 ticks: its records keep
	// the whole deadline, and take two places.
	wide bool

	// queue is the DelayQueue: the buckets that hold records, live or dead.
	//
	// Invariant: bucket i is a member exactly when one of logs[...][i] has a
	// chunk. Its slot is then at or after the clock's and less than a turn
	// ahead. Above level 0 the bucket does not open before the clock, unless it
	// is about to be taken.
	queue bitset

	queued int   // buckets in the queue
	due    int64 // tick at which the first of them opens
	slot   int64 // slot of that first one

	// logs are two for each bucket. Either half is nil until it is needed.
	//
	// Invariant: of two records with the same deadline tick, the one in the cascaded log
	// is older. Within a log the one that comes first is.
	logs [2][]bucketLog

	// open is the bucket of this level that is being emptied.
	open openBucket
}

// openBucket is a bucket that was taken out of its level, so that records for the
// slot a turn later are in other logs. A bucket of level 0 is fired at once. A coarser
// one moves down a share at a time, until the tick last at the latest.
type openBucket struct {
	rest   chain // ref 0: no bucket is open
	chunks int64 // of rest, at least 1 while there is a rest
	start  int64 // first tick of the bucket's span
	next   int64 // tick at which the next share is due
	last   int64 // tick by which rest has to be empty
}

// places is how many places of a chunk a record takes in this level.
func (lv *level) places() uint32 {
	if lv.wide {
		return 2
	}
	return 1
}

// oneTick reports whether all of a bucket is for the same tick.
func (lv *level) oneTick() bool { return lv.shift == 0 && !lv.wide }

// opens is the tick at which the bucket of a slot is taken.
func (lv *level) opens(slot int64) int64 { return slot<<lv.shift - lv.lead }

// log returns the log of a bucket for records from that source.
func (lv *level) log(from source, bucket, buckets int) *bucketLog {
	if lv.logs[from] == nil {
		lv.logs[from] = make([]bucketLog, buckets)
		lv.queue.grow(buckets)
	}
	return &lv.logs[from][bucket]
}

// offer puts the bucket of a slot into the queue, if it is not in it.
func (lv *level) offer(slot, mask int64) {
	bucket := int(slot & mask)
	if lv.queue.has(bucket) {
		return
	}
	if opens := lv.opens(slot); lv.queued == 0 || opens < lv.due {
		lv.due, lv.slot = opens, slot
	}
	lv.queued++
	lv.queue.set(bucket)
}

// remove takes a bucket out of the queue.
func (lv *level) remove(bucket int, clock, mask int64) {
	lv.queue.clear(bucket)
	if lv.queued--; lv.queued > 0 {
		lv.slot, _ = lv.first(clock>>lv.shift, mask)
		lv.due = lv.opens(lv.slot)
	}
}

// first returns the earliest slot that holds records, of those less than a
// turn ahead of the slot the clock is in.
func (lv *level) first(clockSlot int64, mask int64) (slot int64, ok bool) {
	here := int(clockSlot & mask)
	bucket := lv.queue.next(here)
	if bucket < 0 {
		if bucket = lv.queue.next(0); bucket < 0 {
			return 0, false
		}
	}
	return clockSlot + int64(bucket-here)&mask, true
}

// last returns the latest slot up to limit that holds records. It is before the clock's
// if there is none. The level must hold some, and limit is less than a turn ahead of the
// slot the clock is in.
func (lv *level) last(limit, mask int64) (slot int64) {
	here := int(limit & mask)
	bucket := lv.queue.prev(here)
	if bucket < 0 {
		bucket = lv.queue.prev(int(mask))
	}
	return limit - int64(here-bucket)&mask
}

// take empties a bucket, older records first, and opens it.
func (lv *level) take(a *arena, bucket int, start, clock, mask int64) {
	lv.remove(bucket, clock, mask)
	var none bucketLog
	logs := [2]*bucketLog{&none, &none}
	for from := range lv.logs {
		if lv.logs[from] != nil {
			logs[from] = &lv.logs[from][bucket]
		}
	}
	chunks := a.count(logs[cascaded]) + a.count(logs[added])
	lv.open = openBucket{
		rest: a.take(logs[cascaded], logs[added]), chunks: chunks,
		start: start, next: clock, last: max(clock, start-lv.margin),
	}
}

// share is how many chunks have to go at the tick for the rest to be empty by last. It is
// least at the least, where there are as many.
func (o *openBucket) share(tick, least int64) int64 {
	if tick >= o.last {
		return o.chunks
	}
	return min(o.chunks, max(least, o.chunks/(o.last-tick)+1))
}

// schedule sets when the next share is due, after one at the tick. A share has least
// chunks or more.
func (o *openBucket) schedule(tick, least int64) {
	if o.chunks == 0 {
		*o = openBucket{}
		return
	}
	o.next = tick + min(o.last-tick, max(1, (o.last-tick)/o.chunks*least)) // at the end of time, too
}

// tickAt is the deadline in ticks of the record that begins at places[i], in a
// bucket whose span begins at start.
func (lv *level) tickAt(places []record, i int, start int64) int64 {
	if lv.wide {
		return int64(places[i+1].payload)
	}
	return fullTick(start, places[i].tick)
}

// fullTick completes the low 32 bits of a deadline in ticks. A bucket that is
// not wide spans at most 2^32 of them, from start on.
func fullTick(start int64, low uint32) int64 {
	return start + int64(low-uint32(start))
}

// bytes is the memory of the level's logs and queue, without its chunks.
func (lv *level) bytes() int64 {
	logs := cap(lv.logs[added]) + cap(lv.logs[cascaded])
	return int64(logs)*int64(unsafe.Sizeof(bucketLog{})) + lv.queue.bytes()
}
