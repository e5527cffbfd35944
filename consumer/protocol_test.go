package consumer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Names of protocols as Kafka tells them: the first releases list the second alone.
const ours, first = "layover-2", "cooperative-sticky"

// older has a member list what the first releases list.
func (g *group) older(c *Config) {
	c.Options = func() []kgo.Opt { return append(g.Options(), kgo.Balancers(kgo.CooperativeStickyBalancer())) }
}

// shares waits until members share all partitions. After a while it checks that they speak the
// protocol, and that newer ones know of it. No partition may ever have had two owners. kfake
// chooses protocols as Kafka does: one that all list, by votes for the first such.
func (g *group) shares(protocol string, newer, older []*one) {
	g.Helper()
	all := slices.Concat(newer, older)
	shared := func() bool {
		var owned []int32
		for _, m := range all {
			m.notes.mu.Lock()
			n := len(m.has)
			for p := range m.has {
				owned = append(owned, p)
			}
			m.notes.mu.Unlock()
			if n < 3/len(all) {
				return false
			}
		}
		slices.Sort(owned)
		return slices.Equal(owned, []int32{0, 1, 2})
	}
	g.Until(time.Minute, fmt.Sprintf("%d members share three partitions", len(all)), shared)
	time.Sleep(15 * time.Second)
	described, err := g.Admin().DescribeGroups(context.Background(), "g")
	if is := described["g"]; err != nil || is.State != "Stable" || is.Protocol != protocol || len(is.Members) != len(all) || !shared() {
		g.Errorf("%d members speak %s, %s, want %s of %d; all shared %v, %v", len(is.Members), is.Protocol, is.State, protocol, len(all), shared(), err)
	}
	for i, m := range newer {
		if got, want := m.NoneOlder(), protocol == ours; got != want {
			g.Errorf("newer member %d: none is older %v, want %v", i, got, want)
		}
	}
	g.owners.mu.Lock()
	defer g.owners.mu.Unlock()
	if len(g.owners.two) > 0 {
		g.Errorf("partitions %v had two owners", g.owners.two)
	}
}

// held is the assignments of members.
func held(members ...*one) (all []offsets.Assignment) {
	for _, m := range members {
		m.notes.mu.Lock()
		for _, a := range m.has {
			all = append(all, a.Assignment)
		}
		m.notes.mu.Unlock()
	}
	return all
}

// finishAll commits for each partition a low offset with a window, by its owner.
func (g *group) finishAll(low int64, members ...*one) {
	g.Helper()
	for _, m := range members {
		for _, a := range held(m) {
			if r := m.finish(a.Partition, low); r.Err != nil {
				g.Errorf("commit of partition %d: %v", a.Partition, r.Err)
			}
		}
	}
}

// begunAt checks that the assignments of members began with what was committed, but for the
// kept ones, and that all of these are there.
func (g *group) begunAt(low int64, kept []offsets.Assignment, members ...*one) {
	g.Helper()
	for _, m := range members {
		m.notes.mu.Lock()
		for p, a := range m.has {
			if w := a.Window; !slices.Contains(kept, a.Assignment) && (a.Next != low || w.Low() != low || !w.Finished(low+2) || w.Finished(low+1)) {
				g.Errorf("partition %d begins at %d with low %d, want %d and its window", p, a.Next, w.Low(), low)
			}
		}
		m.notes.mu.Unlock()
	}
	for _, a := range kept {
		if !slices.Contains(held(members...), a) {
			g.Errorf("%+v was not kept", a)
		}
	}
}

// TestAnOlderMemberIsKnownWhileItIsThere, each time it comes and goes, and a change of
// protocol takes away no more than the partitions that move.
func TestAnOlderMemberIsKnownWhileItIsThere(t *testing.T) {
	inGroup(t, func(g *group) {
		for p := range int32(3) {
			g.produce(p, 20)
		}
		a := g.join(nil)
		g.shares(ours, []*one{a}, nil)
		b := g.join(nil)
		g.shares(ours, []*one{a, b}, nil)
		for round := range int64(3) {
			low := 1 + 2*round
			g.finishAll(low, a, b)
			before := held(a, b)
			old := g.join(g.older)
			g.shares(first, []*one{a, b}, []*one{old})
			moved := held(old)
			g.begunAt(low, nil, old)
			g.begunAt(low, slices.DeleteFunc(before, func(one offsets.Assignment) bool { return one.TopicPartition == moved[0].TopicPartition }), a, b)
			g.finishAll(low+1, old)
			before = held(a, b)
			old.leave()
			g.shares(ours, []*one{a, b}, nil)
			g.begunAt(low+1, before, a, b)
		}
	})
}

