package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// speaks waits until the group is stable with so many members, by that protocol, and each
// partition of ingress is assigned to one of them.
func (f *fixture) speaks(protocol string, members, partitions int) {
	f.Helper()
	var said string
	defer func() {
		if f.Failed() {
			f.Logf("the group is %s", said)
		}
	}()
	eventually(f.T, 40*time.Second, fmt.Sprintf("%d members speak %s and share %d partitions", members, protocol, partitions), func() bool {
		groups, err := f.admin.DescribeGroups(f.Context(), f.group)
		g := groups[f.group]
		var assigned []int32
		least := partitions
		for _, m := range g.Members {
			has := 0
			if share, ok := m.Assigned.AsConsumer(); ok {
				for _, topic := range share.Topics {
					assigned = append(assigned, topic.Partitions...)
					has += len(topic.Partitions)
				}
			}
			least = min(least, has)
		}
		slices.Sort(assigned)
		said = fmt.Sprintf("%s, %d members by %s with %v, %v", g.State, len(g.Members), g.Protocol, assigned, err)
		all := make([]int32, partitions)
		for p := range all {
			all[p] = int32(p)
		}
		return err == nil && g.State == "Stable" && g.Protocol == protocol && len(g.Members) == members && least >= partitions/members && slices.Equal(assigned, all)
	})
}

// TestMembersOfTwoReleasesShareAGroup: an older member lists cooperative-sticky alone, joins
// dynamic ones, and then takes the instance id of a static one. It delivers nothing, and
// commits nothing. So its partitions are read again where their offsets stand, and each
// record goes out once.
func TestMembersOfTwoReleasesShareAGroup(t *testing.T) {
	long(t)
	t.Parallel()
	const partitions = 4
	f := onSharedBroker(t, partitions)
	static := "LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0"
	older := func(opts ...kgo.Opt) *kgo.Client {
		return f.kafka(append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.ConsumerGroup(f.group), kgo.ConsumeTopics(f.ingress),
			kgo.DisableAutoCommit(), kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(time.Second))...)
	}
	l, out, sent := f.newLedger(), f.collect(f.egress), 0
	produce := func() {
		for range 10 * partitions {
			sent++
			f.produce(l.delayed(fmt.Sprint("r", sent), time.Second))
		}
	}
	first := f.layover(static)
	f.speaks("layover-2", 1, partitions)
	second := f.layover()
	for range 2 {
		produce()
		f.speaks("layover-2", 2, partitions)
		out.await(sent, 30*time.Second)

		joined := older()
		f.speaks("cooperative-sticky", 3, partitions)
		produce()
		joined.Close()
		f.speaks("layover-2", 2, partitions)
		out.await(sent, 30*time.Second)

		first.terminate()
		joined = older(kgo.InstanceID(f.group + "-0"))
		f.speaks("cooperative-sticky", 2, partitions)
		produce()
		joined.Close() // a static member does not leave
		first = f.layover(static)
		f.speaks("layover-2", 2, partitions)
		out.await(sent, 30*time.Second)
	}
	f.reachesEnd(10 * time.Second)
	first.terminate()
	second.terminate()
	out.settle()
	l.judge(out.all(), 0)
}

// TestAStaticLeaderReadsATopicThatCameWhileItWasStopped: Kafka gives it its former
// assignment without asking it for a plan (KIP-814), and its member finds the difference.
func TestAStaticLeaderReadsATopicThatCameWhileItWasStopped(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 2)
	static := []string{"LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0", "LAYOVER_SESSION_TIMEOUT=20s"}
	p := f.layover(static...)
	f.speaks("layover-2", 1, 2)
	p.terminate()
	more := f.ingress + ".more"
	f.createTopic(more, 1, nil)
	p = f.layover(append(static, "LAYOVER_INGRESS_TOPICS="+f.ingress+","+more)...)
	out := f.collect(f.egress)
	f.produce(&kgo.Record{Topic: more, Headers: []kgo.RecordHeader{header("x-delay", "1000")}})
	out.await(1, 15*time.Second)
	p.terminate()
}
