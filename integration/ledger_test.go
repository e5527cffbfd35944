package integration

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// valueBytes is the size of the values that a ledger gives its records.
const valueBytes = 100

// ledger is what a test knows about the records that it sent: it is written
// before they are, and never asks Layover. A record's id is its key.
type ledger struct {
	mu  sync.Mutex
	due map[string]time.Time
}

func newLedger() *ledger { return &ledger{due: make(map[string]time.Time)} }

// delayed enters a record that waits for a delay after its timestamp, which is
// now, and returns it. The delay is a whole number of milliseconds.
func (l *ledger) delayed(id string, delay time.Duration) *kgo.Record {
	sent := time.Now().Truncate(time.Millisecond)
	r := l.enter(id, sent, sent.Add(delay))
	r.Headers = []kgo.RecordHeader{header("x-delay", strconv.FormatInt(delay.Milliseconds(), 10))}
	return r
}

// at enters a record that is due at an instant, a whole millisecond, and returns
// it.
func (l *ledger) at(id string, due time.Time) *kgo.Record {
	r := l.enter(id, time.Now().Truncate(time.Millisecond), due)
	r.Headers = []kgo.RecordHeader{header("x-deliver-at", strconv.FormatInt(due.UnixMilli(), 10))}
	return r
}

// steady enters n records that are due one after the other at a rate, the first
// one some time from now.
func (l *ledger) steady(name string, n, perSecond int, from time.Duration) []*kgo.Record {
	base := time.Now().Add(from)
	out := make([]*kgo.Record, n)
	for i := range out {
		due := base.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		out[i] = l.at(fmt.Sprintf("%s-%d", name, i), due.Truncate(time.Millisecond))
	}
	return out
}

// enter enters a record without headers.
func (l *ledger) enter(id string, sent, due time.Time) *kgo.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due[id] = due
	return &kgo.Record{Key: []byte(id), Value: valueOf(id), Timestamp: sent}
}

// valueOf returns the value that belongs to an id.
func valueOf(id string) []byte {
	return bytes.Repeat([]byte(id+" "), valueBytes/(len(id)+1)+1)[:valueBytes]
}

func (l *ledger) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.due)
}

// verify compares with what came: none lost, none early, none changed, and at
// most maxAgain more than once. Ids in except are not expected to have come.
func (l *ledger) verify(t *testing.T, arrivals []arrival, maxAgain int, except ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := make(map[string]int)
	var early, changed, unknown []string
	for _, a := range arrivals {
		id := string(a.Key)
		due, known := l.due[id]
		if !known {
			unknown = append(unknown, id)
			continue
		}
		seen[id]++
		if a.Timestamp.Before(due) || a.received.Before(due) {
			early = append(early, fmt.Sprintf("%s: stamped %v, received %v before it is due", id, due.Sub(a.Timestamp), due.Sub(a.received)))
		}
		if !bytes.Equal(a.Value, valueOf(id)) {
			changed = append(changed, fmt.Sprintf("%s: %d bytes", id, len(a.Value)))
		}
	}
	var lost []string
	for id := range l.due {
		if seen[id] == 0 && !slices.Contains(except, id) {
			lost = append(lost, id)
		}
	}
	slices.Sort(lost)
	for what, ids := range map[string][]string{"lost": lost, "early": early, "changed": changed, "never sent": unknown} {
		if len(ids) > 0 {
			t.Errorf("%s: %d of %d records, such as\n  %s", what, len(ids), len(l.due), strings.Join(ids[:min(5, len(ids))], "\n  "))
		}
	}
	again := len(arrivals) - len(unknown) - len(seen)
	if again > maxAgain {
		t.Errorf("%d records came again, which is beyond the bound of %d", again, maxAgain)
	}
	t.Logf("%d sent, %d different came, %d came again (bound %d)", len(l.due), len(seen), again, maxAgain)
}

// latenesses are durations after the due time.
type latenesses []time.Duration

func (l latenesses) String() string {
	if len(l) == 0 {
		return "none"
	}
	slices.Sort(l)
	at := func(percent float64) time.Duration {
		return l[min(len(l)-1, int(float64(len(l))*percent/100))].Round(10 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v, max %v, of %d", at(50), at(99), at(99.9), at(100), len(l))
}

// lateness returns by how much the records whose id has a prefix were late: by the
// timestamp of the delivery, which has whole milliseconds, and by the receiver's
// clock, which includes the way to it.
func (l *ledger) lateness(arrivals []arrival, prefix string) (stamped, received latenesses) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range arrivals {
		id := string(a.Key)
		if due, known := l.due[id]; known && strings.HasPrefix(id, prefix) {
			stamped = append(stamped, a.Timestamp.Sub(due))
			received = append(received, a.received.Sub(due))
		}
	}
	return stamped, received
}
