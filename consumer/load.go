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

// answer begins what is ready, and lets the rest enter through the poll loop. The client
// copies all that is paused with each call, so there is one for all.
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
	open := make(map[offsets.Assignment]bool, len(l.tenures))
	for _, t := range l.tenures {
		open[t] = c.row(t) != nil
	}
	c.mu.Unlock()
	for _, b := range ready {
		open[b.Assignment] = false
	}
	paused := make(map[string][]int32)
	for t, is := range open {
		if is {
			paused[t.Topic] = append(paused[t.Topic], t.Partition)
			place(t.TopicPartition, kgo.NewOffset().At(0))
		}
	}
	c.client.PauseFetchPartitions(paused)
	for _, b := range ready {
		if c.begin(b) {
			// With the leader epoch the client asks whether the log still is the one that
			// was read (KIP-320), and reports a data loss where it ends below.
			place(b.TopicPartition, kgo.NewOffset().At(b.Next).WithEpoch(b.LeaderEpoch))
		}
	}
	return out
}

// enter begins the partitions that were ready late. Only the poll loop calls it, while
// rebalances are blocked: a tenure cannot end between the look and the first fetch. What
// the client has no place for yet, as load is about to answer, enters a turn later.
func (c *Consumer) enter() {
	c.mu.Lock()
	arrived := c.arrived
	c.arrived = nil
	c.mu.Unlock()
	if len(arrived) == 0 {
		return
	}
	set := make(map[string]map[int32]kgo.EpochOffset)
	for _, b := range arrived {
		if b.reason != "" {
			continue
		}
		if set[b.Topic] == nil {
			set[b.Topic] = make(map[int32]kgo.EpochOffset)
		}
		set[b.Topic][b.Partition] = kgo.EpochOffset{Epoch: b.LeaderEpoch, Offset: b.Next}
	}
	c.client.SetOffsets(set)
	placed := c.client.CommittedOffsets() // which SetOffsets sets, too, where there is a place
	var early []*beginning
	for _, b := range arrived {
		if at, ok := placed[b.Topic][b.Partition]; b.reason == "" && (!ok || at.Offset != b.Next) {
			early = append(early, b)
		} else if c.begin(b) {
			c.resume(b.Assignment)
			c.cfg.Log.Info("partition is begun after all", "topic", b.Topic, "partition", b.Partition, "offset", b.Next)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range early {
		if c.row(b.Assignment) != nil {
			c.arrived = append(c.arrived, b)
		}
	}
}

// begin completes a partition's row in the ownership table and gives it to the handler.
// It returns false for a partition that is not to be read.
func (c *Consumer) begin(b *beginning) bool {
	c.mu.Lock()
	o := c.row(b.Assignment)
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
	b.Overtaken = time.Now().Before(c.repeatUntil)
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
func (c *Consumer) notBegun(t offsets.Assignment, why string) {
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
