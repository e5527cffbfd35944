package verify

import (
	"cmp"
	"slices"
	"time"
)

// Timer is the part of a record that is about an id of the product's. It is zero for a
// record without one, and for an invalid record, which touches no other.
type Timer struct {
	Name   string // the id, within its ingress partition
	Cancel bool   // it ends the record of its name, and arrives nowhere
	Copied bool   // one of several cancels: of those that find nothing no event is said
}

// inTime is how long before a deadline the acknowledgement of a cancel has to be for the
// cancel to win where nothing is amiss.
const inTime = time.Second

// calm is a time in which nothing was amiss with a partition of the ingress topic.
type calm struct {
	from, to time.Time
}

// Events names the topic in which the product says what became of records with an id, and
// of cancels. Check takes what the topic holds among what arrived.
func (l *Ledger) Events(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = topic
}

// AckedAt is Acked, and says when: a cancel that was acknowledged in time wins in a Calm.
func (l *Ledger) AckedAt(id string, partition int32, offset int64, at time.Time) {
	l.Acked(id, partition, offset)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[id].ackedAt = at
}

// Calm notes that nothing was amiss with an ingress partition from one time to another.
// The partition had an owner who was reading it, and everything answered.
func (l *Ledger) Calm(topic string, partition int32, from, to time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := logPosition{topic, partition}
	l.calms[at] = append(l.calms[at], calm{from, to})
}

// MaySayAgain allows so many events more about a cancel, or about the end of a record.
// Unknown ids are ignored.
func (l *Ledger) MaySayAgain(id string, times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[id]; e != nil {
		e.sayings += times
	}
}

// MaySayAnyAgain allows so many events more, about whatever.
func (l *Ledger) MaySayAnyAgain(times int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.freeSayings += times
}

// MayNotSay allows so many events to be missing, because they were given up.
func (l *Ledger) MayNotSay(events int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsaid += events
}

// MayReturn allows an arrival, by the place where it lies, to be one of a record that was
// said to have ended before.
func (l *Ledger) MayReturn(topic string, partition int32, offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.returns[logPlace{logPosition{topic, partition}, offset}] = true
}

// logPlace is where a record lies.
type logPlace struct {
	logPosition
	offset int64
}

func (e *entry) place() logPlace {
	return logPlace{logPosition{e.Record.Topic, e.Record.Partition}, e.Record.Offset}
}

// due is when a record is due, by its own timestamp where it asks for no delay.
func (e *entry) due() time.Time {
	if e.Due.IsZero() {
		return e.Record.Timestamp
	}
	return e.Due
}

// expiresAtOnce says whether a record expires when it is read.
func (e *entry) expiresAtOnce() bool { return !e.Expires.IsZero() && !e.Expires.After(e.due()) }

// timerName is an id in its partition.
type timerName struct {
	logPosition
	name string
}

// timers is what Check knows of records with an id, and of events.
type timers struct {
	l       *Ledger
	r       *Report
	at      map[logPlace][]*entry // more than one where the topic was made again
	named   map[timerName][]*entry
	gone    map[timerName][]*entry // those that the log has lost
	unknown map[string]bool        // by name: one may or may not be in the log
	ended   map[*entry]bool        // said to be cancelled or replaced
	holds   map[*entry]time.Time   // since when, by a command that the log still has
	said    map[*entry]int         // events: about a cancel, or about the end of a record
	// Those of which no event says that they ended: an event is about a record, a cancel, or both.
	missingRecords, missingCancels int
}

func newTimers(l *Ledger, r *Report) *timers {
	t := &timers{l: l, r: r, at: make(map[logPlace][]*entry), named: make(map[timerName][]*entry), gone: make(map[timerName][]*entry), unknown: make(map[string]bool),
		ended: make(map[*entry]bool), holds: make(map[*entry]time.Time), said: make(map[*entry]int)}
	for _, id := range l.order {
		e := l.entries[id]
		switch {
		case e.outcome == unknown:
			t.unknown[e.Timer.Name] = true
		case e.outcome == acked:
			t.at[e.place()] = append(t.at[e.place()], e)
			switch n := (timerName{e.place().logPosition, e.Timer.Name}); {
			case e.Timer.Name == "":
			case e.excused:
				t.gone[n] = append(t.gone[n], e)
			default:
				t.named[n] = append(t.named[n], e)
			}
		}
	}
	for _, all := range t.named {
		slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.Record.Offset, b.Record.Offset) })
	}
	return t
}

