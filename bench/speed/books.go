package speed

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/bench/row"
)

// keySize is that of all keys: a tag of the measurement, and the record's number.
const keySize = 16

// books know of every record of one measurement when it is due, and what came of it.
type books struct {
	tag     string        // begins the keys
	foreign bool          // records with another tag are somebody else's
	skew    time.Duration // of the broker's clock, ahead of ours

	mu      sync.Mutex
	entries []entry // by number
	missing int     // of those that are wanted
	bytes   int64   // keys, values and headers of all that arrived
	strays  []string
}

// entry is one record. Its times are zero until it arrives.
type entry struct {
	dueMs    int64 // Unix milliseconds; 0: nobody waits for a deadline
	unwanted bool  // it is due after the measurement
	aside    bool  // it goes to the other target
	stamped  int64 // Unix milliseconds, by our clock
	received time.Time
	times    int32
}

// enter takes a record and returns its key.
func (b *books) enter(e entry) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, e)
	if !e.unwanted {
		b.missing++
	}
	return key(b.tag, len(b.entries)-1)
}

func key(tag string, n int) []byte {
	return fmt.Appendf(nil, "%s%0*d", tag, keySize-len(tag), n)
}

// again are books of the same records, of which none has arrived.
func (b *books) again() *books {
	b.mu.Lock()
	defer b.mu.Unlock()
	fresh := &books{tag: b.tag, foreign: b.foreign, skew: b.skew, entries: make([]entry, len(b.entries))}
	for n, e := range b.entries {
		fresh.entries[n] = entry{dueMs: e.dueMs, unwanted: e.unwanted, aside: e.aside}
		if !e.unwanted {
			fresh.missing++
		}
	}
	return fresh
}

// cut takes what is due from an instant on, in Unix milliseconds, and has not arrived out of the books.
func (b *books) cut(fromMs int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := range b.entries {
		if e := &b.entries[n]; e.dueMs >= fromMs && e.times == 0 && !e.unwanted {
			e.unwanted = true
			b.missing--
		}
	}
}

// count is how many were entered.
func (b *books) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries)
}

// left is how many have not arrived that are wanted.
func (b *books) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.missing
}

// maxStrays bounds how many are named; one is a failure.
const maxStrays = 5

// arrived takes a record from a target. received is zero where it was read afterwards.
func (b *books) arrived(r *kgo.Record, received time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes += int64(len(r.Key) + len(r.Value))
	for _, h := range r.Headers {
		b.bytes += int64(len(h.Key) + len(h.Value))
	}
	digits, ours := strings.CutPrefix(string(r.Key), b.tag)
	n, err := strconv.Atoi(digits)
	switch {
	case !ours && b.foreign:
		return
	case !ours || err != nil || n < 0 || n >= len(b.entries):
		b.stray(r)
		return
	}
	e := &b.entries[n]
	if e.times++; e.times > 1 {
		return
	}
	e.stamped, e.received = r.Timestamp.Add(-b.skew).UnixMilli(), received
	if e.unwanted {
		b.stray(r)
		return
	}
	b.missing--
}

func (b *books) stray(r *kgo.Record) {
	if len(b.strays) < maxStrays {
		b.strays = append(b.strays, fmt.Sprintf("%s in %s", r.Key, r.Topic))
	}
}

// account is what books come to.
type account struct {
	sent, lost, early, again int
	first, last              int64 // stamps, Unix milliseconds
	// From due to the broker's timestamp and to the receiver's clock.
	stamped, received row.Latenesses
}

// account closes the books: counts of all, and of the records that are picked the rest. pick gets a
// record's number.
func (b *books) account(pick func(n int, e *entry) bool) (a account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := range b.entries {
		e := &b.entries[n]
		if e.unwanted {
			continue
		}
		a.sent++
		if e.times == 0 {
			a.lost++
			continue
		}
		a.again += int(e.times) - 1
		due := time.UnixMilli(e.dueMs)
		if e.stamped < e.dueMs || !e.received.IsZero() && e.received.Before(due) {
			a.early++
		}
		if !pick(n, e) {
			continue
		}
		if a.first == 0 || e.stamped < a.first {
			a.first = e.stamped
		}
		a.last = max(a.last, e.stamped)
		a.stamped = append(a.stamped, time.Duration(e.stamped-e.dueMs)*time.Millisecond)
		if !e.received.IsZero() {
			a.received = append(a.received, e.received.Sub(due))
		}
	}
	return a
}

// fault says which promise was broken, or nil. Twice is allowed, and counted.
func (b *books) fault(a account) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case len(b.strays) > 0:
		return fmt.Errorf("delivered and not due, or not ours: %q", b.strays)
	case a.lost > 0 || a.early > 0:
		return fmt.Errorf("of %d records %d were lost and %d early", a.sent, a.lost, a.early)
	}
	return nil
}

// since picks all records from a number on.
func since(from int) func(int, *entry) bool { return func(n int, _ *entry) bool { return n >= from } }
