package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// evicted throws the only member out of the group and returns its id.
func (w *world) evicted() string {
	w.Helper()
	g := w.broker.GroupInfo("layover-" + ingress)
	if g == nil || len(g.Members) != 1 {
		w.Fatalf("the group is %+v", g)
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = g.Group
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = g.Members[0].MemberID
	req.Members = append(req.Members, m)
	if _, err := req.RequestWith(context.Background(), w.client); err != nil {
		w.Fatal(err)
	}
	return m.MemberID
}

// A member that hears of its end by joining again gets a new id without any partition
// being called lost.
func TestPartitionsDoNotOutliveTheMemberIdTheyWereAssignedTo(t *testing.T) {
	inBubble(t, func(w *world) {
		one := w.start("LAYOVER_SESSION_TIMEOUT=1m") // a heartbeat every 20 s
		one.ready()
		const n = 1200
		w.sendMany(0, 0, n, delays(2*time.Minute, n))
		w.sendMany(1, 0, n, delays(2*time.Minute, n))
		time.Sleep(25 * time.Second)
		member := w.evicted()
		two := w.start()
		time.Sleep(5 * time.Second) // in which the other one owns, delivers and commits
		w.broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.RebalanceInProgress, Count: -1,
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
		w.until(3*time.Minute, "the offsets reach the end", func() bool { return w.commitOf(0).At == n && w.commitOf(1).At == n })
		w.notEarly(w.all(egress))
		const unnoticed = 20 * 10 // records a second, until the evicted member hears of it
		w.exactly(egress, 0, n, unnoticed)
		w.exactly(egress, 1, n, unnoticed)
		one.stop()
		two.stop()
	})
}
