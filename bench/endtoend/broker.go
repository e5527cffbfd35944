package endtoend

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	ingress = "delayed"
	egress  = "ready"
	dlq     = "dead-letters"

	// partitions is several for each lane.
	partitions = 8
)

// startBroker serves Kafka's protocol on free ports of this machine, and keeps
// its topics in this process's memory.
func startBroker() (*kfake.Cluster, error) {
	broker, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.SeedTopics(partitions, ingress, egress),
		kfake.SeedTopics(1, dlq),
	)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	return broker, nil
}

// sender and receiver are clients of their own, as two applications would be.
func newSender(addrs []string, topic string) (*kgo.Client, error) {
	return kgo.NewClient(
		kgo.SeedBrokers(addrs...), kgo.DefaultProduceTopic(topic),
		// By round robin, so that every partition has its share of records whose
		// keys are all different anyway.
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	)
}

func newReceiver(addrs []string, topics ...string) (*kgo.Client, error) {
	return kgo.NewClient(
		kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
}
