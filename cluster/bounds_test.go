package cluster

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestALeaderIsOneThatIsThere in all that metadata says.
func TestALeaderIsOneThatIsThere(t *testing.T) {
	at := offsets.TopicPartition{Topic: "journal", Partition: 1}
	topic := func(code int16, partitions ...kmsg.MetadataResponseTopicPartition) *kmsg.MetadataResponseTopic {
		return &kmsg.MetadataResponseTopic{ErrorCode: code, Partitions: partitions}
	}
	for what, c := range map[string]struct {
		t       *kmsg.MetadataResponseTopic
		leader  int32
		missing bool
	}{
		"led":             {topic(0, kmsg.MetadataResponseTopicPartition{Partition: 1, Leader: 7}), 7, false},
		"a replica is":    {topic(0, kmsg.MetadataResponseTopicPartition{Partition: 1, Leader: 7, ErrorCode: kerr.ReplicaNotAvailable.Code}), 7, false},
		"no leader":       {topic(0, kmsg.MetadataResponseTopicPartition{Partition: 1, Leader: -1}), -1, false},
		"no such":         {topic(0, kmsg.MetadataResponseTopicPartition{Partition: 0, Leader: 7}), -1, true},
		"no topic":        {topic(kerr.UnknownTopicOrPartition.Code), -1, true},
		"no such name":    {topic(kerr.InvalidTopicException.Code), -1, true},
		"not allowed":     {topic(kerr.TopicAuthorizationFailed.Code), -1, false},
		"not yet a topic": {topic(kerr.LeaderNotAvailable.Code), -1, false},
	} {
		leader, _, err := leaderOf(c.t, true, at)
		if leader != c.leader || (err == nil) != (leader >= 0) || errors.Is(err, ErrMissing) != c.missing {
			t.Errorf("%s: %d, %v", what, leader, err)
		}
	}
}

// TestBoundsAreAskedForInTheLeaderEpochOfMetadata, and those have the lower one of metadata and the leader's answer
// about the end. In its answer about the start stands the epoch of the first record.
func TestBoundsAreAskedForInTheLeaderEpochOfMetadata(t *testing.T) {
	at := offsets.TopicPartition{Topic: "t"}
	for name, test := range map[string]struct {
		knows, answers int32 // leader epochs of metadata, and of the leader's answers
		want           int32
		refused        bool
	}{
		"both the same":           {2, 2, 2, false},
		"one that knows no epoch": {2, -1, 2, false},
		"one that does not fence": {2, 0, 0, false},
		"a later answer":          {2, 3, 2, false},
		"one that fences":         {2, 0, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := kafkatest.StartVirtual(t, 1)
				c.CreateTopic(at.Topic, 1, nil)
				for range test.knows {
					if err := c.Broker.MoveTopicPartition(at.Topic, 0, 0); err != nil {
						t.Fatal(err)
					}
				}
				if got := c.Broker.PartitionInfo(at.Topic, 0).Epoch; got != test.knows {
					t.Fatalf("it leads in epoch %d", got)
				}
				var mu sync.Mutex // leaf
				var asked []int32
				c.Answer(kmsg.ListOffsets, func(r kmsg.Request) kmsg.Response {
					req := r.(*kmsg.ListOffsetsRequest)
					p := req.Topics[0].Partitions[0]
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, p.CurrentLeaderEpoch)
					answer := kmsg.NewListOffsetsResponseTopicPartition()
					if answer.LeaderEpoch = test.answers; p.Timestamp == atStart {
						answer.LeaderEpoch = 0
					}
					if test.refused {
						answer.ErrorCode = kerr.UnknownLeaderEpoch.Code
					}
					topic := kmsg.NewListOffsetsResponseTopic()
					topic.Topic, topic.Partitions = at.Topic, append(topic.Partitions, answer)
					resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
					resp.Topics = append(resp.Topics, topic)
					return resp
				})
				AskBounds(t.Context(), c.NewClient(), []offsets.TopicPartition{at}, func(found Located) {
					if b := found[at]; b.LeaderEpoch != test.want || errors.Is(b.Err, kerr.UnknownLeaderEpoch) != test.refused {
						t.Errorf("bounds of epoch %d, %v", b.LeaderEpoch, b.Err)
					}
				})
				mu.Lock()
				defer mu.Unlock()
				if len(asked) < 3 || asked[0] != test.knows {
					t.Errorf("asked in epochs %d", asked)
				}
			})
		})
	}
}
