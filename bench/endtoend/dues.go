package endtoend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"layover/bench/row"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// watchedFor is how far ahead a parked record is due that is in the books. No measurement
	// takes longer, so a record that is due later must not come out.
	watchedFor = 4 * time.Hour
	dueKey     = "due-"
)

// dues are the books of parked records that fall due during a measurement.
type dues struct {
	mu      sync.Mutex
	entries []due
	dice    *rand.Rand // of one goroutine
	outages []outage
}

// outage is from a kill to when the next daemon is ready: what falls due meanwhile is late.
type outage struct{ from, to time.Time }

// during reports whether an instant is in an outage.
func (d *dues) during(ms int64) bool {
	return slices.ContainsFunc(d.outages, func(o outage) bool { return ms >= o.from.UnixMilli() && ms <= o.to.UnixMilli() })
}

// due is one parked record.
type due struct {
	ms      int64         // Unix milliseconds
	times   int32         // it came out
	lateBy  time.Duration // by the timestamp of the first delivery
	atBroke int64         // Unix milliseconds of that
}

func (d *dues) random() *rand.Rand {
	if d.dice == nil {
		d.dice = rand.New(rand.NewPCG(11, 12))
	}
	return d.dice
}

// key returns the key of the parked record of that number, and enters it if it falls due soon.
func (d *dues) key(n int64, now time.Time, delay time.Duration) string {
	if delay > watchedFor {
		return fmt.Sprintf("%s%09d", parkedKey, n)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, due{ms: now.UnixMilli() + delay.Milliseconds()})
	return fmt.Sprintf("%s%0*d", dueKey, keySize-len(dueKey), len(d.entries)-1)
}

// arrived takes a delivery, and reports whether it is of a parked record in the books.
func (d *dues) arrived(r *kgo.Record) bool {
	digits, ok := strings.CutPrefix(string(r.Key), dueKey)
	n, err := strconv.Atoi(digits)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !ok || err != nil || n >= len(d.entries) {
		return false
	}
	e := &d.entries[n]
	if e.times++; e.times == 1 {
		e.atBroke = r.Timestamp.UnixMilli()
		e.lateBy = time.Duration(e.atBroke-e.ms) * time.Millisecond
	}
	return true
}

// left returns how many that are due by an instant are not there yet.
func (d *dues) left(by time.Time) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.entries {
		if e := &d.entries[i]; e.times == 0 && e.ms <= by.UnixMilli() {
			n++
		}
	}
	return n
}

// dueAccount is what became of parked records.
type dueAccount struct {
	due, lost, early, again int
	late, out               row.Latenesses // without an outage, and in one
	first, last             time.Time      // deliveries
}

// account closes the books for what was due by an instant. What came out before it was due is early,
// whenever that is.
func (d *dues) account(by time.Time) (a dueAccount) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.entries {
		e := &d.entries[i]
		switch {
		case e.times > 0:
			a.due++
			a.again += int(e.times) - 1
			if e.lateBy < 0 {
				a.early++
			}
			if d.during(e.ms) {
				a.out = append(a.out, e.lateBy)
			} else {
				a.late = append(a.late, e.lateBy)
			}
			at := time.UnixMilli(e.atBroke)
			if a.first.IsZero() || at.Before(a.first) {
				a.first = at
			}
			if at.After(a.last) {
				a.last = at
			}
		case e.ms <= by.UnixMilli():
			a.due++
			a.lost++
		}
	}
	return a
}

// fault says which promise was broken, or nil.
func (a *dueAccount) fault() error {
	if a.lost > 0 || a.early > 0 {
		return fmt.Errorf("of %d parked records that were due %d were lost and %d early", a.due, a.lost, a.early)
	}
	return nil
}

// receiveBoth enters what comes out in the books of the flow, or of parked records.
func receiveBoth(ctx context.Context, receiver *kgo.Client, l *ledger, d *dues) error {
	for {
		fetches := receiver.PollFetches(ctx)
		at := time.Now()
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("receiver: %w", err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Topic != l.topic || !d.arrived(r) {
				l.arrived(r, at)
			}
		})
	}
}
