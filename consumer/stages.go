package consumer

import (
	"context"
	"errors"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Journal holds the finished sets that do not fit into commit metadata.
type Journal interface {
	// Restore reads the journals of partitions into their windows. It calls done once for
	// each ask, by its index, as soon as that answer is complete. It returns after the
	// last one.
	Restore(ctx context.Context, asks []facts.Ask, done func(i int, a facts.Answer))
	// Holds says which partitions have records in a journal, of any incarnation of the
	// group's offset. A partition that could not be asked about is in unknown alone, with
	// the reason.
	Holds(ctx context.Context, ids map[offsets.TopicPartition]offsets.Identity) (held map[offsets.TopicPartition]bool, unknown map[offsets.TopicPartition]error)
}

// askBounds asks for cluster, topic ids and log bounds.
func (l *loading) askBounds(ctx context.Context, parts []*partition) {
	names := make([]offsets.TopicPartition, len(parts))
	for i, p := range parts {
		names[i] = p.TopicPartition
	}
	l.ask(func() {
		cluster.AskBounds(ctx, l.loader.client, names, func(found cluster.Located) {
			l.tell(ctx, func() {
				for tp, at := range found {
					switch p := l.open[tp]; {
					case p == nil:
					case at.Err != nil:
						p.unbounded()
						l.retry(p, at.Err)
					default:
						p.believes = time.Since(l.began) >= believeAfter
						l.took(p, p.bounded(at, l.loader.group.name))
					}
				}
			})
		})
	})
}

// askCommitted asks for the committed offsets of partitions. The client has none of them,
// or one whose topic may have been recreated since.
func (l *loading) askCommitted(ctx context.Context, parts []*partition) {
	ids := make(map[offsets.TopicPartition]offsets.TopicID, len(parts))
	for _, p := range parts {
		ids[p.TopicPartition] = p.TopicID
	}
	l.ask(func() {
		committed, failed, err := l.loader.group.committed(ctx, ids)
		l.tell(ctx, func() {
			for _, p := range parts {
				why := err
				if why == nil {
					why = failed[p.TopicPartition]
				}
				switch was, ok := committed[p.TopicPartition]; {
				case l.open[p.TopicPartition] != p:
				case why != nil:
					if errors.Is(why, kerr.UnknownTopicID) { // the topic was recreated
						p.stage = needsBounds
					}
					l.retry(p, why)
				case ok:
					l.took(p, p.committed(&was))
				default:
					l.took(p, p.committed(nil))
				}
			}
		})
	})
}

// askStarts finds the start of partitions that have no committed offset.
func (l *loading) askStarts(ctx context.Context, parts []*partition) {
	l.starting = true
	missing := make(map[offsets.TopicPartition]*partition, len(parts))
	at := make(map[offsets.TopicPartition]cluster.Bounds, len(parts))
	for _, p := range parts {
		missing[p.TopicPartition], at[p.TopicPartition] = p, p.at
	}
	l.ask(func() {
		starts := l.loader.start.of(ctx, at)
		l.tell(ctx, func() {
			l.starting, l.startDue = false, time.Now().Add(sickRetry)
			for tp, p := range missing {
				if l.open[tp] == p {
					l.decided(p, starts[tp])
				}
			}
		})
	})
}

func (l *loading) decided(p *partition, s startAt) {
	switch {
	case s.err != nil:
		l.retry(p, s.err)
		return
	case s.reason != "":
		p.refuse(NoOffset, s.reason)
	default:
		p.started(s.offset)
	}
	l.moved(p)
}

// restore completes finished sets from journals, and gives each partition a writer. A
// committed offset without an incarnation is new, or was set by an operator: it gets one,
// and no journal is read.
func (l *loading) restore(ctx context.Context, parts []*partition) {
	var asks []facts.Ask
	var asked []*partition
	for _, p := range parts {
		if p.id.Incarnation == 0 || l.loader.journal == nil {
			p.unjournalled()
			continue
		}
		asked = append(asked, p)
		asks = append(asks, facts.Ask{
			TopicPartition: p.TopicPartition, ID: p.id, Window: p.Window, LeaderEpoch: p.LeaderEpoch, LogEnd: p.at.End, Committed: p.named,
			EndOf: func(ctx context.Context, epoch int32) (int64, error) {
				return cluster.EndOfEpoch(ctx, l.loader.client, p.TopicPartition, epoch)
			},
		})
	}
	if len(asks) == 0 {
		return
	}
	l.ask(func() {
		l.loader.journal.Restore(ctx, asks, func(i int, a facts.Answer) {
			if ctx.Err() == nil { // an answer that was cut short is none
				l.tell(ctx, func() { l.restored(asked[i], a) })
			}
		})
	})
}

func (l *loading) restored(p *partition, a facts.Answer) {
	if l.open[p.TopicPartition] == p {
		l.took(p, p.restored(a))
	}
}

// askEpochs asks whether the logs of partitions that begin late still are the ones that
// were read. For partitions that begin with the assignment the client asks that.
func (l *loading) askEpochs(ctx context.Context, parts []*partition) {
	asks := make(map[offsets.TopicPartition]cluster.EpochAsk)
	for _, p := range parts {
		if p.LeaderEpoch < 0 || !l.loader.isLate(l) {
			p.unchecked()
			l.moved(p)
			continue
		}
		asks[p.TopicPartition] = cluster.EpochAsk{Leader: p.at.Leader, Current: p.leadsIn(), Epoch: p.LeaderEpoch}
	}
	if len(asks) == 0 {
		return
	}
	l.ask(func() {
		cluster.EpochEnds(ctx, l.loader.client, asks, func(ends map[offsets.TopicPartition]cluster.EpochEnd) {
			l.tell(ctx, func() {
				for tp, end := range ends {
					p := l.open[tp]
					if p == nil {
						continue
					}
					l.took(p, p.ended(end))
				}
			})
		})
	})
}
