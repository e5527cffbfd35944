package measure

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"layover/bench/rival"
)

// These spread n records that fire by themselves. One fires every 2.5 µs,
// which is long enough for two cores, and the first when all are parked.
const (
	spreadNs = 2_500
	parkNs   = 1_200
	leastNs  = 150_000_000
)

// lookAtOneIn is how many callbacks read the clock to see whether they are
// early. Reading it in each of them would be a part of their cost.
const lookAtOneIn = 8

// callbacks is where they count.
type callbacks struct {
	base         time.Time // deadlines are counted from here
	fired, early atomic.Int64
}

func (c *callbacks) run(deadline time.Duration) {
	if deadline%lookAtOneIn == 0 && time.Since(c.base) < deadline {
		c.early.Add(1)
	}
	c.fired.Add(1)
}

// expireByItself parks n records, lets them all fire, and takes the CPU time of
// the process from when they are parked. There is no thread whose time it would
// be. The distribution of delays is left out of it, because an hour would have
// to be pressed into seconds; deadlines are uniform.
func (b *bench) expireByItself(r rival.RealClock) error {
	if b.delays.Name != AllDelays()[0].Name {
		return nil
	}
	lead := time.Duration(leastNs + b.n*parkNs)
	if b.again {
		lead *= 2
	}
	spread := max(leastNs, int64(b.n)*spreadNs)
	c := &callbacks{base: time.Now()}
	looked := 0
	for range b.n {
		deadline := lead + time.Duration(b.random.Int64N(spread))
		if deadline%lookAtOneIn == 0 {
			looked++
		}
		r.After(time.Until(c.base.Add(deadline)), func() { c.run(deadline) })
	}
	runtime.GC()
	if c.fired.Load() > 0 || time.Since(c.base) > lead {
		return fmt.Errorf("took longer than %s to park", lead)
	}
	b.stopwatch(Expiry, func() int {
		time.Sleep(time.Until(c.base.Add(lead + time.Duration(spread))))
		c.wait(b.n)
		return b.n
	})
	if missing := b.n - int(c.fired.Load()); missing != 0 {
		return fmt.Errorf("%d of %d never fired", missing, b.n)
	}
	// The thread slept, and the wall is the spread.
	b.result[Expiry] = b.result[Expiry.All()]
	delete(b.result, Expiry.Wall())
	b.result[Early], b.result[EarlyOf] = float64(c.early.Load()), float64(looked)
	return nil
}

// wait returns when all have fired, or when nothing has for five seconds.
func (c *callbacks) wait(n int) {
	for last, since := int64(-1), time.Now(); c.fired.Load() < int64(n) && time.Since(since) < 5*time.Second; {
		if fired := c.fired.Load(); fired != last {
			last, since = fired, time.Now()
		}
		time.Sleep(5 * time.Millisecond)
	}
}
