package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// load decides where each newly assigned partition is read from, and gives it to
// the handler. kgo calls it after the group's offsets were fetched and before the
// first fetch, while heartbeats go on; ctx ends with the session.
//
// It answers when all partitions are ready, after loadGrace at most. The others get a
// place that the client does not read from: a partition that the client does not know
// could not be set to its offset later.
func (c *Consumer) load(ctx context.Context, fetched map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	epochs := make(map[offsets.TopicPartition]int32)
	for topic, partitions := range fetched {
		for p, at := range partitions {
			epochs[offsets.TopicPartition{Topic: topic, Partition: p}] = at.EpochOffset().Epoch
		}
	}
	l := c.newLoading(epochs)
	loading, cancel := context.WithCancel(c.client.Context())
	go func() { // ends with its partitions' tenures, or with the client
		defer cancel()
		l.run(loading)
	}()
	grace := time.NewTimer(loadGrace)
	defer grace.Stop()
	select {
	case <-l.over:
	case <-grace.C:
	case <-ctx.Done():
		cancel()
		<-l.over
		c.withdraw(l)
		return nil, ctx.Err() // the next session asks for them again
	}
	return c.answer(l), nil
}

// answer begins what is ready, and lets the rest enter through the poll loop.
func (c *Consumer) answer(l *loading) map[string]map[int32]kgo.Offset {
	out := make(map[string]map[int32]kgo.Offset)
	place := func(tp offsets.TopicPartition, at kgo.Offset) {
		if out[tp.Topic] == nil {
			out[tp.Topic] = make(map[int32]kgo.Offset)
		}
		out[tp.Topic][tp.Partition] = at
	}
	c.mu.Lock()
	l.late = true
	ready := l.ready
	l.ready = nil
	for _, t := range l.tenures {
		if c.row(t) != nil {
			c.client.PauseFetchPartitions(map[string][]int32{t.Topic: {t.Partition}})
			place(t.TopicPartition, kgo.NewOffset().At(0))
		}
	}
	c.mu.Unlock()
	for _, b := range ready {
		delete(out[b.Topic], b.Partition)
		if c.begin(b) {
			c.resume(b.Tenure)
			// With the leader epoch the client asks whether the log still is the one that
			// was read (KIP-320), and reports a data loss where it ends below.
			place(b.TopicPartition, kgo.NewOffset().At(b.Next).WithEpoch(b.LeaderEpoch))
		}
	}
	return out
}

// enter begins the partitions that were ready late. Only the poll loop calls it, while
// rebalances are blocked: a tenure cannot end between the look and the first fetch.
func (c *Consumer) enter() {
	c.mu.Lock()
	arrived := c.arrived
	c.arrived = nil
	c.mu.Unlock()
	set := make(map[string]map[int32]kgo.EpochOffset)
	var begun []*beginning
	for _, b := range arrived {
		if !c.begin(b) {
			continue
		}
		begun = append(begun, b)
		if set[b.Topic] == nil {
			set[b.Topic] = make(map[int32]kgo.EpochOffset)
		}
		set[b.Topic][b.Partition] = kgo.EpochOffset{Epoch: b.LeaderEpoch, Offset: b.Next}
	}
	c.client.SetOffsets(set) // nothing where set is empty
	for _, b := range begun {
		c.resume(b.Tenure)
		c.cfg.Log.Info("partition is begun after all", "topic", b.Topic, "partition", b.Partition, "offset", b.Next)
	}
}

// begin completes a partition's row in the ownership table and gives it to the handler.
// It returns false for a partition that is not to be read.
func (c *Consumer) begin(b *beginning) bool {
	c.mu.Lock()
	o := c.row(b.Tenure)
	if o == nil {
		c.mu.Unlock()
		return false
	}
	o.loading, o.trying, o.topicID = false, false, b.TopicID
	o.stopped, o.reason, o.since = "", "", time.Time{}
	if b.reason != "" {
		o.stopped, o.reason, o.since = b.reason, b.code, time.Now()
		c.mu.Unlock()
		c.cfg.Log.Error("partition is not read", "topic", b.Topic, "partition", b.Partition, "err", b.reason)
		return false
	}
	o.loaded, o.next, o.end = true, b.Next, b.at.End
	c.mu.Unlock()
	c.handler.Assigned(b.Assigned)
	return true
}

// withdraw makes the partitions of a loading that has ended loadable again.
func (c *Consumer) withdraw(l *loading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range l.tenures {
		if o := c.row(t); o != nil {
			o.loading = false
		}
	}
}

// notBegun says in the table that a partition is not read yet, and why.
func (c *Consumer) notBegun(t Tenure, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.row(t)
	if o == nil || o.loaded || o.stopped != "" && !o.trying {
		return
	}
	if o.since.IsZero() {
		o.since = time.Now()
	}
	o.stopped, o.reason, o.trying = "where to begin is not known yet, trying again: "+why, NotBegun, true
}

// truncatedBelow says that a log ends below what counts as read.
func truncatedBelow(end, next int64) string {
	return fmt.Sprintf("the log was truncated at %d, and all up to %d counts as finished: set the group's offset for this partition, then restart", end, next)
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
