package purgatory

import (
	"layover/journal/facts"
	"layover/offsets"
)

// JournalState is the state of an ingress topic's journal.
type JournalState struct {
	Usable   bool            // it can be written to
	TopicID  offsets.TopicID // zero: it does not exist
	MaxBytes int             // of one record
}

// JournalWrite asks for a record to be appended to a partition's journal; the answer
// goes to Written. Those of one partition are appended in their order.
type JournalWrite struct {
	offsets.Assignment
	facts.Write
}

// JournalDelete asks for the records of a partition's journal below an offset to be
// deleted; the answer goes to Deleted.
type JournalDelete struct {
	offsets.Assignment
	Below int64
}

// Journals has the finished offsets of partitions written to the journals of their topics. Its
// owner is the core's.
type Journals struct {
	parts *partitions // the core's
	now   *Clock      // the core's
	stats *Stats      // the core's: here errors are kept

	states  map[string]JournalState // by ingress topic
	writes  []JournalWrite          // not taken yet
	deletes []JournalDelete         // not taken yet
	scratch []facts.Write
}

func newJournals(parts *partitions, now *Clock, stats *Stats) Journals {
	return Journals{parts: parts, now: now, stats: stats, states: make(map[string]JournalState)}
}

// Tell takes the state of an ingress topic's journal.
func (j *Journals) Tell(topic string, s JournalState) {
	j.states[topic] = s
	for p := range j.parts.here() {
		if p.Topic == topic {
			p.useJournal(s)
		}
	}
}

// ledger is a set that a partition's journal keeps.
type ledger struct {
	*facts.Writer
	leaderEpoch int32   // that its log is of
	cutFrom     *uint64 // number of the last record that is not waited for
}

// ledgers yields those of the partition's finished offsets and of its finished copies.
func (p *partition) ledgers(yield func(ledger) bool) {
	if yield(ledger{p.Facts, p.factsEpoch(), &p.cutFrom}) && p.moved.index != nil {
		if w := p.moved.index.Facts(); w != nil {
			yield(ledger{w, p.moved.index.LeaderEpoch(), &p.moved.cutFrom})
		}
	}
}

// Cut asks for the writing of finished offsets to the journals, and of one part of one
// snapshot. With all, nothing is left to wait: that is for before a commit. more reports
// that other parts are to be written now. A partition without a journal is left out.
func (j *Journals) Cut(all bool) (more bool) {
	part := true
	for p := range j.parts.here() {
		j.cut(p, all)
		for l := range p.ledgers {
			if part && l.WantsPart() {
				j.cutPart(p, l)
				part = false
			}
			more = more || l.WantsPart()
		}
	}
	return more
}

// CutOf asks for the writing of all finished offsets of one assignment, and of all parts of
// its snapshots.
func (j *Journals) CutOf(tp offsets.TopicPartition, epoch uint64) {
	p := j.parts.find(tp, epoch)
	if p == nil {
		return
	}
	j.cut(p, true)
	for l := range p.ledgers {
		for l.WantsPart() { // at the end of an assignment: a pause of some milliseconds at most
			j.cutPart(p, l)
		}
	}
}

// GiveUp ends the waiting for the answers that Writing reports.
func (j *Journals) GiveUp() {
	for p := range j.parts.here() {
		for l := range p.ledgers {
			*l.cutFrom = l.Seq()
		}
	}
}

// Writing reports whether answers are owed to a Cut with all, and likely to come soon.
// After GiveUp a partition does not count until all its earlier writes are answered.
func (j *Journals) Writing() bool {
	return j.parts.some(func(p *partition) bool {
		for l := range p.ledgers {
			if l.Writing(*l.cutFrom) {
				return true
			}
		}
		return false
	})
}

// WritingOf reports whether any answer is owed to one assignment.
func (j *Journals) WritingOf(tp offsets.TopicPartition, epoch uint64) bool {
	p := j.parts.find(tp, epoch)
	if p == nil {
		return false
	}
	for l := range p.ledgers {
		if l.Writing(0) {
			return true
		}
	}
	return false
}

// Written takes the answer to a JournalWrite.
func (j *Journals) Written(a offsets.Assignment, r facts.Result) {
	p := j.parts.find(a.TopicPartition, a.Epoch)
	if p == nil {
		return
	}
	for l := range p.ledgers {
		if l.Owns(r.Seq) {
			l.Writer.Written(r, j.now.AnsweredMs)
		}
	}
	p.noteRewrite()
	if r.Err != nil {
		j.stats.noteError("journal of "+p.Topic, r.Err.Error())
	} else {
		p.commit.dirty = true // the next commit names it
	}
	j.cut(p, false)
}

// Deleted takes the answer to a JournalDelete.
func (j *Journals) Deleted(d JournalDelete, err error) {
	if p := j.parts.find(d.TopicPartition, d.Epoch); p != nil {
		p.Facts.Deleted(d.Below, err, j.now.AnsweredMs)
	}
}

// cut asks for the writing of a partition's finished offsets: of all, or of those that
// have waited long enough.
func (j *Journals) cut(p *partition, all bool) {
	for l := range p.ledgers {
		if all && !l.Writing(*l.cutFrom) {
			*l.cutFrom = l.Seq()
		}
		j.want(p, l.Cut(j.scratch[:0], l.leaderEpoch, all, j.now.AnsweredMs))
	}
}

// cutPart asks for the writing of the next part of a snapshot.
func (j *Journals) cutPart(p *partition, l ledger) {
	j.want(p, l.CutPart(j.scratch[:0], l.leaderEpoch))
}

// want passes on the records that a partition wants written.
func (j *Journals) want(p *partition, writes []facts.Write) {
	j.scratch = writes
	for _, w := range writes {
		j.writes = append(j.writes, JournalWrite{p.Assignment, w})
	}
}

// remove asks for the deletion of a partition's records below an offset.
func (j *Journals) remove(p *partition, below int64) {
	j.deletes = append(j.deletes, JournalDelete{p.Assignment, below})
}

func (p *partition) useJournal(s JournalState) {
	for l := range p.ledgers {
		if s.Usable {
			l.Use(s.TopicID, s.MaxBytes)
		} else {
			l.Stop(s.TopicID == offsets.TopicID{})
		}
	}
	p.noteRewrite()
}

// noteRewrite makes the next commit say all that the journal has lost.
func (p *partition) noteRewrite() {
	if p.Facts.TakeRewrite() {
		p.commit.left, p.commit.dirty = p.Window.Above(), true
	}
	if m := &p.moved; m.index != nil && m.index.Facts() != nil && m.index.Facts().TakeRewrite() {
		p.commit.dirty = true
	}
}

// journalled counts the finished offsets that the last commit leaves out and the journal
// has.
func (p *partition) journalled(s facts.Status) int64 {
	if s.Unwritten < 0 {
		return 0
	}
	return max(p.finished-p.commit.finishedSaid+p.commit.left-s.Unwritten, 0)
}
