package cluster

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

// Bounds are a partition's leader and the bounds of its log. Err says why they are not
// known: ErrMissing, kerr.TopicAuthorizationFailed, or an error that may pass.
type Bounds struct {
	ClusterID string
	TopicID   offsets.TopicID
	Leader    int32
	// LeaderEpoch is that of metadata, or of the leader's own answer where that is lower; -1 where neither tells it. A
	// former leader that is cut off from the controller answers in its old epoch, about its old log.
	LeaderEpoch int32
	Start       int64
	Stable      int64 // last stable offset, below End only where a transaction is open: a reader of committed records gets no further
	End         int64 // high watermark
	Err         error
}

// Errors of Bounds and of requests.
var (
	ErrMissing   = errors.New("does not exist") // the topic, or the partition
	ErrNoAnswer  = errors.New("no answer")
	errRecreated = errors.New("the topic was deleted and made again while it was asked about")
)

// Located are the bounds of some partitions.
type Located map[offsets.TopicPartition]Bounds

const (
	// boundsTimeout is for all answers about bounds.
	boundsTimeout = 10 * time.Second
	// locateTimeout is for the first broker's answer. The next try asks another broker, and
	// gives it twice the time: all may be slow.
	locateTimeout = time.Second
	locateTries   = 3
)

// AskBounds asks for the bounds of partitions. Each broker is asked by itself, so that one
// that is gone delays no other's partitions, and each error is of one partition. It calls
// got with every partition once, from several goroutines, as brokers answer. It returns
// when all have answered, after 10 s at most.
func AskBounds(ctx context.Context, cl *kgo.Client, parts []offsets.TopicPartition, got func(Located)) {
	ctx, cancel := context.WithTimeout(ctx, boundsTimeout)
	defer cancel()
	known := Locate(ctx, cl, parts)
	leaders := make(map[int32]Located)
	for at, b := range known {
		if b.Err != nil {
			continue
		}
		if leaders[b.Leader] == nil {
			leaders[b.Leader] = make(Located)
		}
		leaders[b.Leader][at] = b
		delete(known, at)
	}
	var asking sync.WaitGroup
	for leader, led := range leaders {
		asking.Go(func() { // ends with its requests, which end with ctx
			listBounds(ctx, cl.Broker(int(leader)), led)
			confirm(ctx, cl, led)
			got(led)
		})
	}
	if len(known) > 0 {
		got(known)
	}
	asking.Wait()
}

// BoundsOf returns what AskBounds gets, all together. It has every partition.
func BoundsOf(ctx context.Context, cl *kgo.Client, parts []offsets.TopicPartition) Located {
	all := make(Located, len(parts))
	var mu sync.Mutex
	AskBounds(ctx, cl, parts, func(some Located) {
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(all, some)
	})
	return all
}

// Locate asks for cluster, topic ids and leaders.
func Locate(ctx context.Context, cl *kgo.Client, parts []offsets.TopicPartition) Located {
	clusterID, topics, err := Describe(ctx, cl, topicsOf(parts))
	out := make(Located, len(parts))
	for _, at := range parts {
		b := Bounds{ClusterID: clusterID, Leader: -1, LeaderEpoch: -1, Err: err}
		if err == nil {
			t, ok := topics[at.Topic]
			b.TopicID = t.TopicID
			b.Leader, b.LeaderEpoch, b.Err = leaderOf(&t, ok, at)
		}
		out[at] = b
	}
	return out
}

// confirm refuses bounds of topics whose id has changed meanwhile: they may be of either
// log.
func confirm(ctx context.Context, cl *kgo.Client, listed Located) {
	now := Locate(ctx, cl, slices.Collect(maps.Keys(listed)))
	for at, b := range listed {
		switch is := now[at]; {
		case b.Err != nil:
		case is.TopicID != b.TopicID && is.TopicID != offsets.TopicID{}:
			b.Err = errRecreated
		default:
			b.Err = is.Err
		}
		listed[at] = b
	}
}

// Describe asks a broker, not the client's cache, about topics. Where that broker does not
// answer in time it asks another. Errors of single topics are in their answers.
func Describe(ctx context.Context, cl *kgo.Client, names []string) (clusterID string, topics map[string]kmsg.MetadataResponseTopic, err error) {
	for try := range locateTries {
		if clusterID, topics, err = describe(ctx, cl, names, locateTimeout<<try); err == nil || ctx.Err() != nil {
			break
		}
	}
	return clusterID, topics, err
}

