package daemon

import (
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestARecordThatWasInvalidEndsNothingLater: a newer record is dead-lettered, as its deadline is
// too far ahead of the clock. After a kill its command is read again, because the command of
// another record has not ended that record yet. By then the deadline is near enough.
func TestARecordThatWasInvalidEndsNothingLater(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		settings := []string{"LAYOVER_EVENTS_TOPIC=" + events, "LAYOVER_MAX_DELAY=4h", "LAYOVER_TARGET_PATIENCE=24h"}
		in := w.start(settings...) // there is no topic for events: what they are about stays open
		in.ready()
		w.timer(0, "x", "cancelled", "3h")
		w.cancels(0, "x")
		w.timer(0, "a", "older", "3h")
		due := time.Now().Add(3 * time.Hour)
		w.Produce(&kgo.Record{Topic: ingress, Value: []byte("newer"), Timestamp: time.Now().Add(2 * time.Hour),
			Headers: []kgo.RecordHeader{header("x-delay-id", "a"), header("x-delay", "4h")}})
		letter := w.arrives(dlq, 1, time.Minute)[0]
		if reason := get(letter, "layover.errors.reason"); reason != "future_timestamp" {
			t.Fatalf("the newer record is dead-lettered for %s", reason)
		}
		w.Until(time.Minute, "its offset is committed", func() bool { return w.commitOf(0).Metadata != "" })
		time.Sleep(10 * time.Second)
		in.kill()
		time.Sleep(90 * time.Minute)
		w.CreateTopic(events, 1, nil)
		in = w.start(settings...)
		in.ready()
		got := w.arrives(egress, 1, 2*time.Hour)
		if string(got[0].Value) != "older" || got[0].Timestamp.Before(due) {
			t.Errorf("%s is delivered %v after it was due", got[0].Value, got[0].Timestamp.Sub(due))
		}
		w.saysOnly("cancelled x 0@0 1")
		if letters := w.Records(dlq); len(letters) != 1 {
			t.Errorf("%d dead letters, want the first alone: the newer record is not finished", len(letters))
		}
		in.stop()
	})
}
