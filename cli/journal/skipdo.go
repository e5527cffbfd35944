package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/process"
	"layover/delay"
	"layover/offsets"
	"layover/producer"
)

// sayPlan prints the batch or record that is left out, its dead letter and the commit.
func (s *skipping) sayPlan(p *partition, l *left, lettered bool) {
	if s.json {
		return
	}
	if l.record == nil {
		s.say("%s: leaves out the batch of the offsets %d to %d: %s\n", s.place, l.first, l.last, l.why)
		s.say("  it says that it has %s, and takes %s with %s, of leader epoch %d\n", count(l.batch.Records, "record"), count(int64(l.batch.Bytes), "byte"), l.batch.Codec, l.epoch)
	} else {
		s.say("%s: leaves out this record alone, as its batch can be read: %s, written %s\n", s.place, count(int64(len(l.record.Value)), "byte"), process.Clock(l.record.Timestamp))
	}
	switch {
	case l.aborted:
		s.say("  writes no dead letter: its transaction was aborted, and nobody is to read it\n")
	case lettered && l.record == nil:
		s.say("  writes one dead letter to %s, without content, for %s without an outcome: reason %s\n", s.cfg.DLQTopic, count(l.open, "record"), l.reason)
	case lettered:
		s.say("  writes it to %s: reason %s\n", s.cfg.DLQTopic, l.reason)
	default:
		s.say("  writes no dead letter: %s without an outcome is dropped\n", count(l.open, "record"))
	}
	set, enc := s.encode(p, l, offsets.MaxMetadata)
	s.say("  commits offset %d in place of %d, with %d of the offsets finished above\n", set.Low(), p.committed.Offset, enc.Covered)
	if gone := unsaid(l, set, enc); gone > 0 {
		s.say("  finished offsets that do not fit beside it, and are delivered again: %d\n", gone)
	}
	if l.unread != nil {
		s.say("  the journal's records are not known here, and still named: %v\n", l.unread)
	}
}

