package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// bounds are the offsets at which a partition's log begins and ends.
type bounds struct {
	offsets.Bounds
	stable int64 // last stable offset: what read_committed reads up to
}

// world is what load asks the brokers before it decides.
type world struct {
	clusterID string
	topicIDs  map[string]offsets.TopicID
	bounds    map[offsets.TopicPartition]bounds
}

// surveyTries is how often a partition's log bounds are asked for before its reading
// begins without them: 3 s. One partition without a leader must not keep the others.
const surveyTries = 15

// survey asks for cluster, topic ids and log bounds until it has them, or, of single
// partitions, until it has asked often enough.
func (c *Consumer) survey(ctx context.Context, parts map[string]map[int32]kgo.Offset) (world, error) {
	for try := 1; ; try++ {
		w, err := c.ask(ctx, parts)
		if err == nil || ctx.Err() != nil {
			return w, ctx.Err()
		}
		c.sayWaiting(try, "log bounds are not known yet", err)
		if len(w.bounds) > 0 && try >= surveyTries {
			return w, nil
		}
		if err := pause(ctx, loadRetry); err != nil {
			return w, err
		}
	}
}

// sayWaiting logs what a load waits for, after 3 s and then every 30 s.
func (c *Consumer) sayWaiting(try int, what string, err error) {
	if every := int(sayEvery / loadRetry); try == surveyTries || try%every == 0 {
		c.cfg.Log.Warn(what, "group", c.cfg.Group, "err", err)
	}
}

// ask returns what is known, and an error where that is not all.
func (c *Consumer) ask(ctx context.Context, parts map[string]map[int32]kgo.Offset) (w world, err error) {
	topics := make([]string, 0, len(parts))
	for t := range parts {
		topics = append(topics, t)
	}
	if w.clusterID, w.topicIDs, err = topicIDs(ctx, c.client, topics); err != nil {
		return w, err
	}
	adm := kadm.NewClient(c.client)
	starts, err1 := adm.ListStartOffsets(ctx, topics...)
	stable, err2 := adm.ListCommittedOffsets(ctx, topics...)
	ends, err3 := adm.ListEndOffsets(ctx, topics...)
	if err := errors.Join(err1, err2, err3); err != nil && len(starts) == 0 {
		return w, fmt.Errorf("log bounds: %w", err)
	}
	w.bounds = make(map[offsets.TopicPartition]bounds)
	for t := range parts {
		for p := range parts[t] {
			s, ok := starts.Lookup(t, p)
			l, ok1 := stable.Lookup(t, p)
			e, ok2 := ends.Lookup(t, p)
			if failed := errors.Join(s.Err, l.Err, e.Err); failed != nil || !ok || !ok1 || !ok2 {
				err = fmt.Errorf("log bounds of %s/%d: %w", t, p, cmp.Or(failed, errNoAnswer))
				continue
			}
			w.bounds[offsets.TopicPartition{Topic: t, Partition: p}] = bounds{offsets.Bounds{Start: s.Offset, End: e.Offset}, l.Offset}
		}
	}
	return w, err
}

var errNoAnswer = errors.New("no answer")

// topicIDs asks a broker, not the client's cache, for the ids of topics.
func topicIDs(ctx context.Context, cl *kgo.Client, topics []string) (cluster string, ids map[string]offsets.TopicID, err error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, t := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(t)
		req.Topics = append(req.Topics, rt)
	}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return "", nil, fmt.Errorf("metadata: %w", err)
	}
	if resp.ClusterID != nil {
		cluster = *resp.ClusterID
	}
	ids = make(map[string]offsets.TopicID)
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue
		}
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return cluster, nil, fmt.Errorf("metadata of %s: %w", *t.Topic, err)
		}
		ids[*t.Topic] = t.TopicID
	}
	return cluster, ids, nil
}
