package wheel

import (
	"math"
	"math/bits"
	"unsafe"
)

// Handle names one parked record. It is never reused, and the zero value never
// names one.
type Handle uint64

// TimingWheel holds payloads until their deadlines. It has one owner: no two of
// its methods may run at the same time. Time only enters as an argument, in
// Unix milliseconds.
type TimingWheel struct {
	geometry Geometry
	pace     pace

	// mask is Slots - 1: the bucket of a slot is slot & mask.
	mask int64

	// nowMs is how far the wheel has come. It never goes back.
	nowMs int64

	// clock is nowMs in ticks, rounded down: Kafka's currentTime.
	//
	// Invariant: no record is parked for a tick before clock, and every record
	// parked for clock itself is still to be handed out.
	clock int64

	store store // the records of all buckets

	levels []level

	// far is one bucket for all records beyond the reach of the top level.
	// Its records are placed anew when the clock gets near.
	far level

	// farTick is at or before the earliest tick in far.
	//
	// Invariant: while far holds records, farTick is at least half a turn of
	// the top level ahead of the clock.
	farTick int64

	// compaction gives the places of dead records back, a little with each Cancel.
	compaction compaction

	// taking is the pass of TakeFarthest over the buckets.
	taking taking

	// head is the result of the last peek.
	//
	// Invariant: if known, no bucket was offered since that is due as early,
	// and none was taken.
	head queueHead

	// flushing is the bucket that the last advance left unfinished.
	flushing flushing
}

// New returns an empty wheel whose clock is at startMs. It panics if the
// geometry is impossible, because no input can cause that.
func New(startMs int64, g Geometry) *TimingWheel {
	return newWithSequence(startMs, g, 1)
}

// newWithSequence is New with a first handle other than 1.
func newWithSequence(startMs int64, g Geometry, first uint64) *TimingWheel {
	if err := g.validate(); err != nil {
		panic("wheel: " + err.Error())
	}
	w := &TimingWheel{
		geometry: g,
		pace:     usualPace,
		mask:     int64(g.Slots - 1),
		nowMs:    startMs,
		store:    newStore(first),
	}
	w.clock = w.tickBefore(startMs)
	w.clearBuckets()
	return w
}

// clearBuckets forgets all buckets. The store is new by then.
func (w *TimingWheel) clearBuckets() {
	w.flushing, w.head, w.compaction, w.taking = flushing{}, queueHead{}, compaction{}, taking{}
	w.levels = make([]level, w.geometry.Levels)
	for i := range w.levels {
		lv := &w.levels[i]
		lv.shift = uint(i * bits.TrailingZeros(uint(w.geometry.Factor)))
		lv.wide = lv.shift > maxNarrowShift
		if i > 0 && w.geometry.overlaps() {
			if i > 1 {
				lv.margin = int64(w.geometry.Slots) << w.levels[i-2].shift
			}
			lv.lead = max(1, lv.margin, int64(1)<<lv.shift/w.pace.leadShare)
		}
	}
	w.far = level{wide: true}
}

// Add parks payload until deadlineMs, in Unix milliseconds, and returns the
// handle that cancels it. A deadline that has passed is due at the next
// AdvanceClock, never now and never lost for a turn. Any deadline is accepted;
// one beyond the reach of the top level waits outside for as long as it takes.
//
// Deadlines are rounded up to a whole tick, so payload leaves at most one tick
// late and never early. The cost is one append.
func (w *TimingWheel) Add(deadlineMs int64, payload uint64) Handle {
	seq := w.store.live.add()
	w.place(added, max(w.tickAfter(deadlineMs), w.clock), seq, payload)
	return Handle(seq)
}

