package daemon

import (
	"fmt"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A partition leaves while the records that wait for some hundred names are parked: each
// name goes with the last record that has it.
func TestNamesThatGoWithAPartitionHarmNobody(t *testing.T) {
	const names = 300 // more than are kept for their own sake
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_TARGETS_ALLOWED=jobs.*", "LAYOVER_LANES=1")
		in.ready()
		for p := range int32(2) {
			w.sendMany(p, 0, names, func(i int) []kgo.RecordHeader {
				return []kgo.RecordHeader{header("x-deliver-to", fmt.Sprintf("jobs.%d-%d", p, i))}
			})
		}
		time.Sleep(5 * time.Second)
		in.wire.sever() // for longer than the session
		time.Sleep(30 * time.Second)
		in.wire.mend()
		time.Sleep(15 * time.Second)
		w.onTime(0, 1)
		in.stop()
	})
}

// TestATargetThatNoRecordWaitsForIsNotSickForEver: it never existed, and its one record is
// a dead letter.
func TestATargetThatNoRecordWaitsForIsNotSickForEver(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_TARGETS_ALLOWED=jobs.*", "LAYOVER_TARGET_PATIENCE=10s")
		in.ready()
		w.send(0, "to nowhere", header("x-deliver-to", "jobs.1"))
		w.arrives(dlq, 1, time.Minute)
		time.Sleep(time.Hour)
		if code, body := in.get("/readyz"); code != 200 || body != "ready\n" {
			t.Errorf("an hour later: %d %q, sick %q, held %v", code, body, in.sick(), in.status()["held"])
		}
		in.stop()
	})
}

// TestATopicThatIsMadeAgainHoldsUpNoOther: its former records are stuck at a silent target.
func TestATopicThatIsMadeAgainHoldsUpNoOther(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.withoutFetchSessions()
		w.dial = slow(w.dial, time.Millisecond)
		w.createTopics(2, second, "mute")
		w.silence("mute")
		in := w.start("LAYOVER_INGRESS_TOPICS="+ingress+","+second, "LAYOVER_TARGETS_ALLOWED=mute")
		in.ready()
		w.sendTo(second, 0, "stuck", header("x-deliver-to", "mute"))
		w.sendTo(second, 0, "delivered when it is gone", header("x-delay", "10s"))
		time.Sleep(5 * time.Second)
		w.DeleteTopic(second)
		time.Sleep(30 * time.Second)
		w.onTime(0, 1)
		w.createTopics(2, second)
		for range 100 {
			time.Sleep(200 * time.Millisecond)
			w.send(0, "at once")
		}
		time.Sleep(10 * time.Second)
		for _, r := range w.Records(egress) {
			at, err := time.Parse(time.RFC3339Nano, get(r, "layover-due"))
			if late := r.Timestamp.Sub(at); err != nil || late > 5*time.Second {
				t.Errorf("%s, due at %v, came at %v: %v", r.Value, at, r.Timestamp, err)
			}
		}
		in.kill()
	})
}
