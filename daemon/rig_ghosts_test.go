package daemon

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ghostAfter is how long a member may be silent: a broker gives it up after its session
// timeout. This broker keeps a member for ever whose connection breaks between its join
// and its sync. A minute is six session timeouts.
const ghostAfter = time.Minute

// noteAlive notes who speaks for a member. Callers hold mu.
func (r *rig) noteAlive(x *exchange) {
	switch q := x.request.(type) {
	case *kmsg.HeartbeatRequest:
		r.alive[q.MemberID] = x.sent
	case *kmsg.SyncGroupRequest:
		r.alive[q.MemberID] = x.sent
	}
}

// buryGhosts throws members out of the group who have been silent for too long, until
// the rig is torn down.
func (r *rig) buryGhosts() {
	defer close(r.buried)
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-r.over:
			return
		case <-ticker.C:
		}
		r.withBrokers(func() {
			if g := r.Broker.GroupInfo(group); g != nil {
				for _, m := range g.Members {
					if r.silent(m.MemberID) {
						r.note("a member that nobody speaks for is buried: %v", r.throwOut(m))
					}
				}
			}
		})
	}
}

// silent says whether a member has not been heard of for too long.
func (r *rig) silent(member string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.alive[member]; !known {
		r.alive[member] = time.Now()
	}
	return time.Since(r.alive[member]) > ghostAfter
}

// throwOut makes the group forget a member, as an administrator can.
func (w *fixture) throwOut(m kfake.GroupMember) error {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	rm := kmsg.NewLeaveGroupRequestMember()
	rm.MemberID, rm.InstanceID = m.MemberID, m.InstanceID
	req.Members = append(req.Members, rm)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := req.RequestWith(ctx, w.Client)
	return err
}
