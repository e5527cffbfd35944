package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestNoMemberOfAnOlderReleaseIsBlamed: all members are of this release, and records with an id take more than half of
// the memory. Another member joins, and the rebalance takes 20 s, as where a third one is suspended. Or the coordinator
// is away for half a minute.
func TestNoMemberOfAnOlderReleaseIsBlamed(t *testing.T) {
	for what, begin := range map[string]func(w *fixture, in *instance) (end func()){
		"a rebalance": func(w *fixture, in *instance) func() {
			id := in.daemon.consumer.Status().MemberID
			_, end := w.holds(kmsg.JoinGroup, func(r kmsg.Request) bool { return r.(*kmsg.JoinGroupRequest).MemberID == id })
			w.start("LAYOVER_MAX_PARKED_BYTES=8Mi", "LAYOVER_SESSION_TIMEOUT=30s")
			return end
		},
		"no coordinator": func(w *fixture, _ *instance) func() {
			keys := []kmsg.Key{kmsg.Heartbeat, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.JoinGroup, kmsg.SyncGroup}
			return w.Broker.Fault(kfake.Fault{Keys: keys, Err: kerr.NotCoordinator, Count: -1}).Remove
		},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi", "LAYOVER_SESSION_TIMEOUT=30s")
				in.ready()
				time.Sleep(10 * time.Second)
				filler := strings.Repeat("x", 1000)
				for p := range int32(2) {
					w.sendMany(p, 0, 1300, func(i int) []kgo.RecordHeader {
						return []kgo.RecordHeader{header("x-delay", "20h"), header("x-delay-id", fmt.Sprint(p, "-", i)), header("filler", filler)}
					})
				}
				time.Sleep(20 * time.Second)
				if sick := in.sick(); len(sick) > 0 {
					w.Fatalf("before: %v", sick)
				}
				defer begin(w, in)()
				for second := range 30 {
					time.Sleep(time.Second)
					for _, s := range in.sick() {
						if strings.HasPrefix(s, "runs ") {
							w.Fatalf("after %d s %s is sick", second+1, s)
						}
					}
				}
			})
		})
	}
}
