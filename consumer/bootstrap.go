package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// startAt is where a partition without a committed offset begins, or why it
// cannot be read.
type startAt struct {
	offset int64
	reason string
	again  error // not known now: to be tried again
}

// bootstrap finds the start of every partition that has no committed offset.
//
// In a group without any committed offset the start is LAYOVER_START_OFFSET's.
// One member, the owner of the first partition of all, then commits the start of
// every partition in one request, and the others wait for it: so a partition
// without an offset in a known group is always news or an accident, never a race
// between members that start together.
func (c *Consumer) bootstrap(ctx context.Context, parts map[string]map[int32]kgo.Offset, w world) (map[offsets.TopicPartition]startAt, error) {
	missing := c.uncommitted(parts)
	var orphans map[offsets.TopicPartition]startAt
	for try := 1; len(missing) > 0; try++ {
		known, err := c.groupOffsets(ctx)
		if err == nil {
			if orphans, err = c.orphaned(ctx, missing, w); err != nil && len(known) > 0 && ctx.Err() == nil {
				return later(missing, err), nil // the others need not wait for them
			}
		}
		left := without(missing, orphans)
		switch {
		case err != nil:
		case len(known) > 0:
			return c.known(left, known, w, orphans), nil
		case c.cfg.StartOffset == "none":
			return refuse(left, orphans), nil
		case c.first(ctx):
			var started bool
			if started, err = c.commitStarts(ctx); started {
				c.cfg.Log.Info("group starts", "group", c.cfg.Group, "offset", c.cfg.StartOffset)
				continue
			}
			fallthrough
		case len(left) == 0:
			if err == nil { // all partitions that there are, or all of this member
				return orphans, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.sayWaiting(try, "start offsets are not known yet", cmp.Or(err, errOtherStarts))
		if err := pause(ctx, loadRetry); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// later puts off partitions of which something is not known.
func later(parts []offsets.TopicPartition, err error) map[offsets.TopicPartition]startAt {
	out := make(map[offsets.TopicPartition]startAt)
	for _, tp := range parts {
		out[tp] = startAt{again: err}
	}
	return out
}

// errOtherStarts is what a member waits for that has nothing to do itself.
var errOtherStarts = errors.New("the member with the first partition has not committed where the group starts")

// without returns the partitions that are not among some others.
func without(parts []offsets.TopicPartition, others map[offsets.TopicPartition]startAt) (out []offsets.TopicPartition) {
	for _, tp := range parts {
		if _, ok := others[tp]; !ok {
			out = append(out, tp)
		}
	}
	return out
}

// uncommitted returns the partitions for which nothing was committed.
func (c *Consumer) uncommitted(parts map[string]map[int32]kgo.Offset) (out []offsets.TopicPartition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic := range parts {
		for p := range parts[topic] {
			tp := offsets.TopicPartition{Topic: topic, Partition: p}
			if _, ok := c.committed[tp]; !ok {
				out = append(out, tp)
			}
		}
	}
	return out
}

// groupOffsets returns all offsets that the group has committed, for any topic.
func (c *Consumer) groupOffsets(ctx context.Context) (map[offsets.TopicPartition]int64, error) {
	resp, err := kadm.NewClient(c.client).FetchOffsets(ctx, c.cfg.Group)
	if err != nil {
		return nil, fmt.Errorf("offsets of group %s: %w", c.cfg.Group, err)
	}
	out := make(map[offsets.TopicPartition]int64)
	for topic := range resp {
		for p, o := range resp[topic] {
			if o.Err != nil {
				return nil, fmt.Errorf("offset of %s/%d in group %s: %w", topic, p, c.cfg.Group, o.Err)
			}
			if o.At >= 0 {
				out[offsets.TopicPartition{Topic: topic, Partition: p}] = o.At
			}
		}
	}
	return out, nil
}

// known decides for a group that has offsets, though not these. What bootstrapping
// has just committed is taken as it is. A partition that is new, or has lost
// nothing yet, starts at its log start; any other had an offset once, and where
// it was nobody knows. The answers are added to out.
func (c *Consumer) known(missing []offsets.TopicPartition, known map[offsets.TopicPartition]int64, w world, out map[offsets.TopicPartition]startAt) map[offsets.TopicPartition]startAt {
	highest := make(map[string]int32)
	for tp := range known {
		if h, ok := highest[tp.Topic]; !ok || tp.Partition > h {
			highest[tp.Topic] = tp.Partition
		}
	}
	for _, tp := range missing {
		b, bounded := w.bounds[tp]
		start := b.Start
		h, any := highest[tp.Topic]
		switch at, ok := known[tp]; {
		case ok:
			out[tp] = startAt{offset: max(at, start)}
		case !bounded:
			out[tp] = startAt{again: fmt.Errorf("its log start is not known: %w", errNoAnswer)}
		case start == 0 || !any || tp.Partition > h:
			out[tp] = startAt{offset: start}
		default:
			out[tp] = startAt{reason: fmt.Sprintf("group %s has committed offsets, but none for this partition, whose log starts at %d: "+
				"it expired or was deleted, and what was delivered is not known; set the group's offset for this partition, then restart", c.cfg.Group, start)}
		}
	}
	return out
}

func refuse(missing []offsets.TopicPartition, out map[offsets.TopicPartition]startAt) map[offsets.TopicPartition]startAt {
	for _, tp := range missing {
		out[tp] = startAt{reason: "the group has no committed offset and LAYOVER_START_OFFSET is none: set the group's offset, or choose earliest or latest, then restart"}
	}
	return out
}

// first says whether this member owns the first partition of the first ingress
// topic that exists.
func (c *Consumer) first(ctx context.Context) bool {
	for _, topic := range c.cfg.Topics {
		if _, _, err := topicIDs(ctx, c.client, []string{topic}); err != nil {
			continue
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.table[offsets.TopicPartition{Topic: topic}] != nil
	}
	return false
}

// commitStarts commits where every partition of every ingress topic begins, in one
// request: a group that has some offsets is a known one, and a crash or a look between
// two requests would make the rest partitions of which nobody knows where they were.
// The coordinator refuses one for which it would write over 1 MiB, 150 bytes for a
// partition with short names: such a group has to be given its offsets by hand.
// started is false where every partition has a journal of what was delivered.
func (c *Consumer) commitStarts(ctx context.Context) (started bool, err error) {
	var topics []string
	ids := make(map[string]offsets.TopicID)
	var cluster string
	for _, topic := range c.cfg.Topics {
		id, got, err := topicIDs(ctx, c.client, []string{topic})
		if err == nil {
			cluster, ids[topic] = id, got[topic]
			topics = append(topics, topic)
		}
	}
	adm := kadm.NewClient(c.client)
	list := adm.ListStartOffsets
	if c.cfg.StartOffset == "latest" {
		list = adm.ListEndOffsets
	}
	at, err := list(ctx, topics...)
	if err != nil {
		return false, fmt.Errorf("start offsets: %w", err)
	}
	if err := at.Error(); err != nil {
		return false, fmt.Errorf("start offsets: %w", err)
	}
	orphans, err := c.orphaned(ctx, partitionsOf(at), world{clusterID: cluster, topicIDs: ids})
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	member, generation := c.memberID, c.generation
	c.mu.Unlock()
	var commits []offsets.Commit
	at.Each(func(o kadm.ListedOffset) {
		if _, ok := orphans[offsets.TopicPartition{Topic: o.Topic, Partition: o.Partition}]; ok {
			return
		}
		id := offsets.Identity{ClusterID: cluster, TopicID: ids[o.Topic], Partition: o.Partition}
		commits = append(commits, offsets.Commit{
			TopicPartition: offsets.TopicPartition{Topic: o.Topic, Partition: o.Partition}, TopicID: ids[o.Topic],
			Low: o.Offset, LeaderEpoch: -1, Metadata: offsets.NewWindow(o.Offset).Encode(id, offsets.MaxMetadata).Metadata,
			MemberID: member, Generation: generation,
		})
	})
	if len(commits) == 0 {
		return false, nil
	}
	for _, r := range c.sendOne(ctx, commits) {
		if r.Err != nil {
			return false, fmt.Errorf("start offset of %s/%d: %w", r.Topic, r.Partition, r.Err)
		}
	}
	return true, nil
}

func partitionsOf(at kadm.ListedOffsets) (out []offsets.TopicPartition) {
	at.Each(func(o kadm.ListedOffset) {
		out = append(out, offsets.TopicPartition{Topic: o.Topic, Partition: o.Partition})
	})
	return out
}