// TestANewerMemberJoinsOlderOnes and learns when the last of them has left.
func TestANewerMemberJoinsOlderOnes(t *testing.T) {
	inGroup(t, func(g *group) {
		for p := range int32(3) {
			g.produce(p, 20)
		}
		a, b := g.join(g.older), g.join(g.older)
		g.shares(first, nil, []*one{a, b})
		g.finishAll(4, a, b)
		m := g.join(nil)
		g.shares(first, []*one{m}, []*one{a, b})
		g.begunAt(4, nil, m)
		g.finishAll(5, a, b, m)
		before := held(m)
		a.leave()
		g.shares(first, []*one{m}, []*one{b})
		g.begunAt(5, before, m)
		g.finishAll(6, b)
		before = held(m)
		b.leave()
		g.shares(ours, []*one{m}, nil)
		if got := held(m); len(got) != 3 || len(before) != 2 && len(before) != 1 {
			t.Errorf("it has %v, before %v", got, before)
		}
	})
}

// TestAStaticMemberOfAnOlderReleaseTakesTheSameInstanceID, and a newer one takes it back: a
// rolling upgrade and its way back.
func TestAStaticMemberOfAnOlderReleaseTakesTheSameInstanceID(t *testing.T) {
	inGroup(t, func(g *group) {
		for p := range int32(3) {
			g.produce(p, 20)
		}
		static := func(c *Config) { c.InstanceID = "s-0" }
		olderStatic := func(c *Config) { static(c); g.older(c) }
		b := g.join(nil)
		a := g.join(static)
		g.shares(ours, []*one{a, b}, nil)
		for round := range int64(2) {
			low := 1 + 2*round
			g.finishAll(low, a, b)
			a.leave()
			old := g.join(olderStatic)
			g.shares(first, []*one{b}, []*one{old})
			g.begunAt(low, nil, old)
			g.finishAll(low+1, old, b)
			old.leave()
			a = g.join(static)
			g.shares(ours, []*one{a, b}, nil)
			g.begunAt(low+1, nil, a)
		}
	})
}

// TestAStaticLeaderThatIsBackSharesWhatCameMeanwhile, and joins once where nothing came. It
// gets its former assignment, and is not asked for a plan.
func TestAStaticLeaderThatIsBackSharesWhatCameMeanwhile(t *testing.T) {
	inGroup(t, func(g *group) {
		static := func(c *Config) { c.InstanceID = "s-0" }
		m := g.join(static)
		g.owns(m, 3)
		m.leave()
		was := m.Status().Generation
		joins := g.counts(kmsg.JoinGroup, func() {
			m = g.join(static)
			g.owns(m, 3)
			time.Sleep(10 * time.Second)
		})
		if is := m.Status().Generation; joins != 1 || is != was || !m.NoneOlder() {
			t.Errorf("nothing came: %d joins, generation %d after %d, none is older %v", joins, is, was, m.NoneOlder())
		}
		m.leave()
		if r, err := g.Admin().UpdatePartitions(context.Background(), 5, "t"); err != nil || r.Error() != nil {
			t.Fatal(err, r.Error())
		}
		m = g.join(static)
		g.owns(m, 5)
		if is := m.Status().Generation; is == was || !m.NoneOlder() {
			t.Errorf("with more partitions: generation %d after %d, none is older %v", is, was, m.NoneOlder())
		}
	})
}

// TestOutsideTheGroupNothingIsSaidOfItsMembers: before the first sync, in a join, without a
// lease, after the membership is lost, and behind the end.
func TestOutsideTheGroupNothingIsSaidOfItsMembers(t *testing.T) {
	inGroup(t, func(g *group) {
		c, err := New(Config{Topics: []string{"t"}, Group: "g", SessionTimeout: 10 * time.Second, FetchMaxBytes: 1 << 20, MaxDecompress: 1 << 20, Log: slog.New(slog.DiscardHandler)}, &notes{})
		if err != nil || c.NoneOlder() {
			t.Fatalf("%v, said before the start", err)
		}
		unsynced := g.Refuse(kmsg.SyncGroup, kfake.Fault{Err: kerr.CoordinatorLoadInProgress})
		m := g.join(nil)
		time.Sleep(5 * time.Second)
		if unsynced.Hits() == 0 || m.NoneOlder() {
			t.Error("said before the first sync")
		}
		unsynced.Remove()
		known := func() {
			g.Helper()
			g.Until(time.Minute, "none is older", m.NoneOlder)
			g.owns(m, 3)
			time.Sleep(5 * time.Second)
		}
		for round := range 2 {
			known()
			joining := g.Refuse(kmsg.JoinGroup, kfake.Fault{Err: kerr.CoordinatorLoadInProgress})
			m.forceRebalance()
			g.Until(time.Second, "unknown in a join", func() bool { return !m.NoneOlder() })
			if !m.LeaseValid() || len(held(m)) != 3 {
				t.Errorf("round %d: the join cost its partitions", round)
			}
			joining.Remove()
			known()

			joins := g.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Count: -1, Observe: true})
			thrown := g.Refuse(kmsg.Heartbeat, kfake.Fault{Err: kerr.UnknownMemberID})
			g.Until(10*time.Second, "unknown without a membership", func() bool { return !m.NoneOlder() })
			if joins.Hits() != 0 || len(held(m)) != 0 {
				t.Errorf("round %d: known until the next join, with %v", round, held(m))
			}
			thrown.Remove()
			joins.Remove()
			known()

			before := time.Now().Add(-8 * time.Second)
			m.table.lease.last.Store(&before)
			if m.NoneOlder() || !m.protocol.newest.Load() {
				t.Errorf("round %d: said without a lease, or the sync is forgotten", round)
			}
		}
		known()
		m.leave()
		if m.protocol.newest.Load() || m.NoneOlder() {
			t.Error("said behind the end")
		}
	})
}