func describe(ctx context.Context, cl *kgo.Client, names []string, within time.Duration) (clusterID string, topics map[string]kmsg.MetadataResponseTopic, err error) {
	resp, err := Metadata(ctx, cl, names, within, false)
	if err != nil {
		return "", nil, fmt.Errorf("metadata: %w", err)
	}
	if resp.ClusterID != nil {
		clusterID = *resp.ClusterID
	}
	return clusterID, ByName(resp), nil
}

// Metadata asks a broker once, not the client's cache, about topics; with operations, for
// the client's rights to them, too. Errors of single topics are in their answers.
func Metadata(ctx context.Context, cl kmsg.Requestor, names []string, within time.Duration, operations bool) (*kmsg.MetadataResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.IncludeTopicAuthorizedOperations = operations
	req.Topics = make([]kmsg.MetadataRequestTopic, len(names)) // never nil, which is all topics
	for i := range names {
		req.Topics[i] = kmsg.NewMetadataRequestTopic()
		req.Topics[i].Topic = &names[i]
	}
	return req.RequestWith(ctx, cl)
}

// ByName returns the topics of an answer by name.
func ByName(resp *kmsg.MetadataResponse) map[string]kmsg.MetadataResponseTopic {
	topics := make(map[string]kmsg.MetadataResponseTopic, len(resp.Topics))
	for _, t := range resp.Topics {
		if t.Topic != nil {
			topics[*t.Topic] = t
		}
	}
	return topics
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

// leaderOf returns the leader of a partition and its epoch, as metadata has them.
func leaderOf(t *kmsg.MetadataResponseTopic, ok bool, at offsets.TopicPartition) (leader, epoch int32, err error) {
	if !ok {
		return -1, -1, ErrNoAnswer
	}
	switch err := kerr.ErrorForCode(t.ErrorCode); {
	case IsMissing(err):
		return -1, -1, fmt.Errorf("topic %.300s %w", at.Topic, ErrMissing)
	case err != nil:
		return -1, -1, fmt.Errorf("metadata of %s: %w", at.Topic, err)
	}
	for i := range t.Partitions {
		p := &t.Partitions[i]
		switch err := kerr.ErrorForCode(p.ErrorCode); {
		case p.Partition != at.Partition:
		case p.Leader < 0:
			return -1, -1, fmt.Errorf("no leader: %w", kerr.LeaderNotAvailable)
		case err != nil && !errors.Is(err, kerr.ReplicaNotAvailable):
			return -1, -1, fmt.Errorf("metadata of %s/%d: %w", at.Topic, at.Partition, err)
		default:
			return p.Leader, p.LeaderEpoch, nil
		}
	}
	return -1, -1, fmt.Errorf("partition %s/%d %w", at.Topic, at.Partition, ErrMissing)
}

// The special timestamps of ListOffsets, and the isolation levels of the end.
const (
	atStart = -2
	atEnd   = -1

	uncommitted = 0 // the high watermark
	committed   = 1 // the last stable offset
)

// listBounds asks a broker for the bounds of the partitions that it leads, in the leader epochs of metadata. A broker
// in another epoch refuses (KIP-320): without the epoch one that has not heard of an election would answer as the
// leader.
func listBounds(ctx context.Context, broker *kgo.Broker, out Located) {
	for _, ask := range []struct {
		timestamp int64
		isolation int8
		bound     func(*Bounds) *int64
	}{
		{atStart, committed, func(b *Bounds) *int64 { return &b.Start }},
		{atEnd, uncommitted, func(b *Bounds) *int64 { return &b.End }},
		{atEnd, committed, func(b *Bounds) *int64 { return &b.Stable }}, // last: what is written meanwhile is behind no transaction
	} {
		found, err := listOffsets(ctx, broker, out, ask.timestamp, ask.isolation)
		for at, b := range out {
			p, ok := found[at]
			switch failed := kerr.ErrorForCode(p.ErrorCode); {
			case b.Err != nil:
			case err != nil:
				b.Err = fmt.Errorf("log bounds: %w", err)
			case !ok:
				b.Err = fmt.Errorf("log bounds: %w", ErrNoAnswer)
			case failed != nil:
				b.Err = fmt.Errorf("log bounds: %w", failed)
			default:
				*ask.bound(&b) = p.Offset
				if ask.timestamp == atEnd { // at the start it is the first record's
					b.answeredIn(p.LeaderEpoch)
				}
			}
			out[at] = b
		}
	}
}

// answeredIn takes the leader epoch of the leader's own answer, -1 where it tells none.
func (b *Bounds) answeredIn(epoch int32) {
	if epoch >= 0 && (b.LeaderEpoch < 0 || epoch < b.LeaderEpoch) {
		b.LeaderEpoch = epoch
	}
}

func listOffsets(ctx context.Context, broker *kgo.Broker, of Located, timestamp int64, isolation int8) (map[offsets.TopicPartition]kmsg.ListOffsetsResponseTopicPartition, error) {
	req := listOffsetsRequest(slices.Collect(maps.Keys(of)), timestamp, isolation)
	for _, t := range req.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			p.CurrentLeaderEpoch = of[offsets.TopicPartition{Topic: t.Topic, Partition: p.Partition}].LeaderEpoch
		}
	}
	resp, err := broker.RetriableRequest(ctx, req)
	if err != nil {
		return nil, err
	}
	return listedOffsets(resp.(*kmsg.ListOffsetsResponse)), nil
}

