package cluster

import (
	"errors"
	"testing"

	"layover/offsets"

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
