package journal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"layover/cli/process"
	"layover/journal/facts"
	"layover/offsets"
)

// maxLives bounds the windows of one journal. A partition has more incarnations only
// where its offset was set, or lost, as often.
const maxLives = 16

// shown is one journal on its way past. Its memory is that of the lives.
type shown struct {
	p       *partition
	tally   tally
	lives   []*life // in the order of their first records, the commit's first
	more    int64   // records of lives for which there was no room
	start   offsets.Start
	current *life // in lives too; nil: no commit, or one without a life
}

// show prints one partition.
func (c *command) show(ctx context.Context, p *partition) error {
	s := &shown{p: p}
	commit := s.commit()
	empty := p.records.Start >= p.records.Stable && s.start.Journal.IsZero()
	if c.json {
		c.object(s.partitionFacts(commit))
	} else {
		c.say("%s", s.heading(commit, empty))
	}
	if p.absent || empty {
		return nil
	}
	endOf, endOfRuns := c.brokers.endOf(ctx, p.TopicPartition), c.brokers.endOf(ctx, p.runs)
	p.copied = p.beginCopies(s.start.Runs)
	err := p.scan(ctx, c.brokers, func(e *entry) error {
		if c.json {
			c.object(p.recordFacts(e, c.runs))
		} else {
			c.say("  %s\n", e.text(c.runs))
		}
		s.tally.add(e, p.id.Group)
		if e.ofCopies() {
			p.copied.add(e, endOfRuns)
		}
		if e.ours() {
			if l := s.life(e.said.Incarnation); l != nil {
				l.add(e, endOf)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	c.showSums(s)
	return nil
}

// heading is the text about a partition before its records.
func (s *shown) heading(commit string, empty bool) string {
	p := s.p
	switch {
	case p.absent:
		return fmt.Sprintf("%s: journal topic %s has no partition %d yet: Layover adds it when it runs; %s\n", p, p.journal.Topic, p.Partition, commit)
	case empty:
		return fmt.Sprintf("%s: journal %s/%d is empty, as is normal while the finished set fits into commit metadata; %s\n", p, p.journal.Topic, p.Partition, commit)
	}
	return fmt.Sprintf("%s: journal %s/%d, log start %d, end %d\n  %s\n", p, p.journal.Topic, p.Partition, p.records.Start, p.records.Stable, commit)
}

// showSums prints the sums of all records of a journal.
func (c *command) showSums(s *shown) {
	if c.json {
		c.object(s.totalFacts())
		for _, l := range s.lives {
			c.object(s.lifeFacts(l))
		}
		if s.tally.copies > 0 {
			c.object(s.copiesFacts())
		}
		return
	}
	c.say("  %s\n", s.tally.text())
	for _, l := range s.lives {
		c.say("  %s\n", s.sum(l))
	}
	if s.more > 0 {
		c.say("  more incarnations: %s of them are not summed up\n", count(s.more, "record"))
	}
	if s.tally.copies > 0 {
		c.say("  %s\n", s.sumCopies())
	}
}

// sumCopies describes the finished copies.
func (s *shown) sumCopies() string {
	l := s.p.copied
	if l.err != nil {
		return fmt.Sprintf("copies in runs: not known: %v", l.err)
	}
	text := fmt.Sprintf("copies in runs: %s, of %s", finished(l.window), count(l.records, "record"))
	if s.start.Runs.Journal.IsZero() || s.start.Runs.TopicID != s.p.runsID {
		return text + "; the commit names none of them"
	}
	if wrong := l.reader.Complain(s.p.journalID, s.p.records.Start, s.p.records.Stable); wrong != nil {
		return text + fmt.Sprintf("; a restart misses some of what the commit names: %v", wrong)
	}
	return text + "; a restart finds all that the commit names"
}

// life returns the life of an incarnation, nil if there is no room for another one.
func (s *shown) life(incarnation uint64) *life {
	for _, l := range s.lives {
		if l.incarnation == incarnation {
			return l
		}
	}
	if len(s.lives) == maxLives {
		s.more++
		return nil
	}
	l := s.p.begin(incarnation, offsets.NewWindow(0), -1, offsets.JournalRange{})
	s.lives = append(s.lives, l)
	return l
}

// commit describes the group's commit, and begins its life.
func (s *shown) commit() string {
	p := s.p
	if p.committed == nil {
		return "commit: none"
	}
	text := fmt.Sprintf("commit: offset %d, leader epoch %d", p.committed.Offset, p.committed.LeaderEpoch)
	l, start, err := p.current()
	switch {
	case err != nil:
		return fmt.Sprintf("%s, from which Layover would not go on: %v", text, err)
	case start.Foreign != nil:
		return fmt.Sprintf("%s, metadata that does not count: %v", text, start.Foreign)
	case start.Incarnation == 0 && start.Window.Above() == 0:
		return text + ", which names no incarnation: no record of the journal counts"
	case start.Incarnation == 0:
		return fmt.Sprintf("%s, which names no incarnation: no record of the journal counts; its metadata has %d finished above", text, start.Window.Above())
	}
	s.start, s.current, s.lives = start, l, append(s.lives, l)
	text = fmt.Sprintf("%s, incarnation %016x, names %s; its metadata has %d finished above", text, start.Incarnation, p.named(start.Journal), start.Window.Above())
	if !start.Runs.IsZero() {
		text += "; " + p.saidRuns(start.Runs)
	}
	return text
}

// named describes the records that a commit names.
func (p *partition) named(j offsets.JournalRange) string {
	switch {
	case j.IsZero():
		return "no record"
	case j.TopicID != p.journalID:
		return fmt.Sprintf("the records from %d to %d of a journal with topic id %x, this one has %x", j.From, j.To, j.TopicID, p.journalID)
	}
	return fmt.Sprintf("the records from %d to %d", j.From, j.To)
}

// saidRuns describes what a commit says of the copies in the runs topic.
func (p *partition) saidRuns(r offsets.RunsState) string {
	text := "what it says of runs cannot be read"
	if r.TopicID != (offsets.TopicID{}) {
		text = fmt.Sprintf("its runs are in the topic with id %x, seen up to leader epoch %d: copies below %d are finished", r.TopicID, r.LeaderEpoch, r.Low)
		switch {
		case r.Known == r.Low:
		case r.DueMs == math.MaxInt64:
			text += fmt.Sprintf(", and all of them below %d", r.Known)
		default:
			text += fmt.Sprintf(", and those due by %s below %d", process.Clock(time.UnixMilli(r.DueMs)), r.Known)
		}
		if r.DirectoryEnd > 0 {
			text += fmt.Sprintf(", the last directory is at %d", r.DirectoryEnd-1)
		}
		text += ", more finished ones are in " + p.named(r.Journal)
	}
	if r.Holds {
		text += ", and an older release must not read the partition"
	}
	return text
}

// sum describes a life.
func (s *shown) sum(l *life) string {
	text := fmt.Sprintf("incarnation %016x: ", l.incarnation)
	if l.err != nil {
		text += fmt.Sprintf("not known: %v", l.err)
	} else {
		text += fmt.Sprintf("%s, of %s", finished(l.window), count(l.records, "record"))
	}
	if l != s.current {
		return text
	}
	text += "; the commit is of it, "
	switch wrong := l.reader.Complain(s.p.journalID, s.p.records.Start, s.p.records.Stable); {
	case s.tally.newer > 0 || errors.Is(l.err, facts.ErrTruncated):
		return text + "and a restart with this release may not read the partition"
	case l.err != nil:
		return text + "and the offsets that a restart finds are not known"
	case s.start.Journal.IsZero():
		return text + "and needs no record"
	case wrong != nil:
		return text + fmt.Sprintf("and a restart misses some of it: %v", wrong)
	}
	return text + "and a restart finds all that it names"
}
