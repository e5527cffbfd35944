package daemon

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestALargeRecordThatStaysKeepsNoOtherFromBeingRead: it takes two thirds of what reading may use, and a burst beside it
// more than the rest. What that leaves for reuse is given back.
func TestALargeRecordThatStaysKeepsNoOtherFromBeingRead(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(32, "wide")
		in := w.start("LAYOVER_MAX_PARKED_BYTES=4Mi", "LAYOVER_TARGETS_ALLOWED=wide")
		in.ready()
		w.Produce(&kgo.Record{Topic: ingress, Key: []byte("stays"), Value: make([]byte, 600_000), Headers: []kgo.RecordHeader{header("x-delay", "50m"), header("x-delay-id", "one")}})
		time.Sleep(5 * time.Second)
		const n = 20_000
		due := time.Now().Add(5 * time.Second).UnixMilli()
		w.sendMany(0, 0, n, func(int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-deliver-at", strconv.FormatInt(due, 10)), header("x-deliver-to", "wide")}
		})
		time.Sleep(30 * time.Second)
		if got, s := w.count("wide"), in.daemon.Sample(); got != n || len(s.Pauses) > 0 {
			t.Errorf("%d of %d are delivered 25 s after they were due; memory %+v, paused for %v", got, n, s.Memory, s.Pauses)
		}
		in.kill()
	})
}

// TestBurstsForOneTargetAfterTheOtherStayBelowTheBound: the queue of each keeps room for a thousand records, and there is
// no second in which nothing is on its way.
func TestBurstsForOneTargetAfterTheOtherStayBelowTheBound(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const targets, each, bound = 120, 1000, 4 << 20
		target := func(i int) string { return fmt.Sprint("wide.", i) }
		for i := range targets {
			w.createTopics(1, target(i))
		}
		in := w.start("LAYOVER_MAX_PARKED_BYTES=4Mi", "LAYOVER_TARGETS_ALLOWED=wide.*")
		in.ready()
		w.send(0, "stays", header("x-delay", "50m"), header("x-delay-id", "one"))
		time.Sleep(5 * time.Second)
		most := int64(0)
		for i := range targets {
			due := strconv.FormatInt(time.Now().Add(500*time.Millisecond).UnixMilli(), 10)
			w.sendMany(0, i*each, each, func(int) []kgo.RecordHeader {
				return []kgo.RecordHeader{header("x-deliver-at", due), header("x-deliver-to", target(i))}
			})
			for k := range 6 {
				time.Sleep(100 * time.Millisecond)
				w.send(0, fmt.Sprint("beside-", i, "-", k), header("x-delay", "150ms"))
				most = max(most, in.daemon.backpressure.used())
			}
		}
		time.Sleep(time.Minute)
		s := in.daemon.Sample()
		if most > bound || s.Memory.Used > s.Memory.PauseAt {
			t.Errorf("%d bytes at most, with a bound of %d; in the end %+v", most, bound, s.Memory)
		}
		for i := range targets {
			if got := w.count(target(i)); got != each {
				t.Errorf("%s has %d records", target(i), got)
			}
		}
		in.kill()
	})
}
