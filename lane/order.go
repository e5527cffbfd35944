package lane

import (
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"
)

// order is something for the loop to do once, in the order in which orders came.
type order interface{ carryOut(l *Lane) }

// Orders.
type (
	assign struct{ assignment facts.Assigned }
	revoke struct {
		assignment offsets.Assignment
		lost       bool // the membership is gone: nothing to wait for, nothing to commit
		done       func()
	}
	stop      struct{ by time.Time }
	usable    struct{ topics []string }
	madeAgain struct {
		topic       string
		id          offsets.TopicID
		formerUntil time.Time // when the id before was last seen
	}
	journal struct { // the state of an ingress topic's journal
		topic string
		state purgatory.JournalState
	}
	written struct { // the answer to a journal's record
		assignment offsets.Assignment
		result     facts.Result
	}
	deleted struct { // the answer to a deletion of journal records
		what purgatory.JournalDelete
		err  error
	}
	final struct { // the answers to the last commit of an assignment
		of      *revoking
		results []offsets.CommitResult
	}
)

func (o assign) carryOut(l *Lane) {
	l.revokes(time.Now()) // an earlier assignment of it that is over goes first
	l.core.Assign(o.assignment)
	if l.cfg.Runs.Runs != nil {
		l.moves.openings.assigned(&o.assignment)
	}
	l.commits.hurry() // the start position is committed before the first delivery
}

func (o revoke) carryOut(l *Lane) {
	l.core.Revoke(o.assignment.TopicPartition, o.assignment.Epoch)
	l.moves.openings.revoked(o.assignment)
	r := &revoking{Assignment: o.assignment, lost: o.lost, done: o.done}
	if !o.lost {
		r.drainUntil = time.Now().Add(drainTimeout)
	}
	l.revoking = append(l.revoking, r)
}

func (o stop) carryOut(l *Lane) {
	now := time.Now()
	l.stop = stopping{asked: true, by: o.by, drainBy: now.Add(o.by.Sub(now) * 3 / 5)}
	l.commits.hurry()
	l.moves.openings.stop()
	l.in.drop()
}

func (o journal) carryOut(l *Lane) { l.core.Journals().Tell(o.topic, o.state) }

func (o usable) carryOut(l *Lane) {
	for _, topic := range o.topics {
		l.core.Usable(topic)
	}
}

func (o madeAgain) carryOut(l *Lane) {
	l.sayLost(l.core.MadeAgain(o.topic, o.id, o.formerUntil.Sub(l.began).Milliseconds()))
}

func (o written) carryOut(l *Lane) { l.core.Journals().Written(o.assignment, o.result) }

func (o deleted) carryOut(l *Lane) { l.core.Journals().Deleted(o.what, o.err) }

func (o final) carryOut(*Lane) { o.of.answered(o.results) }
