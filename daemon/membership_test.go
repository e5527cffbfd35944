package daemon

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/verify/long"
)

// evicted throws the only member out of the group and returns its id.
func (w *fixture) evicted() string {
	w.Helper()
	g := w.Broker.GroupInfo("layover-" + ingress)
	if g == nil || len(g.Members) != 1 {
		w.Fatalf("the group is %+v", g)
	}
	if err := w.throwOut(g.Members[0]); err != nil {
		w.Fatal(err)
	}
	return g.Members[0].MemberID
}

// A member that hears of its end by joining again gets a new id without any partition
// being called lost.
func TestPartitionsDoNotOutliveTheMemberIdTheyWereAssignedTo(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		one := w.start("LAYOVER_SESSION_TIMEOUT=1m") // a heartbeat every 20 s
		one.ready()
		const n = 1200
		w.sendMany(0, 0, n, delays(2*time.Minute, n))
		w.sendMany(1, 0, n, delays(2*time.Minute, n))
		time.Sleep(25 * time.Second)
		member := w.evicted()
		two := w.start()
		time.Sleep(5 * time.Second) // in which the other one owns, delivers and commits
		w.Refuse(kmsg.Heartbeat, kfake.Fault{Err: kerr.RebalanceInProgress,
			When: func(r kmsg.Request) bool { return r.(*kmsg.HeartbeatRequest).MemberID == member }})
		var high [2]int64
		for range 1000 {
			time.Sleep(50 * time.Millisecond)
			for p := range high {
				at := w.commitOf(int32(p)).At
				if at < high[p] {
					t.Fatalf("partition %d: committed %d after %d", p, at, high[p])
				}
				high[p] = at
			}
		}
		w.Until(3*time.Minute, "the offsets reach the end", func() bool { return w.commitOf(0).At == n && w.commitOf(1).At == n })
		w.notEarly(w.Records(egress))
		const unnoticed = 20 * 10 // records a second, until the evicted member hears of it
		w.exactly(egress, 0, n, unnoticed)
		w.exactly(egress, 1, n, unnoticed)
		one.stop()
		two.stop()
	})
}
