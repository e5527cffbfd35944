package consumer

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"layover/cluster"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// protocol tells whether the group speaks the newest of cluster.Protocols: then no member is
// of an older release. Any goroutine may ask.
type protocol struct {
	newest atomic.Bool // of the last sync; false from a join to its sync, and outside the group
	rejoin func()      // has this member join again, soon

	// In Unix milliseconds, 0 for not so:
	olderMs   atomic.Int64 // since when syncs have said that the group speaks an older one
	joiningMs atomic.Int64 // since when no sync says anything, after the first join
}

// balancers returns what a member lists in its joins.
func (p *protocol) balancers() (list []kgo.GroupBalancer) {
	for i, name := range cluster.Protocols() {
		list = append(list, &balancer{sticky: kgo.CooperativeStickyBalancer().(sticky), name: name, newest: i == 0, group: p})
	}
	return list
}

// joins notes that nobody knows who is in the group: this member joins, or is not in it.
func (p *protocol) joins() {
	p.newest.Store(false)
	p.joiningMs.CompareAndSwap(0, time.Now().UnixMilli())
}

// speaks notes whether a sync has said that the group speaks the newest one.
func (p *protocol) speaks(newest bool) {
	p.newest.Store(newest)
	p.joiningMs.Store(0)
	if newest {
		p.olderMs.Store(0)
	} else {
		p.olderMs.CompareAndSwap(0, time.Now().UnixMilli())
	}
}

// since returns one of the instants, zero for none.
func since(ms *atomic.Int64) (at time.Time) {
	if ms := ms.Load(); ms > 0 {
		at = time.UnixMilli(ms)
	}
	return at
}

// balancer is kgo's cooperative-sticky under a name. Both names carry the same owned
// partitions in a join, and both are cooperative. So a change of the protocol moves nothing.
//
// The client calls it from one goroutine, the one that joins.
type balancer struct {
	sticky
	name   string
	newest bool // of cluster.Protocols
	group  *protocol
	// led is the members that this one leads since its join, until it is asked for their
	// plan; otherwise nil.
	led *kgo.ConsumerBalancer
}

// sticky is what kgo's sticky balancers are.
type sticky interface {
	kgo.GroupBalancer
	kgo.ConsumerBalancerBalance
}

// ProtocolName implements kgo.GroupBalancer.
func (b *balancer) ProtocolName() string { return b.name }

// JoinGroupMetadata implements kgo.GroupBalancer. It begins a join: until the sync nobody
// knows who is in the group.
func (b *balancer) JoinGroupMetadata(topics []string, owned map[string][]int32, generation int32) []byte {
	b.led = nil
	b.group.joins()
	return b.sticky.JoinGroupMetadata(topics, owned, generation)
}

// MemberBalancer implements kgo.GroupBalancer, for the leader.
func (b *balancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	led, err := kgo.NewConsumerBalancer(b, members)
	if err != nil {
		return nil, nil, err
	}
	b.led = led
	return led, led.MemberTopics(), nil
}

// Balance implements kgo.ConsumerBalancerBalance.
func (b *balancer) Balance(led *kgo.ConsumerBalancer, partitions map[string]int32) kgo.IntoSyncAssignment {
	b.led = nil
	return b.sticky.Balance(led, partitions)
}

// ParseSyncAssignment implements kgo.GroupBalancer. It ends a join, and is called on the
// balancer of the protocol that the coordinator chose.
func (b *balancer) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	assigned, err := b.sticky.ParseSyncAssignment(assignment)
	if err != nil {
		return nil, err
	}
	b.group.speaks(b.newest)
	if b.led != nil && b.differs(assigned) {
		b.group.rejoin()
	}
	return assigned, nil
}

// differs reports whether the leader's plan gives it other partitions than it was assigned. A
// static leader that is back gets its former assignment, and is not asked for a plan
// (KIP-814). The topics and their partitions may have changed meanwhile. For protocols that
// kgo knows by name it compares by itself.
func (b *balancer) differs(assigned map[string][]int32) bool {
	led, partitions := b.led, make(map[string]int32)
	for topic, t := range led.Info().Topics() {
		partitions[topic] = int32(len(t.Partitions))
	}
	plan, ok := b.Balance(led, partitions).(*kgo.BalancePlan)
	return !ok || !maps.EqualFunc(plan.AsMemberIDMap()[led.Info().LeaderID], assigned, slices.Equal)
}
