package purgatory

import (
	"layover/facts"
	"layover/offsets"
)

// JournalState is what is known about the journal of an ingress topic.
type JournalState struct {
	Usable   bool            // it can be written to
	TopicID  offsets.TopicID // zero: it does not exist
	MaxBytes int             // of one record
}

// JournalWrite asks for a record to be appended to a partition's journal; the answer
// goes to Written. Those of one partition are appended in their order.
type JournalWrite struct {
	Tenure
	facts.Write
}

// JournalDelete asks for the records of a partition's journal below an offset to be
// deleted; the answer goes to Deleted.
type JournalDelete struct {
	Tenure
	Below int64
}

// journals has what is known of the journals, and what is to be written to them.
type journals struct {
	states  map[string]JournalState // by ingress topic
	writes  []JournalWrite          // not taken yet
	deletes []JournalDelete         // not taken yet
	scratch []facts.Write
}

// cut asks for the writing of what finished in a partition: of all, or of what has waited
// long enough.
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

// want passes on what a ledger wants written.
func (j *journals) want(p *partition, writes []facts.Write) {
	j.scratch = writes
	for _, w := range writes {
		j.writes = append(j.writes, JournalWrite{Tenure{p.TopicPartition, p.Epoch}, w})
	}
}

// remove asks for the deletion of a partition's records below an offset.
func (j *journals) remove(p *partition, below int64) {
	j.deletes = append(j.deletes, JournalDelete{Tenure{p.TopicPartition, p.Epoch}, below})
}

// Journal takes what is known about the journal of an ingress topic.
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

// noteRewrite notes that a commit has to say what the journal has not any more.
func (p *partition) noteRewrite() {
	if p.Facts.Anew() {
		p.commit.left, p.commit.dirty = p.Window.Above(), true
	}
}

// Cut asks for the writing of what finished and has to go to the journal: with all, of
// everything, which is for before a commit; and of one part of one snapshot. more says
// that there are other parts to be written now. Of a partition without a journal it
// asks nothing.
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

// CutOf is Cut with all for one tenure.
func (c *Core) CutOf(tp offsets.TopicPartition, epoch uint64) {
	p := c.find(tp, epoch)
	if p == nil {
		return
	}
	c.journals.cut(p, true, c.now.AnsweredMs)
	for p.Facts.WantsPart() { // at the end of a tenure: a pause of some milliseconds at most
		c.journals.cutPart(p)
	}
}

// GiveUp says that what was asked to be written is not waited for any more.
func (c *Core) GiveUp() {
	for _, p := range c.parts {
		if p != nil && !p.src.gone {
			p.cutFrom = p.Facts.Seq()
		}
	}
}

// Writing says whether answers are owed to what was asked for by Cut with all, and are
// likely to come soon: a partition that was given up is not waited for until all of
// before is answered.
func (c *Core) Writing() bool {
	for _, p := range c.parts {
		if p != nil && !p.src.gone && p.Facts.Writing(p.cutFrom) {
			return true
		}
	}
	return false
}

// WritingOf says whether any answer is owed to one tenure.
func (c *Core) WritingOf(tp offsets.TopicPartition, epoch uint64) bool {
	p := c.find(tp, epoch)
	return p != nil && p.Facts.Writing(0)
}

// Written takes the answer to a JournalWrite.
func (c *Core) Written(t Tenure, r facts.Result) {
	p := c.find(t.TopicPartition, t.Epoch)
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

// journalled is how much of what the last commit does not say is in the journal.
func (p *partition) journalled(s facts.Status) int64 {
	if s.Unwritten < 0 {
		return 0
	}
	return max(p.finished-p.commit.finishedSaid+p.commit.left-s.Unwritten, 0)
}
