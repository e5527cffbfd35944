package daemon

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/admin"
	"layover/verify/reach"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestASampleSharesNothingWithTheDaemon, nor with the next one, beside what nobody changes:
// settings, and what a lane has published.
func TestASampleSharesNothingWithTheDaemon(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.CreateTopic("locked", 1, nil)
		w.CreateTopic("short", 1, map[string]string{"retention.ms": "1000"})
		w.Refuse(kmsg.Produce, kfake.Fault{Topic: "locked", Err: kerr.TopicAuthorizationFailed})
		in := w.start("LAYOVER_TARGETS_ALLOWED=locked,absent", "LAYOVER_INGRESS_TOPICS="+ingress+",nowhere,short", "LAYOVER_TARGET_PATIENCE=1h")
		for p := range int32(2) {
			w.send(p, "locked", header("x-deliver-to", "locked"))
			w.send(p, "absent", header("x-deliver-to", "absent"))
			w.send(p, "invalid", header("x-delay", "tomorrow"))
			w.send(p, "later", header("x-delay", "1h"))
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		one, two := in.daemon.Sample(), in.daemon.Sample()
		for name, filled := range map[string]bool{
			"lanes": len(one.Lanes) == 2, "loops": len(one.Loops) > 2, "turns": len(one.Turns) > 2, "topics": len(one.Kafka.Topics) > 0, "missing": len(one.Kafka.Missing) > 0,
			"unusable": len(one.Kafka.Unusable) > 0, "warnings": len(one.Kafka.Warnings) > 0, "partitions": len(one.Group.Partitions) == 3,
			"journals": len(one.Journal.Topics) > 0, "runs topics": len(one.Runs.Topics) > 0, "runs": len(one.Lanes[0].Outlook.Runs.Partitions) > 0, "retention": len(one.Settings.Retention) > 0, "targets": len(one.Settings.Targets) > 0,
		} {
			if !filled {
				t.Errorf("the sample has no %s: what they would share is not seen", name)
			}
		}
		for _, s := range []*admin.Sample{&one, &two} {
			s.Settings.Ingress = slices.Clone(s.Settings.Ingress) // the configuration's own
		}
		if shared := reach.Shared(&one, in.daemon); len(shared) > 0 {
			t.Errorf("the sample has memory of the daemon at %q", shared)
		}
		shared := slices.DeleteFunc(reach.Shared(&one, &two), func(path string) bool { return strings.HasPrefix(path, ".Lanes[") })
		if len(shared) > 0 {
			t.Errorf("two samples have the same memory at %q", shared)
		}
		synctest.Wait()
		in.stop()
	})
}
