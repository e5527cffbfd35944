package daemon

import (
	"strings"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestNothingIsGreenWhileCommitsAreRefused: the coordinator takes heartbeats, and no commit. So nothing is delivered.
func TestNothingIsGreenWhileCommitsAreRefused(t *testing.T) {
	long.Only(t)
	for _, delays := range []string{"1s", "0s 1s", "0s 0s"} {
		inBubble(t, func(w *fixture) {
			w.known()
			w.Refuse(kmsg.OffsetCommit, kfake.Fault{Err: kerr.CoordinatorNotAvailable})
			in := w.start("LAYOVER_LANES=1")
			in.ready()
			for d := range strings.FieldsSeq(delays) {
				if d == "0s" {
					w.send(0, "at once")
				} else {
					w.send(0, "delayed", header("x-delay", d))
				}
			}
			time.Sleep(30 * time.Minute)
			if _, body := in.get("/readyz"); w.count(egress) > 0 || !strings.HasPrefix(body, "degraded") {
				t.Errorf("%s: %d are delivered in half an hour, and /readyz says %q", delays, w.count(egress), body)
			}
			in.stop()
		})
	}
}

// TestANameThatBrokersDoNotAnswerForIsHeld: they say neither that the topic exists nor that it does not. Its records have
// their patience and their share of memory, as with any sick target, and it is well again as soon as they tell.
func TestANameThatBrokersDoNotAnswerForIsHeld(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "x-1")
		silent := w.Refuse(kmsg.Metadata, kfake.Fault{Topic: "x-1", Err: kerr.LeaderNotAvailable})
		in := w.start("LAYOVER_LANES=1", "LAYOVER_TARGETS_ALLOWED=x-*", "LAYOVER_TARGET_PATIENCE=5m", "LAYOVER_MAX_PARKED_BYTES=32Mi")
		in.ready()
		to, value := header("x-deliver-to", "x-1"), strings.Repeat("v", 10_000)
		w.send(0, value, to)
		time.Sleep(time.Minute)
		if sick := linesWith(in.logs.String(), "sick"); len(sick) != 1 || !strings.Contains(sick[0], "brokers do not tell whether the topic exists") {
			t.Errorf("the log says %q", sick)
		}
		time.Sleep(5 * time.Minute)
		if n := w.count(dlq); n != 1 {
			t.Errorf("%d dead letters after the patience, want 1", n)
		}
		for range 2500 {
			w.send(0, value, to)
		}
		time.Sleep(time.Minute)
		w.send(1, "healthy")
		w.arrives(egress, 1, 10*time.Second)
		silent.Remove()
		time.Sleep(time.Minute)
		if all := w.count("x-1") + w.count(dlq); all != 2501 || w.count("x-1") == 0 || len(in.sick()) > 0 {
			t.Errorf("%d of 2501 are at their target or in the dead-letter topic, %d at the target; sick is %v", all, w.count("x-1"), in.sick())
		}
		in.stop()
	})
}
