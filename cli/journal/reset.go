package journal

import (
	"context"
	"errors"
	"fmt"

	"layover/cluster"
	"layover/config"
	"layover/offsets"
)

// forgotten is the knowledge that a reset gives up.
type forgotten struct {
	tally   tally
	unread  error           // why the journal could not be read
	window  *offsets.Window // the finished set of a restart, nil: not known
	unknown error           // why
	journal int64           // finished offsets in the journal alone
}

// reset makes one partition start anew. The commit comes first: after it no record of
// the journal counts, deleted or not. Without a commit, the records keep the partition
// from being read.
func (c *command) reset(ctx context.Context, p *partition) error {
	f := p.forget(ctx, c.brokers)
	to, commits := c.startOf(p)
	empty := p.records.Start >= p.records.End
	below := p.deletable(f)
	deletes := below > p.records.Start
	if !commits && empty {
		c.say("%s: LAYOVER_START_OFFSET is none, and its journal is empty: nothing to do\n", p)
		return nil
	}
	c.say("%s: forgets its journal\n", p)
	if commits {
		c.sayCommit(p, f, to)
	} else {
		c.sayNone(p, f)
	}
	switch {
	case f.unread != nil:
		c.say("  deletes nothing, as it cannot tell whose records are there: %v\n", f.unread)
	case f.tally.kept > 0:
		c.say("  deletes nothing: of %s, %d are not this group's to delete, the first one %s\n", count(f.tally.records, "record"), f.tally.kept, f.tally.keeper)
	case below < p.records.End:
		if deletes {
			c.say("  deletes the records of %s/%d below %d, of %s\n", p.journal.Topic, p.Partition, below, f.tally.text())
		}
		c.say("  keeps those from %d on; of them about finished copies in runs: %d\n", below, f.tally.copies)
	case deletes:
		c.say("  deletes the records of %s/%d below %d: %s\n", p.journal.Topic, p.Partition, below, f.tally.text())
	}
	c.sayCopies(p, p.again(to, commits))
	if !commits && !deletes {
		return errors.New("that is nothing at all: choose earliest or latest, or set the group's offset of this partition")
	}
	if c.execute {
		if err := c.carryOut(ctx, p, to, commits, below); err != nil {
			return err
		}
	}
	c.done++
	return nil
}

// startOf returns the start offset of a partition, false where none is set.
func (c *command) startOf(p *partition) (to int64, commits bool) {
	switch c.cfg.StartOffset {
	case config.StartEarliest:
		return p.log.Start, true
	case config.StartLatest:
		return p.log.End, true
	}
	return 0, false
}

// deletable returns the offset below which the journal's records may be deleted. The first one
// about copies in runs stays, and all behind it: else the finished ones were delivered again.
func (p *partition) deletable(f *forgotten) int64 {
	switch {
	case f.unread != nil || f.tally.kept > 0:
		return p.records.Start
	case f.tally.copies > 0 && p.holdsCopies():
		return f.tally.copiesAt
	}
	return p.records.Stable // nobody has read what is behind an open transaction
}

// again returns the offset from which on the partition is read again, -1 for none.
func (p *partition) again(to int64, commits bool) int64 {
	switch {
	case commits:
		return to
	case p.committed != nil:
		return p.committed.Offset
	}
	return -1
}

// forget returns the knowledge that a reset gives up. An unreadable journal can be reset
// too: it may be the reason for the reset.
func (p *partition) forget(ctx context.Context, b *brokers) *forgotten {
	f := &forgotten{}
	var said offsets.RunsState
	if p.committed != nil {
		if _, start, err := p.current(); err == nil {
			said = start.Runs
		}
	}
	if f.tally, f.unread = p.count(ctx, b, said); f.unread != nil {
		f.unknown = errors.New("the journal cannot be read")
		return f
	}
	l := p.begin(f.tally.newest, offsets.NewWindow(0), -1, offsets.JournalRange{})
	if p.committed != nil {
		if l, _, f.unknown = p.current(); f.unknown != nil {
			return f
		}
	}
	metadata := p.finished(l.window, 0)
	if l.incarnation != 0 {
		if _, _, f.unknown = p.readInto(ctx, b, l); f.unknown != nil {
			return f
		}
	}
	f.window, f.journal = l.window, p.finished(l.window, 0)-metadata
	return f
}

// sayCommit prints the commit, and its effects on records.
func (c *command) sayCommit(p *partition, f *forgotten, to int64) {
	edge := "start"
	if c.cfg.StartOffset == config.StartLatest {
		edge = "end"
	}
	instead := "it has none now"
	if p.committed != nil {
		instead = fmt.Sprintf("in place of %d", p.committed.Offset)
	}
	with := "without metadata"
	if p.holdsCopies() {
		with = "and that an older release must not read the partition"
	}
	c.say("  commits offset %d, the %s of its log, %s; %s\n", to, edge, with, instead)
	if f.window == nil {
		c.say("  how much of its log is delivered again, or never, is not known: %v\n", f.unknown)
		return
	}
	c.say("  finished offsets of its log that are forgotten, and delivered again: %d of %d\n", p.finished(f.window, to), p.finished(f.window, 0))
	low := max(f.window.Low(), p.log.Start)
	if to > low {
		done := p.finished(f.window, low) - p.finished(f.window, to)
		c.say("  offsets of its log that are not finished, and never delivered: %d\n", to-low-done)
	}
}

// sayNone prints the effects on a partition for which nothing is committed.
func (c *command) sayNone(p *partition, f *forgotten) {
	if p.committed == nil {
		c.say("  commits nothing, as LAYOVER_START_OFFSET is none: the group's offset of this partition has to be set before Layover starts\n")
	} else {
		c.say("  commits nothing, as LAYOVER_START_OFFSET is none: offset %d stays, with its metadata\n", p.committed.Offset)
	}
	if f.window == nil {
		c.say("  how much the journal alone has is not known: %v\n", f.unknown)
		return
	}
	c.say("  finished offsets of its log that the journal alone has, and that are forgotten: %d of %d\n", f.journal, p.finished(f.window, 0))
}

// carryOut makes the commit, and deletes the journal's records below an offset.
func (c *command) carryOut(ctx context.Context, p *partition, to int64, commits bool, below int64) error {
	if commits {
		if err := c.brokers.commit(ctx, c.cfg.GroupID, p.TopicPartition, p.anew(to)); err != nil {
			return err
		}
		c.say("  done: the offset is committed\n")
	}
	if below <= p.records.Start {
		return nil
	}
	switch err := c.brokers.remove(ctx, p.journal, below); {
	case err == nil:
		c.say("  done: the records are deleted\n")
	case cluster.Denied(err) && commits:
		c.say("  not deleted: %v; none of them counts any more all the same\n", err)
	case commits:
		return fmt.Errorf("%w; the offset is committed, and none of the records counts any more", err)
	default:
		return err
	}
	return nil
}

// anew is a commit that forgets the finished offsets. It has metadata only where an older
// release is to be held off.
func (p *partition) anew(to int64) offsets.Committed {
	c := offsets.Committed{Offset: to, LeaderEpoch: -1}
	if p.holdsCopies() {
		c.Metadata = offsets.Encode(offsets.NewWindow(to), p.id.Identity, offsets.Extension{Runs: p.older()}, offsets.MaxMetadata).Metadata
	}
	return c
}
