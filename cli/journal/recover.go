package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"layover/cli/process"
	"layover/offsets"
)

// found is a journal's knowledge of a partition without an offset.
type found struct {
	*life
	tally tally
	named offsets.JournalRange // records for the commit to name
	// clipped counts offsets that are finished by the journal, but were truncated from
	// the log since.
	clipped int64
}

// recover commits the offset of a partition without one, by its journal.
func (c *command) recover(ctx context.Context, p *partition) error {
	if p.committed != nil {
		c.say("%s: has an offset, %d: left alone\n", p, p.committed.Offset)
		return nil
	}
	f, err := p.find(ctx, c.brokers)
	switch {
	case err != nil:
		return err
	case f.tally.newest == 0:
		among := ""
		if f.tally.records > 0 {
			among = " among " + f.tally.text()
		}
		c.say("%s: has no offset, and its journal no record of it%s: nothing to recover; \"layover journal reset\" gives it an offset\n", p, among)
		c.sayCopies(p, -1)
		return nil
	}
	enc := f.encode(p, offsets.MaxMetadata)
	c.say("%s: goes on from its journal\n", p)
	c.sayFound(p, f, enc)
	if c.execute {
		did, err := c.commitFound(ctx, p, f)
		if err != nil {
			return err
		}
		less := ""
		if did.Covered < enc.Covered {
			less = fmt.Sprintf(", with %d of the offsets finished above, as the brokers take less metadata: the journal has all of it", did.Covered)
		}
		c.say("  done: the offset is committed%s\n", less)
	}
	c.done++
	return nil
}

// find reads the journal twice: for its newest incarnation, and for its finished set.
func (p *partition) find(ctx context.Context, b *brokers) (*found, error) {
	t, err := p.count(ctx, b, offsets.RunsState{})
	if err == nil && t.newer > 0 { // which may have more finished offsets, of any life
		err = fmt.Errorf("its journal has %s of a newer release: recover with that one", count(t.newer, "record"))
	}
	if err != nil || t.newest == 0 {
		return &found{tally: t}, err
	}
	l, claimed, err := p.readInto(ctx, b, p.begin(t.newest, offsets.NewWindow(0), -1, offsets.JournalRange{}))
	if err != nil {
		return nil, err
	}
	return &found{
		life: l, tally: t, named: l.reader.Name(p.journalID, p.records.Start),
		clipped: claimed.Low() + claimed.Above() - l.window.Low() - l.window.Above(),
	}, nil
}

// count reads the journal, counts its records, and takes in those about copies. said is what
// the commit says of runs.
func (p *partition) count(ctx context.Context, b *brokers, said offsets.RunsState) (t tally, err error) {
	p.copied = p.beginCopies(said)
	endOf := b.endOf(ctx, p.runs)
	err = p.scan(ctx, b, func(e *entry) error {
		t.add(e, p.id.Group)
		if e.ofCopies() {
			p.copied.add(e, endOf)
		}
		return nil
	})
	return t, err
}

// readInto reads the journal into a life. claimed is the finished set of its records,
// truncated offsets included.
func (p *partition) readInto(ctx context.Context, b *brokers, l *life) (_ *life, claimed *offsets.Window, err error) {
	claimed = offsets.NewWindow(l.window.Low())
	l.window.Each(func(from, to int64) bool { claimed.FinishRange(from, to); return true })
	endOf := b.endOf(ctx, p.TopicPartition)
	err = p.scan(ctx, b, func(e *entry) error {
		if !e.ours() || e.said.Incarnation != l.incarnation {
			return nil
		}
		claimed.FinishRange(claimed.Low(), e.said.Low)
		e.said.Each(func(from, to int64) { claimed.FinishRange(from, to) }) // it was read before
		l.add(e, endOf)
		return l.err
	})
	return l, claimed, err
}

