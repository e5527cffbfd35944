package verify

import (
	"fmt"
	"slices"
	"strings"
)

// Check compares the ledger with all that the target topics and the dead-letter topic
// hold, and the topic of events. Records of a topic that was deleted meanwhile belong among
// them, read before it went. It costs time and memory about linear in both.
func Check(l *Ledger, arrived []Record) *Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Report{Events: make(map[string]int), found: make(map[Kind][]string), counts: make(map[Kind]int)}
	by, t := make(map[string][]*Record), newTimers(l, r)
	for i := range arrived {
		a := &arrived[i]
		if l.events != "" && a.Topic == l.events {
			t.note(a)
			continue
		}
		r.Arrived++
		id, ok := idOf(a.Headers)
		e := l.entries[id]
		switch {
		case !ok:
			r.add(Strange, "%s carries no id: key %s, value %s", place(a), show(a.Key), show(a.Value))
		case e == nil:
			r.add(Strange, "%s is %q, which nobody sent", place(a), id)
		case e.outcome == refused:
			r.add(Strange, "%s is %q, whose sending failed", place(a), id)
		default:
			by[id] = append(by[id], a)
			l.judge(r, e, a)
		}
	}
	over := 0
	for _, id := range l.order {
		e := l.entries[id]
		r.count(e)
		came := by[id]
		if len(came) == 0 {
			switch {
			case e.outcome != acked || t.absent(e):
			case e.excused:
				r.Excused++
			default:
				r.add(Lost, "%s, sent to %s/%d@%d for %s, due %s", id, e.Record.Topic, e.Record.Partition, e.Record.Offset, e.wanted(), e.when())
			}
			continue
		}
		r.Came++
		t.arrivals(e, came)
		r.Repeats += len(came) - 1
		r.Allowed += e.repeats
		if again := len(came) - 1 - e.repeats; again > 0 {
			over += again
			r.again(e, came)
		}
	}
	r.Allowed += l.free
	if over <= l.free {
		delete(r.found, Repeated)
		delete(r.counts, Repeated)
	}
	t.cancels(by)
	t.repeats()
	return r
}

// judge says what is wrong with one arrival by itself.
func (l *Ledger) judge(r *Report, e *entry, a *Record) {
	dead := a.Topic == l.deadLetters
	if !dead && a.Topic != e.To {
		r.add(Wrong, "%s is %s, which belongs to %s", place(a), e.ID, e.wanted())
		return
	}
	switch {
	case dead && e.hasExpired(a):
		if !e.expiresAtOnce() && a.Timestamp.Before(e.Expires) {
			r.add(Early, "%s is %s, stamped %s, and expires at %s", place(a), e.ID, formatted(a.Timestamp), formatted(e.Expires))
		}
	case e.Due.IsZero():
	case a.Timestamp.UnixMilli() < e.Due.UnixMilli():
		r.add(Early, "%s is %s, stamped %s, %v before it is due", place(a), e.ID, formatted(a.Timestamp), e.Due.Sub(a.Timestamp))
	case !a.Received.IsZero() && a.Received.Before(e.Due):
		r.add(Early, "%s is %s, received %v before it is due", place(a), e.ID, e.Due.Sub(a.Received))
	}
	if !sameBytes(a.Key, e.Record.Key) {
		r.add(Wrong, "%s is %s with key %s, want %s", place(a), e.ID, show(a.Key), show(e.Record.Key))
	}
	switch {
	case dead && hasDropped(a) && a.Value == nil && e.Record.Value != nil:
	case dead && hasDropped(a), !sameBytes(a.Value, e.Record.Value):
		r.add(Wrong, "%s is %s with value %s, want %s", place(a), e.ID, show(a.Value), show(e.Record.Value))
	}
	fault := deliveredHeaders
	if dead {
		fault = deadHeaders
	}
	if text := fault(e, a.Headers); text != "" {
		r.add(Wrong, "%s is %s: %s", place(a), e.ID, text)
	}
}

// again reports a record that came more often than it may.
func (r *Report) again(e *entry, came []*Record) {
	slices.SortStableFunc(came, func(a, b *Record) int { return a.Timestamp.Compare(b.Timestamp) })
	places := make([]string, len(came))
	for i, a := range came {
		places[i] = fmt.Sprintf("%s at %s", place(a), formatted(a.Timestamp))
	}
	r.add(Repeated, "%s, of %s, came %d times, at most %d are allowed: %s", e.ID, e.origin(), len(came), 1+e.repeats, strings.Join(places, ", "))
}

// place is where a record lies.
func place(r *Record) string { return fmt.Sprintf("%s/%d@%d", r.Topic, r.Partition, r.Offset) }

// wanted is where a record has to arrive, in words.
func (e *entry) wanted() string {
	dead := "dead letters as " + strings.Join(e.Dead, " or ")
	switch {
	case e.To == "" && len(e.Dead) == 0:
		return "no topic"
	case e.To == "":
		return dead
	case len(e.Dead) == 0:
		return e.To
	}
	return e.To + " or " + dead
}

// when is a record's due time, in words.
func (e *entry) when() string {
	if e.Due.IsZero() {
		return "at once"
	}
	return formatted(e.Due)
}
