package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestCopiesBehindAGapThatIsNotReadAreSaid: a process dies behind its first flush, before a commit names its
// directory. The next one knows where the log of runs begins and ends, and may not read it. So it knows no run, and
// nothing of what is due.
func TestCopiesBehindAGapThatIsNotReadAreSaid(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		time.Sleep(5 * time.Second)
		due := w.far(0, 2000, 1000, func(i int) time.Duration { return 2*time.Hour + time.Duration(i)*time.Millisecond })
		time.Sleep(50 * time.Minute)
		in.stop() // so that the group is empty; below its commit becomes one from before the directory
		const group = "layover-" + ingress
		brokers, err := w.Admin().BrokerMetadata(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		id := offsets.Identity{ClusterID: brokers.Cluster, TopicID: w.Broker.TopicInfo(ingress).TopicID}
		for p := range int32(2) {
			id.Partition = p
			said, _ := w.Committed(group, ingress, p)
			window, ext, err := offsets.DecodeAll(said.Metadata, id, said.At)
			if err != nil || ext.Runs.DirectoryEnd == 0 || !ext.Runs.Holds {
				t.Fatalf("the commit says %+v, %v", ext, err)
			}
			ext.Runs.DirectoryEnd = 0
			w.Commit(group, kadm.Offset{Topic: ingress, Partition: p, At: said.At, LeaderEpoch: said.LeaderEpoch, Metadata: offsets.Encode(window, id, ext, offsets.MaxMetadata).Metadata})
		}
		unread := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: runsTopic, Err: kerr.TopicAuthorizationFailed})
		in = w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		time.Sleep(30 * time.Second)
		if sick := in.sick(); len(sick) > 0 {
			t.Errorf("right after a start sick is %q", sick)
		}
		time.Sleep(2 * time.Hour)
		if n := len(w.Records(egress)); n > 0 {
			t.Fatalf("%d of %d are delivered, though nothing can be read", n, len(due))
		}
		code, text := in.get("/readyz")
		if says := "degraded: a part of runs topic " + runsTopic + " cannot be read"; code != 200 || !strings.HasPrefix(text, says) {
			t.Errorf("with all records stuck /readyz says %d %q, want %q", code, text, says)
		}
		if sick := fmt.Sprint(in.sick(), in.at("sick")); !strings.HasPrefix(sick, "[runs "+runsTopic+" unread]") || !strings.Contains(sick, "TOPIC_AUTHORIZATION_FAILED") {
			t.Errorf("sick is %s", sick)
		}
		unread.Remove()
		time.Sleep(time.Minute)
		w.arrived(due, 0)
		if sick := in.sick(); len(sick) > 0 {
			t.Errorf("with all read sick is %q", sick)
		}
		in.stop()
	})
}
