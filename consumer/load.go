package consumer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"layover/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// loadRetry is the pause between tries to find out where a partition begins.
const loadRetry = 200 * time.Millisecond

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
	var all []*beginning
	for topic, partitions := range fetched {
		for p, at := range partitions {
			tp := offsets.TopicPartition{Topic: topic, Partition: p}
			if again := starts[tp].again; again != nil {
				c.notLoaded(c.tenure(tp), again)
				continue
			}
			all = append(all, c.start(tp, at.EpochOffset().Epoch, w, starts))
		}
	}
	if err := c.restore(ctx, all); err != nil {
		return nil, err
	}
	out := make(map[string]map[int32]kgo.Offset)
	for _, b := range all {
		if !c.begin(b) {
			continue
		}
		if at, ok := w.bounds[b.tp]; ok {
			c.noteEnd(b.Tenure, at.End)
		}
		c.handler.Assigned(b.Assigned)
		if out[b.tp.Topic] == nil {
			out[b.tp.Topic] = make(map[int32]kgo.Offset)
		}
		// With the leader epoch the client asks whether the log still is the one that
		// was read (KIP-320), and reports a data loss where it ends below.
		out[b.tp.Topic][b.tp.Partition] = kgo.NewOffset().At(b.Next).WithEpoch(b.LeaderEpoch)
	}
	return out, nil
}

// begin completes a partition's row in the ownership table. It returns false for a
// partition that is not to be read.
func (c *Consumer) begin(b *beginning) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.table[b.tp]
	if o == nil {
		return false
	}
	o.topicID = b.TopicID
	if b.reason != "" {
		o.stopped, o.reason, o.since = b.reason, NoOffset, time.Now()
		c.cfg.Log.Error("partition is not read", "topic", b.tp.Topic, "partition", b.tp.Partition, "err", b.reason)
		return false
	}
	b.Tenure = o.Tenure
	o.loaded, o.next = true, b.Next
	return true
}

// start decides where one partition begins, or why it cannot. leaderEpoch is the
// committed one as the client has it: -1 also where brokers cannot be asked about it.
func (c *Consumer) start(tp offsets.TopicPartition, leaderEpoch int32, w world, starts map[offsets.TopicPartition]startAt) *beginning {
	b, bounded := w.bounds[tp]
	id := offsets.Identity{ClusterID: w.clusterID, TopicID: w.topicIDs[tp.Topic], Partition: tp.Partition}
	a := &beginning{tp: tp, id: facts.Identity{Identity: id, Group: c.cfg.Group}}
	a.StableEnd, a.TopicID, a.ClusterID = b.stable, id.TopicID, id.ClusterID
	c.mu.Lock()
	was, ok := c.committed[tp]
	c.mu.Unlock()
	was.LeaderEpoch = leaderEpoch
	if !bounded { // its first fetch will tell whether the offset is in the log
		b.End = math.MaxInt64
	}
	if !ok {
		s := starts[tp]
		a.Window, a.Next, a.LeaderEpoch, a.reason = offsets.NewWindow(s.offset), s.offset, -1, s.reason
		return a
	}
	from, err := offsets.Resume(was, id, b.Bounds)
	switch {
	case errors.Is(err, offsets.ErrBeyondEnd):
		a.reason = fmt.Sprintf("%v: the log was truncated or is another one; set the group's offset for this partition, then restart", err)
		return a
	case err != nil:
		a.reason = fmt.Sprintf("its committed metadata cannot be read by this version: %v", err)
		return a
	}
	c.sayStart(tp, was.Offset, from)
	a.Window, a.Next, a.LeaderEpoch = from.Window, from.Next, from.LeaderEpoch
	a.id.Incarnation, a.named, a.end = from.Incarnation, from.Journal, b.End
	return a
}

// sayStart logs what is unusual about where a partition begins.
func (c *Consumer) sayStart(tp offsets.TopicPartition, committed int64, from offsets.Start) {
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
		log.Error("the log starts above the committed offset: records were deleted before they were delivered", "start", from.Next)
	}
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
