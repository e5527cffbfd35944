package kafka

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
)

const (
	// DefaultBatchBytes is Kafka's own default of max.message.bytes, for brokers that do not
	// tell it.
	DefaultBatchBytes = 1_048_588
	// maxBatchBytes is the room for a batch in a request, of which brokers take 100 MiB.
	maxBatchBytes = 99 << 20
)

// BatchBytes asks for a topic's max.message.bytes. A larger batch would be refused as a whole,
// with all the records in it. A smaller one would refuse records that the topic takes. Without
// the right to ask it is the default.
func BatchBytes(ctx context.Context, admin *kadm.Client, topic string) int32 {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	configs, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return DefaultBatchBytes
	}
	for _, entry := range configs {
		for _, c := range entry.Configs {
			if c.Key != "max.message.bytes" || c.Value == nil {
				continue
			}
			if n, err := strconv.ParseInt(*c.Value, 10, 64); err == nil && n > 0 {
				return int32(min(n, maxBatchBytes))
			}
		}
	}
	return DefaultBatchBytes
}
