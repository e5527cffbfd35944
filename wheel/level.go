package wheel

import "unsafe"

// source says how a record came to a bucket.
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

	// wide is set where a bucket spans more than 2^32 ticks: its records keep
	// the whole deadline, and take two places.
	wide bool

	// queue is the DelayQueue: the buckets that hold records, live or dead.
	//
	// Invariant: bucket i is a member exactly when one of logs[...][i] has a
	// chunk. Its slot is then at or after the clock's and less than a turn
	// ahead; above level 0 it is after the clock's, unless the bucket is due
	// and about to be taken.
	queue bitset

	// logs are two for each bucket. Either half is nil until it is needed.
	//
	// Invariant: of two records with the same deadline tick, the one in the
	// cascaded log is older, and within a log the one that comes first is.
	logs [2][]bucketLog
}

// places is how many places of a chunk a record takes in this level.
func (lv *level) places() uint32 {
	if lv.wide {
		return 2
	}
	return 1
}

// log returns the log of a bucket for records from that source.
func (lv *level) log(from source, bucket, buckets int) *bucketLog {
	if lv.logs[from] == nil {
		lv.logs[from] = make([]bucketLog, buckets)
		lv.queue.grow(buckets)
	}
	return &lv.logs[from][bucket]
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

// take empties a bucket, older records first.
func (lv *level) take(a *arena, bucket int) chain {
	lv.queue.clear(bucket)
	var none bucketLog
	logs := [2]*bucketLog{&none, &none}
	for from := range lv.logs {
		if lv.logs[from] != nil {
			logs[from] = &lv.logs[from][bucket]
		}
	}
	return a.take(logs[cascaded], logs[added])
}

// bytes is the memory of the level without its chunks.
func (lv *level) bytes() int64 {
	logs := cap(lv.logs[added]) + cap(lv.logs[cascaded])
	return int64(unsafe.Sizeof(level{})) + int64(logs)*int64(unsafe.Sizeof(bucketLog{})) + lv.queue.bytes()
}
