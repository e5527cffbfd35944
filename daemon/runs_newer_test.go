package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestAPartitionThatANewerReleaseHasCommittedSaysSo, as after a downgrade with something in runs. Nothing of it
// is read, so no offset is told, and nothing is said to be delivered.
func TestAPartitionThatANewerReleaseHasCommittedSaysSo(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.send(0, "waits", header("x-delay", "1h"))
		w.send(1, "goes", header("x-delay", "1s"))
		w.Commit("layover-"+ingress, kadm.Offset{Topic: ingress, Partition: 0, At: 1, LeaderEpoch: -1, Metadata: "layover.9.9.AAAA"},
			kadm.Offset{Topic: ingress, Partition: 1, At: 0, LeaderEpoch: -1})
		in := w.start()
		w.Until(time.Minute, "the other partition is read", func() bool { return len(w.Records(egress)) == 1 })
		stopped, _ := in.at("assignments", 0, "stopped").(map[string]any)
		if stopped["reason"] != "newer_version" || stopped["offset"] != nil || stopped["halted"] != false || !strings.Contains(stopped["detail"].(string), "newer release") {
			t.Errorf("stopped is %v", stopped)
		}
		text := stopped["text"].(string)
		if !strings.Contains(text, ingress+"/0 is not read") || !strings.Contains(text, "Nothing of it is delivered") || strings.Contains(text, "still delivered") || strings.Contains(text, "offset 0") {
			t.Errorf("its text is %q", text)
		}
		if got := in.sick(); len(got) != 1 || !strings.Contains(got[0], "newer_version") || strings.Contains(got[0], "offset 0") {
			t.Errorf("sick are %q", got)
		}
		in.stop()
	})
}
