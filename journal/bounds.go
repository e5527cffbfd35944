package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// bounds are where a journal partition is, begins and ends, or why that is not known:
// errMissing, kerr.TopicAuthorizationFailed, or what may pass.
type bounds struct {
	topicID    offsets.TopicID
	leader     int32
	start, end int64 // log start and stable end
	err        error
}

// errMissing is a topic or a partition that does not exist.
var errMissing = errors.New("does not exist")

// answers is what is known of some partitions.
type answers map[offsets.TopicPartition]bounds

// askBounds asks where partitions begin and end, each broker by itself, so that one
// that is gone holds nobody else. It calls got for every partition once, from several
// goroutines, as brokers answer, and returns when all have or a request's time is over.
func askBounds(ctx context.Context, cl *kgo.Client, parts []offsets.TopicPartition, got func(answers)) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	known := locate(ctx, cl, parts)
	leaders := make(map[int32]answers)
	for at, b := range known {
		if b.err != nil {
			continue
		}
		if leaders[b.leader] == nil {
			leaders[b.leader] = make(answers)
		}
		leaders[b.leader][at] = b
		delete(known, at)
	}
	var asking sync.WaitGroup
	for leader, led := range leaders {
		asking.Go(func() { // ends with its requests, which end with ctx
			listBounds(ctx, cl.Broker(int(leader)), led)
			got(led)
		})
	}
	if len(known) > 0 {
		got(known)
	}
	asking.Wait()
}

// locateTimeout is for one broker's answer to where partitions are. Any can tell, and
// the next one asked is another one.
const locateTimeout = time.Second

// locate asks for topic ids and leaders.
func locate(ctx context.Context, cl *kgo.Client, parts []offsets.TopicPartition) answers {
	ctx, cancel := context.WithTimeout(ctx, locateTimeout)
	defer cancel()
	topics, err := metadata(ctx, cl, topicsOf(parts))
	out := make(answers, len(parts))
	for _, at := range parts {
		b := bounds{leader: -1, err: err}
		if err == nil {
			t, ok := topics[at.Topic]
			b.topicID = t.TopicID
			b.leader, b.err = leaderOf(&t, ok, at)
		}
		out[at] = b
	}
	return out
}

func topicsOf(parts []offsets.TopicPartition) (names []string) {
	seen := make(map[string]bool)
	for _, at := range parts {
		if !seen[at.Topic] {
			seen[at.Topic] = true
			names = append(names, at.Topic)
		}
	}
	return names
}

// leaderOf returns the leader of a partition as metadata has it.
func leaderOf(t *kmsg.MetadataResponseTopic, ok bool, at offsets.TopicPartition) (int32, error) {
	if !ok {
		return -1, errNoAnswer
	}
	switch err := kerr.ErrorForCode(t.ErrorCode); {
	case errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.InvalidTopicException):
		return -1, fmt.Errorf("topic %.300s %w", at.Topic, errMissing)
	case err != nil:
		return -1, fmt.Errorf("metadata of %s: %w", at.Topic, err)
	}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		switch err := kerr.ErrorForCode(p.ErrorCode); {
		case p.Partition != at.Partition:
		case err != nil && !errors.Is(err, kerr.ReplicaNotAvailable):
			return -1, fmt.Errorf("metadata of %s/%d: %w", at.Topic, at.Partition, err)
		case p.Leader < 0:
			return -1, fmt.Errorf("%s/%d has no leader", at.Topic, at.Partition)
		default:
			return p.Leader, nil
		}
	}
	return -1, fmt.Errorf("partition %s/%d %w", at.Topic, at.Partition, errMissing)
}

// The special timestamps of ListOffsets.
const (
	atStart = -2
	atEnd   = -1
)

// listBounds asks a broker for the bounds of the partitions that it leads.
func listBounds(ctx context.Context, broker *kgo.Broker, out answers) {
	parts := slices.Collect(maps.Keys(out))
	for _, timestamp := range []int64{atStart, atEnd} {
		found, err := listOffsets(ctx, broker, parts, timestamp)
		for _, at := range parts {
			b := out[at]
			p, ok := found[at]
			switch failed := kerr.ErrorForCode(p.ErrorCode); {
			case b.err != nil:
			case err != nil:
				b.err = fmt.Errorf("log bounds: %w", err)
			case !ok:
				b.err = fmt.Errorf("log bounds: %w", errNoAnswer)
			case failed != nil:
				b.err = fmt.Errorf("log bounds: %w", failed)
			case timestamp == atStart:
				b.start = p.Offset
			default:
				b.end = p.Offset
			}
			out[at] = b
		}
	}
}

func listOffsets(ctx context.Context, broker *kgo.Broker, parts []offsets.TopicPartition, timestamp int64) (map[offsets.TopicPartition]kmsg.ListOffsetsResponseTopicPartition, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.IsolationLevel = 1 // the last stable offset, not the high watermark
	for _, name := range topicsOf(parts) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = name
		for _, at := range parts {
			if at.Topic == name {
				p := kmsg.NewListOffsetsRequestTopicPartition()
				p.Partition, p.Timestamp = at.Partition, timestamp
				t.Partitions = append(t.Partitions, p)
			}
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := broker.RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	out := make(map[offsets.TopicPartition]kmsg.ListOffsetsResponseTopicPartition)
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			out[offsets.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = p
		}
	}
	return out, nil
}
