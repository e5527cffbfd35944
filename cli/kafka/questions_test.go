package kafka

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"layover/config"
	"layover/offsets"
	"layover/verify/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask returns brokers with topic t, of two partitions with a record each.
func ask(t *testing.T) (*kafkatest.Cluster, *Brokers) {
	t.Helper()
	w := kafkatest.Start(t, 2, kfake.SeedTopics(2, "t"))
	w.Produce(&kgo.Record{Topic: "t", Partition: 0}, &kgo.Record{Topic: "t", Partition: 1})
	b, err := Ask(config.Kafka{Brokers: []string{w.Addr()}}, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return w, b
}

// TestBoundsThatNobodyTellsAreAnError of their partition alone, and blamed on no address where a broker has answered.
func TestBoundsThatNobodyTellsAreAnError(t *testing.T) {
	for want, fault := range map[string]struct {
		key kmsg.Key
		err *kerr.Error
	}{
		"t/1: metadata of t/1: LEADER_NOT_AVAILABLE":     {kmsg.Metadata, kerr.LeaderNotAvailable},
		"t/1: log bounds: KAFKA_STORAGE_ERROR":           {kmsg.ListOffsets, kerr.KafkaStorageError},
		"t/1: log bounds: TOPIC_AUTHORIZATION_FAILED":    {kmsg.ListOffsets, kerr.TopicAuthorizationFailed},
		"t/1: log bounds: NOT_LEADER_FOR_PARTITION: Thi": {kmsg.ListOffsets, kerr.NotLeaderForPartition},
	} {
		w, b := ask(t)
		w.Refuse(fault.key, kfake.Fault{Topic: "t", Partitions: []int32{1}, Err: fault.err})
		all := b.Bounds(t.Context(), "t", 2)
		if all[0].Err != nil || all[0].Stable != 1 || all[0].End != 1 {
			t.Errorf("%s: the other has %+v", want, all[0])
		}
		if err := all[1].Err; err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "KAFKA_BROKERS") || all[1].End != 0 {
			t.Errorf("want %s\ngot  %+v", want, all[1])
		}
	}
}

// TestAnElectionIsWaitedFor, a moment.
func TestAnElectionIsWaitedFor(t *testing.T) {
	w, b := ask(t)
	w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "t", Err: kerr.NotLeaderForPartition, Count: 1})
	for n, at := range b.Bounds(t.Context(), "t", 2) {
		if at.Err != nil || at.End != 1 {
			t.Errorf("t/%d: %+v", n, at)
		}
	}
}

// TestAPartitionThatIsNotStartedHasNoOffset: the one that its group holds is none of its log.
func TestAPartitionThatIsNotStartedHasNoOffset(t *testing.T) {
	w, b := ask(t)
	w.Commit("g", kadm.Offset{Topic: "t", Partition: 0, Metadata: offsets.Unstarted}, kadm.Offset{Topic: "t", Partition: 1, At: 1, LeaderEpoch: -1})
	all, err := b.Committed(t.Context(), "g")
	if err != nil || len(all) != 1 || all[offsets.TopicPartition{Topic: "t", Partition: 1}].Offset != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}
