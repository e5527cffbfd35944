package consumer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// loader begins the partitions that are assigned: it finds out where each is read from,
// tells the client and gives it to the handler.
type loader struct {
	client   *kgo.Client
	table    *ownership
	fetching *fetching
	poll     *poll
	handler  Handler
	group    groupOffsets
	start    *groupStart
	journal  Journal // nil: there is none
	log      *slog.Logger
	turns    *atomic.Int64 // of all loadings together

	mu        sync.Mutex
	committed map[offsets.TopicPartition]offsets.Committed // as the client was told last
	arrived   []*partition                                 // ready, and to enter through the poll loop
}

func newLoader(c *Consumer) *loader {
	group := groupOffsets{c.client, c.cfg.Group}
	start := &groupStart{client: c.client, table: c.table, group: group, topics: c.cfg.Topics, offset: c.cfg.StartOffset,
		journal: c.cfg.Journal, commit: c.committer.sendOne, log: c.cfg.Log}
	return &loader{turns: &c.turns.loading, client: c.client, table: c.table, fetching: c.fetching, poll: c.poll, handler: c.handler, group: group,
		start: start, journal: c.cfg.Journal, log: c.cfg.Log, committed: make(map[offsets.TopicPartition]offsets.Committed)}
}

// onOffsetsFetched keeps the committed offsets of the partitions that load is about to be
// asked for.
func (c *Consumer) onOffsetsFetched(_ context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	<-c.started
	c.loader.told(resp)
	return nil
}

// told keeps committed offsets that the client was told.
func (d *loader) told(resp *kmsg.OffsetFetchResponse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range resp.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				tp := offsets.TopicPartition{Topic: t.Topic, Partition: p.Partition}
				if p.ErrorCode != 0 || p.Offset < 0 {
					delete(d.committed, tp)
					continue
				}
				d.committed[tp] = offsets.Committed{Offset: p.Offset, LeaderEpoch: -1, Metadata: value(p.Metadata)}
			}
		}
	}
}

// load decides where each newly assigned partition is read from, and gives it to
// the handler. kgo calls it after the group's offsets were fetched and before the
// first fetch, while heartbeats go on; ctx ends with the session.
//
// It answers when all partitions are ready, after loadGrace at most. A partition that is not
// ready gets a place that the client does not read from. Without a place the client would
// take no offset for it later.
func (c *Consumer) load(ctx context.Context, fetched map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	epochs := make(map[offsets.TopicPartition]int32)
	for topic, partitions := range fetched {
		for p, at := range partitions {
			epochs[offsets.TopicPartition{Topic: topic, Partition: p}] = at.EpochOffset().Epoch
		}
	}
	return c.loader.load(ctx, epochs)
}

// load is Consumer.load. fetched has the leader epoch of each partition whose committed
// offset the client was told.
func (d *loader) load(ctx context.Context, fetched map[offsets.TopicPartition]int32) (map[string]map[int32]kgo.Offset, error) {
	l := newLoading(d, d.parts(fetched))
	loading, cancel := context.WithCancel(d.client.Context())
	go func() { // ends with its partitions' assignments, or with the client
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
		d.table.release(l.assignments)
		return nil, ctx.Err() // the next session asks for them again
	}
	return d.answer(l), nil
}

// parts claims all partitions that are to be loaded, each with the committed offset that
// the client was told. One that is not in fetched is asked about by the loading: the
// client leaves it alone after an error.
func (d *loader) parts(fetched map[offsets.TopicPartition]int32) (parts []*partition) {
	claimed := d.table.claim()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range claimed {
		p := &partition{Assigned: facts.Assigned{Assignment: a}}
		if epoch, ok := fetched[a.TopicPartition]; ok {
			p.fetched = true
			if was, ok := d.committed[a.TopicPartition]; ok {
				was.LeaderEpoch = epoch
				p.was = &was
			}
		}
		parts = append(parts, p)
	}
	return parts
}

