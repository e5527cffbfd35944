package daemon

import (
	"strings"
	"testing"
	"time"
)

func TestTheStartLineSaysWhatWasUnderstood(t *testing.T) {
	inBubble(t, func(w *world) {
		in := w.start("LAYOVER_TOPIC_TARGETS=delayed=other", "LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_PARTITION=same")
		in.stop()
		line, _, _ := strings.Cut(in.logs.String(), "\n")
		for _, want := range []string{
			`msg="layover starts"`, "mode=at-least-once", "group=layover-delayed", "ingress=[delayed]", `targets="[ready other]"`,
			"dead_letter=dead-letters", "max_parked_bytes=67108864", "partition=same", "gomaxprocs=", "gomemlimit=",
		} {
			if !strings.Contains(line, want) {
				t.Errorf("no %s in the first line: %s", want, line)
			}
		}
	})
}

// Whatever is logged at whatever level, it has nothing of what records are.
func TestNoLineOfTheLogHasAnythingOfARecord(t *testing.T) {
	t.Setenv("LAYOVER_TEST_DEBUG", "1")
	inBubble(t, func(w *world) {
		in := w.start("LAYOVER_ON_INVALID=halt", "LAYOVER_DLQ_TOPIC=")
		in.ready()
		w.send(0, "SECRET-value", header("SECRET-name", "SECRET-text"), header("x-delay", "1s"))
		w.send(0, "SECRET-other", header("SECRET-name", "SECRET-text"), header("x-deliver-to", "SECRET-target"))
		w.arrives(egress, 1, 5*time.Second)
		in.stop()
		if logs := in.logs.String(); strings.Contains(logs, "SECRET") || !strings.Contains(logs, "offset=1 err=target_not_allowed") {
			t.Errorf("log: %s", logs)
		}
	})
}
