package lane

import (
	"time"

	"layover/facts"
	"layover/offsets"
	"layover/purgatory"
)

// Journal appends records to the journals of ingress partitions.
type Journal interface {
	// Write appends without blocking, those of one partition in the order of the calls,
	// and calls done exactly once, from any goroutine.
	Write(tp offsets.TopicPartition, w facts.Write, done func(facts.Result))
	// Delete deletes the records below an offset, and calls done exactly once, from
	// another goroutine.
	Delete(tp offsets.TopicPartition, below int64, done func(error))
}

// journalWait is how long a commit waits for what finished before it to be in the
// journal. Where the journal has not answered to earlier records it does not wait.
const journalWait = 250 * time.Millisecond

// Journalled takes what is known about the journal of an ingress topic.
func (l *Lane) Journalled(topic string, s purgatory.JournalState) {
	l.box.put(func(m *mail) {
		m.orders = append(m.orders, func() { l.core.Journal(topic, s) })
	})
}

// journal carries out what the core wants written and deleted.
func (l *Lane) journal(e purgatory.Effects) {
	for _, w := range e.Writes {
		l.cfg.Journal.Write(w.TopicPartition, w.Write, func(r facts.Result) {
			l.box.put(func(m *mail) {
				m.orders = append(m.orders, func() { l.core.Written(w.Assignment, r) })
			})
		})
	}
	for _, d := range e.Deletes {
		l.cfg.Journal.Delete(d.TopicPartition, d.Below, func(err error) {
			l.box.put(func(m *mail) {
				m.orders = append(m.orders, func() { l.core.Deleted(d, err) })
			})
		})
	}
}

// settled says whether what finished has been written to the journal, so that a commit
// can name it, or will not be waited for any more. It has it written first.
func (l *Lane) settled(now time.Time) bool {
	if l.settleBy.IsZero() {
		l.core.Cut(true)
		l.effects()
		l.settleBy = now.Add(journalWait)
	}
	if l.core.Writing() {
		if now.Before(l.settleBy) {
			return false
		}
		l.core.GiveUp()
	}
	l.settleBy = time.Time{}
	return true
}

// settledOf is the same for a tenure on its way out.
func (l *Lane) settledOf(r *revoking, now time.Time) bool {
	if r.settleUntil.IsZero() {
		l.core.CutOf(r.TopicPartition, r.Epoch)
		l.effects()
		r.settleUntil = now.Add(settleTimeout)
	}
	return !l.core.WritingOf(r.TopicPartition, r.Epoch) || !now.Before(r.settleUntil)
}
