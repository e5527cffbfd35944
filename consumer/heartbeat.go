package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeats prove the membership where no commit has for a while. The client has heartbeats of its own, and takes a
// broker that is not the coordinator any more for one that may be it again: the group then hears nothing, and nobody
// learns of the answers. A hook of the client sees that there was one, and not its error code.
type heartbeats struct {
	client     *kgo.Client
	table      *ownership
	group      string
	instanceID string        // "" for a dynamic member
	every      time.Duration // after the last proof, and the last attempt
	wake       chan struct{} // capacity 1: there is a new generation
	// end ends them. One that is underway may wait for the client to find the coordinator, whatever its context says:
	// done is closed when the client is, at the latest.
	end  context.CancelFunc
	done chan struct{}
}

// beatPause is the least pause between two heartbeats.
const beatPause = 100 * time.Millisecond

// start begins to send.
func (h *heartbeats) start() {
	h.wake, h.done = make(chan struct{}, 1), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	h.end = cancel
	go h.run(ctx)
}

// joined has a heartbeat sent at once: of an assignment without a partition there is no commit.
func (h *heartbeats) joined() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// run sends until its context ends.
func (h *heartbeats) run(ctx context.Context) {
	defer close(h.done)
	timer := time.NewTimer(h.every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
			h.prove(ctx)
			timer.Reset(h.every)
		case <-timer.C:
			began := time.Now()
			wait := h.every - h.table.lease.age(began)
			if wait <= 0 { // the next goes as long after this one is sent, or soon after a slow answer
				h.prove(ctx)
				wait = max(h.every-time.Since(began), beatPause)
			}
			timer.Reset(wait)
		}
	}
}

// prove sends a heartbeat, and renews the lease from its sending where the answer says that the group has the member in
// the generation of its partitions. One whose answer takes so long that the next would come too late is given up.
func (h *heartbeats) prove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, h.table.lease.length-h.every)
	defer cancel()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group = h.group
	if req.MemberID, req.Generation = h.table.identity(); req.MemberID == "" {
		return
	}
	if h.instanceID != "" {
		req.InstanceID = &h.instanceID
	}
	sent := time.Now()
	if resp, err := req.RequestWith(ctx, h.client); err == nil && isMember(resp.ErrorCode) {
		h.table.lease.renew(sent)
	}
}

// isMember says whether the answer to a heartbeat tells that the group has the member. It does while others join, too.
func isMember(code int16) bool {
	err := kerr.ErrorForCode(code)
	return err == nil || errors.Is(err, kerr.RebalanceInProgress)
}
