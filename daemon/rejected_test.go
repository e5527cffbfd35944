package daemon

import (
	"fmt"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestARejectedRecordDelaysNoneOfItsNeighbours: many of one partition are due at an instant, and the target refuses the
// batch with one of them. Each answer takes 5 ms.
func TestARejectedRecordDelaysNoneOfItsNeighbours(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.dial = slow(w.dial, 5*time.Millisecond)
		defer w.compact(egress)()
		in := w.start("LAYOVER_LANES=1")
		in.ready()
		const n, bad = 1000, 500
		at := time.Now().Add(20 * time.Second).Truncate(time.Second)
		var records []*kgo.Record
		for i := range n {
			r := &kgo.Record{Topic: ingress, Key: []byte("k"), Value: fmt.Append(nil, i), Headers: []kgo.RecordHeader{header("x-deliver-at", at.UTC().Format(time.RFC3339))}, Timestamp: time.Now()}
			if i == bad {
				r.Key = nil
			}
			records = append(records, r)
		}
		w.Produce(records...)
		time.Sleep(time.Until(at))
		w.Until(time.Minute, "all others are delivered", func() bool { return w.count(egress) == n-1 })
		if late := time.Since(at); late > time.Second {
			t.Errorf("the last is %v late", late)
		}
		w.Until(time.Second, "that one is a dead letter", func() bool { return w.count(dlq) == 1 })
		in.stop()
	})
}

// TestABacklogWithFewRejectedRecordsDrains: 1,000 records a second behind a backlog of 5,000, and the target refuses one
// in a hundred.
func TestABacklogWithFewRejectedRecordsDrains(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.dial = slow(w.dial, 5*time.Millisecond)
		defer w.compact(egress)()
		in := w.start("LAYOVER_LANES=1")
		in.ready()
		const backlog, seconds, rate = 5000, 20, 1000
		at := time.Now().Add(30 * time.Second)
		var records []*kgo.Record
		for i := range backlog + seconds*rate {
			due := at.Add(time.Duration(max(i-backlog, 0)) * time.Second / rate)
			r := &kgo.Record{Topic: ingress, Key: []byte("k"), Value: fmt.Append(nil, i), Headers: []kgo.RecordHeader{header("x-deliver-at", fmt.Sprint(due.UnixMilli()))}, Timestamp: time.Now()}
			if i%100 == 50 {
				r.Key = nil
			}
			records = append(records, r)
		}
		w.Produce(records...)
		time.Sleep(time.Until(at.Add(10 * time.Second)))
		if n := w.count(egress) + w.count(dlq); n < 10*rate/2 { // one by one it were a quarter of the rate
			t.Errorf("%d of %d have left after ten seconds", n, backlog+10*rate)
		}
		time.Sleep((seconds + 20) * time.Second)
		if good, dead := w.count(egress), w.count(dlq); good != (backlog+seconds*rate)*99/100 || dead != (backlog+seconds*rate)/100 {
			t.Errorf("%d delivered, %d dead letters", good, dead)
		}
		in.stop()
	})
}

// TestATargetThatRejectsAllStopsNoOther: more comes for it than can be tried one by one, beside records for another. They
// would take all memory.
func TestATargetThatRejectsAllStopsNoOther(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.dial = slow(w.dial, 5*time.Millisecond)
		w.CreateTopic("table", 1, nil)
		defer w.compact("table")()
		in := w.start("LAYOVER_LANES=1", "LAYOVER_TARGETS_ALLOWED=table,"+egress, "LAYOVER_MAX_PARKED_BYTES=32Mi")
		in.ready()
		const seconds, bad, good = 60, 500, 100
		for s := range seconds {
			var records []*kgo.Record
			for i := range bad + good {
				r := &kgo.Record{Topic: ingress, Partition: int32(i % 2), Value: make([]byte, 1000), Headers: []kgo.RecordHeader{header("x-delay", "1s")}, Timestamp: time.Now()}
				if i < bad {
					r.Headers = append(r.Headers, header("x-deliver-to", "table"))
				} else {
					r.Key = []byte("k")
				}
				records = append(records, r)
			}
			w.Produce(records...)
			time.Sleep(time.Second)
			if paused := in.pausedFor(); paused != "" {
				t.Fatalf("after %d s reading is paused for %s", s, paused)
			}
		}
		time.Sleep(2 * time.Second)
		if n := w.count(egress); n != seconds*good {
			t.Errorf("%d of %d are delivered to the other target", n, seconds*good)
		}
		w.Until(2*time.Minute, "all others are dead letters", func() bool { return w.count(dlq) == seconds*bad })
		in.stop()
	})
}
