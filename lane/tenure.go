package lane

import (
	"time"

	"layover/facts"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// revoking is a tenure on its way out: nothing more is offered, what is in flight
// is waited for, what is finished committed, and the rest forgotten.
type revoking struct {
	offsets.Assignment
	drainUntil  time.Time
	settleUntil time.Time // zero: it still drains
	commitUntil time.Time // zero: it still drains
	committing  bool      // an answer to the final commit is owed
	retryAt     time.Time
	lost        bool // the membership is gone: nothing to wait for, nothing to commit
	done        func()
}

// Assign takes a partition. It comes before the first Fetched of its tenure.
func (l *Lane) Assign(a facts.Assigned) {
	l.box.put(func(m *mail) {
		m.orders = append(m.orders, func() {
			l.revokes(time.Now()) // an earlier tenure of it that is over goes first
			l.core.Assign(a)
			l.nextCommit = time.Time{} // the start position is committed before the first delivery
		})
	})
}

// Fetched hands over what a poll returned, as it is: the loop copies what it keeps
// and lets the rest go. It returns false, and has taken nothing, when the lane
// has ended.
func (l *Lane) Fetched(t offsets.Assignment, records []*kgo.Record, bytes int64) bool {
	return l.box.put(func(m *mail) { m.fetched = append(m.fetched, fetched{tenure: t, records: records, bytes: bytes}) })
}

// LogStart says that a partition's log begins at start now. It waits its turn
// behind what was fetched before: those records are here, whatever the log lost.
func (l *Lane) LogStart(t offsets.Assignment, start int64) {
	l.box.put(func(m *mail) { m.fetched = append(m.fetched, fetched{tenure: t, logStart: start}) })
}

// Unread hands over a batch that is not read, in place of its records; its Body is the
// lane's to fill in. It waits its turn as they would.
func (l *Lane) Unread(t offsets.Assignment, b purgatory.Batch) {
	b.Body = &body{record: new(kgo.Record)} // key and value are null
	l.box.put(func(m *mail) { m.fetched = append(m.fetched, fetched{tenure: t, unread: &b}) })
}

// Revoke begins the end of a tenure and calls done when it is over: drained,
// committed and forgotten, after 9 s at most.
func (l *Lane) Revoke(t offsets.Assignment, done func()) {
	ok := l.box.put(func(m *mail) {
		m.orders = append(m.orders, func() {
			l.core.Revoke(t.TopicPartition, t.Epoch)
			l.revoking = append(l.revoking, &revoking{Assignment: t, drainUntil: time.Now().Add(drainTimeout), done: done})
		})
	})
	if !ok {
		done()
	}
}

// Lost ends a tenure whose membership is gone: nothing of it can be committed.
func (l *Lane) Lost(t offsets.Assignment, done func()) {
	ok := l.box.put(func(m *mail) {
		m.orders = append(m.orders, func() {
			l.core.Revoke(t.TopicPartition, t.Epoch)
			l.revoking = append(l.revoking, &revoking{Assignment: t, lost: true, done: done})
		})
	})
	if !ok {
		done()
	}
}

// Poke wakes the loop, because something that it asks about has changed.
func (l *Lane) Poke() { l.box.poke() }

// Stop ends the loop: nothing more is read or offered, what is in flight is
// waited for, what is finished committed, all of it by the given time.
func (l *Lane) Stop(by time.Time) {
	l.box.put(func(m *mail) {
		m.orders = append(m.orders, func() {
			now := time.Now()
			l.stopping, l.stopBy = true, by
			l.drainBy = now.Add(by.Sub(now) * 3 / 5) // the rest is for the commit
			l.nextCommit = time.Time{}
			l.dropIntake()
		})
	})
}

// revokes moves each tenure that is on its way out one step on.
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

// forget ends tenures, in one pass for all: the pass goes over all that is parked.
func (l *Lane) forget(over []*revoking) {
	tenures := make([]offsets.Assignment, len(over))
	for i, r := range over {
		tenures[i] = r.Assignment
	}
	l.core.Sweep(tenures...)
	for _, r := range over {
		r.done()
		l.changed = true
	}
}

// over says whether a tenure may be forgotten, and sends its final commit first.
func (l *Lane) over(r *revoking, now time.Time) bool {
	if r.lost {
		return true
	}
	if r.commitUntil.IsZero() {
		if l.core.Draining(r.TopicPartition, r.Epoch) > 0 && now.Before(r.drainUntil) {
			return false
		}
		if !l.settledOf(r, now) {
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
		l.send([]offsets.Commit{commit}, func(m *mail, results []purgatory.CommitResult) {
			m.orders = append(m.orders, func() { r.answered(results) })
		})
	}
	return r.lost || now.After(r.commitUntil)
}

// answered takes the answer to a final commit: a refusal that another try may mend
// is followed by one.
func (r *revoking) answered(results []purgatory.CommitResult) {
	r.committing = false
	for _, c := range results {
		if c.Err != nil {
			r.retryAt = time.Now().Add(soon)
		}
		r.lost = r.lost || c.Fenced || c.Hopeless // others wait for the end of this tenure
	}
}

// commits sends what finished since the last commit, every interval, and sooner
// while a partition waits for a commit before it may deliver. Before a stop what has
// been said is not said again.
func (l *Lane) commits(now time.Time) {
	if now.Before(l.nextCommit) || l.draining(now) || !l.core.Dirty() && (l.stopping || !l.core.Repeating()) {
		l.settleBy = time.Time{} // or the loop would not sleep
		return
	}
	if !l.settled(now) {
		return
	}
	batch := l.core.Commits(nil, false)
	if len(batch) == 0 {
		return
	}
	l.nextCommit = now.Add(l.cfg.CommitInterval)
	if l.stopping {
		l.nextCommit = now.Add(soon)
	}
	l.send(batch, func(*mail, []purgatory.CommitResult) {})
}

// send sends commits. Their answers go into the mail with how long they took, and
// with what and adds.
func (l *Lane) send(batch []offsets.Commit, and func(*mail, []purgatory.CommitResult)) {
	began := time.Now()
	l.commit.Commit(batch, func(results []purgatory.CommitResult) {
		took := time.Since(began).Milliseconds()
		for i := range results {
			results[i].TookMs = took
		}
		l.box.put(func(m *mail) {
			m.committed = append(m.committed, results...)
			and(m, results)
		})
	})
}

// committed takes one answer. After a refusal the next try comes soon, because
// deliveries may be waiting for it; one that lasts is said.
func (l *Lane) committed(r purgatory.CommitResult) {
	l.core.Committed(r)
	if r.Err == nil {
		if !l.core.Unconfirmed() { // or one partition that is refused would be tried without end at the first pause
			l.refusals = 0
		}
		return
	}
	l.cfg.Log.Debug("commit refused", "topic", r.Topic, "partition", r.Partition, "offset", r.Low, "err", r.Err)
	now := time.Now()
	if l.refusals++; l.refusals >= refusalsToSay && now.Sub(l.refusalSaid) >= sayEvery {
		l.refusalSaid = now
		l.core.NoteError("commit of "+r.Topic, r.Err.Error())
		l.cfg.Log.Warn("commits are refused; without one a new assignment delivers nothing", "topic", r.Topic, "partition", r.Partition, "err", r.Err)
	}
	if l.core.Unconfirmed() {
		// No longer than the interval: the others of the lane have something to commit.
		l.nextCommit = now.Add(min(soon<<min(l.refusals/8, 5), maxRefusalPause, max(l.cfg.CommitInterval, soon)))
	}
}

// draining says whether a stopping loop still waits for what is in flight, so that
// one commit can say it all.
func (l *Lane) draining(now time.Time) bool {
	return l.stopping && l.core.InFlight() > 0 && now.Before(l.drainBy)
}

// stopped says whether a stopping loop may end.
func (l *Lane) stopped(now time.Time) bool {
	if !now.Before(l.stopBy) {
		return true
	}
	return !l.draining(now) && !l.core.Dirty() && !l.core.Committing() && !l.core.Writing() && len(l.revoking) == 0
}

// abandon answers everybody who still waits when the loop has ended.
func (l *Lane) abandon() {
	left := l.box.close()
	for _, order := range left.orders {
		order()
	}
	l.forget(l.revoking)
	l.intake = append(l.intake, left.fetched...)
	l.dropIntake()
	l.publish(time.Now())
}

// dropIntake forgets what was fetched and not read; it is read again by whoever
// has the partition next.
func (l *Lane) dropIntake() {
	for _, f := range l.intake {
		l.reading.Consumed(f.bytes)
	}
	l.intake, l.intakeAt = nil, 0
}
