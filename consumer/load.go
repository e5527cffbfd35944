package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// loadRetry is the pause between tries to find out where a partition begins.
const loadRetry = 200 * time.Millisecond

// bounds are the offsets at which a partition's log begins and ends.
type bounds struct {
	start  int64
	stable int64 // last stable offset: what read_committed reads up to
	end    int64 // high watermark
}

// world is what load asks the brokers before it decides.
type world struct {
	clusterID string
	topicIDs  map[string]offsets.TopicID
	bounds    map[offsets.TopicPartition]bounds
}

// load decides where each newly assigned partition is read from, and gives it to
// the handler. kgo calls it after the group's offsets were fetched and before the
// first fetch, while heartbeats go on; ctx ends with the session. A partition
// that is left out of the answer is not read.
func (c *Consumer) load(ctx context.Context, fetched map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	w, err := c.survey(ctx, fetched)
	if err != nil {
		return nil, err
	}
	starts, err := c.bootstrap(ctx, fetched, w)
	if err != nil {
		return nil, err
	}
	out := make(map[string]map[int32]kgo.Offset)
	for topic, partitions := range fetched {
		for p := range partitions {
			tp := offsets.TopicPartition{Topic: topic, Partition: p}
			a, reason := c.start(tp, w, starts)
			if again := starts[tp].again; again != nil {
				c.notLoaded(c.tenure(tp), again)
				continue
			}
			if !c.begin(tp, &a, w.topicIDs[topic], reason) {
				continue
			}
			a.ClusterID = w.clusterID
			c.handler.Assigned(a)
			if out[topic] == nil {
				out[topic] = make(map[int32]kgo.Offset)
			}
			out[topic][p] = kgo.NewOffset().At(a.Next)
		}
	}
	return out, nil
}

// begin completes a partition's row in the ownership table. It returns false for a
// partition that is not to be read.
func (c *Consumer) begin(tp offsets.TopicPartition, a *Assigned, id offsets.TopicID, reason string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.table[tp]
	if o == nil {
		return false
	}
	o.topicID = id
	if reason != "" {
		o.stopped = reason
		c.cfg.Log.Error("partition is not read", "topic", tp.Topic, "partition", tp.Partition, "err", reason)
		return false
	}
	a.Tenure, a.TopicID = o.Tenure, id
	o.loaded, o.next = true, a.Next
	return true
}

// start decides where one partition begins, or why it cannot.
func (c *Consumer) start(tp offsets.TopicPartition, w world, starts map[offsets.TopicPartition]startAt) (a Assigned, reason string) {
	b, bounded := w.bounds[tp]
	a.StableEnd = b.stable
	c.mu.Lock()
	was, ok := c.committed[tp]
	c.mu.Unlock()
	if !bounded { // its first fetch will tell whether the offset is in the log
		b = bounds{end: math.MaxInt64}
	}
	if !ok {
		s := starts[tp]
		a.Window, a.Next = offsets.NewWindow(s.offset), s.offset
		return a, s.reason
	}
	id := offsets.Identity{ClusterID: w.clusterID, TopicID: w.topicIDs[tp.Topic], Partition: tp.Partition}
	from, err := offsets.Resume(was, id, offsets.Bounds{Start: b.start, End: b.end})
	switch {
	case errors.Is(err, offsets.ErrBeyondEnd):
		return a, fmt.Sprintf("%v: the log was truncated or is another one; set the group's offset for this partition, then restart", err)
	case err != nil:
		return a, fmt.Sprintf("its committed metadata cannot be read by this version: %v", err)
	}
	c.sayStart(tp, was.Offset, from, b)
	a.Window, a.Next = from.Window, from.Next
	return a, ""
}

// sayStart logs what is unusual about where a partition begins.
func (c *Consumer) sayStart(tp offsets.TopicPartition, committed int64, from offsets.Start, b bounds) {
	log := c.cfg.Log.With("topic", tp.Topic, "partition", tp.Partition, "offset", committed)
	switch {
	case from.Foreign == nil:
	case errors.Is(from.Foreign, offsets.ErrOtherTopic):
		log.Error("topic was deleted and created again: the committed offset belongs to the old one, reading from the log start", "err", from.Foreign)
	case errors.Is(from.Foreign, offsets.ErrForeign):
		log.Warn("committed metadata was not written by layover: nothing above the committed offset counts as finished", "err", from.Foreign)
	default:
		log.Error("committed metadata is damaged: nothing above the committed offset counts as finished, records may be delivered again", "err", from.Foreign)
	}
	if from.Clipped > 0 {
		log.Error("finished offsets above the end of the log are forgotten: the log was truncated", "finished", from.Clipped)
	}
	if from.Next > from.Window.Low() {
		log.Error("the log starts above the committed offset: records were deleted before they were delivered", "start", b.start)
	}
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
			w.bounds[offsets.TopicPartition{Topic: t, Partition: p}] = bounds{s.Offset, l.Offset, e.Offset}
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

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