// Ends asks once where logs end, at the leaders that the client knows. A partition
// without an answer is left out; err may be of one of several brokers.
func Ends(ctx context.Context, cl *kgo.Client, parts []offsets.TopicPartition) (ends map[offsets.TopicPartition]int64, err error) {
	return endsFor(ctx, cl, parts, uncommitted)
}

// StableEnds is Ends for a reader of committed records: the first offset of a transaction that is open, or the end.
func StableEnds(ctx context.Context, cl *kgo.Client, parts []offsets.TopicPartition) (ends map[offsets.TopicPartition]int64, err error) {
	return endsFor(ctx, cl, parts, committed)
}

func endsFor(ctx context.Context, cl *kgo.Client, parts []offsets.TopicPartition, isolation int8) (ends map[offsets.TopicPartition]int64, err error) {
	resp, err := listOffsetsRequest(parts, atEnd, isolation).RequestWith(ctx, cl)
	if resp == nil {
		return nil, err
	}
	ends = make(map[offsets.TopicPartition]int64, len(parts))
	for at, p := range listedOffsets(resp) {
		if p.ErrorCode == 0 {
			ends[at] = p.Offset
		}
	}
	return ends, err
}

func listOffsetsRequest(parts []offsets.TopicPartition, timestamp int64, isolation int8) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.IsolationLevel = isolation
	byTopic := make(map[string]int)
	for _, at := range parts {
		i, ok := byTopic[at.Topic]
		if !ok {
			i = len(req.Topics)
			byTopic[at.Topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = at.Topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = at.Partition, timestamp
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

func listedOffsets(resp *kmsg.ListOffsetsResponse) map[offsets.TopicPartition]kmsg.ListOffsetsResponseTopicPartition {
	out := make(map[offsets.TopicPartition]kmsg.ListOffsetsResponseTopicPartition)
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			out[offsets.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = p
		}
	}
	return out
}

// NameOf returns the name of the topic with an id. It returns "" where no topic has the id, or the brokers
// are of a release that cannot be asked. No topic has the zero id, and brokers fail at that question.
func NameOf(ctx context.Context, cl kmsg.Requestor, id offsets.TopicID) (string, error) {
	if id == (offsets.TopicID{}) {
		return "", nil
	}
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.TopicID = id
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	switch {
	case err != nil:
		return "", fmt.Errorf("metadata: %w", err)
	case resp.Version < idsFrom || len(resp.Topics) != 1:
		return "", nil
	}
	err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	switch {
	case IsMissing(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("metadata of the topic with the id %x: %w", id, err)
	case resp.Topics[0].Topic == nil:
		return "", nil
	}
	return *resp.Topics[0].Topic, nil
}

// idsFrom is the first version of a metadata request that brokers answer by topic id.
const idsFrom = 12
