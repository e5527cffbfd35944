package integration

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"layover/verify"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
)

// valueBytes is the size of the values that a ledger gives its records.
const valueBytes = 100

// ledger is what a test knows about the records that it sends through a fixture. It is
// written before they are sent. A record's id is its key.
type ledger struct {
	*verify.Ledger
	f *fixture

	mu   sync.Mutex
	due  map[string]time.Time
	sent map[string]*kgo.Record // the client notes their offsets
}

func (f *fixture) newLedger() *ledger {
	return &ledger{Ledger: verify.NewLedger(f.deadLetters), f: f, due: make(map[string]time.Time), sent: make(map[string]*kgo.Record)}
}

// delayed enters a record that waits for a delay after its timestamp, which is
// now, and returns it. The delay is a whole number of milliseconds.
func (l *ledger) delayed(id string, delay time.Duration) *kgo.Record {
	sent := time.Now().Truncate(time.Millisecond)
	return l.enter(id, sent, sent.Add(delay), "x-delay", delay.Milliseconds())
}

// at enters a record that is due at an instant, a whole millisecond, and returns
// it.
func (l *ledger) at(id string, due time.Time, headers ...verify.Header) *kgo.Record {
	return l.enter(id, time.Now().Truncate(time.Millisecond), due, "x-deliver-at", due.UnixMilli(), headers...)
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

// enter enters a record with a control header, and others.
func (l *ledger) enter(id string, sent, due time.Time, name string, ms int64, headers ...verify.Header) *kgo.Record {
	headers = append(headers, verify.Header{Name: verify.IDHeader, Value: []byte(id)}, verify.Header{Name: name, Value: strconv.AppendInt(nil, ms, 10)})
	s := verify.Sent{ID: id, To: l.f.egress, Due: due, Record: verify.Record{Topic: l.f.ingress, Timestamp: sent, Key: []byte(id), Value: valueOf(id), Headers: headers}}
	l.Enter(s)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due[id], l.sent[id] = due, kafkatest.Entered(s.Record)
	return l.sent[id]
}

// valueOf returns the value that belongs to an id.
func valueOf(id string) []byte {
	return bytes.Repeat([]byte(id+" "), valueBytes/(len(id)+1)+1)[:valueBytes]
}

// judge compares with what came, once all that was sent is acknowledged. At most maxAgain
// came more than once. Ids in except need not have come.
func (l *ledger) judge(arrivals []arrival, maxAgain int, except ...string) {
	l.f.Helper()
	for id, r := range l.sent {
		if !slices.Contains(except, id) {
			l.Acked(id, r.Partition, r.Offset)
		}
	}
	l.MayRepeatAny(maxAgain)
	arrived := make([]verify.Record, len(arrivals))
	for i, a := range arrivals {
		arrived[i] = kafkatest.Arrived(a.Record)
		arrived[i].Received = a.received
	}
	report := verify.Check(l.Ledger, arrived)
	if err := report.Err(); err != nil {
		l.f.Error(err)
		return
	}
	l.f.Log(report)
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

// lateness returns by how much the records whose id has a prefix were late. stamped
// goes by the timestamp of the delivery, which has whole milliseconds. received goes
// by the receiver's clock, which includes the way to it.
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
