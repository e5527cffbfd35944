package lane

import (
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// revoking is an assignment on its way out: nothing more is offered, records in flight are
// waited for, finished ones committed, and the rest forgotten.
type revoking struct {
	offsets.Assignment
	drainUntil  time.Time
	settleUntil time.Time // zero: it still drains
	commitUntil time.Time // zero: it still drains
	committing  bool      // an answer to the final commit is owed
	retryAt     time.Time
	gone        int  // refusals in a row that say that the topic is gone
	lost        bool // the membership is gone: nothing to wait for, nothing to commit
	done        func()
}

// Assign takes a partition. It comes before the first Fetched of its assignment.
func (l *Lane) Assign(a facts.Assigned) { l.box.order(assign{a}) }

// Fetched takes the records of a poll as they are: the loop copies those that it keeps
// and lets the rest go. It returns false, and has taken nothing, when the lane
// has ended.
func (l *Lane) Fetched(a offsets.Assignment, records []*kgo.Record, bytes int64) bool {
	return l.box.put(func(m *mail) { m.fetched = append(m.fetched, fetched{assignment: a, records: records, bytes: bytes}) })
}

// LogStart says that a partition's log begins at start now. It waits its turn
// behind earlier records: those are here, whatever the log lost.
func (l *Lane) LogStart(a offsets.Assignment, start int64) {
	l.box.put(func(m *mail) { m.fetched = append(m.fetched, fetched{assignment: a, logStart: start}) })
}

// Unread takes a batch that is not read, in place of its records. It waits its turn
// as they would.
func (l *Lane) Unread(a offsets.Assignment, b offsets.UnreadBatch) {
	l.box.put(func(m *mail) { m.fetched = append(m.fetched, fetched{assignment: a, unread: &b}) })
}

// Revoke begins the end of an assignment and calls done when it is over: drained,
// committed and forgotten, after 9 s at most.
func (l *Lane) Revoke(a offsets.Assignment, done func()) { l.leave(revoke{assignment: a, done: done}) }

// Lost ends an assignment whose membership is gone: nothing of it can be committed.
func (l *Lane) Lost(a offsets.Assignment, done func()) {
	l.leave(revoke{assignment: a, lost: true, done: done})
}

func (l *Lane) leave(o revoke) {
	if !l.box.order(o) {
		o.done()
	}
}

// Poke wakes the loop, because something that it asks about has changed.
func (l *Lane) Poke() { l.box.poke() }

// Usable takes the news that topics can be used again, which is told once for each outage.
func (l *Lane) Usable(topics []string) { l.box.order(usable{topics}) }

// MadeAgain takes the id of an ingress topic that was deleted and made again, and when the former id was
// last seen. It comes before the end of its assignments that follows from it.
func (l *Lane) MadeAgain(topic string, id offsets.TopicID, formerUntil time.Time) {
	l.box.order(madeAgain{topic, id, formerUntil})
}

// Stop ends the loop by the given time. Nothing more is read or offered;
// records in flight are waited for, and finished ones are committed.
func (l *Lane) Stop(by time.Time) { l.box.order(stop{by}) }

// revokes moves each assignment that is on its way out one step on.
func (l *Lane) revokes(now time.Time) {
	if len(l.revoking) == 0 {
		return
	}
	kept := l.revoking[:0]
	var over []*revoking
	for _, r := range l.revoking {
		if l.over(r, now) {
			over = append(over, r)
		} else {
			kept = append(kept, r)
		}
	}
	clear(l.revoking[len(kept):])
	l.revoking = kept
	l.forget(over)
}

// forget ends assignments, in one pass for all: the pass goes over all that is parked.
func (l *Lane) forget(over []*revoking) {
	assignments := make([]offsets.Assignment, len(over))
	for i, r := range over {
		assignments[i] = r.Assignment
	}
	l.sayLost(l.core.Sweep(assignments...))
	for _, r := range over {
		r.done()
		l.seen.note(true)
	}
}

// sayLost logs what is lost with a topic that was made again.
func (l *Lane) sayLost(losses []purgatory.Loss) {
	for _, lost := range losses {
		l.cfg.Log.Error("the topic was made again while records of it were parked: they are lost", "topic", lost.Topic, "records", lost.Offsets)
	}
}

// over says whether an assignment may be forgotten, and sends its final commit first.
func (l *Lane) over(r *revoking, now time.Time) bool {
	if r.lost {
		return true
	}
	if r.commitUntil.IsZero() {
		if l.core.Draining(r.TopicPartition, r.Epoch) > 0 && now.Before(r.drainUntil) {
			return false
		}
		if !l.commits.settledOf(r, now) {
			return false
		}
		r.commitUntil = now.Add(commitTimeout)
	}
	if !r.committing && !now.Before(r.retryAt) {
		commit, ok := l.core.Final(r.TopicPartition, r.Epoch)
		if !ok {
			return true // all is said
		}
		r.committing = true
		l.commits.send([]offsets.Commit{commit}, r)
	}
	return r.lost || now.After(r.commitUntil)
}

// goneBelieved is the number of refusals in a row that make a topic gone: one may be of a
// coordinator that has just started.
const goneBelieved = 2

// answered takes the answer to a final commit: a refusal that another try may mend
// is followed by one.
func (r *revoking) answered(results []offsets.CommitResult) {
	r.committing = false
	for _, c := range results {
		if c.Err != nil {
			r.retryAt = time.Now().Add(soon)
		}
		if r.gone++; !c.Gone {
			r.gone = 0
		}
		r.lost = r.lost || c.Fenced || c.Hopeless || r.gone >= goneBelieved // others wait for the end of this assignment
	}
}

// stopped says whether a stopping loop may end.
func (l *Lane) stopped(now time.Time) bool {
	if !now.Before(l.stop.by) {
		return true
	}
	return !l.stop.drains(now, l.core.Owed()) && !l.core.Dirty() && !l.core.Committing() && !l.core.Journals().Writing() && len(l.revoking) == 0
}

// abandon answers everybody who still waits when the loop has ended.
func (l *Lane) abandon() {
	left := l.box.close()
	for _, o := range left.orders {
		o.carryOut(l)
	}
	l.forget(l.revoking)
	l.in.fetched = append(l.in.fetched, left.fetched...)
	l.in.drop()
	l.seen.publish(l.core, time.Now())
}
