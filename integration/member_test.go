package integration

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is a member of the fixture's group that does nothing by itself: each
// request is one that the test sends. It has a client of its own, since a join
// occupies its connection.
type member struct {
	f          *fixture
	client     *kgo.Client
	id         string // empty, with the generation -1: no member, which may commit to a group without any
	generation int32
}

func (f *fixture) member() *member { return &member{f: f, client: f.kafka(), generation: -1} }

func (m *member) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(m.f.Context(), 30*time.Second)
}

// join enters the group or its next generation, and returns when all its members
// have. Any goroutine may call it.
func (m *member) join() error {
	ctx, cancel := m.ctx()
	defer cancel()
	subscription := kmsg.NewConsumerMemberMetadata()
	subscription.Topics = []string{m.f.ingress}
	for {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.MemberID, req.ProtocolType = m.f.group, m.id, "consumer"
		req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 30_000, 30_000
		protocol := kmsg.NewJoinGroupRequestProtocol()
		protocol.Name, protocol.Metadata = "range", subscription.AppendTo(nil)
		req.Protocols = append(req.Protocols, protocol)
		resp, err := req.RequestWith(ctx, m.client)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		switch err {
		case kerr.MemberIDRequired:
			m.id = resp.MemberID
		case nil:
			m.id, m.generation = resp.MemberID, resp.Generation
			return nil
		default:
			return fmt.Errorf("join: %w", err)
		}
	}
}

// sync ends a rebalance for this member. The leader brings what each member gets.
func (m *member) sync(shares map[*member][]int32) error {
	ctx, cancel := m.ctx()
	defer cancel()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = m.f.group, m.id, m.generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	for other, partitions := range shares {
		share := kmsg.NewConsumerMemberAssignment()
		topic := kmsg.NewConsumerMemberAssignmentTopic()
		topic.Topic, topic.Partitions = m.f.ingress, partitions
		share.Topics = append(share.Topics, topic)
		assignment := kmsg.NewSyncGroupRequestGroupAssignment()
		assignment.MemberID, assignment.MemberAssignment = other.id, share.AppendTo(nil)
		req.GroupAssignment = append(req.GroupAssignment, assignment)
	}
	resp, err := req.RequestWith(ctx, m.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	return err
}

// heartbeat is the coordinator's answer to one.
func (m *member) heartbeat() error {
	ctx, cancel := m.ctx()
	defer cancel()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = m.f.group, m.id, m.generation
	resp, err := req.RequestWith(ctx, m.client)
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	return err
}

// at is one partition of a commit.
type at struct {
	partition int32
	offset    int64
	metadata  string
}

// commit sends one OffsetCommit for ingress under that topic id, and returns the
// answer for each partition.
func (m *member) commit(id kadm.TopicID, commits ...at) map[int32]error {
	m.f.Helper()
	ctx, cancel := m.ctx()
	defer cancel()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = m.f.group, m.id, m.generation
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = m.f.ingress, id
	for _, c := range commits {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = c.partition, c.offset, -1, kmsg.StringPtr(c.metadata)
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, m.client)
	if err != nil {
		m.f.Fatal(err)
	}
	if resp.Version < 10 {
		m.f.Fatalf("OffsetCommit of version %d, which carries no topic id", resp.Version)
	}
	answers := make(map[int32]error)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			answers[p.Partition] = kerr.ErrorForCode(p.ErrorCode)
		}
	}
	if len(answers) != len(commits) {
		m.f.Fatalf("%d answers for %d partitions", len(answers), len(commits))
	}
	return answers
}

// createIngress makes ingress, waits until the broker knows it, and returns its id.
func (f *fixture) createIngress(partitions int32) kadm.TopicID {
	f.Helper()
	id := f.createTopic(f.ingress, partitions, nil)
	eventually(f.T, 20*time.Second, "the broker has all partitions", func() bool {
		// The client answers from what it knew a moment ago: it may be another topic of that name.
		topics, err := f.admin.ListTopics(f.Context(), f.ingress)
		t := topics[f.ingress]
		if err != nil || topics.Error() != nil || t.ID != id || len(t.Partitions) != int(partitions) {
			return false
		}
		ends, err := f.ends(f.ingress)
		return err == nil && len(ends) == int(partitions)
	})
	return id
}

// mustBeAt checks the group's offset of a partition of ingress; -1 is none.
func (f *fixture) mustBeAt(partition int32, want int64) {
	f.Helper()
	offsets, err := f.committed()
	got, ok := offsets[partition]
	if !ok {
		got = -1
	}
	if err != nil || got != want {
		f.Errorf("the group's offset of partition %d is %d, %v, want %d", partition, got, err, want)
	}
}
