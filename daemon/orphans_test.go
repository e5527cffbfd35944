package daemon

import (
	"strings"
	"testing"
	"time"
)

// TestCopiesThatNobodyIsAssignedAreSick: the ingress topic is deleted and made again with fewer partitions than it had
// copies in, while nobody runs. They are delivered once it has those partitions.
func TestCopiesThatNobodyIsAssignedAreSick(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		due := w.far(0, 6000, 1000, func(i int) time.Duration { return 6 * time.Hour })
		w.Until(time.Minute, "records are moved", func() bool { moved, _, _, _ := in.runsCount(); return moved > 2000 })
		time.Sleep(10 * time.Second)
		in.stop()
		copied := make(map[string]time.Time)
		for _, r := range w.Records(runsTopic) {
			if at, ok := due[string(r.Key)]; ok { // which a directory has none of
				copied[string(r.Key)] = at
			}
		}
		w.DeleteTopic(ingress)
		in = w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		says := func(what, kind string, parts ...string) {
			t.Helper()
			var text string
			w.Until(30*time.Second, what, func() bool {
				for _, s := range in.status()["sick"].([]any) {
					if one := s.(map[string]any); one["kind"] == kind {
						text = one["text"].(string)
						return strings.Contains(text, parts[0])
					}
				}
				return false
			})
			for _, part := range parts {
				if !strings.Contains(text, part) {
					t.Errorf("%s: %s\ndoes not say: %s", what, text, part)
				}
			}
		}
		says("it is gone", "ingress_topic", "has up to", "Its runs topic "+runsTopic+" has up to", "--create --topic "+ingress+" --partitions 2")
		w.CreateTopic(ingress, 1, nil)
		says("it has one partition", "runs", "in partition 1, and its ingress topic delayed has 1 partition.", "--alter --topic "+ingress+" --partitions 2")
		if _, err := w.Admin().UpdatePartitions(w.Context(), 2, ingress); err != nil {
			t.Fatal(err)
		}
		w.Until(time.Minute, "nothing is sick", func() bool { return len(in.sick()) == 0 })
		if said := in.said("offset says nothing of runs", "of a topic that was made again"); len(said) == 0 {
			t.Error("nothing says why copies may come twice")
		}
		time.Sleep(6*time.Hour + time.Minute)
		w.arrived(copied, 0)
		in.stop()
	})
}
