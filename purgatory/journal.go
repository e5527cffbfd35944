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

// journals has the state of the journals, and the requests to them.
type journals struct {
	states  map[string]JournalState // by ingress topic
	writes  []JournalWrite          // not taken yet
	deletes []JournalDelete         // not taken yet
	scratch []facts.Write
}

// cut asks for the writing of a partition's finished offsets: of all, or of those that
// have waited long enough.
func (j *journals) cut(p *partition, all bool, answeredMs int64) {
	if all && !p.Facts.Writing(p.cutFrom) {
		p.cutFrom = p.Facts.Seq()
	}
	j.want(p, p.Facts.Cut(j.scratch[:0], p.factsEpoch(), all, answeredMs))
}

// cutPart asks for the writing of the next part of a partition's snapshot.
func (j *journals) cutPart(p *partition) {
	j.want(p, p.Facts.CutPart(j.scratch[:0], p.factsEpoch()))
}

// want passes on the records that a partition wants written.
func (j *journals) want(p *partition, writes []facts.Write) {
	j.scratch = writes
	for _, w := range writes {
		j.writes = append(j.writes, JournalWrite{p.Assignment, w})
	}
}

// remove asks for the deletion of a partition's records below an offset.
func (j *journals) remove(p *partition, below int64) {
	j.deletes = append(j.deletes, JournalDelete{p.Assignment, below})
}

// Journal takes the state of an ingress topic's journal.
func (c *Core) Journal(topic string, s JournalState) {
	c.journals.states[topic] = s
	for _, p := range c.parts {
		if p != nil && !p.src.gone && p.Topic == topic {
			p.useJournal(s)
		}
	}
}

func (p *partition) useJournal(s JournalState) {
	if s.Usable {
		p.Facts.Use(s.TopicID, s.MaxBytes)
	} else {
		p.Facts.Stop(s.TopicID == offsets.TopicID{})
	}
	p.noteRewrite()
}

// noteRewrite makes the next commit say all that the journal has lost.
func (p *partition) noteRewrite() {
	if p.Facts.TakeRewrite() {
		p.commit.left, p.commit.dirty = p.Window.Above(), true
	}
}

// Cut asks for the writing of finished offsets to the journals, and of one part of one
// snapshot. With all, nothing is left to wait: that is for before a commit. more reports
// that other parts are to be written now. A partition without a journal is left out.
func (c *Core) Cut(all bool) (more bool) {
	part := true
	for _, p := range c.parts {
		if p == nil || p.src.gone {
			continue
		}
		c.journals.cut(p, all, c.now.AnsweredMs)
		if part && p.Facts.WantsPart() {
			c.journals.cutPart(p)
			part = false
		}
		more = more || p.Facts.WantsPart()
	}
	return more
}

// CutOf asks for the writing of all finished offsets of one assignment, and of all parts of
// its snapshot.
func (c *Core) CutOf(tp offsets.TopicPartition, epoch uint64) {
	p := c.find(tp, epoch)
	if p == nil {
		return
	}
	c.journals.cut(p, true, c.now.AnsweredMs)
	for p.Facts.WantsPart() { // at the end of an assignment: a pause of some milliseconds at most
		c.journals.cutPart(p)
	}
}

// GiveUp ends the waiting for the answers that Writing reports.
func (c *Core) GiveUp() {
	for _, p := range c.parts {
		if p != nil && !p.src.gone {
			p.cutFrom = p.Facts.Seq()
		}
	}
}

// Writing reports whether answers are owed to a Cut with all, and likely to come soon.
// After GiveUp a partition does not count until all its earlier writes are answered.
func (c *Core) Writing() bool {
	for _, p := range c.parts {
		if p != nil && !p.src.gone && p.Facts.Writing(p.cutFrom) {
			return true
		}
	}
	return false
}

// WritingOf reports whether any answer is owed to one assignment.
func (c *Core) WritingOf(tp offsets.TopicPartition, epoch uint64) bool {
	p := c.find(tp, epoch)
	return p != nil && p.Facts.Writing(0)
}

// Written takes the answer to a JournalWrite.
func (c *Core) Written(a offsets.Assignment, r facts.Result) {
	p := c.find(a.TopicPartition, a.Epoch)
	if p == nil {
		return
	}
	p.Facts.Written(r, c.now.AnsweredMs)
	p.noteRewrite()
	if r.Err != nil {
		c.NoteError("journal of "+p.Topic, r.Err.Error())
	} else {
		p.commit.dirty = true // the next commit names it
	}
	c.journals.cut(p, false, c.now.AnsweredMs)
}

// Deleted takes the answer to a JournalDelete.
func (c *Core) Deleted(d JournalDelete, err error) {
	if p := c.find(d.TopicPartition, d.Epoch); p != nil {
		p.Facts.Deleted(d.Below, err, c.now.AnsweredMs)
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
