package dlq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/kafka"
	"layover/cluster"
	"layover/config"
	"layover/offsets"
)

// brokers asks Kafka. Any goroutine may.
type brokers struct{ *kafka.Brokers }

// connect makes a client, which the caller closes. It asks nothing yet.
func connect(k config.Kafka) (*brokers, error) {
	b, err := kafka.Ask(k, "layover-dlq",
		kgo.DisableClientMetrics(),               // or closing may take a second
		kgo.MetadataMinAge(250*time.Millisecond)) // an election is found out soon
	return &brokers{b}, err
}

// explain names the subject and the remedy of an error, as Explain does, and those of
// errors that are not of the connection.
func (b *brokers) explain(err error, what, acl string) error {
	switch {
	case errors.Is(err, errUnreadable), errors.Is(err, errAnother):
		return fmt.Errorf("%s: %w", what, err)
	case errors.Is(err, kgo.ErrRecordTimeout) && !kafka.Answered(err): // brokers may have answered, and the client does not tell what
		return fmt.Errorf("%s: %w; check that the partition has a leader and enough in-sync replicas, then KAFKA_BROKERS", what, b.Via.Explain(err))
	}
	return b.Explain(err, what, acl)
}

// topic is a topic as metadata has it.
type topic struct {
	id         offsets.TopicID
	partitions int32
}

// topic asks for a topic. check is what to look at where it does not exist.
func (b *brokers) topic(ctx context.Context, name, check string) (topic, error) {
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, asked)
	resp, err := req.RequestWith(ctx, b.Client)
	if err != nil {
		return topic{}, b.explain(err, "metadata", "")
	}
	what := fmt.Sprintf("topic %q", name)
	if len(resp.Topics) != 1 {
		return topic{}, fmt.Errorf("%s: %w", what, cluster.ErrNoAnswer)
	}
	t := resp.Topics[0]
	switch err := kerr.ErrorForCode(t.ErrorCode); {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return topic{}, fmt.Errorf("%s does not exist on %s: check %s", what, b.Via.Seeds, check)
	case err != nil:
		return topic{}, b.explain(err, what, "Describe on topic "+name)
	}
	return topic{t.TopicID, int32(len(t.Partitions))}, nil
}

// bounds are those of the log of a partition. Offsets from stable on are not read: the first
// open transaction begins there.
type bounds struct{ start, stable, end int64 }

// readable returns the offsets that a reader of committed records finds, by partition.
// Partitions without any are left out.
func readable(all map[int32]bounds) stretches {
	out := make(stretches)
	for n, at := range all {
		if at.start < at.stable {
			out[n] = stretch{at.start, at.stable - 1}
		}
	}
	return out
}

// hidden returns the offsets behind an open transaction.
func hidden(all map[int32]bounds) stretches {
	out := make(stretches)
	for n, at := range all {
		if at.stable < at.end {
			out[n] = stretch{at.stable, at.end - 1}
		}
	}
	return out
}

// log returns the bounds of a topic's partitions. The end is asked for first: a transaction
// that ends meanwhile hides nothing.
func (b *brokers) log(ctx context.Context, name string) (map[int32]bounds, error) {
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	all := make(map[int32]bounds)
	what, acl := "log bounds of "+name, "Describe on topic "+name
	for _, ask := range []struct {
		list func(context.Context, ...string) (kadm.ListedOffsets, error)
		set  func(at *bounds, offset int64)
	}{
		{b.Admin.ListEndOffsets, func(at *bounds, offset int64) { at.end = offset }},
		{b.Admin.ListStartOffsets, func(at *bounds, offset int64) { at.start = offset }},
		{b.Admin.ListCommittedOffsets, func(at *bounds, offset int64) { at.stable = offset }},
	} {
		listed, err := ask.list(ctx, name)
		if err != nil && len(listed[name]) == 0 {
			return nil, b.explain(err, what, acl)
		}
		for n, o := range listed[name] {
			if o.Err != nil {
				return nil, b.explain(o.Err, fmt.Sprintf("log bounds of %s/%d", name, n), acl)
			}
			at := all[n]
			ask.set(&at, o.Offset)
			all[n] = at
		}
	}
	return all, nil
}
