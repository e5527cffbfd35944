package daemon

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestExpiredRecordsAreDeadLetteredOrDropped(t *testing.T) {
	for policy, letters := range map[string]int{"dlq": 1, "drop": 0} {
		t.Run(policy, func(t *testing.T) {
			withEvents(t, func(w *fixture) {
				in := w.start("LAYOVER_EVENTS_TOPIC="+events, "LAYOVER_ON_EXPIRED="+policy)
				in.ready()
				at := func(d time.Duration) kgo.RecordHeader {
					return header("x-expire-at", time.Now().Add(d).UTC().Format(time.RFC3339Nano))
				}
				w.send(0, "in time", header("x-delay", "5s"), at(time.Minute))
				in.kill()
				w.send(0, "late", header("x-delay", "5s"), at(time.Minute))
				time.Sleep(10 * time.Minute)
				w.send(0, "never", header("x-delay", "10s"), at(5*time.Second))
				in = w.start("LAYOVER_EVENTS_TOPIC="+events, "LAYOVER_ON_EXPIRED="+policy)
				in.ready()
				w.commits(0, 3)
				if got := len(w.values(egress)); got != 0 {
					t.Errorf("delivered %v", w.values(egress))
				}
				if got := w.count(dlq); got != 3*letters {
					t.Errorf("%d dead letters", got)
				}
				for _, r := range w.Records(dlq) {
					if get(r, "layover.errors.reason") != "expired" {
						t.Errorf("%v", r.Headers)
					}
				}
				if policy == "drop" {
					w.saysOnly("expired  0@0 null", "expired  0@1 null", "expired  0@2 null")
				}
				in.stop()
			})
		})
	}
}