// TestBothProtocolsShareAsCooperativeStickyDoes: the same joins, the same plans.
func TestBothProtocolsShareAsCooperativeStickyDoes(t *testing.T) {
	p := &protocol{rejoin: func() { t.Error("joins again though it was asked for its plan") }}
	kgos := kgo.CooperativeStickyBalancer()
	list := p.balancers()
	if len(list) != 2 || list[0].ProtocolName() != ours || list[1].ProtocolName() != first {
		t.Fatalf("lists %v", list)
	}
	owned := func() map[string][]int32 { return map[string][]int32{"t": {0, 3}, "a": {2}} }
	members := func(b kgo.GroupBalancer) (all []kmsg.JoinGroupResponseMember) {
		for i, has := range []map[string][]int32{owned(), {"t": {1, 2, 4, 5}}, nil} {
			all = append(all, kmsg.JoinGroupResponseMember{MemberID: fmt.Sprint("m", i), ProtocolMetadata: b.JoinGroupMetadata([]string{"a", "t"}, has, 7)})
		}
		return all
	}
	// shared is the plan of a balancer.
	shared := func(b kgo.GroupBalancer) (all []kmsg.SyncGroupRequestGroupAssignment) {
		led, topics, err := b.MemberBalancer(members(b))
		if err != nil || len(topics) != 2 {
			t.Fatal(topics, err)
		}
		plan, err := led.(kgo.GroupMemberBalancerOrError).BalanceOrError(map[string]int32{"t": 6, "a": 3})
		if err != nil {
			t.Fatal(err)
		}
		return plan.IntoSyncAssignment()
	}
	for i, b := range list {
		p.newest.Store(true)
		if got, want := b.JoinGroupMetadata([]string{"a", "t"}, owned(), 7), kgos.JoinGroupMetadata([]string{"a", "t"}, owned(), 7); !b.IsCooperative() || !bytes.Equal(got, want) {
			t.Errorf("%s: cooperative %v, joins with %x, want %x", b.ProtocolName(), b.IsCooperative(), got, want)
		}
		if p.newest.Load() {
			t.Errorf("%s: known in a join", b.ProtocolName())
		}
		plan := shared(b)
		if got, want := planned(t, kgos, plan), planned(t, kgos, shared(kgos)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: plan %v, want %v", b.ProtocolName(), got, want)
		}
		if _, _, err := b.MemberBalancer([]kmsg.JoinGroupResponseMember{{MemberID: "m", ProtocolMetadata: []byte{9}}}); err == nil {
			t.Errorf("%s: leads a member that it cannot read", b.ProtocolName())
		}
		if _, err := b.ParseSyncAssignment([]byte{1}); err == nil || p.newest.Load() {
			t.Errorf("%s: an assignment that cannot be read: %v, none is older %v", b.ProtocolName(), err, p.newest.Load())
		}
		if _, _, err := b.MemberBalancer(members(b)); err != nil { // a join whose sync failed
			t.Error(err)
		}
		b.JoinGroupMetadata(nil, nil, -1)
		for _, a := range plan {
			got, err := b.ParseSyncAssignment(a.MemberAssignment)
			if want, _ := kgos.ParseSyncAssignment(a.MemberAssignment); err != nil || !reflect.DeepEqual(got, want) || p.newest.Load() != (i == 0) {
				t.Errorf("%s: assigned %v, %v, want %v; none is older %v", b.ProtocolName(), got, err, want, p.newest.Load())
			}
		}
	}
}

// planned is what each member is to have by a plan, in the order of members.
func planned(t *testing.T, kgos kgo.GroupBalancer, plan []kmsg.SyncGroupRequestGroupAssignment) (all []map[string][]int32) {
	t.Helper()
	for _, a := range plan {
		assigned, err := kgos.ParseSyncAssignment(a.MemberAssignment)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, assigned)
	}
	return all
}

// TestSinceWhenAnOlderMemberIsThere: joins of a group that goes on with the older protocol change nothing, and a
// join by itself tells of no such member.
func TestSinceWhenAnOlderMemberIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Consumer{protocol: new(protocol)}
		want := func(older, joining time.Time) {
			t.Helper()
			if !c.OlderSince().Equal(older) || !c.JoiningSince().Equal(joining) {
				t.Errorf("an older member is there since %v, and a join goes on since %v, want %v and %v", c.OlderSince(), c.JoiningSince(), older, joining)
			}
			time.Sleep(time.Minute)
		}
		var none, older time.Time
		want(none, none)
		for _, newest := range []bool{true, false, false, true, false} {
			began := time.Now()
			for range 2 { // it asks again, or for the other protocol
				c.protocol.joins()
				want(older, began)
			}
			switch c.protocol.speaks(newest); {
			case newest:
				older = none
			case older.IsZero():
				older = time.Now()
			}
			want(older, none)
		}
	})
}
