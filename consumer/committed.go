package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// onOffsetsFetched keeps what the group has committed for the partitions that load
// is about to be asked for.
func (c *Consumer) onOffsetsFetched(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				tp := offsets.TopicPartition{Topic: t.Topic, Partition: p.Partition}
				if p.ErrorCode != 0 || p.Offset < 0 {
					delete(c.committed, tp)
					continue
				}
				c.committed[tp] = offsets.Committed{Offset: p.Offset, LeaderEpoch: -1, Metadata: value(p.Metadata)}
			}
		}
	}
	return nil
}

// value is the text that an answer has, "" for none.
func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// askCommitted asks what the group has committed for partitions of which the client was
// not told, or was told of a topic that may be another one now.
func (l *loading) askCommitted(ctx context.Context, parts []*beginning) {
	ids := make(map[offsets.TopicPartition]offsets.TopicID, len(parts))
	for _, b := range parts {
		ids[b.TopicPartition] = b.TopicID
	}
	l.ask(func() {
		committed, failed, err := l.c.offsetsOf(ctx, ids)
		l.tell(ctx, func() {
			for _, b := range parts {
				why := err
				if why == nil {
					why = failed[b.TopicPartition]
				}
				switch was, ok := committed[b.TopicPartition]; {
				case l.open[b.TopicPartition] != b:
				case why != nil:
					if errors.Is(why, kerr.UnknownTopicID) { // the topic has got another one
						b.stage = unbounded
					}
					l.again(b, why)
				default:
					if b.fetched, b.outdated, b.was = true, false, nil; ok {
						b.was = &was
					}
					l.located(b)
				}
			}
		})
	})
}

// offsetsOf asks for what the group has committed: for some partitions, by the ids of
// their topics, or for all that it has anything for. A partition that is asked for and in
// neither answer has no offset.
func (c *Consumer) offsetsOf(ctx context.Context, ids map[offsets.TopicPartition]offsets.TopicID) (committed map[offsets.TopicPartition]offsets.Committed, failed map[offsets.TopicPartition]error, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, names := c.offsetsRequest(ids)
	resp, err := req.RequestWith(ctx, c.client)
	if err == nil && len(resp.Groups) == 0 {
		err = cluster.ErrNoAnswer
	}
	if err == nil {
		err = cmp.Or(kerr.ErrorForCode(resp.ErrorCode), kerr.ErrorForCode(resp.Groups[0].ErrorCode))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("offsets of group %s: %w", c.cfg.Group, err)
	}
	committed, failed = make(map[offsets.TopicPartition]offsets.Committed), make(map[offsets.TopicPartition]error)
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
				failed[tp] = fmt.Errorf("offset in group %s: %w", c.cfg.Group, err)
			} else if p.Offset >= 0 {
				committed[tp] = offsets.Committed{Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: value(p.Metadata)}
			}
		}
	}
	for tp := range ids {
		if !told[tp] {
			failed[tp] = fmt.Errorf("offset in group %s: %w", c.cfg.Group, cluster.ErrNoAnswer)
		}
	}
	return committed, failed, nil
}

func (c *Consumer) offsetsRequest(ids map[offsets.TopicPartition]offsets.TopicID) (*kmsg.OffsetFetchRequest, map[offsets.TopicID]string) {
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = c.cfg.Group
	names := make(map[offsets.TopicID]string)
	for tp, id := range ids {
		names[id] = tp.Topic
		i := slices.IndexFunc(group.Topics, func(t kmsg.OffsetFetchRequestGroupTopic) bool { return t.Topic == tp.Topic })
		if i < 0 {
			t := kmsg.NewOffsetFetchRequestGroupTopic()
			t.Topic, t.TopicID = tp.Topic, id // from version 10 on the id is what counts
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
