package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"layover/cluster"
	"layover/offsets"
)

// startAt is where a partition without a committed offset begins, or why it
// cannot be read.
type startAt struct {
	offset int64
	reason string
	again  error // not known now: to be asked again
}

// askStarts finds the start of partitions that have no committed offset.
//
// In a group without any committed offset the start is LAYOVER_START_OFFSET's.
// One member, the owner of the first partition of all, then commits the start of
// every partition in one request, and the others wait for it: so a partition
// without an offset in a known group is always news or an accident, never a race
// between members that start together.
func (l *loading) askStarts(ctx context.Context, parts []*beginning) {
	missing := make(map[offsets.TopicPartition]*beginning, len(parts))
	at := make(map[offsets.TopicPartition]cluster.Bounds, len(parts))
	for _, b := range parts {
		missing[b.TopicPartition], at[b.TopicPartition] = b, b.at
	}
	l.ask(func() {
		starts := l.c.starts(ctx, at)
		l.tell(ctx, func() {
			for tp, b := range missing {
				if l.open[tp] == b {
					l.decided(b, starts[tp])
				}
			}
		})
	})
}

func (l *loading) decided(b *beginning, s startAt) {
	switch {
	case s.again != nil:
		l.again(b, s.again)
	case s.reason != "":
		l.refuse(b, NoOffset, s.reason)
	default:
		l.start(b, s.offset)
	}
}

// starts decides once where partitions without a committed offset begin. One question is
// underway at a time: a second commit of all starts could take back what was committed
// since the first.
func (c *Consumer) starts(ctx context.Context, missing map[offsets.TopicPartition]cluster.Bounds) map[offsets.TopicPartition]startAt {
	c.starting.Lock()
	defer c.starting.Unlock()
	return c.startsOf(ctx, missing)
}

func (c *Consumer) startsOf(ctx context.Context, missing map[offsets.TopicPartition]cluster.Bounds) map[offsets.TopicPartition]startAt {
	known, unstable, err := c.offsetsOf(ctx, nil)
	if err != nil {
		return later(missing, err)
	}
	ids := make(map[offsets.TopicPartition]offsets.Identity)
	for tp, at := range missing {
		ids[tp] = offsets.Identity{ClusterID: at.ClusterID, TopicID: at.TopicID, Partition: tp.Partition}
	}
	out, unknown := c.orphaned(ctx, ids)
	maps.Copy(out, unknown)
	for tp, err := range unstable {
		out[tp] = startAt{again: err}
	}
	left := make(map[offsets.TopicPartition]cluster.Bounds)
	for tp, at := range missing {
		if _, ok := out[tp]; !ok {
			left[tp] = at
		}
	}
	switch {
	case len(left) == 0:
	case len(known)+len(unstable) > 0:
		c.known(left, known, out)
	case c.cfg.StartOffset == "none":
		for tp := range left {
			out[tp] = startAt{reason: "the group has no committed offset and LAYOVER_START_OFFSET is none: set the group's offset, or choose earliest or latest, then restart"}
		}
	default:
		if err = errOtherStarts; c.first(ctx) {
			if err = c.commitStarts(ctx); err == nil {
				return c.startsOf(ctx, missing)
			}
		}
		maps.Copy(out, later(left, err))
	}
	return out
}

// later puts off partitions of which something is not known.
func later(parts map[offsets.TopicPartition]cluster.Bounds, err error) map[offsets.TopicPartition]startAt {
	out := make(map[offsets.TopicPartition]startAt)
	for tp := range parts {
		out[tp] = startAt{again: err}
	}
	return out
}

// errOtherStarts is what a member waits for that has nothing to do itself.
var errOtherStarts = errors.New("the member with the first partition has not committed where the group starts")

// errAllKnown is why nothing was committed: each partition has a journal of what was
// delivered.
var errAllKnown = errors.New("each partition has a journal of what was delivered, or one that cannot be asked")

