package consumer

import (
	"context"
	"testing"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAHeartbeatRenewsTheLeaseWhereItsAnswerProvesMembership alone, in the generation of the partitions.
func TestAHeartbeatRenewsTheLeaseWhereItsAnswerProvesMembership(t *testing.T) {
	for name, test := range map[string]struct {
		answer *kerr.Error
		proves bool
	}{
		"it is a member":              {nil, true},
		"others join":                 {kerr.RebalanceInProgress, true},
		"not the coordinator":         {kerr.NotCoordinator, false},
		"not there yet":               {kerr.CoordinatorNotAvailable, false},
		"it reads its offsets":        {kerr.CoordinatorLoadInProgress, false},
		"another generation":          {kerr.IllegalGeneration, false},
		"nobody that is known":        {kerr.UnknownMemberID, false},
		"another one has its name":    {kerr.FencedInstanceID, false},
		"it may not read the group":   {kerr.GroupAuthorizationFailed, false},
		"an error that nobody awaits": {kerr.UnknownServerError, false},
	} {
		for _, instance := range []string{"", "pod-1"} {
			inGroup(t, func(g *group) {
				asked := false
				g.Answer(kmsg.Heartbeat, func(r kmsg.Request) kmsg.Response {
					req := r.(*kmsg.HeartbeatRequest)
					if asked = true; req.Group != "g" || req.MemberID != "m" || req.Generation != 7 || (req.InstanceID != nil) != (instance != "") || instance != "" && *req.InstanceID != instance {
						t.Errorf("%s: asked is %+v", name, req)
					}
					resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
					if test.answer != nil {
						resp.ErrorCode = test.answer.Code
					}
					return resp
				})
				h := heartbeats{client: g.NewClient(), table: newOwnership(), group: "g", instanceID: instance}
				h.table.lease.length = 8 * time.Second
				if h.prove(context.Background()); asked {
					t.Error("there is a heartbeat before the first join")
				}
				h.table.identify("m", 7)
				if h.prove(context.Background()); !asked || h.table.lease.valid(time.Now()) != test.proves {
					t.Errorf("%s: asked %v, the lease holds is %v, want %v", name, asked, h.table.lease.valid(time.Now()), test.proves)
				}
			})
		}
	}
}

// TestOfCommitsAndHeartbeatsEitherWillDo: where one has proved the membership, there is no other for a third of the
// session timeout. The client has one heartbeat of its own in that time.
func TestOfCommitsAndHeartbeatsEitherWillDo(t *testing.T) {
	for name, test := range map[string]struct {
		commits bool
		most    int // heartbeats in half a minute, of client and ours
	}{"with a commit each second": {true, 9}, "without": {false, 18}} {
		t.Run(name, func(t *testing.T) {
			inGroup(t, func(g *group) {
				m := g.join(nil)
				g.owns(m, 3)
				time.Sleep(10 * time.Second)
				beats := 0
				g.Answer(kmsg.Heartbeat, func(kmsg.Request) kmsg.Response { beats++; return nil })
				for range 30 {
					if test.commits {
						m.Commit([]offsets.Commit{{TopicPartition: partitionOf(0), Epoch: m.assignment(0).Epoch}}, func([]offsets.CommitResult) {})
					}
					time.Sleep(time.Second)
				}
				if !m.LeaseValid() || beats > test.most || beats < test.most-2 {
					t.Errorf("%d heartbeats, want at most %d; the lease holds is %v", beats, test.most, m.LeaseValid())
				}
			})
		})
	}
}

// TestALeaseRunsFromTheSendingOfAHeartbeat, not from its answer. One that takes as long as the lease proves nothing.
func TestALeaseRunsFromTheSendingOfAHeartbeat(t *testing.T) {
	for takes, valid := range map[time.Duration]bool{3 * time.Second: true, 7 * time.Second: true, 9 * time.Second: false} {
		inGroup(t, func(g *group) {
			g.Answer(kmsg.Heartbeat, func(r kmsg.Request) kmsg.Response {
				time.Sleep(takes)
				return r.ResponseKind()
			})
			h := heartbeats{client: g.NewClient(), table: newOwnership(), group: "g"}
			h.table.lease.length = 8 * time.Second
			h.table.identify("m", 7)
			began := time.Now()
			h.prove(context.Background())
			if now := time.Now(); h.table.lease.valid(now) != valid || valid && h.table.lease.age(now) < takes || now.Sub(began) > 8*time.Second {
				t.Errorf("an answer after %v: the lease holds is %v, and is %v old after %v", takes, h.table.lease.valid(now), h.table.lease.age(now), now.Sub(began))
			}
			time.Sleep(takes) // the broker ends with its answer
		})
	}
}
