package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refusals are the kinds of request that a daemon sends, each with the errors by which
// brokers refuse it for a while. A run fails that sees a kind which is not here. All
// kinds are slowed, lost and cut off as well.
var refusals = map[kmsg.Key][]*kerr.Error{
	kmsg.Produce: {kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut,
		kerr.UnknownTopicOrPartition, kerr.KafkaStorageError, kerr.UnknownServerError},
	kmsg.Fetch: {kerr.NotLeaderForPartition, kerr.UnknownTopicOrPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch,
		kerr.KafkaStorageError, kerr.OffsetNotAvailable, kerr.UnknownTopicID, kerr.UnknownServerError},
	kmsg.ListOffsets:          {kerr.NotLeaderForPartition, kerr.LeaderNotAvailable, kerr.OffsetNotAvailable, kerr.UnknownTopicOrPartition},
	kmsg.Metadata:             {kerr.LeaderNotAvailable, kerr.UnknownTopicOrPartition},
	kmsg.OffsetCommit:         {kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.RebalanceInProgress, kerr.RequestTimedOut, kerr.UnknownServerError, kerr.IllegalGeneration, kerr.UnknownMemberID},
	kmsg.OffsetFetch:          {kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.UnstableOffsetCommit},
	kmsg.FindCoordinator:      {kerr.CoordinatorNotAvailable},
	kmsg.JoinGroup:            {kerr.NotCoordinator, kerr.CoordinatorLoadInProgress, kerr.UnknownMemberID},
	kmsg.SyncGroup:            {kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.RebalanceInProgress, kerr.UnknownMemberID},
	kmsg.Heartbeat:            {kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID},
	kmsg.LeaveGroup:           {kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.UnknownMemberID},
	kmsg.InitProducerID:       {kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable},
	kmsg.DescribeConfigs:      {kerr.RequestTimedOut},
	kmsg.OffsetForLeaderEpoch: {kerr.NotLeaderForPartition, kerr.UnknownLeaderEpoch, kerr.FencedLeaderEpoch},
	kmsg.CreateTopics: {kerr.NotController, kerr.RequestTimedOut, kerr.PolicyViolation, kerr.TopicAlreadyExists, kerr.InvalidReplicationFactor,
		kerr.ThrottlingQuotaExceeded, kerr.UnknownServerError},
	kmsg.CreatePartitions: {kerr.NotController, kerr.RequestTimedOut, kerr.PolicyViolation, kerr.ReassignmentInProgress, kerr.ThrottlingQuotaExceeded},
	kmsg.DeleteRecords:    {kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.UnknownTopicOrPartition, kerr.KafkaStorageError},
	kmsg.ApiVersions:      nil, // no broker refuses it for a while
}

// effects of faults, the columns of the summary.
const (
	refused = "refused"
	lost    = "lost"
	cut     = "cut"
	slowed  = "slow"
)

// window is a time in which something happens to some of the requests of a kind.
type window struct {
	key    kmsg.Key
	effect string
	slot   int // whose: an instance, the shaky sender, or everybody
	share  float64
	lag    time.Duration // with slowed
	after  bool          // with slowed: the answer is, not the request
	err    *kerr.Error   // with refused

	fault *kfake.FaultHandle
}

// everybody is the slot of a window that spares nobody; the shaky sender has the slot
// behind the instances.
const (
	everybody   = -1
	shakySender = maxInstances
)

func (f *window) String() string {
	what := f.effect
	switch f.effect {
	case refused:
		what = "refused with " + f.err.Message
	case slowed:
		what = fmt.Sprintf("%v late, the request", f.lag)
		if f.after {
			what = fmt.Sprintf("%v late, the answer", f.lag)
		}
	}
	return fmt.Sprintf("%s %s, %.0f %%, %s", kmsg.NameForKey(f.key.Int16()), what, 100*f.share, slotName(f.slot))
}

func slotName(slot int) string {
	switch slot {
	case everybody:
		return "everybody"
	case shakySender:
		return "the shaky sender"
	}
	return fmt.Sprintf("instance %d", slot)
}

