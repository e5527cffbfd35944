package journal

import (
	"context"
	"errors"
	"fmt"

	"layover/cluster/batches"
	"layover/delay"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// left is the left-out part of the log: an unreadable batch, or one record of a readable
// one.
type left struct {
	first, last int64 // offsets
	batch       batches.Header
	aborted     bool
	record      *kgo.Record // nil: the whole batch
	reason      delay.Reason
	why         string // the fault of the batch
	epoch       int32  // leader epoch in which it was written

	open   int64 // records without an outcome
	window *offsets.Window
	start  offsets.Start
	unread error // why the journal could not be read
}

// find reads the batch at the offset. It passes by markers, aborted transactions and empty
// batches, as Layover does: where a partition stopped, they may come first.
func (s *skipping) find(ctx context.Context, p *partition) (*left, error) {
	switch {
	case s.offset < p.log.Start:
		return nil, fmt.Errorf("%s: the log starts at %d: nothing is there any more", s.place, p.log.Start)
	case s.offset >= p.log.End:
		return nil, fmt.Errorf("%s: the log ends at %d: nothing is there yet", s.place, p.log.End)
	}
	for at := s.offset; ; {
		f, err := batches.At(ctx, s.brokers.Client, s.TopicPartition, at)
		if errors.Is(err, batches.ErrNone) {
			return nil, fmt.Errorf("%s: no batch is committed from there on: there is nothing to skip", s.place)
		}
		if err != nil {
			return nil, s.brokers.Explain(err, fmt.Sprintf("reading at %s/%d@%d", s.Topic, s.Partition, at), "Read on topic "+s.Topic)
		}
		l := s.look(&f)
		switch {
		case f.Damage != nil:
			return l, s.believe(ctx, p, &f)
		case l.reason == "" && f.Passable():
			at = f.Last + 1
		case l.reason == "":
			return s.recordOf(&f, l)
		default:
			return l, nil
		}
	}
}

// look tries to read a batch. The reason is "" for a readable one.
func (s *skipping) look(f *batches.Found) *left {
	l := &left{first: f.First, last: f.Last, batch: f.Header, aborted: f.Aborted, epoch: min(f.LeaderEpoch, f.PresentEpoch)}
	if l.epoch < 0 {
		l.epoch = f.PresentEpoch // nothing is written in a later one
	}
	limit := batches.Limit(s.cfg.MaxParkedBytes)
	var tooLarge *batches.TooLarge
	switch _, err := f.Read(s.TopicPartition, limit); {
	case errors.As(err, &tooLarge):
		l.reason, l.why = delay.ReasonTooLargeToRead, fmt.Sprintf("it takes more than %d bytes decompressed, which LAYOVER_MAX_PARKED_BYTES allows a batch", limit)
	case err != nil:
		l.reason, l.why = delay.ReasonUnreadable, err.Error()
	}
	return l
}

// recordOf takes the record at the offset out of a readable batch. The policy for
// invalid records stopped there, and the records beside it are left alone.
func (s *skipping) recordOf(f *batches.Found, l *left) (*left, error) {
	records, err := f.Read(s.TopicPartition, batches.Limit(s.cfg.MaxParkedBytes))
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if r.Offset == s.offset {
			l.record, l.first, l.last, l.reason = r, r.Offset, r.Offset, delay.ReasonSkipped
			return l, nil
		}
	}
	return nil, fmt.Errorf("%s: no record is there; the next batch, of the offsets %d to %d, can be read", s.place, f.First, f.Last)
}

// believe checks the end that a damaged batch gives for itself: the next batch begins
// right there, or the log ends. Without that the skipped stretch would be a guess.
func (s *skipping) believe(ctx context.Context, p *partition, f *batches.Found) error {
	what := fmt.Errorf("%s: the batch at %d has no certain end: %w; copy the records behind it to another topic, or set the group's offset", s.place, f.First, f.Damage)
	if !errors.Is(f.Damage, batches.ErrChecksum) || f.First > s.offset || f.Last < s.offset {
		return what
	}
	for last := f.Last; last+1 != p.log.End; { // a bad sector may lie under several
		next, err := batches.At(ctx, s.brokers.Client, s.TopicPartition, last+1)
		switch {
		case errors.Is(err, kerr.OffsetOutOfRange) || errors.Is(err, batches.ErrNone):
			return what
		case err != nil:
			return s.brokers.Explain(err, fmt.Sprintf("reading at %s/%d@%d", s.Topic, s.Partition, last+1), "Read on topic "+s.Topic)
		case next.First != last+1 || next.Last < next.First:
			return what
		case next.Damage == nil:
			return nil
		case !errors.Is(next.Damage, batches.ErrChecksum):
			return what
		}
		last = next.Last
	}
	return nil
}

// open counts the records without an outcome, and fails where there is none.
func (s *skipping) open(ctx context.Context, p *partition, l *left) error {
	start, err := offsets.Resume(*p.committed, p.id.Identity, p.log)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", p, err)
	case errors.Is(start.Foreign, offsets.ErrOtherTopic):
		return fmt.Errorf("%s: the committed offset %d is of a topic of that name that was deleted: Layover reads this one from its start", p, p.committed.Offset)
	}
	l.start, l.window = start, offsets.NewWindow(start.Window.Low())
	start.Window.Each(func(from, to int64) bool { l.window.FinishRange(from, to); return true })
	if !start.Journal.IsZero() {
		known, _, err := p.readInto(ctx, s.brokers, p.begin(start.Incarnation, l.window, start.LeaderEpoch, start.Journal))
		if err != nil {
			l.unread = err
		} else {
			l.window = known.window
		}
	}
	if start.LeaderEpoch >= 0 {
		end, err := s.brokers.endOf(ctx, s.TopicPartition)(start.LeaderEpoch)
		if err != nil {
			return err
		}
		if end >= 0 && l.window.Highest() >= end {
			return fmt.Errorf("%s: the log was truncated at %d since, and offsets above count as finished that were written anew: "+
				"start Layover, which reads them, and run this when it has stopped again", s.place, end)
		}
	}
	if l.open = l.last + 1 - max(l.first, l.window.Low()) - between(l.window, l.first, l.last+1); l.open <= 0 {
		return fmt.Errorf("%s: it is finished already: there is nothing to skip", s.place)
	}
	if l.record == nil && l.batch.Damage == nil { // a damaged count of records may be as wrong
		l.open = min(l.open, max(l.batch.Records, 1))
	}
	return nil
}

// between counts the finished offsets above the low offset in a stretch.
func between(w *offsets.Window, from, to int64) (n int64) {
	w.EachFrom(from, func(a, b int64) bool {
		n += max(min(b, to)-max(a, from), 0)
		return b < to
	})
	return n
}
