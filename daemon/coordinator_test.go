package daemon

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The coordinator alone is out of a member's reach. The group gives the member up,
// and the member itself learns that only later. Meanwhile another may deliver.
func TestWithOnlyTheCoordinatorOutOfReachNothingIsDeliveredAfterTheLease(t *testing.T) {
	inBubble(t, func(w *fixture) {
		if _, _, err := w.Broker.AddNode(1, 9093); err != nil {
			t.Fatal(err)
		}
		coordinator := w.Broker.CoordinatorFor("layover-" + ingress)
		for topic, partitions := range map[string]int32{ingress: 2, egress: 2, dlq: 1} {
			for p := range partitions {
				if err := w.Broker.MoveTopicPartition(topic, p, 1-coordinator); err != nil {
					t.Fatal(err)
				}
			}
		}
		h := &hole{net: w.Net}
		w.dial = h.dial
		in := w.start("LAYOVER_SESSION_TIMEOUT=10s")
		in.ready()
		w.sendMany(0, 0, 600, delays(2*time.Minute, 600))
		time.Sleep(30 * time.Second)

		before := w.count(egress)
		h.silence(fmt.Sprintf(":%d", 9092+coordinator))
		time.Sleep(4 * time.Second)
		within := w.count(egress)
		time.Sleep(6 * time.Second) // the session is over
		after := w.count(egress)
		time.Sleep(20 * time.Second)
		if before == 0 || within == before {
			t.Errorf("%d delivered before the silence, %d within the lease: want some of both", before, within-before)
		}
		if late := w.count(egress) - after; late != 0 {
			t.Errorf("%d delivered after the session timeout", late)
		}

		h.silence("")
		time.Sleep(3 * time.Minute)
		w.notEarly(w.Records(egress))
		// Twice comes what finished after the last commit that was taken: in a second
		// before the silence, and in it.
		w.exactly(egress, 0, 600, after-before+10)
		in.stop()
		w.committed(0, 600)
	})
}

// TestABrokerThatIsNotTheCoordinatorProvesNoMembership: it answers heartbeats, too, with that. The group hears nothing
// of the member, as if the coordinator were out of reach, and gives its partitions away after the session timeout.
func TestABrokerThatIsNotTheCoordinatorProvesNoMembership(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_SESSION_TIMEOUT=10s")
		in.ready()
		w.sendMany(0, 0, 600, delays(2*time.Minute, 600))
		time.Sleep(30 * time.Second)

		before := w.count(egress)
		var handles []*kfake.FaultHandle
		for _, key := range []kmsg.Key{kmsg.Heartbeat, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.JoinGroup, kmsg.SyncGroup} {
			handles = append(handles, w.Refuse(key, kfake.Fault{Err: kerr.NotCoordinator}))
		}
		time.Sleep(10 * time.Second) // the session is over: the last heartbeat that the group has heard is older
		after := w.count(egress)
		time.Sleep(20 * time.Second)
		if before == 0 {
			t.Error("nothing is delivered before")
		}
		if late := w.count(egress) - after; late != 0 {
			t.Errorf("%d delivered after the session timeout", late)
		}
		for _, h := range handles {
			h.Remove()
		}
		time.Sleep(3 * time.Minute)
		in.stop()
	})
}
