package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
	"layover/offsets"
)

// Topic is a topic as metadata has it.
type Topic struct {
	ID         offsets.TopicID
	Partitions int32
	Err        error
}

// Topics asks for topics by name, and for the cluster id. It passes by the client's
// cache, and an error of one topic hides no other.
func (b *Brokers) Topics(ctx context.Context, names []string) (clusterID string, out map[string]Topic, err error) {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, b.Client)
	if err != nil {
		return "", nil, b.Explain(err, "metadata", "")
	}
	if resp.ClusterID != nil {
		clusterID = *resp.ClusterID
	}
	out = make(map[string]Topic, len(names))
	for _, name := range names {
		out[name] = Topic{Err: cluster.ErrNoAnswer}
	}
	for _, t := range resp.Topics {
		if t.Topic != nil {
			out[*t.Topic] = Topic{t.TopicID, int32(len(t.Partitions)), kerr.ErrorForCode(t.ErrorCode)}
		}
	}
	return clusterID, out, nil
}

// Present is nil if there is such a topic. what is the kind of topic, mend says what to do
// where there is none, and err is that of its answer.
func (b *Brokers) Present(name, what, mend string, err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return fmt.Errorf("%s %q does not exist on %s: %s", what, name, b.Via.Seeds, mend)
	}
	return b.Explain(err, fmt.Sprintf("%s %.300q", what, name), "Describe on topic "+name)
}

// committedRetry is the pause before the offsets of a group without a coordinator are asked for again. Where
// nobody has ever committed, the question makes a coordinator.
const committedRetry = 200 * time.Millisecond

// Committed asks for all offsets of a group. An unknown group has none.
func (b *Brokers) Committed(ctx context.Context, group string) (map[offsets.TopicPartition]offsets.Committed, error) {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	answer, err := b.Admin.FetchOffsets(ctx, group)
	for isComing(err) && ctx.Err() == nil {
		cluster.Pause(ctx, committedRetry)
		if more, again := b.Admin.FetchOffsets(ctx, group); ctx.Err() == nil { // else the error before says more
			answer, err = more, again
		}
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, b.Explain(err, "offsets of group "+group, "Describe on group "+group+", and on the ingress topics")
	}
	out := make(map[offsets.TopicPartition]offsets.Committed)
	for name := range answer {
		for n, o := range answer[name] {
			if o.Err != nil {
				return nil, b.Explain(o.Err, fmt.Sprintf("offset of %s/%d in group %s", name, n, group), "Describe on topic "+name)
			}
			if o.At >= 0 {
				out[offsets.TopicPartition{Topic: name, Partition: n}] = offsets.Committed{Offset: o.At, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
			}
		}
	}
	return out, nil
}

// isComing reports whether a group has no coordinator at the moment.
func isComing(err error) bool {
	return errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.NotCoordinator)
}
