package lane

import (
	"time"

	"layover/offsets"
	"layover/purgatory"
)

// commits sends commits, at their interval, and takes the answers.
type commits struct {
	core      *purgatory.Core
	committer Committer
	carrier   *carrier
	box       *mailbox
	cfg       *Config

	next        time.Time // when the next one may go
	settleBy    time.Time // one waits for the journal until then; zero: none does
	refusals    int       // in a row
	refusalSaid time.Time
}

// journalWait is how long a commit waits until earlier finished offsets are in the
// journal. Where the journal has not answered to earlier records it does not wait.
const journalWait = 250 * time.Millisecond

// hurry lets the next commit go at once.
func (c *commits) hurry() { c.next = time.Time{} }

// turn commits the offsets finished since the last commit, every interval, and sooner
// while a partition waits for a commit before it may deliver. Before a stop nothing is
// repeated.
func (c *commits) turn(now time.Time, stop *stopping, wake *alarm) {
	drains := stop.drains(now, c.core.Owed())
	if now.Before(c.next) || drains || !c.core.Dirty() && (stop.asked || !c.core.Repeating()) {
		c.settleBy = time.Time{} // or the loop would not sleep
	} else if c.settled(now) {
		c.commit(now, stop)
	}
	switch {
	case !c.settleBy.IsZero():
		wake.by(c.settleBy)
	case !drains && c.core.Dirty():
		wake.by(c.next)
	}
}

// commit sends a commit of each partition with news.
func (c *commits) commit(now time.Time, stop *stopping) {
	batch := c.core.Commits(nil, false)
	if len(batch) == 0 {
		return
	}
	c.next = now.Add(c.cfg.CommitInterval)
	if stop.asked {
		c.next = now.Add(soon)
	}
	c.send(batch, nil)
}

// settled has finished offsets written to the journal, so that a commit can name the
// record. It reports whether they are, or are not waited for any more.
func (c *commits) settled(now time.Time) bool {
	if c.settleBy.IsZero() {
		c.core.Journals().Cut(true)
		c.carrier.carryOut()
		c.settleBy = now.Add(journalWait)
	}
	if c.core.Journals().Writing() {
		if now.Before(c.settleBy) {
			return false
		}
		c.core.Journals().GiveUp()
	}
	c.settleBy = time.Time{}
	return true
}

// settledOf is the same for an assignment on its way out.
func (c *commits) settledOf(r *revoking, now time.Time) bool {
	if r.settleUntil.IsZero() {
		c.core.Journals().CutOf(r.TopicPartition, r.Epoch)
		c.carrier.carryOut()
		r.settleUntil = now.Add(settleTimeout)
	}
	return !c.core.Journals().WritingOf(r.TopicPartition, r.Epoch) || !now.Before(r.settleUntil)
}

// send sends commits. Their answers go into the mail with how long they took. of is the
// assignment whose final commit it is, and hears of the answer by an order; nil: of none.
func (c *commits) send(batch []offsets.Commit, of *revoking) {
	began := time.Now()
	c.committer.Commit(batch, func(results []offsets.CommitResult) {
		took := time.Since(began).Milliseconds()
		for i := range results {
			results[i].TookMs = took
		}
		c.box.put(func(m *mail) {
			m.committed = append(m.committed, results...)
			if of != nil {
				m.orders = append(m.orders, final{of, results})
			}
		})
	})
}

// answered takes one answer. After a refusal the next try comes soon, because
// deliveries may be waiting for it; one that lasts is said.
func (c *commits) answered(r offsets.CommitResult) {
	c.core.Committed(r)
	if r.Err == nil {
		if !c.core.Unconfirmed() { // or one partition that is refused would be tried without end at the first pause
			c.refusals = 0
		}
		return
	}
	log := c.cfg.Log
	log.Debug("commit refused", "topic", r.Topic, "partition", r.Partition, "offset", r.Low, "err", r.Err)
	now := time.Now()
	if c.refusals++; c.refusals >= refusalsToSay && now.Sub(c.refusalSaid) >= sayEvery {
		c.refusalSaid = now
		c.core.NoteError("commit of "+r.Topic, r.Err.Error())
		log.Warn("commits are refused; without one a new assignment delivers nothing", "topic", r.Topic, "partition", r.Partition, "err", r.Err)
	}
	if c.core.Unconfirmed() {
		// No longer than the interval: the others of the lane have something to commit.
		c.next = now.Add(min(soon<<min(c.refusals/8, 5), maxRefusalPause, max(c.cfg.CommitInterval, soon)))
	}
}
