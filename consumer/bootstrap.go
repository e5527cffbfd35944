package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

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
	l.starting = true
	missing := make(map[offsets.TopicPartition]*beginning, len(parts))
	at := make(map[offsets.TopicPartition]cluster.Bounds, len(parts))
	for _, b := range parts {
		missing[b.TopicPartition], at[b.TopicPartition] = b, b.at
	}
	l.ask(func() {
		starts := l.c.starts(ctx, at)
		l.tell(ctx, func() {
			l.starting, l.startDue = false, time.Now().Add(sickRetry)
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
	if !c.starting.TryLock() {
		return later(missing, errStarting)
	}
	defer c.starting.Unlock()
	return c.startsOf(ctx, missing)
}

var errStarting = errors.New("another assignment's partitions are being started")

func (c *Consumer) startsOf(ctx context.Context, missing map[offsets.TopicPartition]cluster.Bounds) map[offsets.TopicPartition]startAt {
	known, unstable, err := c.offsetsOf(ctx, nil)
	switch {
	case err != nil:
		return later(missing, err)
	case len(known)+len(unstable) > 0 || c.cfg.StartOffset == "none":
		return c.known(ctx, missing, known, unstable)
	case !c.first(ctx):
		return later(missing, errOtherStarts)
	}
	starts, err := c.commitStarts(ctx, missing) // also where nothing of its own is missing
	out := later(missing, cmp.Or(err, errOtherStarts))
	for tp, s := range starts {
		if _, ok := missing[tp]; ok {
			out[tp] = s
		}
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

// known decides for a group that has offsets, though not these, or that must have. What
// bootstrapping has committed is taken as it is. A partition that is new, or has lost
// nothing yet, starts at its log start; any other had an offset once, and where
// it was nobody knows.
func (c *Consumer) known(ctx context.Context, missing map[offsets.TopicPartition]cluster.Bounds, known map[offsets.TopicPartition]offsets.Committed, unstable map[offsets.TopicPartition]error) map[offsets.TopicPartition]startAt {
	highest := make(map[string]int32)
	for tp := range known {
		if h, ok := highest[tp.Topic]; !ok || tp.Partition > h {
			highest[tp.Topic] = tp.Partition
		}
	}
	out, unknown := c.orphaned(ctx, identities(missing))
	maps.Copy(out, unknown)
	for tp, b := range missing {
		_, decided := out[tp]
		h, any := highest[tp.Topic]
		switch was, ok := known[tp]; {
		case decided:
		case unstable[tp] != nil:
			out[tp] = startAt{again: unstable[tp]}
		case ok:
			out[tp] = startAt{offset: max(was.Offset, b.Start)}
		case len(known)+len(unstable) == 0:
			out[tp] = startAt{reason: "the group has no committed offset and LAYOVER_START_OFFSET is none: set the group's offset, or choose earliest or latest, then restart"}
		case b.Start == 0 || !any || tp.Partition > h:
			out[tp] = startAt{offset: b.Start}
		default:
			out[tp] = startAt{reason: fmt.Sprintf("group %s has committed offsets, but none for this partition, whose log starts at %d: "+
				"it expired or was deleted, and what was delivered is not known; set the group's offset for this partition, then restart", c.cfg.Group, b.Start)}
		}
	}
	return out
}

func identities(parts map[offsets.TopicPartition]cluster.Bounds) map[offsets.TopicPartition]offsets.Identity {
	ids := make(map[offsets.TopicPartition]offsets.Identity, len(parts))
	for tp, b := range parts {
		ids[tp] = offsets.Identity{ClusterID: b.ClusterID, TopicID: b.TopicID, Partition: tp.Partition}
	}
	return ids
}

// first says whether this member owns the first partition of the first ingress
// topic by name that exists.
func (c *Consumer) first(ctx context.Context) bool {
	_, topics, err := cluster.Describe(ctx, c.client, c.cfg.Topics)
	if err != nil {
		return false
	}
	for _, topic := range slices.Sorted(slices.Values(c.cfg.Topics)) { // for all members the same
		if t, ok := topics[topic]; ok && t.ErrorCode == 0 && len(t.Partitions) > 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.table[offsets.TopicPartition{Topic: topic}] != nil
		}
	}
	return false
}