// Cancel keeps the record of h from firing. It returns true exactly once, and only
// if the record has not been handed out, taken, drained or swept. Any other number
// returns false and changes nothing.
//
// The record's 16 bytes stay until its bucket is next read, or until compaction. With
// many dead records every other Cancel gives the dead places of a chunk back. The cost
// is bounded, and constant on average.
func (w *TimingWheel) Cancel(h Handle) bool {
	if !w.store.cancel(uint64(h)) {
		return false
	}
	if w.compaction.current != nil || w.store.dead > w.store.live.live/maxDeadShare && w.store.dead > w.pace.minDead {
		w.compact()
	}
	return true
}

// AdvanceClock moves the clock to nowMs and appends the payloads that are due to due.
// Their order is that of their ticks and, within a tick, of their Add. With nowMs before
// the wheel's clock nothing happens.
//
// It reads at most budget records: handed out, moved to a finer level, or found
// dead. more is true if that leaves work due by nowMs. The clock then stays at the
// bucket in hand, where the next call goes on; records added in between take their
// place in the order. The cost is that of the records read and of the buckets they
// were in, however far the clock moves.
func (w *TimingWheel) AdvanceClock(nowMs int64, budget int, due []uint64) (out []uint64, more bool) {
	if nowMs < w.nowMs {
		return due, false
	}
	target := w.tickBefore(nowMs)
	for w.flushing.level != nil || w.poll(target) {
		if budget <= 0 {
			return due, true
		}
		due, budget = w.flush(due, budget)
	}
	w.clock, w.nowMs = target, nowMs
	return due, false
}

// NextDeadline returns the earliest instant at which AdvanceClock has something
// to do, in Unix milliseconds; false is an empty wheel. The instant is never before
// the wheel's clock and never after the next deadline rounded up to a tick. It is
// before that deadline when a bucket cascades, or when all records of one were
// cancelled. The cost is constant.
func (w *TimingWheel) NextDeadline() (ms int64, ok bool) {
	if w.flushing.level != nil {
		return w.nowMs, true
	}
	h, ok := w.peek()
	if !ok {
		return 0, false
	}
	return max(w.toMs(h.tick), w.nowMs), true
}

// Len returns how many records are parked: added, and neither handed out nor
// cancelled, taken, drained or swept.
func (w *TimingWheel) Len() int { return w.store.live.live }

// NowMs returns the wheel's clock, in Unix milliseconds. It is the time of the
// last AdvanceClock that finished, or of the bucket that one left unfinished.
func (w *TimingWheel) NowMs() int64 { return w.nowMs }

// Bytes returns the memory that the wheel holds: chunks in use and spare, live
// bits, and the headers of the levels made so far. The cost is constant.
func (w *TimingWheel) Bytes() int64 {
	n := int64(unsafe.Sizeof(*w)) + int64(cap(w.levels))*int64(unsafe.Sizeof(level{})) + w.store.chunks.bytes() + w.store.live.bytes() + w.far.bytes()
	for i := range w.levels {
		n += w.levels[i].bytes()
	}
	return n
}

// Trim gives back the memory that is spare, up to 288 KiB. The next burst takes it anew.
func (w *TimingWheel) Trim() {
	w.store.chunks.trim()
	w.store.live.spare = nil
}

// tickAfter is the first tick at or after ms.
func (w *TimingWheel) tickAfter(ms int64) int64 {
	tick := ms / w.geometry.TickMs // rounds towards zero, which is up for negative numbers
	if ms%w.geometry.TickMs > 0 {
		tick++
	}
	return tick
}

// tickBefore is the last tick at or before ms.
func (w *TimingWheel) tickBefore(ms int64) int64 {
	tick := ms / w.geometry.TickMs
	if ms%w.geometry.TickMs < 0 {
		tick--
	}
	return tick
}

// toMs is the instant of a tick. The tick after the last millisecond, and the
// one before the first, saturate.
func (w *TimingWheel) toMs(tick int64) int64 {
	switch limit := math.MaxInt64 / w.geometry.TickMs; {
	case tick > limit:
		return math.MaxInt64
	case tick < -limit:
		return math.MinInt64
	}
	return tick * w.geometry.TickMs
}
