package sim

import "layover/purgatory"

// This file has records whose deadline is too far ahead to be valid, and that become valid by
// time alone. A record that they ended by mistake would be lost.

const (
	// farthestMs is how far ahead of an instance's clock a deadline may be. No run is as long,
	// until it drains.
	farthestMs = 25 * 3_600_000
	// clockSlackMs is how far clocks differ at most: then what one instance delivered counts
	// for every other.
	clockSlackMs = 30 * 60_000
)

// postpone gives some records with an id a deadline about as far ahead as a valid one may be.
func (w *World) postpone(e *entry, n int) {
	if n%5 == 2 && n%3 == 1 && !e.passed {
		e.deadlineMs = w.nowMs + farthestMs + [...]int64{20_000, -20_000}[n%2]
	}
}

// tooFar says whether a record is invalid by a clock, and may be valid by a later one.
func (e *entry) tooFar(nowMs int64) bool {
	return e.ends() > nowMs+farthestMs
}

// invalid says whether an assignment found a record invalid.
func (own *partition) invalid(e *entry) bool { return e.invalid || own.tooFar[e.offset] }

// judge notes whether a record that is read is valid. Commands miss one that is not, also where
// a later assignment finds it valid.
func (own *partition) judge(e *entry, nowMs int64) (valid bool) {
	if e.tooFar(nowMs) {
		own.tooFar[e.offset], e.refusedMs, e.unfound = true, nowMs, true
	} else if !e.invalid {
		e.valid = true
	}
	return !own.invalid(e)
}

// unsent says whether a record expires before it could be delivered.
func (e *entry) unsent() bool { return e.expires && e.expireMs <= e.deadlineMs }

// ends is the instant before which a record that is valid ends by a command alone.
func (e *entry) ends() int64 {
	if e.cancel || e.passed || e.unsent() {
		return 0
	}
	return e.deadlineMs
}

// counts says whether the command of a finished record counts again by a clock.
func (e *entry) counts(nowMs int64) bool { return e.ends() <= nowMs+clockSlackMs }

// arrivalAgain is what the core is shown of a finished record.
func (e *entry) arrivalAgain() *purgatory.Arrival {
	a := &purgatory.Arrival{Offset: e.offset, ID: []byte(e.id), Cancel: e.cancel, DeadlineMs: e.deadlineMs, Expires: e.expires, ExpireMs: e.expireMs}
	if e.passed {
		a.Outcome = purgatory.Passed
	}
	return a
}

// holdRefused holds the promise that an invalid record touches no other: one that nobody ever
// found valid ends nothing. The price of being away longer than the longest delay is stated.
func (in *instance) holdRefused(c, v *entry) {
	if v != nil && !c.valid && c.refusedMs > 0 && in.w.nowMs < c.refusedMs+farthestMs-2*clockSlackMs {
		in.w.fail("INVALID: %v is about %v, and was refused by all that read it", c, v)
	}
}

// tells says whether a log still shows that a record has ended: it has one of the commands
// about it. One that another clock found invalid tells nothing. One that ended before its
// deadline counts no more for whoever reads it again, but what ended it does.
func (l *partitionLog) tells(all []*entry) bool {
	for _, c := range all {
		if l.has(c) && c.refusedMs == 0 && (!c.early || l.tells(c.by)) {
			return true
		}
	}
	return false
}

// has says whether a log still has an entry.
func (l *partitionLog) has(e *entry) bool {
	return e.offset >= l.start && e.offset < l.end() && l.entries[e.offset] == e && e.kind == record
}

// reread returns the command that an assignment has read again, of those that tell that a
// record has ended; nil: none.
func (own *partition) reread(all []*entry) *entry {
	for _, c := range all {
		if !own.log.has(c) || c.offset >= own.read || c.refusedMs > 0 {
			continue
		}
		if !c.early || own.shown[c.offset] == c {
			return c
		}
		if found := own.reread(c.by); found != nil {
			return found
		}
	}
	return nil
}

// slowestMs is the time by the clock that is most behind.
func (w *World) slowestMs() int64 {
	now := w.nowMs
	for _, in := range w.insts {
		now = min(now, w.nowMs+in.skewMs)
	}
	return now
}
