package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// EpochAsk asks the leader of a partition for the end of a leader epoch.
type EpochAsk struct {
	Leader  int32
	Current int32 // leader epoch in which it leads, -1: not known
	Epoch   int32 // the one that is asked about
}

// EpochEnd is the answer: -1 where the leader does not know the epoch.
type EpochEnd struct {
	Offset int64
	TooOld bool // the broker does not know the request
	Err    error
}

// EpochEnds asks the leaders of partitions for the ends of leader epochs (KIP-101). A broker refuses that leads in
// another epoch than the question says (KIP-320). Each leader is asked by itself, and each error is of one partition.
// It calls got with every partition once, from several goroutines. It returns when all leaders have answered, after 10
// s at most.
func EpochEnds(ctx context.Context, cl *kgo.Client, asks map[offsets.TopicPartition]EpochAsk, got func(map[offsets.TopicPartition]EpochEnd)) {
	ctx, cancel := context.WithTimeout(ctx, boundsTimeout)
	defer cancel()
	leaders := make(map[int32][]offsets.TopicPartition)
	for tp, ask := range asks {
		leaders[ask.Leader] = append(leaders[ask.Leader], tp)
	}
	var asking sync.WaitGroup
	for leader, led := range leaders {
		asking.Go(func() { // ends with its request, which ends with ctx
			got(epochEnds(ctx, cl.Broker(int(leader)), led, asks))
		})
	}
	asking.Wait()
}

// EndOfEpoch is EpochEnds for one partition. It returns -1 where the leader does not know
// the epoch. It asks the leader that the client knows first, so that most questions need
// no metadata request. One that the client knows of an earlier epoch is a former leader.
func EndOfEpoch(ctx context.Context, cl *kgo.Client, at offsets.TopicPartition, epoch int32) (int64, error) {
	if leader, current, err := cl.PartitionLeader(at.Topic, at.Partition); err == nil && leader >= 0 && (current < 0 || current >= epoch) {
		asking, cancel := context.WithTimeout(ctx, locateTimeout) // it may be gone
		end := endOfEpoch(asking, cl, at, EpochAsk{leader, current, epoch})
		cancel()
		if end.Err == nil || end.TooOld {
			return end.Offset, end.Err
		}
	}
	b := Locate(ctx, cl, []offsets.TopicPartition{at})[at]
	if b.Err != nil {
		return 0, b.Err
	}
	end := endOfEpoch(ctx, cl, at, EpochAsk{b.Leader, b.LeaderEpoch, epoch})
	return end.Offset, end.Err
}

func endOfEpoch(ctx context.Context, cl *kgo.Client, at offsets.TopicPartition, ask EpochAsk) (end EpochEnd) {
	EpochEnds(ctx, cl, map[offsets.TopicPartition]EpochAsk{at: ask}, func(ends map[offsets.TopicPartition]EpochEnd) { end = ends[at] })
	return end
}

func epochEnds(ctx context.Context, broker *kgo.Broker, parts []offsets.TopicPartition, asks map[offsets.TopicPartition]EpochAsk) map[offsets.TopicPartition]EpochEnd {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	for _, name := range topicsOf(parts) {
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic = name
		for _, at := range parts {
			if at.Topic == name {
				p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
				p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = at.Partition, asks[at].Current, asks[at].Epoch
				t.Partitions = append(t.Partitions, p)
			}
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := broker.RetriableRequest(ctx, req)
	// The client has no error to compare with.
	tooOld := err != nil && strings.Contains(err.Error(), "broker is too old")
	if err == nil {
		err = ErrNoAnswer
	}
	out := make(map[offsets.TopicPartition]EpochEnd, len(parts))
	for _, at := range parts {
		out[at] = EpochEnd{TooOld: tooOld, Err: fmt.Errorf("end of a leader epoch: %w", err)}
	}
	if resp == nil {
		return out
	}
	for _, t := range resp.(*kmsg.OffsetForLeaderEpochResponse).Topics {
		for _, p := range t.Partitions {
			end := EpochEnd{Offset: p.EndOffset}
			if failed := kerr.ErrorForCode(p.ErrorCode); failed != nil {
				end.Err = fmt.Errorf("end of a leader epoch: %w", failed)
			}
			out[offsets.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = end
		}
	}
	return out
}
