package consumer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// value returns the text of an answer, "" for none.
func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// groupOffsets asks the coordinator for the committed offsets of a group.
type groupOffsets struct {
	client *kgo.Client
	name   string
}

// committed asks for the group's offsets: those of the partitions in ids, by topic id, or
// all where ids is nil. A partition of ids in neither answer has no offset.
func (g groupOffsets) committed(ctx context.Context, ids map[offsets.TopicPartition]offsets.TopicID) (known map[offsets.TopicPartition]offsets.Committed, failed map[offsets.TopicPartition]error, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, names := g.request(ids)
	resp, err := req.RequestWith(ctx, g.client)
	if err == nil && len(resp.Groups) == 0 {
		err = cluster.ErrNoAnswer
	}
	if err == nil {
		err = cmp.Or(kerr.ErrorForCode(resp.ErrorCode), kerr.ErrorForCode(resp.Groups[0].ErrorCode))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("offsets of group %s: %w", g.name, err)
	}
	known, failed = make(map[offsets.TopicPartition]offsets.Committed), make(map[offsets.TopicPartition]error)
	told := make(map[offsets.TopicPartition]bool)
	for _, t := range resp.Groups[0].Topics {
		name := t.Topic
		if name == "" {
			name = names[t.TopicID]
		}
		for _, p := range t.Partitions {
			tp := offsets.TopicPartition{Topic: name, Partition: p.Partition}
			told[tp] = true
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				failed[tp] = fmt.Errorf("offset in group %s: %w", g.name, err)
			} else if p.Offset >= 0 {
				known[tp] = offsets.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: value(p.Metadata)}
			}
		}
	}
	for tp := range ids {
		if !told[tp] {
			failed[tp] = fmt.Errorf("offset in group %s: %w", g.name, cluster.ErrNoAnswer)
		}
	}
	return known, failed, nil
}

func (g groupOffsets) request(ids map[offsets.TopicPartition]offsets.TopicID) (*kmsg.OffsetFetchRequest, map[offsets.TopicID]string) {
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = g.name
	names := make(map[offsets.TopicID]string)
	for tp, id := range ids {
		names[id] = tp.Topic
		i := slices.IndexFunc(group.Topics, func(t kmsg.OffsetFetchRequestGroupTopic) bool { return t.Topic == tp.Topic })
		if i < 0 {
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic, t.TopicID = tp.Topic, id // from version 10 on the id counts
			group.Topics = append(group.Topics, t)
			i = len(group.Topics) - 1
		}
		group.Topics[i].Partitions = append(group.Topics[i].Partitions, tp.Partition)
	}
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	req.Groups = append(req.Groups, group)
	return req, names
}
