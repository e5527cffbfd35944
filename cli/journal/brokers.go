package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/kafka"
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

// explain names the subject and the remedy of an error, as Explain does. An answer without
// what was asked for is not of the connection.
func (b *brokers) explain(err error, what, acl string) error {
	if errors.Is(err, errNoAnswer) {
		return fmt.Errorf("%s: %w", what, b.Via.Explain(err))
	}
	return b.Explain(err, what, acl)
}

var errNoAnswer = errors.New("no answer")

// topic is a topic as metadata has it.
type topic struct {
	id         offsets.TopicID
	partitions int32
	err        error
}

// topics asks for topics by name, and for the cluster id. It passes by the client's
// cache, and an error of one topic hides no other.
func (b *brokers) topics(ctx context.Context, names []string) (cluster string, out map[string]topic, err error) {
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, b.Client)
	if err != nil {
		return "", nil, b.explain(err, "metadata", "")
	}
	if resp.ClusterID != nil {
		cluster = *resp.ClusterID
	}
	out = make(map[string]topic, len(names))
	for _, name := range names {
		out[name] = topic{err: errNoAnswer}
	}
	for _, t := range resp.Topics {
		if t.Topic != nil {
			out[*t.Topic] = topic{t.TopicID, int32(len(t.Partitions)), kerr.ErrorForCode(t.ErrorCode)}
		}
	}
	return cluster, out, nil
}

// bounds are the first offset of a partition's log, its last stable one, and its end.
type bounds struct {
	start, stable, end int64
	err                error
}

// bounds asks for the bounds of all partitions of a topic.
func (b *brokers) bounds(ctx context.Context, name string) (map[int32]bounds, error) {
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	out := make(map[int32]bounds)
	for i, list := range []func(context.Context, ...string) (kadm.ListedOffsets, error){
		b.Admin.ListStartOffsets, b.Admin.ListCommittedOffsets, b.Admin.ListEndOffsets,
	} {
		listed, err := list(ctx, name)
		if err != nil && len(listed[name]) == 0 {
			return nil, b.explain(err, "log bounds of "+name, "Describe on topic "+name)
		}
		for n, o := range listed[name] {
			p := out[n]
			*[]*int64{&p.start, &p.stable, &p.end}[i] = o.Offset
			p.err = cmp.Or(p.err, o.Err)
			out[n] = p
		}
	}
	return out, nil
}

// committed asks for all offsets of a group. An unknown group has none.
func (b *brokers) committed(ctx context.Context, group string) (map[offsets.TopicPartition]offsets.Committed, error) {
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	answer, err := b.Admin.FetchOffsets(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, b.explain(err, "offsets of group "+group, "Describe on group "+group+", and on the ingress topics")
	}
	out := make(map[offsets.TopicPartition]offsets.Committed)
	for name := range answer {
		for n, o := range answer[name] {
			if o.Err != nil {
				return nil, b.explain(o.Err, fmt.Sprintf("offset of %s/%d in group %s", name, n, group), "Describe on topic "+name)
			}
			if o.At >= 0 {
				out[offsets.TopicPartition{Topic: name, Partition: n}] = offsets.Committed{Offset: o.At, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
			}
		}
	}
	return out, nil
}

// members asks for the number of members. An unknown group has none.
func (b *brokers) members(ctx context.Context, group string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, kafka.AskTimeout)
	defer cancel()
	answer, err := b.Admin.DescribeGroups(ctx, group)
	g, ok := answer[group]
	if err == nil && !ok {
		err = errNoAnswer
	}
	if err == nil {
		err = g.Err
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return 0, nil
	}
	return len(g.Members), b.explain(err, "members of group "+group, "Describe on group "+group)
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
			err = errNoAnswer
		}
		if err == nil {
			err = a.Err
		}
		if err != nil {
			return 0, b.explain(err, fmt.Sprintf("end of the log of leader epoch %d", epoch), "Describe on topic "+at.Topic)
		}
		known[epoch] = a.EndOffset
		return a.EndOffset, nil
	}
}