// letter writes the dead letter, and returns when all in-sync replicas have it.
func (s *skipping) letter(ctx context.Context, l *left) error {
	cl, err := kgo.NewClient(append(slices.Clip(s.brokers.Opts), kgo.ProducerBatchMaxBytes(64<<20), kgo.RecordDeliveryTimeout(produceTimeout))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	r := s.letterOf(l, time.Now())
	err = cl.ProduceSync(ctx, r).FirstErr()
	if producer.Classify(err) == producer.TooLarge && r.Value != nil { // the rule of members
		r.Value, r.Headers = nil, delay.AppendDropped(r.Headers)
		err = cl.ProduceSync(ctx, r).FirstErr()
	}
	if err != nil {
		return fmt.Errorf("%w; nothing was committed", s.brokers.Explain(err, "dead letter to "+s.cfg.DLQTopic, "Write on topic "+s.cfg.DLQTopic))
	}
	return nil
}

// produceTimeout is for the one dead letter.
const produceTimeout = 30 * time.Second

// letterOf makes the same dead letter as a member.
func (s *skipping) letterOf(l *left, now time.Time) *kgo.Record {
	origin := delay.Origin{Topic: s.Topic, Partition: s.Partition, Offset: l.first}
	inv := delay.Invalid{Reason: l.reason, Message: fmt.Sprintf("%s/%d@%d: left out by an operator with layover skip", s.Topic, s.Partition, l.first)}
	out := &kgo.Record{Topic: s.cfg.DLQTopic, Timestamp: now}
	if l.record != nil {
		out.Key, out.Value = l.record.Key, l.record.Value
		out.Headers = delay.AppendErrors(nil, l.record.Headers, origin, s.cfg.GroupID, inv, now.UnixMilli())
		return out
	}
	inv.Message += ": " + l.why
	out.Headers = delay.AppendErrors(nil, nil, origin, s.cfg.GroupID, inv, now.UnixMilli())
	out.Headers = delay.AppendBatch(out.Headers, l.last, l.open)
	return out
}

// commit commits the finished set with the skipped stretch, unless somebody else has
// committed meanwhile. A crash before it repeats the letter.
func (s *skipping) commit(ctx context.Context, p *partition, l *left) error {
	now, err := s.brokers.Committed(ctx, s.cfg.GroupID)
	if err != nil {
		return err
	}
	if was := now[s.TopicPartition]; was != *p.committed {
		return fmt.Errorf("%s: its offset has changed meanwhile, from %d to %d: left alone", p, p.committed.Offset, was.Offset)
	}
	for limit := offsets.MaxMetadata; limit >= minMetadata; limit /= 2 {
		set, enc := s.encode(p, l, limit)
		if enc.Metadata == "" {
			break
		}
		err := s.brokers.commit(ctx, s.cfg.GroupID, s.TopicPartition, offsets.Committed{Offset: set.Low(), LeaderEpoch: l.commitEpoch(), Metadata: enc.Metadata})
		if !errors.Is(err, kerr.OffsetMetadataTooLarge) {
			return err
		}
	}
	return errors.New("the brokers take too little metadata with an offset: raise offset.metadata.max.bytes to 4096, Kafka's default")
}

// commitEpoch is the leader epoch up to which the committed set is about this log.
func (l *left) commitEpoch() int32 {
	if l.start.LeaderEpoch < 0 && l.start.Window.Above() > 0 {
		return -1 // nobody knows the epochs of the finished offsets
	}
	return max(l.start.LeaderEpoch, l.epoch)
}

// encode makes the committed set: the old metadata and the skipped stretch. The records
// of the journal stay named, so that their offsets need no place in the metadata.
//
// Commands in the skipped stretch were none, so they do not count again where reading
// stopped right there. All commands do where a finished offset is left out.
func (s *skipping) encode(p *partition, l *left, limit int) (*offsets.Window, offsets.Encoded) {
	ext := l.start.Extension
	if ext.Again == l.first {
		ext.Again = l.last + 1
	}
	set, enc := s.fit(p, l, ext, limit)
	if ext.Again > 0 && unsaid(l, set, enc) > 0 {
		ext.Again = 0
		set, enc = s.fit(p, l, ext, limit)
	}
	return set, enc
}

// fit encodes as much of the set as the limit allows. Where room is short, the runs right
// below the stretch go: without the stretch itself the partition would stop again.
func (s *skipping) fit(p *partition, l *left, ext offsets.Extension, limit int) (*offsets.Window, offsets.Encoded) {
	runs := 0
	l.start.Window.Each(func(int64, int64) bool { runs++; return true })
	for {
		set := l.with(runs)
		enc := offsets.Encode(set, p.id.Identity, ext, limit)
		if runs == 0 || enc.Metadata == "" || enc.Covered >= between(set, set.Low(), l.last+1) {
			return set, enc
		}
		runs /= 2
	}
}

// with returns the set of the old commit and the skipped stretch. Of the runs below it,
// only the first few are taken.
func (l *left) with(runs int) *offsets.Window {
	set := offsets.NewWindow(l.start.Window.Low())
	l.start.Window.Each(func(from, to int64) bool {
		if runs--; runs >= 0 || from > l.last {
			set.FinishRange(from, to)
		}
		return true
	})
	set.FinishRange(l.first, l.last+1)
	return set
}

// unsaid counts the finished offsets of the old commit that are not in the new one.
func unsaid(l *left, set *offsets.Window, enc offsets.Encoded) int64 {
	all := l.with(l.start.Window.Runs())
	return all.Low() + all.Above() - set.Low() - enc.Covered
}

// skipFacts is the one object of -o json. The names are documented.
type skipFacts struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"` // as it was asked for
	What        string `json:"what"`   // batch or record
	First       int64  `json:"first_offset"`
	Last        int64  `json:"last_offset"`
	Records     int64  `json:"records"` // without an outcome
	Bytes       int    `json:"bytes"`   // of the batch in the log
	Codec       string `json:"codec"`
	LeaderEpoch int32  `json:"leader_epoch"`
	Aborted     bool   `json:"aborted"`
	Reason      string `json:"reason"`
	Problem     string `json:"problem"` // for people
	DeadLetter  string `json:"dead_letter_topic"`
	Done        bool   `json:"done"`
}

// conclude prints the result. err is why it cannot be done now.
func (s *skipping) conclude(l *left, lettered bool, err error) error {
	done := s.execute && err == nil
	switch {
	case s.json:
		f := skipFacts{
			Topic: s.Topic, Partition: s.Partition, Offset: s.offset, What: "record", First: l.first, Last: l.last, Records: l.open,
			Bytes: l.batch.Bytes, Codec: l.batch.Codec.String(), LeaderEpoch: l.epoch, Aborted: l.aborted, Reason: string(l.reason), Problem: l.why, Done: done,
		}
		if l.record == nil {
			f.What = "batch"
		}
		if lettered {
			f.DeadLetter = s.cfg.DLQTopic
		}
		s.object(f)
	case done:
		s.say("Done: Layover goes on behind it.\n")
	case err == nil:
		s.say("Dry run: nothing was done. With --execute it is skipped.\n")
	}
	return err
}