// known decides for a group that has offsets, though not these. What bootstrapping
// has just committed is taken as it is. A partition that is new, or has lost
// nothing yet, starts at its log start; any other had an offset once, and where
// it was nobody knows. The answers are added to out.
func (c *Consumer) known(missing map[offsets.TopicPartition]cluster.Bounds, known map[offsets.TopicPartition]offsets.Committed, out map[offsets.TopicPartition]startAt) {
	highest := make(map[string]int32)
	for tp := range known {
		if h, ok := highest[tp.Topic]; !ok || tp.Partition > h {
			highest[tp.Topic] = tp.Partition
		}
	}
	for tp, b := range missing {
		h, any := highest[tp.Topic]
		switch was, ok := known[tp]; {
		case ok && was.Metadata == unstarted:
			out[tp] = startAt{offset: b.Start}
		case ok:
			out[tp] = startAt{offset: max(was.Offset, b.Start)}
		case b.Start == 0 || !any || tp.Partition > h:
			out[tp] = startAt{offset: b.Start}
		default:
			out[tp] = startAt{reason: fmt.Sprintf("group %s has committed offsets, but none for this partition, whose log starts at %d: "+
				"it expired or was deleted, and what was delivered is not known; set the group's offset for this partition, then restart", c.cfg.Group, b.Start)}
		}
	}
}

// unstarted is the metadata of offset 0 for a partition that could not be asked where it
// begins when its group started. It begins at its log start, also where the group's start
// is the latest offset: by the time it can be asked, records may have come since.
const unstarted = "layover: not started"

// first says whether this member owns the first partition of the first ingress
// topic that exists.
func (c *Consumer) first(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, topics, err := cluster.Describe(ctx, c.client, c.cfg.Topics)
	if err != nil {
		return false
	}
	for _, topic := range c.cfg.Topics {
		if t, ok := topics[topic]; ok && t.ErrorCode == 0 && len(t.Partitions) > 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.table[offsets.TopicPartition{Topic: topic}] != nil
		}
	}
	return false
}

// commitStarts commits where every partition of every ingress topic begins, in one
// request: a group that has some offsets is a known one, and a crash or a look between
// two requests would make the rest partitions of which nobody knows where they were.
// The coordinator refuses one for which it would write over 1 MiB, 150 bytes for a
// partition with short names: such a group has to be given its offsets by hand.
//
// A partition that has no leader, or does not answer, is committed as unstarted. One with
// a journal, or with one that cannot be asked, is left out.
func (c *Consumer) commitStarts(ctx context.Context) error {
	at, err := c.everything(ctx)
	if err != nil {
		return err
	}
	ids := make(map[offsets.TopicPartition]offsets.Identity)
	for tp, b := range at {
		ids[tp] = offsets.Identity{ClusterID: b.ClusterID, TopicID: b.TopicID, Partition: tp.Partition}
	}
	orphans, unknown := c.orphaned(ctx, ids)
	c.mu.Lock()
	member, generation := c.memberID, c.generation
	c.mu.Unlock()
	var commits []offsets.Commit
	for tp, b := range at {
		if orphans[tp] != (startAt{}) || unknown[tp] != (startAt{}) {
			continue
		}
		m := offsets.Commit{TopicPartition: tp, TopicID: b.TopicID, LeaderEpoch: -1, MemberID: member, Generation: generation}
		if b.Err != nil {
			m.Metadata = unstarted
		} else {
			if m.Low = b.Start; c.cfg.StartOffset == "latest" {
				m.Low = b.End
			}
			m.Metadata = offsets.NewWindow(m.Low).Encode(ids[tp], offsets.MaxMetadata).Metadata
		}
		commits = append(commits, m)
	}
	if len(commits) == 0 {
		return errAllKnown
	}
	var failed error
	started := 0
	for _, r := range c.sendOne(ctx, commits) {
		if r.Err != nil {
			failed = fmt.Errorf("start offset of %s/%d: %w", r.Topic, r.Partition, r.Err)
		} else {
			started++
		}
	}
	if started > 0 { // one that is refused is its partition's own trouble
		c.cfg.Log.Info("group starts", "group", c.cfg.Group, "offset", c.cfg.StartOffset)
		return nil
	}
	return failed
}

// everything asks for the bounds of all partitions of all ingress topics that exist.
func (c *Consumer) everything(ctx context.Context) (cluster.Located, error) {
	describing, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, topics, err := cluster.Describe(describing, c.client, c.cfg.Topics)
	if err != nil {
		return nil, fmt.Errorf("start offsets: %w", err)
	}
	var parts []offsets.TopicPartition
	for _, t := range topics {
		for _, p := range t.Partitions {
			parts = append(parts, offsets.TopicPartition{Topic: *t.Topic, Partition: p.Partition})
		}
	}
	var mu sync.Mutex
	out := make(cluster.Located)
	cluster.AskBounds(ctx, c.client, parts, func(some cluster.Located) {
		mu.Lock()
		defer mu.Unlock()
		for tp, b := range some {
			b.TopicID = topics[tp.Topic].TopicID // also where the rest is not known
			out[tp] = b
		}
	})
	return out, nil
}