// encode makes the commit's metadata. It has the incarnation, the named records of the
// journal, and as much of the set as fits, for a reader without the journal. Where copies
// may wait in runs, the metadata holds older releases off.
func (f *found) encode(p *partition, limit int) offsets.Encoded {
	ext := offsets.Extension{Incarnation: f.incarnation, Journal: f.named, Runs: p.older()}
	return offsets.Encode(f.window, p.id.Identity, ext, limit)
}

// sayFound prints the effects of the commit, before an operator makes it.
func (c *command) sayFound(p *partition, f *found, enc offsets.Encoded) {
	w := f.window
	c.say("  commits offset %d, leader epoch %d, incarnation %016x, the journal's records from %d to %d, and %d of the offsets finished above\n",
		w.Low(), f.reader.LeaderEpoch(), f.incarnation, f.named.From, f.named.To, enc.Covered)
	c.say("  %s\n", finished(w))
	from := max(w.Low(), p.log.Start)
	again := p.log.End - from
	if again > 0 {
		done := p.finished(w, from)
		c.say("  of its log %s are read again, %s: %d count as finished, and %d are delivered when they are due\n", count(again, "offset"), span(from, p.log.End-1), done, again-done)
	} else {
		c.say("  nothing of its log is read again\n")
	}
	if gone := from - w.Low(); gone > 0 {
		c.say("  its log starts at %d: %s from the low offset on were deleted, delivered or not\n", from, count(gone, "offset"))
	}
	if f.clipped > 0 {
		c.say("  %s that the journal calls finished do not count: the log was truncated there\n", count(f.clipped, "offset"))
	}
	if !f.reader.Complete() {
		c.say("  the journal has no complete snapshot: offsets finished before its first record may be missing, and are delivered again\n")
	}
	c.say("  that is of %s, %s, the last one of %s: offsets finished later are not in it, and are delivered again\n", count(f.records, "record"), count(f.bytes, "byte"), process.Clock(f.written))
	c.sayCopies(p, w.Low())
	if f.tally.damaged > 0 {
		c.say("  damaged records of the journal, whose offsets are delivered again: %d\n", f.tally.damaged)
	}
}

// finished counts the finished offsets of the log from one on.
func (p *partition) finished(w *offsets.Window, from int64) int64 {
	from = max(from, p.log.Start)
	return finishedIn(w, from, p.log.End)
}

// finishedIn counts the finished offsets from from (included) to to (not included).
func finishedIn(w *offsets.Window, from, to int64) int64 {
	n := max(min(w.Low(), to)-from, 0)
	w.EachFrom(from, func(a, b int64) bool {
		n += max(min(b, to)-max(a, from), 0)
		return true
	})
	return n
}

// minMetadata is the smallest metadata limit that is tried: the extension alone takes
// more.
const minMetadata = 128

// commitFound commits, with as much metadata as the brokers take, unless somebody else
// has committed meanwhile.
func (c *command) commitFound(ctx context.Context, p *partition, f *found) (enc offsets.Encoded, err error) {
	now, err := c.brokers.Committed(ctx, c.cfg.GroupID)
	if err != nil {
		return enc, err
	}
	if was, ok := now[p.TopicPartition]; ok {
		return enc, fmt.Errorf("it has got an offset meanwhile, %d: left alone", was.Offset)
	}
	for limit := offsets.MaxMetadata; limit >= minMetadata; limit /= 2 {
		enc = f.encode(p, limit)
		if enc.Metadata == "" {
			break
		}
		err := c.brokers.commit(ctx, c.cfg.GroupID, p.TopicPartition, offsets.Committed{Offset: f.window.Low(), LeaderEpoch: f.reader.LeaderEpoch(), Metadata: enc.Metadata})
		if !errors.Is(err, kerr.OffsetMetadataTooLarge) {
			return enc, err
		}
	}
	return enc, errors.New("the brokers take too little metadata with an offset: raise offset.metadata.max.bytes to 4096, Kafka's default")
}