// open lets a window begin, and end by itself: whatever else the plan waits for.
func (r *rig) open(f *window, for_ time.Duration) {
	if f.effect == refused {
		f.fault = r.Refuse(f.key, kfake.Fault{Err: f.err,
			When: func(q kmsg.Request) bool { return !isOurs(q) && r.chance(f.share) }})
	}
	r.trouble(for_)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.windows = append(r.windows, f)
	time.AfterFunc(for_, func() { r.shut(f) })
}

// shut ends a window.
func (r *rig) shut(f *window) {
	if f.fault != nil {
		f.fault.Remove()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.windows, f); i >= 0 {
		r.windows = slices.Delete(r.windows, i, i+1)
		if f.fault != nil {
			r.sum.faults[f.key.Int16()][refused] += f.fault.Hits()
		}
	}
}

func (r *rig) chance(share float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quiet == 0 && r.dice.Float64() < share
}

// OnNewClient implements kgo.HookNewClient: nothing happens to anybody until the client
// has its producer id. It asks for it under a mutex, which a second sender then waits
// for. While somebody waits for a mutex virtual time stands still, so the answer must not
// need any. It takes no more than this one instant. With a single broker there is but one
// sender, and this is not needed.
func (r *rig) OnNewClient(c *kgo.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet++
	go func() { // ends with the answer
		time.Sleep(time.Nanosecond) // the client is not complete before
		_, _, err := c.ProducerID(context.Background())
		if err != nil && !errors.Is(err, kgo.ErrClientClosed) {
			r.fault("no producer id: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.quiet--
	}()
}

// fateOf says what the open windows do to a request. Callers hold mu.
func (r *rig) fateOf(p *party, x *exchange) (f fate) {
	if r.quiet > 0 {
		return fate{}
	}
	key := x.key
	f.before = r.plan.latency
	if wait := time.Until(r.silentUntil); wait > 0 && isAbout(x.request, r.silentID) {
		f.before += wait
		r.sum.journal.silent++
	}
	for _, w := range r.windows {
		if w.key != key || w.effect == refused || w.slot != everybody && w.slot != p.slot || r.dice.Float64() >= w.share {
			continue
		}
		switch {
		case w.effect == cut:
			f.cut = true
		case w.effect == lost:
			f.lose = true
		case w.after:
			f.after += w.lag
		default:
			f.before += w.lag
		}
		r.sum.faults[key.Int16()][w.effect]++
	}
	return f
}

// route is a way between a party and a broker that is closed.
type route struct {
	slot int
	addr string
}

// unreachable says whether the way of a party to a broker is closed.
func (r *rig) unreachable(p *party, addr string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quiet == 0 && (p.isolated || r.closed[route{p.slot, addr}] > 0 || r.closed[route{everybody, addr}] > 0)
}

// isolate takes a party off the network. What is silent to Kafka from now on may have
// been killed as well.
func (r *rig) isolate(p *party) {
	r.trouble(0)
	r.mu.Lock()
	p.isolated = true
	var lines []*line
	for l := range r.lines {
		if l.who == p {
			lines = append(lines, l)
		}
	}
	r.mu.Unlock()
	for _, l := range lines {
		l.cut()
	}
}

// rejoin puts a party back on the network.
func (r *rig) rejoin(p *party) {
	r.trouble(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	p.isolated = false
}

// closeRoute keeps a party, or everybody, from a broker for a while.
func (r *rig) closeRoute(slot int, addr string, for_ time.Duration) {
	r.trouble(for_)
	r.mu.Lock()
	r.closed[route{slot, addr}]++
	var lines []*line
	for l, at := range r.lines {
		if at == addr && (slot == everybody || slot == l.who.slot) {
			lines = append(lines, l)
		}
	}
	r.mu.Unlock()
	for _, l := range lines {
		l.cut()
	}
	time.AfterFunc(for_, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if at := (route{slot, addr}); r.closed[at] > 0 { // not healed meanwhile
			r.closed[at]--
		}
	})
}

// keep and drop hold the list of open lines.
func (r *rig) keep(l *line, addr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines[l] = addr
}

func (r *rig) drop(l *line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lines, l)
}

// heal ends all faults.
func (r *rig) heal() {
	r.mu.Lock()
	open := slices.Clone(r.windows)
	clear(r.closed)
	r.silentUntil = time.Time{}
	r.mu.Unlock()
	for _, f := range open {
		r.shut(f)
	}
}
