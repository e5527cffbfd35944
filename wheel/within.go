package wheel

import (
	"math"
	"slices"
)

// withinLooks bounds how many records one call of Within looks at one by one:
// a third of a millisecond.
const withinLooks = 1 << 16

// Within counts the parked records by when they are due: counts[i] becomes the
// number of those due at instants[i], in Unix milliseconds, or before. The
// instants are in ascending order, and counts is as long.
//
// It adds up whole buckets, and looks at up to 65,536 records of the buckets that an
// instant cuts. Once records were cancelled or taken, it looks at those of all buckets.
// Further records are counted in proportion to the time. So it is exact where these buckets
// hold no more. The cost grows with the buckets that hold records, 16,384 at most in the
// default geometry, and not with the records.
func (w *TimingWheel) Within(instants []int64, counts []int64) {
	clear(counts)
	if len(instants) == 0 || w.Len() == 0 {
		return
	}
	t := tally{w: w, looks: withinLooks, bins: make([]int64, len(instants)+1)}
	for _, ms := range instants {
		t.ticks = append(t.ticks, w.tickBefore(ms))
	}
	for i := range w.levels {
		t.level(&w.levels[i])
	}
	beyond := span{w.clock, math.MaxInt64}
	t.open(&w.far, beyond)
	if w.far.queue.next(0) == 0 {
		t.bucket(&w.far, 0, beyond)
	}
	sum := int64(0)
	for i := range counts {
		sum += t.bins[i]
		counts[i] = min(sum, int64(w.Len()))
	}
}

// tally is one count under way.
type tally struct {
	w     *TimingWheel
	ticks []int64 // the instants, rounded down to a tick
	bins  []int64 // records due after the instant before and not after this one; the last: after all
	looks int64   // records that may still be looked at
}

// span is the first and the last tick that a bucket is for.
type span struct{ first, last int64 }

// bin is the index of the first instant that a tick is not after.
func (t *tally) bin(tick int64) int {
	i, _ := slices.BinarySearch(t.ticks, tick)
	return i
}

func (t *tally) level(lv *level) {
	t.open(lv, lv.spanFrom(lv.open.start))
	here := t.w.clock >> lv.shift
	for bucket := lv.queue.next(0); bucket >= 0; bucket = lv.queue.next(bucket + 1) {
		slot := here + (int64(bucket)-here)&t.w.mask
		t.bucket(lv, bucket, lv.spanFrom(slot<<lv.shift))
	}
}

func (lv *level) spanFrom(start int64) span {
	width := int64(1) << lv.shift
	return span{start, min(start, math.MaxInt64-width) + width - 1} // the last one ends with time
}

// bucket counts the records in the logs of a bucket.
func (t *tally) bucket(lv *level, bucket int, s span) {
	for _, logs := range lv.logs {
		if logs == nil || logs[bucket].head == 0 {
			continue
		}
		l := &logs[bucket]
		n := t.w.store.chunks.records(l, lv.places())
		if !t.look(s, n) {
			t.spread(s, n)
			continue
		}
		t.w.store.chunks.each(l, func(places []record, epoch uint64) bool {
			t.count(lv, places, epoch, s.first)
			return true
		})
	}
}

// open counts the records left in the bucket that the level is emptying.
func (t *tally) open(lv *level, s span) {
	if lv.open.rest.ref == 0 {
		return
	}
	n := lv.open.chunks * int64((largeChunk-1)/lv.places())
	if n > t.looks { // all but the first and the last chunk are full, mostly
		t.spread(s, n)
		return
	}
	t.looks -= n
	for c := lv.open.rest; c.ref != 0; c = (chain{ref: t.w.store.chunks.at(c.ref).tick}) {
		places, epoch := t.w.store.chunks.unread(c, largeChunk)
		t.count(lv, places, epoch, s.first)
	}
}

// look reports whether the n records of a bucket have to be looked at one by one, and
// are few enough for it.
func (t *tally) look(s span, n int64) bool {
	counted := t.w.store.dead == 0 && !t.w.store.uneven // else records is no exact number
	if t.bin(s.first) == t.bin(s.last) && counted || n > t.looks {
		return false
	}
	t.looks -= n
	return true
}

// count counts the live records in a part of a chunk.
func (t *tally) count(lv *level, places []record, epoch uint64, start int64) {
	for i := 0; i < len(places); i += int(lv.places()) {
		if t.w.store.live.has(fullSeq(epoch, places[i].seq)) {
			t.bins[t.bin(lv.tickAt(places, i, start))]++
		}
	}
}

// spread counts n records as if they were spread evenly over the span.
func (t *tally) spread(s span, n int64) {
	left, width := n, float64(s.last-s.first)+1
	for i := t.bin(s.first); i < len(t.ticks) && t.ticks[i] < s.last; i++ {
		part := min(left, int64(float64(n)*(float64(t.ticks[i]-s.first)+1)/width)-(n-left))
		t.bins[i] += part
		left -= part
	}
	t.bins[t.bin(s.last)] += left
}

// records returns how many records a log holds. It is an upper bound where records
// were cancelled, or where numbering passed into another epoch, and an estimate where chunks
// are uneven.
func (a *arena) records(l *bucketLog, per uint32) int64 {
	chunks, last := a.count(l), int64((l.next-1-l.tail())/per)
	if chunks == 1 {
		return last
	}
	return (smallChunk-1)/int64(per) + (chunks-2)*((largeChunk-1)/int64(per)) + last
}
