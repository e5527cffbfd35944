package daemon

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"layover/verify"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
)

// place is where a record is in a topic.
type place struct {
	partition int32
	offset    int64
}

// freight is what a test has sent to the ingress topic, and the ledger in which all of it stands.
type freight struct {
	*fixture
	ledger *verify.Ledger
	due    map[string]time.Time // by id
	at     sync.Map             // id to place in the ingress topic
	next   int                  // number of the next record
	filler string               // of values
}

func (w *fixture) freight() *freight {
	return &freight{fixture: w, ledger: verify.NewLedger(dlq), due: make(map[string]time.Time)}
}

// send sends n records of about size bytes, the first to partition 0 and the others by turns to
// both. Each is due after a delay of its own. It returns the number of the first.
func (f *freight) send(n, size int, delay func(i int) time.Duration) (first int) {
	f.Helper()
	if len(f.filler) < size {
		f.filler = strings.Repeat("x", size)
	}
	first = f.next
	now := time.Now().Truncate(time.Millisecond)
	var failed sync.Map
	for i := range n {
		id, d := strconv.Itoa(f.next), delay(i).Truncate(time.Millisecond)
		f.next++
		r := &kgo.Record{Topic: ingress, Partition: int32(i % 2), Key: []byte("key " + id), Value: fmt.Appendf(nil, "value %s %s", id, f.filler[:size]), Timestamp: now,
			Headers: []kgo.RecordHeader{header(verify.IDHeader, id), header("x-delay", strconv.FormatInt(d.Milliseconds(), 10))}}
		f.due[id] = now.Add(d)
		f.ledger.Enter(verify.Sent{ID: id, Record: kafkatest.Arrived(r), To: egress, Due: f.due[id]})
		f.Client.Produce(context.Background(), r, func(r *kgo.Record, err error) {
			if err != nil {
				failed.Store(id, err)
				return
			}
			f.ledger.Acked(id, r.Partition, r.Offset)
			f.at.Store(id, place{r.Partition, r.Offset})
		})
	}
	if err := f.Client.Flush(context.Background()); err != nil {
		f.Fatal(err)
	}
	failed.Range(func(id, err any) bool {
		f.Fatalf("sending %v: %v", id, err)
		return false
	})
	return first
}

// arrivals is all that was delivered, judged by the ledger, and how late each was that came.
type arrivals struct {
	*verify.Report
	f    *freight
	late map[string]time.Duration // of the first that came, by id
}

// judge compares what has arrived with the ledger. At most repeats records come again.
func (f *freight) judge(repeats int) *arrivals {
	f.Helper()
	a := &arrivals{f: f, late: make(map[string]time.Duration)}
	var all []verify.Record
	for _, topic := range []string{egress, dlq} {
		for _, r := range f.Records(topic) {
			all = append(all, kafkatest.Arrived(r))
			id := get(r, verify.IDHeader)
			late := r.Timestamp.Sub(f.due[id])
			if was, again := a.late[id]; !again || late < was {
				a.late[id] = late
			}
		}
	}
	f.ledger.MayRepeatAny(repeats)
	a.Report = verify.Check(f.ledger, all)
	f.ledger.MayRepeatAny(-repeats)
	return a
}

// all is judge where nothing may be wrong.
func (f *freight) all(repeats int) *arrivals {
	f.Helper()
	a := f.judge(repeats)
	if err := a.Err(); err != nil {
		f.Error(err)
	}
	return a
}

// onTime fails the test where one of the records from first up to and without next came later than
// within, or not at all.
func (a *arrivals) onTime(first, next int, within time.Duration) {
	a.f.Helper()
	bad := 0
	for i := first; i < next; i++ {
		late, came := a.late[strconv.Itoa(i)]
		if came && late <= within {
			continue
		}
		if bad++; bad <= 3 {
			a.f.Errorf("record %d, due at %v: came %t, %v late, want %v at most", i, a.f.due[strconv.Itoa(i)], came, late, within)
		}
	}
	if bad > 3 {
		a.f.Errorf("and %d others of %d to %d", bad-3, first, next-1)
	}
}

// copies returns where the runs topic has the copy of each record, by id. Of several it is the last.
func (f *freight) copies() map[string]place {
	f.Helper()
	there := make(map[string]place)
	for _, r := range f.Records(runsTopic) {
		if id := get(r, verify.IDHeader); id != "" && get(r, "layover-run") != "" {
			there[id] = place{r.Partition, r.Offset}
		}
	}
	return there
}

// gone excuses records: their copies are lost outside of the product's power.
func (f *freight) gone(ids []string) {
	for _, id := range ids {
		at, _ := f.at.Load(id)
		p := at.(place)
		f.ledger.DeletedRange(ingress, p.partition, p.offset, p.offset+1)
	}
}

// said returns the instants of the lines of a log, above info, with all of the parts.
func (in *instance) said(parts ...string) (at []time.Time) {
	in.w.Helper()
	for _, line := range in.logs.Lines(parts...) {
		if strings.Contains(line, "level=INFO") || strings.Contains(line, "level=DEBUG") {
			continue
		}
		stamp, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
		when, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			in.w.Fatal(err)
		}
		at = append(at, when)
	}
	return at
}
