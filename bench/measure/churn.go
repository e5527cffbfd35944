package measure

import (
	"fmt"
	"runtime"
	"slices"

	"layover/bench/rival"
)

// A churn is a structure that stays full. Again and again the quarter of its
// records that is due first goes, and as many are parked.
type churn struct {
	*bench
	r rival.Rival

	// nowMs is up to where records have gone.
	nowMs int64

	// deadlinesMs of all records ever, by number. Those up to nowMs are gone.
	deadlinesMs []int64

	due []uint64
}

// rounds is how many quarters are parked: one to warm up, one to measure.
const rounds = 2

// pairsOneIn: as many records as one in so many of those parked are parked and
// cancelled at once. They are few, so that what they leave behind does not weigh
// on the cancelling that comes after.
const pairsOneIn = 16

func (b *bench) churn() error {
	deadlinesMs := b.deadlines()
	quarter := (b.n + 3) / 4
	c := &churn{bench: b, nowMs: startMs, deadlinesMs: slices.Grow(deadlinesMs, rounds*quarter)}
	c.r = b.empty(cap(c.deadlinesMs) + 1)
	for i, deadlineMs := range deadlinesMs {
		c.r.Add(i, deadlineMs, payload(deadlineMs))
	}
	for _, figure := range []Figure{"", Warm} {
		from, err := c.replaceQuarter()
		if err != nil {
			return err
		}
		c.park(figure, from)
	}
	return c.cancel()
}

// replaceQuarter lets about a quarter of the records go and makes the deadlines
// of as many more, from number from on.
func (c *churn) replaceQuarter() (from int, err error) {
	untilMs := c.quantile(4)
	gone := 0
	for i, deadlineMs := range c.deadlinesMs {
		if deadlineMs > c.nowMs && deadlineMs <= untilMs {
			gone++
			if err := c.takeOut(i); err != nil {
				return 0, err
			}
		}
	}
	if c.clockMoves() {
		if expired := c.expireUntil(c.r.(rival.Advancer), untilMs); expired != gone {
			return 0, fmt.Errorf("%d of %d expired", expired, gone)
		}
	}
	c.nowMs = untilMs
	from = len(c.deadlinesMs)
	gone = min(gone, cap(c.deadlinesMs)-from)
	c.deadlinesMs = c.deadlinesMs[:from+gone]
	c.delays.fill(c.deadlinesMs[from:], c.nowMs, c.random)
	// What went is garbage, if it is anything, and is to be free memory.
	runtime.GC()
	return from, nil
}

// takeOut drops a record's handle, and cancels the record where the clock cannot
// be moved until it expires.
func (c *churn) takeOut(i int) error {
	if !c.clockMoves() && !c.r.Cancel(i) {
		return fmt.Errorf("record %d was not parked", i)
	}
	c.r.Forget(i)
	return nil
}

func (c *churn) clockMoves() bool { return !c.kind.ByItself && !c.kind.Scans }

func (c *churn) expireUntil(a rival.Advancer, untilMs int64) (expired int) {
	for nowMs, more := c.nowMs+1, false; nowMs <= untilMs || more; {
		var nextMs int64
		c.due, nextMs, more = a.Advance(nowMs, budget, c.due[:0])
		expired += len(c.due)
		if !more {
			nowMs = max(nowMs+1, nextMs)
		}
	}
	return expired
}

// quantile is up to where one in so many of the parked records is due, by a
// sample of them.
func (c *churn) quantile(one int) int64 {
	const sample = 1 << 16
	stride := max(1, len(c.deadlinesMs)/sample)
	var some []int64
	for i := 0; i < len(c.deadlinesMs); i += stride {
		if c.deadlinesMs[i] > c.nowMs {
			some = append(some, c.deadlinesMs[i])
		}
	}
	slices.Sort(some)
	return some[len(some)/one]
}

// park parks what replaceQuarter made; with no figure it is not timed.
func (c *churn) park(figure Figure, from int) {
	add := func() int {
		for i := from; i < len(c.deadlinesMs); i++ {
			c.r.Add(i, c.deadlinesMs[i], payload(c.deadlinesMs[i]))
		}
		return len(c.deadlinesMs) - from
	}
	if figure == "" {
		add()
		return
	}
	c.stopwatch(figure, add)
}

// cancel parks and cancels one record after the other. Then it cancels a quarter
// of what is parked, in random order, and then the rest of it. A structure that
// puts off work when a record is cancelled has to do it by then.
func (c *churn) cancel() error {
	order := make([]int32, 0, c.n)
	for i, deadlineMs := range c.deadlinesMs {
		if deadlineMs > c.nowMs {
			order = append(order, int32(i))
		}
	}
	c.random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	pairs, quarter, cancelled := len(order)/pairsOneIn, len(order)/4, 0
	c.stopwatch(CancelAtOnce, func() int {
		spare := cap(c.deadlinesMs)
		for _, i := range order[:pairs] {
			c.r.Add(spare, c.deadlinesMs[i], payload(c.deadlinesMs[i]))
			if c.r.Cancel(spare) {
				cancelled++
			}
		}
		return pairs
	})
	c.r.Pick(order)
	cancelRange := func(from, to int) func() int {
		return func() int {
			for k := from; k < to; k++ {
				if c.r.Cancel(k) {
					cancelled++
				}
			}
			return to - from
		}
	}
	c.stopwatch(Cancel, cancelRange(0, quarter))
	c.stopwatch(CancelRest, cancelRange(quarter, len(order)))
	if want := pairs + len(order); cancelled != want {
		return fmt.Errorf("%d of %d cancelled", cancelled, want)
	}
	return nil
}
