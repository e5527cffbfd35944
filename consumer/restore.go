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
	// Restore reads what the journals of partitions say into their windows. It calls done
	// once for each ask, by its index, as soon as that answer is complete, and returns
	// when all are.
	Restore(ctx context.Context, asks []facts.Ask, done func(i int, a facts.Answer))
	// Holds says which partitions have something in a journal, in whatever life of the
	// group's offset. What is not known is in unknown alone, with the reason.
	Holds(ctx context.Context, ids map[offsets.TopicPartition]offsets.Identity) (held map[offsets.TopicPartition]bool, unknown map[offsets.TopicPartition]error)
}

// restore completes what partitions begin with: by their journals, and with a ledger
// each. A partition whose offset has no life yet, because it is new or was set by
// somebody, begins one.
func (l *loading) restore(ctx context.Context, parts []*beginning) {
	var asks []facts.Ask
	var asked []*beginning
	for _, b := range parts {
		if b.id.Incarnation == 0 || l.c.cfg.Journal == nil {
			b.ledger(facts.Restored{})
			b.next(unchecked)
			continue
		}
		asked = append(asked, b)
		asks = append(asks, facts.Ask{
			TopicPartition: b.TopicPartition, ID: b.id, Window: b.Window, LeaderEpoch: b.LeaderEpoch, LogEnd: b.at.End, Committed: b.named,
			EndOf: func(ctx context.Context, epoch int32) (int64, error) {
				return l.c.endOfEpoch(ctx, b.TopicPartition, epoch)
			},
		})
	}
	if len(asks) == 0 {
		return
	}
	l.ask(func() {
		l.c.cfg.Journal.Restore(ctx, asks, func(i int, a facts.Answer) {
			if ctx.Err() == nil { // an answer that was cut short is none
				l.tell(ctx, func() { l.restored(asked[i], a) })
			}
		})
	})
}

func (l *loading) restored(b *beginning, a facts.Answer) {
	switch {
	case l.open[b.TopicPartition] != b:
	case errors.Is(a.Err, facts.ErrTruncated):
		l.refuse(b, Truncated, fmt.Sprintf("%v: set the group's offset for this partition, then restart", a.Err))
	case a.Err != nil:
		l.refuse(b, NewerVersion, fmt.Sprintf("its journal cannot be read by this version: %v", a.Err))
	default:
		b.LeaderEpoch = a.LeaderEpoch
		b.Next = max(b.Next, b.Window.Low())
		b.ledger(a.Restored)
		b.next(unchecked)
	}
}

func (b *beginning) ledger(r facts.Restored) {
	if b.id.Incarnation == 0 {
		b.id.Incarnation = rand.Uint64() | 1
	}
	b.Facts = facts.NewWriter(b.id, rand.Uint64()|1, r, b.Window)
}

// orphaned finds the partitions without an offset whose journal knows what was
// delivered: their offset was lost, and nothing is guessed. What a journal could not be
// asked is in unknown.
func (c *Consumer) orphaned(ctx context.Context, ids map[offsets.TopicPartition]offsets.Identity) (orphans, unknown map[offsets.TopicPartition]startAt) {
	orphans, unknown = make(map[offsets.TopicPartition]startAt), make(map[offsets.TopicPartition]startAt)
	if c.cfg.Journal == nil || len(ids) == 0 {
		return orphans, unknown
	}
	held, failed := c.cfg.Journal.Holds(ctx, ids)
	for tp := range ids {
		switch {
		case failed[tp] != nil:
			unknown[tp] = startAt{again: failed[tp]}
		case held[tp]:
			orphans[tp] = startAt{reason: fmt.Sprintf("group %s has no offset for this partition, but a journal of what was delivered: the offset expired or was deleted. "+
				"Stop all members; then \"layover journal recover\" goes on from the journal, and \"layover journal reset\" forgets it and starts as LAYOVER_START_OFFSET says", c.cfg.Group)}
		}
	}
	return orphans, unknown
}
