package daemon

import (
	"strings"
	"testing"
	"time"

	"layover/verify/long"
)

// TestAnotherNameForTheRunsTopicLosesNothing: what waits in the former topic is not delivered, and that is
// said with the remedy. With the setting as it was all of it comes. What comes meanwhile is not moved.
func TestAnotherNameForTheRunsTopicLosesNothing(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		const other = "LAYOVER_RUNS_TOPIC=far.{ingress}.{group}"
		in, f := w.flooded()
		in.stop()
		in = w.start(far8, other)
		in.ready()
		f.send(10, 100, func(int) time.Duration { return time.Minute })
		time.Sleep(10 * time.Minute)
		said := in.said("runs of a partition cannot be begun with", "records wait in the topic "+runsTopic, "set it back")
		if len(said) == 0 || len(said) > 21 {
			t.Errorf("%d lines say what to do, want one in 30 s", len(said))
		}
		if moved, _, lost, _ := in.runsCount(); lost > 0 || moved > 0 {
			t.Errorf("%d count as lost, %d are moved", lost, moved)
		}
		if text, _ := in.at("runs", "topics", 0, "text").(string); !strings.Contains(text, runsTopic) || strings.Contains(text, "--describe") {
			t.Errorf("/status says %q of what is not read", text)
		}
		in.stop()
		in = w.start(far8)
		in.ready()
		time.Sleep(80 * time.Minute)
		f.all(0).onTime(0, f.next, 100*time.Millisecond)
		if _, _, lost, waiting := in.runsCount(); lost > 0 || waiting > 0 {
			t.Errorf("%d lost, %d wait", lost, waiting)
		}
		in.stop()
		in = w.start(far8, other) // nothing waits any more
		in.ready()
		time.Sleep(time.Minute)
		if said := in.said("runs of a partition cannot be begun with"); len(said) > 0 {
			t.Error("nothing waits in the former topic, and the new one is not begun with")
		}
		in.stop()
	})
}
