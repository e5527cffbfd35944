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

// Intake is what a topic does with records that are written to it.
type Intake struct {
	// BatchBytes is its max.message.bytes. A larger batch would be refused as a whole,
	// with all the records in it. A smaller one would refuse records that the topic takes.
	BatchBytes int32
	// Stamps: records get the time at which they arrive (LogAppendTime) in place of their own.
	Stamps bool
}

// AskIntake asks for a topic's configuration. Without the right to ask it is Kafka's default.
func AskIntake(ctx context.Context, admin *kadm.Client, topic string) Intake {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	in := Intake{BatchBytes: DefaultBatchBytes}
	configs, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return in
	}
	for _, entry := range configs {
		for _, c := range entry.Configs {
			in.take(c.Key, c.MaybeValue())
		}
	}
	return in
}

// take takes one value of the configuration.
func (in *Intake) take(key, value string) {
	switch key {
	case "max.message.bytes":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 0 {
			in.BatchBytes = int32(min(n, maxBatchBytes))
		}
	case "message.timestamp.type":
		in.Stamps = value == "LogAppendTime"
	}
}
