package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/kafka"
	"layover/cluster"
	"layover/config"
	"layover/journal/facts"
	"layover/offsets"
)

// brokers asks Kafka.
type brokers struct{ *kafka.Brokers }

// connect makes a client, which the caller closes. It asks nothing yet.
func connect(k config.Kafka) (*brokers, error) {
	b, err := kafka.Ask(k, "layover-journal", kgo.DisableClientMetrics()) // or closing may take a second
	return &brokers{b}, err
}

// members asks for the number of members. An unknown group has none.
func (b *brokers) members(ctx context.Context, group string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	answer, err := b.Admin.DescribeGroups(ctx, group)
	g, ok := answer[group]
	if err == nil && !ok {
		err = cluster.ErrNoAnswer
	}
	if err == nil {
		err = g.Err
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return 0, nil
	}
	return len(g.Members), b.Explain(err, "members of group "+group, "Describe on group "+group)
}

// endOf returns a function from a leader epoch to the end of its ingress log, -1 for an
// epoch unknown to the broker. It asks once for each.
func (b *brokers) endOf(ctx context.Context, at offsets.TopicPartition) facts.EndOf {
	known := make(map[int32]int64)
	return func(epoch int32) (int64, error) {
		if end, ok := known[epoch]; ok {
			return end, nil
		}
		ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
		defer cancel()
		var req kadm.OffsetForLeaderEpochRequest
		req.Add(at.Topic, at.Partition, epoch)
		answers, err := b.Admin.OffsetForLeaderEpoch(ctx, req)
		a, ok := answers[at.Topic][at.Partition]
		if err == nil && !ok {
			err = cluster.ErrNoAnswer
		}
		if err == nil {
			err = a.Err
		}
		if err != nil {
			return 0, b.Explain(err, fmt.Sprintf("end of the log of leader epoch %d", epoch), "Describe on topic "+at.Topic)
		}
		known[epoch] = a.EndOffset
		return a.EndOffset, nil
	}
}