// answer begins the partitions that are ready, and lets the others enter through the poll
// loop. It pauses these in one call, as the client copies all paused partitions each time.
func (d *loader) answer(l *loading) map[string]map[int32]kgo.Offset {
	out := make(map[string]map[int32]kgo.Offset)
	place := func(tp offsets.TopicPartition, at kgo.Offset) {
		if out[tp.Topic] == nil {
			out[tp.Topic] = make(map[int32]kgo.Offset)
		}
		out[tp.Topic][tp.Partition] = at
	}
	ready := d.takeReady(l)
	open := make(map[offsets.Assignment]bool, len(l.assignments))
	for _, a := range l.assignments {
		open[a] = d.table.is(a)
	}
	for _, p := range ready {
		open[p.Assignment] = false
	}
	paused := make(map[string][]int32)
	for a, is := range open {
		if is {
			paused[a.Topic] = append(paused[a.Topic], a.Partition)
			place(a.TopicPartition, kgo.NewOffset().At(0))
		}
	}
	d.client.PauseFetchPartitions(paused)
	for _, p := range ready {
		if d.begin(p) {
			// With the leader epoch the client asks whether the log still is the one that
			// was read (KIP-320). It reports a data loss where that ends below.
			place(p.TopicPartition, kgo.NewOffset().At(p.Next).WithEpoch(p.LeaderEpoch))
		}
	}
	return out
}

// takeReady returns the partitions that are ready. Those that become ready from now on
// enter through the poll loop.
func (d *loader) takeReady(l *loading) []*partition {
	d.mu.Lock()
	defer d.mu.Unlock()
	ready := l.ready
	l.late, l.ready = true, nil
	return ready
}

// done takes a partition that is complete: for load, or for the poll loop, which takes
// those alone that are checked. It returns false where the partition has to be checked.
func (d *loader) done(l *loading, p *partition) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !l.late:
		l.ready = append(l.ready, p)
	case p.checked || p.reason != "":
		d.arrived = append(d.arrived, p)
		d.poll.interrupt() // it enters with the next turn of the poll loop
	default:
		return false
	}
	return true
}

// isLate says whether load has answered for a loading.
func (d *loader) isLate(l *loading) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return l.late
}

// enter begins the partitions that were ready late. Only the poll loop calls it, while
// rebalances are blocked: an assignment cannot end between the look and the first fetch.
// A partition that the client has no place for yet, as load is about to answer, enters a
// turn later.
func (d *loader) enter() {
	d.mu.Lock()
	arrived := d.arrived
	d.arrived = nil
	d.mu.Unlock()
	// One whose assignment ended while it waited would move the partition's next assignment.
	arrived = slices.DeleteFunc(arrived, func(p *partition) bool { return !d.table.is(p.Assignment) })
	if len(arrived) == 0 {
		return
	}
	set := make(map[string]map[int32]kgo.EpochOffset)
	for _, p := range arrived {
		if p.reason != "" {
			continue
		}
		if set[p.Topic] == nil {
			set[p.Topic] = make(map[int32]kgo.EpochOffset)
		}
		set[p.Topic][p.Partition] = kgo.EpochOffset{Epoch: p.LeaderEpoch, Offset: p.Next}
	}
	d.fetching.set(set)
	placed := d.client.CommittedOffsets() // which SetOffsets sets, too, where there is a place
	var early []*partition
	for _, p := range arrived {
		if at, ok := placed[p.Topic][p.Partition]; p.reason == "" && (!ok || at.Offset != p.Next) {
			early = append(early, p)
		} else if d.begin(p) {
			d.fetching.resume(p.Assignment)
			d.log.Info("partition is begun after all", "topic", p.Topic, "partition", p.Partition, "offset", p.Next)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range early {
		if d.table.is(p.Assignment) {
			d.arrived = append(d.arrived, p)
		}
	}
}

// begin completes a partition's row in the ownership table and gives it to the handler.
// It returns false for a partition that is not to be read.
func (d *loader) begin(p *partition) bool {
	if p.reason != "" {
		if d.table.refuse(&p.Assigned, p.code, p.reason) {
			d.log.Error("partition is not read", "topic", p.Topic, "partition", p.Partition, "err", p.reason)
		}
		return false
	}
	if !d.table.begin(&p.Assigned, p.at.End) {
		return false
	}
	d.handler.Assigned(p.Assigned)
	return true
}

// sayStart logs how a start differs from the committed offset.
func (d *loader) sayStart(tp offsets.TopicPartition, committed int64, from offsets.Start) {
	log := d.log.With("topic", tp.Topic, "partition", tp.Partition, "offset", committed)
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
