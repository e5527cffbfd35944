package endtoend

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"layover/bench/row"
	"layover/cluster"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ledger knows of every short-delayed record when it is due, as its sender
// reckons, and what came of it. A record's number is its key.
type ledger struct {
	topic   string // where deliveries are to arrive; "": egress
	mu      sync.Mutex
	records []entry // by number
	missing int     // of them, those that have not arrived
	strays  []string
}

// entry is one record. Its times are zero until it arrives.
type entry struct {
	dueMs    int64 // Unix milliseconds
	stamped  time.Time
	received time.Time
	times    int // it arrived
}

// sent takes a record and returns its number.
func (l *ledger) sent(dueMs int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, entry{dueMs: dueMs})
	l.missing++
	return len(l.records) - 1
}

// count returns how many were sent so far.
func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.records)
}

// left returns how many have not arrived.
func (l *ledger) left() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missing
}

// maxStrays bounds how many are named; one is a failure.
const maxStrays = 5

// arrived takes what the receiver got. Whatever is not a short-delayed record
// from the egress topic should not be there: a parked one is an hour early.
func (l *ledger) arrived(r *kgo.Record, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number, err := strconv.Atoi(string(r.Key))
	if err != nil || number < 0 || number >= len(l.records) || r.Topic != cmp.Or(l.topic, egress) {
		if len(l.strays) < maxStrays {
			l.strays = append(l.strays, fmt.Sprintf("%s in %s", r.Key, r.Topic))
		}
		return
	}
	e := &l.records[number]
	if e.times++; e.times > 1 {
		return
	}
	e.stamped, e.received = r.Timestamp, at
	l.missing--
}

// account is what a ledger comes to.
type account struct {
	sent, lost, early, again int
	// Of the records that were asked for: from due to the timestamp of the
	// delivery, and to the receiver's clock.
	stamped, received row.Latenesses
}

// account closes the books: counts of all, latenesses of the numbers in [from, to).
func (l *ledger) account(from, to int) account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := account{sent: len(l.records)}
	for i, e := range l.records {
		if e.times == 0 {
			a.lost++
			continue
		}
		a.again += e.times - 1
		due := time.UnixMilli(e.dueMs)
		if e.stamped.Before(due) || e.received.Before(due) {
			a.early++
		}
		if i >= from && i < to {
			a.stamped = append(a.stamped, e.stamped.Sub(due))
			a.received = append(a.received, e.received.Sub(due))
		}
	}
	return a
}

// fault says which promise was broken, or nil. Twice is allowed, and counted.
func (a account) fault() error {
	if a.lost > 0 || a.early > 0 {
		return fmt.Errorf("of %d records %d were lost and %d early", a.sent, a.lost, a.early)
	}
	return nil
}

// stray says what arrived that should not have, or nil.
func (l *ledger) stray() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.strays) > 0 {
		return fmt.Errorf("delivered and not due, or dead-lettered: %q", l.strays)
	}
	return nil
}

// arriveWithin is how long a record that is due may take: what takes longer is
// lost, whatever its lateness would have been.
const arriveWithin = 20 * time.Second

// await returns when everything that was sent has arrived, or cannot be waited
// for any longer; only the end of ctx is an error.
func (l *ledger) await(ctx context.Context) error {
	for by := time.Now().Add(shortFrom + shortSpread + arriveWithin); l.left() > 0 && time.Now().Before(by); {
		if err := cluster.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
