package send

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/kafka"
)

const (
	// deliveryTimeout bounds how long a record is tried. kgo looks at it only
	// between attempts, so stalled, which is final, is above it.
	deliveryTimeout = 6 * time.Second
	stalled         = 8 * time.Second

	// maxBufferedBytes bounds the records that wait for the brokers, unless
	// two batches take more. At 1 MB/s they are through in deliveryTimeout.
	maxBufferedBytes = 8 << 20
	// maxInFlight bounds the records sent and not printed.
	maxInFlight = 10_000
)

// connection is a client for the topic of one command line.
type connection struct {
	*kgo.Client
	kafka      *kafka.Connection
	intake     kafka.Intake
	partitions int32 // of the topic, at least 1
}

// placing says who chooses the partition of a record.
type placing bool

const (
	placedByKey placing = false // the client, as the Java client does
	placedByUs  placing = true  // whoever makes the record
)

// connect returns a client for the topic, which the caller closes. It asks the
// brokers for the topic first, so that a mistake is named before any record.
func connect(ctx context.Context, to address, clientID string, placed placing) (*connection, error) {
	via, err := kafka.Connect(to.kafka, clientID)
	if err != nil {
		return nil, err
	}
	c := &connection{kafka: via}
	common := via.Options()
	asking, err := kgo.NewClient(append(slices.Clip(common), kgo.RequestRetries(3))...)
	if err != nil {
		return nil, err
	}
	defer asking.Close()
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	admin := kadm.NewClient(asking)
	if err := c.askTopic(ctx, admin, to.topic); err != nil {
		return nil, err
	}
	c.intake = kafka.AskIntake(ctx, admin, to.topic)

	if placed == placedByUs {
		common = append(common, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	c.Client, err = kgo.NewClient(append(slices.Clip(common),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		// kgo's own linger of 10 ms gathers nothing here: one record has
		// nothing to wait for, and many gather while requests are under way.
		kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(c.intake.BatchBytes),
		kgo.MaxBufferedRecords(maxInFlight),
		kgo.MaxBufferedBytes(max(maxBufferedBytes, 2*int(c.intake.BatchBytes))),
		kgo.RecordDeliveryTimeout(deliveryTimeout),
	)...)
	return c, err
}

// askTopic returns nil if the topic exists, and learns how many partitions it has.
func (c *connection) askTopic(ctx context.Context, admin *kadm.Client, topic string) error {
	brokers := c.kafka.Seeds
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return fmt.Errorf("no answer from %s: %w; check --brokers or KAFKA_BROKERS", brokers, c.kafka.Explain(err))
	}
	err = topics[topic].Err
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("topic %q does not exist on %s: create it, or check --topic or LAYOVER_INGRESS_TOPICS", topic, brokers)
	}
	if err != nil {
		return fmt.Errorf("topic %q on %s: %w; check --topic or LAYOVER_INGRESS_TOPICS", topic, brokers, err)
	}
	if c.partitions = int32(len(topics[topic].Partitions)); c.partitions == 0 {
		return fmt.Errorf("topic %q on %s: the brokers tell no partition of it", topic, brokers)
	}
	return nil
}
