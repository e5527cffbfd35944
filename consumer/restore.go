package consumer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"layover/facts"
	"layover/offsets"
)

// Journal holds the finished sets that do not fit into commit metadata.
type Journal interface {
	// Restore reads what the journals of partitions say into their windows, and returns
	// an answer for each, in the same order.
	Restore(ctx context.Context, asks []facts.Ask) []facts.Answer
	// Holds says of which partitions a journal has something to say, in whatever life of
	// the group's offset.
	Holds(ctx context.Context, ids map[offsets.TopicPartition]offsets.Identity) (map[offsets.TopicPartition]bool, error)
}

// beginning is a partition on its way to the handler.
type beginning struct {
	Assigned
	tp     offsets.TopicPartition
	id     facts.Identity
	end    int64           // of its log
	named  offsets.Journal // what its commit names
	reason string          // why it is not read
}

// restore completes what partitions begin with: by their journals, and with a ledger
// each. A partition whose offset has no life yet, because it is new or was set by
// somebody, begins one.
func (c *Consumer) restore(ctx context.Context, begin []*beginning) error {
	var asks []facts.Ask
	var asked []*beginning
	for _, b := range begin {
		switch {
		case b.reason != "":
		case b.id.Incarnation == 0 || c.cfg.Journal == nil:
			b.ledger(facts.Restored{})
		default:
			asked = append(asked, b)
			asks = append(asks, facts.Ask{
				TopicPartition: b.tp, ID: b.id, Window: b.Window, LeaderEpoch: b.LeaderEpoch, LogEnd: b.end, Committed: b.named,
				EndOf: func(ctx context.Context, epoch int32) (int64, error) { return c.endOfEpoch(ctx, b.tp, epoch) },
			})
		}
	}
	if len(asks) == 0 {
		return ctx.Err()
	}
	for i, a := range c.cfg.Journal.Restore(ctx, asks) {
		b := asked[i]
		switch {
		case errors.Is(a.Err, facts.ErrTruncated):
			b.reason = fmt.Sprintf("%v: set the group's offset for this partition, then restart", a.Err)
		case a.Err != nil:
			b.reason = fmt.Sprintf("its journal cannot be read by this version: %v", a.Err)
		default:
			b.LeaderEpoch = a.LeaderEpoch
			b.Next = max(b.Next, b.Window.Low())
			b.ledger(a.Restored)
		}
	}
	return ctx.Err()
}

func (b *beginning) ledger(r facts.Restored) {
	if b.id.Incarnation == 0 {
		b.id.Incarnation = rand.Uint64() | 1
	}
	b.Facts = facts.NewLedger(b.id, rand.Uint64()|1, r, b.Window)
}

// orphaned finds the partitions without an offset whose journal knows what was
// delivered: their offset was lost, and nothing is guessed.
func (c *Consumer) orphaned(ctx context.Context, missing []offsets.TopicPartition, w world) (map[offsets.TopicPartition]startAt, error) {
	out := make(map[offsets.TopicPartition]startAt)
	if c.cfg.Journal == nil {
		return out, nil
	}
	ids := make(map[offsets.TopicPartition]offsets.Identity)
	for _, tp := range missing {
		ids[tp] = offsets.Identity{ClusterID: w.clusterID, TopicID: w.topicIDs[tp.Topic], Partition: tp.Partition}
	}
	holds, err := c.cfg.Journal.Holds(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("journals of partitions without an offset: %w", err)
	}
	for _, tp := range missing {
		if holds[tp] {
			out[tp] = startAt{reason: fmt.Sprintf("group %s has no offset for this partition, but a journal of what was delivered: the offset expired or was deleted. "+
				"Stop all members; then \"layover journal recover\" goes on from the journal, and \"layover journal reset\" forgets it and starts as LAYOVER_START_OFFSET says", c.cfg.Group)}
		}
	}
	return out, nil
}