// commanded says whether a command about a record is in the log, or may be, or was.
func (t *timers) commanded(e *entry) bool {
	if e.Timer.Name == "" {
		return false
	}
	n := timerName{e.place().logPosition, e.Timer.Name}
	return t.unknown[e.Timer.Name] || slices.ContainsFunc(slices.Concat(t.named[n], t.gone[n]), func(by *entry) bool {
		return by.Record.Offset > e.Record.Offset
	})
}

// absent says whether a record need not have arrived anywhere. It was said to have ended, or
// the saying was given up, or nothing is said at all.
func (t *timers) absent(e *entry) bool {
	switch {
	case e.Timer.Cancel:
		if t.said[e] == 0 && !e.Timer.Copied && !e.excused && t.l.events != "" {
			t.unsaid(e)
		}
		return true
	case t.said[e] > 0 || t.ended[e]:
		return true
	case t.l.events == "":
		return t.commanded(e) || !e.Expires.IsZero() && e.Dropped
	case e.excused || t.missingRecords >= t.l.unsaid:
		return false
	case t.commanded(e) || !e.Expires.IsZero() && e.Dropped:
		t.missingRecords++
		return true
	}
	return false
}

// unsaid notes a cancel that has no event.
func (t *timers) unsaid(e *entry) {
	if t.missingCancels++; t.missingCancels > t.l.unsaid {
		t.r.add(Unsaid, "%s, a cancel of %q at %s/%d@%d, has no event", e.ID, e.Timer.Name, e.Record.Topic, e.Record.Partition, e.Record.Offset)
	}
}

// arrivals judges where a record with an id or an expiry came.
func (t *timers) arrivals(e *entry, came []*Record) {
	for _, a := range came {
		offered := a.Offered
		if offered.IsZero() {
			offered = a.Timestamp
		}
		if said := t.holds[e]; !said.IsZero() && offered.After(said) && !t.l.returns[logPlace{logPosition{a.Topic, a.Partition}, a.Offset}] {
			t.r.add(Returned, "%s is %s, of %s, stamped %s; it was said to have ended at %s", place(a), e.ID, e.origin(), formatted(offered), formatted(said))
		}
		if e.Expires.IsZero() || a.Topic == t.l.deadLetters || a.Timestamp.Before(e.Expires) && !e.expiresAtOnce() {
			continue
		}
		if e.expiresAtOnce() || t.calm(e, e.due(), a.Timestamp) { // or an earlier try may have been written
			t.r.add(Stale, "%s is %s, stamped %s; it was due at %s, and expired at %s", place(a), e.ID, formatted(a.Timestamp), formatted(e.due()), formatted(e.Expires))
		}
	}
}

// calm says whether nothing was amiss with the partition of a record for a time.
func (t *timers) calm(e *entry, from, to time.Time) bool {
	return slices.ContainsFunc(t.l.calms[e.place().logPosition], func(c calm) bool { return !c.from.After(from) && !c.to.Before(to) })
}

// cancels finds records that came though a cancel had been acknowledged in time, and counts
// the cancels that had to win.
func (t *timers) cancels(came map[string][]*Record) {
	for n, all := range t.named {
		if t.unknown[n.name] {
			continue
		}
		for i, c := range all {
			if i == 0 || !c.Timer.Cancel || all[i-1].Timer.Cancel {
				continue
			}
			v := all[i-1]
			if c.ackedAt.IsZero() || v.expiresAtOnce() || v.due().Before(c.ackedAt.Add(inTime)) || !t.calm(c, c.ackedAt, v.due()) {
				continue
			}
			t.r.InTime++
			if a := came[v.ID]; len(a) > 0 {
				t.r.add(Outrun, "%s is %s, of %s, due %s; its cancel %s was acknowledged at %s", place(a[0]), v.ID, v.origin(), formatted(v.due()), c.ID, formatted(c.ackedAt))
			}
		}
	}
}

// repeats reports what was said more often than it may be.
func (t *timers) repeats() {
	over := 0
	for _, id := range t.l.order {
		e := t.l.entries[id]
		if again := t.said[e] - 1 - e.sayings; again > 0 {
			over += again
			t.r.add(SaidAgain, "%s, of %s, has %d events, at most %d are allowed", e.ID, e.origin(), t.said[e], 1+e.sayings)
		}
	}
	if over <= t.l.freeSayings {
		delete(t.r.found, SaidAgain)
		delete(t.r.counts, SaidAgain)
	}
}
