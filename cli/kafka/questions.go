package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cluster"
	"layover/config"
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

// MissingIngress says what to do where there is no ingress topic of that name: one that is not among the settings was
// named on the command line.
func MissingIngress(cfg *config.Config, name string) string {
	if !slices.Contains(cfg.IngressTopics, name) {
		return "check --topic; LAYOVER_INGRESS_TOPICS has " + strings.Join(cfg.IngressTopics, ", ")
	}
	return "create it, or check LAYOVER_INGRESS_TOPICS"
}

// electionWait is the pause before partitions whose leader moves are asked about again.
const electionWait = 250 * time.Millisecond

// Bounds asks for the bounds of a topic's partitions, and returns them by partition. Each of them has an answer: one whose
// bounds no broker tells has an error that names it, and is not to be taken for an empty one.
func (b *Brokers) Bounds(ctx context.Context, topic string, partitions int32) []cluster.Bounds {
	all, parts := make([]cluster.Bounds, partitions), make([]offsets.TopicPartition, partitions)
	for n := range parts {
		parts[n] = offsets.TopicPartition{Topic: topic, Partition: int32(n)}
	}
	if partitions > 0 { // else the question would be about no topic
		b.askBounds(ctx, parts, all)
	}
	moving := slices.DeleteFunc(parts, func(at offsets.TopicPartition) bool { return !kerr.IsRetriable(all[at.Partition].Err) })
	if len(moving) > 0 && cluster.Pause(ctx, electionWait) == nil {
		b.askBounds(ctx, moving, all)
	}
	return all
}

// askBounds asks once, and puts the answers into all.
func (b *Brokers) askBounds(ctx context.Context, parts []offsets.TopicPartition, all []cluster.Bounds) {
	cluster.AskBounds(ctx, b.Client, parts, func(some cluster.Located) {
		for at, is := range some {
			is.Err = b.Explain(is.Err, fmt.Sprintf("%s/%d", at.Topic, at.Partition), "Describe on topic "+at.Topic)
			all[at.Partition] = is // of which no other call has this element
		}
	})
}

// committedRetry is the pause before the offsets of a group without a coordinator are asked for again. Where
// nobody has ever committed, the question makes a coordinator.
const committedRetry = 200 * time.Millisecond

// Committed asks for all offsets of a group. An unknown group has none, and neither has a partition that is not started.
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
			if o.At >= 0 && o.Metadata != offsets.Unstarted {
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
