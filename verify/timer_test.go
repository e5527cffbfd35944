package verify

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const told = "events"

// timed returns a ledger of delayed/3 with a timer at 42, and its cancel at 43 that was
// acknowledged two seconds before the deadline. Another timer is at 44, and its replacement at
// 45.
func timed() *Ledger {
	l := NewLedger(dead)
	l.Events(told)
	timer := func(id, name string, offset int64, change func(s *Sent)) {
		s := sample(id)
		s.Timer.Name = name
		s.Record.Headers = append(s.Record.Headers, Header{"x-delay-id", []byte(name)})
		if change != nil {
			change(&s)
		}
		l.Enter(s)
		l.AckedAt(id, 3, offset, sentAt.Add(58*time.Second))
	}
	cancels := func(s *Sent) { s.Timer.Cancel, s.To, s.Dead = true, "", nil }
	timer("a", "n", 42, nil)
	timer("c", "n", 43, cancels)
	timer("b", "m", 44, nil)
	timer("r", "m", 45, nil)
	timer("copy", "nothing", 46, func(s *Sent) {
		cancels(s)
		s.Timer.Copied = true
	})
	timer("x", "expiring", 47, func(s *Sent) { s.Expires, s.Dropped = s.Due.Add(time.Second), true })
	return l
}

// says is an event about delayed/3; -1 stands for no offset.
func says(kind, name string, offset, by int64, at time.Time) Record {
	number := func(n int64) string {
		if n < 0 {
			return "null"
		}
		return fmt.Sprint(n)
	}
	due := "null"
	if offset >= 0 {
		due = `"` + formatted(sentAt.Add(time.Minute)) + `"`
	}
	return Record{Topic: told, Timestamp: at, Key: []byte(name), Value: fmt.Appendf(nil,
		`{"event":%q,"id":%q,"topic":"delayed","partition":3,"offset":%s,"by":%s,"due":%s,"at":%q}`, kind, name, number(offset), number(by), due, formatted(at))}
}

// came is a delivery from delayed/3, so long after its deadline.
func came(id string, offset int64, after time.Duration) Record {
	a := delivery(id, 3, offset)
	a.Timestamp = a.Timestamp.Add(after)
	return a
}

// fine is what becomes of timed.
func fine() []Record {
	return []Record{
		says("cancelled", "n", 42, 43, sentAt.Add(58*time.Second)), says("replaced", "m", 44, 45, sentAt.Add(10*time.Second)),
		came("r", 45, 0), says("expired", "expiring", 47, -1, sentAt.Add(61*time.Second)),
	}
}

func TestWhatEndedAsItShouldIsFine(t *testing.T) {
	l := timed()
	l.Calm(ingress, 3, sentAt, sentAt.Add(2*time.Minute))
	r := Check(l, fine())
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if r.InTime != 1 || r.Arrived != 1 || r.Events["replaced"] != 1 {
		t.Errorf("counted as\n%s", r)
	}
}

func TestEveryFaultOfATimerIsFound(t *testing.T) {
	type judged struct {
		ledger  *Ledger
		arrived []Record
	}
	calm := func(w *judged) { w.ledger.Calm(ingress, 3, sentAt, sentAt.Add(2*time.Minute)) }
	add := func(w *judged, a ...Record) { w.arrived = append(w.arrived, a...) }
	for name, c := range map[string]struct {
		spoil func(w *judged)
		kind  Kind
		text  string
	}{
		"delivered after it was called cancelled": {func(w *judged) { add(w, came("a", 42, time.Second)) }, Returned, "stamped 2030-01-02T03:05:06.006Z; it was said to have ended at 2030-01-02T03:05:03.006Z"},
		"delivered after it was called replaced":  {func(w *judged) { add(w, came("b", 44, 0)) }, Returned, "b, of delayed-3-44"},
		"delivered before it was called cancelled again": {func(w *judged) {
			w.ledger.MaySayAgain("c", 1)
			add(w, came("a", 42, time.Second), says("cancelled", "n", 42, 43, sentAt.Add(time.Hour)))
		}, Returned, "a, of delayed-3-42"},
		"a cancel in time that did not win": {func(w *judged) {
			calm(w)
			w.arrived[0] = says("too_late", "n", 42, 43, sentAt.Add(time.Minute))
			add(w, came("a", 42, 0))
		}, Outrun, "its cancel c was acknowledged"},
		"a cancel without an event": {func(w *judged) {
			w.arrived[0] = came("a", 42, 0)
		}, Unsaid, `c, a cancel of "n" at delayed/3@43, has no event`},
		"replaced without an event": {func(w *judged) { w.arrived = append(w.arrived[:1:1], w.arrived[2:]...) }, Lost, "b, sent to delayed/3@44"},
		"expired without an event":  {func(w *judged) { w.arrived = w.arrived[:3] }, Lost, "x, sent to delayed/3@47"},
		"too late, and not delivered": {func(w *judged) {
			w.arrived[0] = says("too_late", "n", 42, 43, sentAt.Add(time.Minute))
		}, Lost, "a, sent to"},
		"said twice":               {func(w *judged) { add(w, w.arrived[0]) }, SaidAgain, "c, of delayed-3-43, has 2 events"},
		"cancelled, and a miss":    {func(w *judged) { add(w, says("cancel_miss", "n", -1, 43, sentAt.Add(time.Minute))) }, SaidAgain, "c, of delayed-3-43"},
		"replaced twice":           {func(w *judged) { add(w, w.arrived[1]) }, SaidAgain, "b, of delayed-3-44"},
		"ended by nobody":          {func(w *judged) { add(w, says("cancelled", "m", 45, 99, sentAt)) }, Uncommanded, "the log has no such record"},
		"ended by another id":      {func(w *judged) { add(w, says("replaced", "n", 42, 45, sentAt)) }, Uncommanded, "the log has no such record"},
		"replaced by a cancel":     {func(w *judged) { add(w, says("replaced", "n", 42, 43, sentAt)) }, Uncommanded, "not of that kind"},
		"cancelled by a record":    {func(w *judged) { add(w, says("cancelled", "m", 44, 45, sentAt)) }, Uncommanded, "not of that kind"},
		"replaced by an older one": {func(w *judged) { add(w, says("replaced", "m", 45, 44, sentAt)) }, Uncommanded, "in front of"},
		"another deadline": {func(w *judged) {
			w.arrived[0].Value = []byte(strings.Replace(string(w.arrived[0].Value), "03:05:05", "03:05:06", 1))
			w.ledger.MayNotSay(2)
		}, Uncommanded, "its record is due"},
		"a copy's miss":                 {func(w *judged) { add(w, says("cancel_miss", "nothing", -1, 46, sentAt)) }, Uncommanded, "one of several"},
		"expired before its time":       {func(w *judged) { w.arrived[3] = says("expired", "expiring", 47, -1, sentAt); w.ledger.MayNotSay(1) }, Uncommanded, "its record expires"},
		"expired without an expiry":     {func(w *judged) { add(w, says("expired", "m", 45, -1, sentAt)) }, Uncommanded, "not to be dropped"},
		"handed out after its expiry":   {func(w *judged) { calm(w); w.arrived[3] = came("x", 47, time.Second) }, Stale, "expired at"},
		"an event that nobody knows":    {func(w *judged) { add(w, says("gone", "n", 42, 43, sentAt)) }, Wrong, "nobody knows"},
		"an event that is no JSON":      {func(w *judged) { add(w, Record{Topic: told, Value: []byte("cancelled")}) }, Wrong, "invalid character"},
		"an event with another key":     {func(w *judged) { w.arrived[0].Key = []byte("k"); w.ledger.MayNotSay(2) }, Wrong, "its key is"},
		"an event with a header":        {func(w *judged) { w.arrived[0].Headers = []Header{{"x", nil}}; w.ledger.MayNotSay(2) }, Wrong, "it has the header x"},
		"a miss of a record":            {func(w *judged) { add(w, says("cancel_miss", "n", 42, 43, sentAt)) }, Wrong, "offset and due"},
		"a cancel that was delivered":   {func(w *judged) { add(w, came("c", 43, 0)) }, Wrong, "belongs to no topic"},
		"its id is on it still":         {func(w *judged) { w.arrived[2].Headers = append(w.arrived[2].Headers, Header{"x-delay-id", nil}) }, Wrong, "still there"},
		"a return of another arrival":   {func(w *judged) { w.ledger.MayReturn(ready, 1, 78); add(w, came("a", 42, time.Second)) }, Returned, "a, of"},
		"a saying of another that came": {func(w *judged) { w.ledger.MaySayAgain("b", 1); add(w, w.arrived[0]) }, SaidAgain, "c, of"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &judged{timed(), fine()}
			c.spoil(w)
			r := Check(w.ledger, w.arrived)
			if r.Count(c.kind) != 1 || len(r.counts) != 1 {
				t.Fatalf("want one that is %s and nothing else:\n%s", c.kind, r)
			}
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("the error does not say %q: %v", c.text, err)
			}
		})
	}
}

func TestWhatTheDocumentsExcuseOfTimersIsFine(t *testing.T) {
	for name, happens := range map[string]func(l *Ledger, arrived []Record) []Record{
		"a delivery that nobody knew of": func(_ *Ledger, arrived []Record) []Record {
			arrived[0] = says("cancelled", "n", 42, 43, sentAt.Add(time.Hour))
			return append(arrived, came("a", 42, time.Second))
		},
		"a return while the barrier was open": func(l *Ledger, arrived []Record) []Record {
			l.MayReturn(ready, 1, 77)
			return append(arrived, came("a", 42, time.Second))
		},
		"a cancel in time while something was amiss": func(l *Ledger, arrived []Record) []Record {
			l.Calm(ingress, 3, sentAt.Add(59*time.Second), sentAt.Add(2*time.Minute))
			l.Calm(ingress, 2, sentAt, sentAt.Add(2*time.Minute))
			arrived[0] = says("too_late", "n", 42, 43, sentAt.Add(time.Minute))
			return append(arrived, came("a", 42, 0))
		},
		"events that were given up": func(l *Ledger, arrived []Record) []Record {
			l.MayNotSay(3) // of a cancel with its record, of a record that was replaced, and of the expiry
			return arrived[2:3]
		},
		"events again after a kill": func(l *Ledger, arrived []Record) []Record {
			l.MaySayAgain("c", 1)
			l.MaySayAnyAgain(1)
			return append(arrived, arrived[0], arrived[1])
		},
		"a command whose outcome is unknown": func(l *Ledger, arrived []Record) []Record {
			s := sample("u")
			s.Timer = Timer{Name: "m", Cancel: true}
			l.Enter(s)
			arrived[2] = says("cancelled", "m", 45, 50, sentAt)
			return arrived
		},
		"an expiry of a record whose outcome is unknown": func(l *Ledger, arrived []Record) []Record {
			s := sample("u")
			s.Timer, s.Expires, s.Dropped = Timer{Name: "u"}, s.Due.Add(time.Second), true
			l.Enter(s)
			return append(arrived, says("expired", "u", 50, -1, sentAt.Add(61*time.Second)))
		},
		"deleted before it was read": func(l *Ledger, arrived []Record) []Record {
			l.DeletedRange(ingress, 3, 42, 44)
			return arrived[1:]
		},
		"a miss of a cancel at whose place a copy stands, since the topic was made again": func(l *Ledger, arrived []Record) []Record {
			for i := range 10 { // whichever is looked at last
				s := sample(fmt.Sprint("former ", i))
				s.Timer, s.To, s.Dead = Timer{Name: "nothing", Cancel: true, Copied: i > 0}, "", nil
				l.Enter(s)
				l.AckedAt(s.ID, 3, 46, sentAt)
			}
			return append(arrived, says("cancel_miss", "nothing", -1, 46, sentAt))
		},
		"an expired one that an earlier try may have delivered": func(_ *Ledger, arrived []Record) []Record {
			arrived[3] = came("x", 47, time.Minute)
			return arrived
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := timed()
			if err := Check(l, happens(l, fine())).Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWithoutEventsACommandedRecordNeedNotCome(t *testing.T) {
	l := timed()
	l.Events("")
	if err := Check(l, []Record{came("r", 45, 0)}).Err(); err != nil {
		t.Error(err)
	}
	if r := Check(l, nil); r.Count(Lost) != 1 {
		t.Errorf("want the replacement to be missed:\n%s", r)
	}
}

func TestDeadLettersOfExpiredRecordsAreJudgedByTheExpiry(t *testing.T) {
	for name, c := range map[string]struct {
		expires, stamped time.Duration // after the deadline
		kind             Kind
		count            int
	}{
		"in front of the deadline": {-time.Second, -30 * time.Second, Early, 0},
		"behind it":                {time.Second, time.Second, Early, 0},
		"behind it, and early":     {time.Second, time.Millisecond, Early, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l, s := NewLedger(dead), sample("a")
			s.Expires, s.Dead = s.Due.Add(c.expires), []string{"expired"}
			l.Enter(s)
			l.Acked("a", 3, 42)
			a := deadLetter("a", 3, 42, "expired")
			a.Timestamp = s.Due.Add(c.stamped)
			if r := Check(l, []Record{a}); r.Count(c.kind) != c.count || len(r.counts) != c.count {
				t.Errorf("want %d that are %s:\n%s", c.count, c.kind, r)
			}
		})
	}
	l, s := NewLedger(dead), sample("a")
	s.Expires = s.Due
	l.Enter(s)
	l.Acked("a", 3, 42)
	if r := Check(l, []Record{delivery("a", 3, 42)}); r.Count(Stale) != 1 {
		t.Errorf("what expires when it is read was delivered:\n%s", r)
	}
}

// TestACommandThatTheLogHasLostMayHaveEndedItsRecord: it was read before, and no topic tells of it.
func TestACommandThatTheLogHasLostMayHaveEndedItsRecord(t *testing.T) {
	for from := int64(42); from <= 44; from++ {
		if r := judgedWithout(from, true); r.Count(Lost) != 0 {
			t.Errorf("from %d on all is lost:\n%s", from, r)
		}
	}
	if r := judgedWithout(43, false); r.Count(Lost) != 1 {
		t.Errorf("no cancel was there:\n%s", r)
	}
}

// judgedWithout is of a record at 42, and of its cancel at 43 if there is one, neither of which arrives. The log loses
// all from an offset on.
func judgedWithout(from int64, cancelled bool) *Report {
	l := NewLedger(dead)
	a, c := sample("a"), sample("c")
	a.Timer.Name, c.Timer.Name = "n", "n"
	l.Enter(a)
	l.AckedAt("a", 3, 42, sentAt)
	if c.Timer.Cancel, c.To, c.Dead = true, "", nil; cancelled {
		l.Enter(c)
		l.AckedAt("c", 3, 43, sentAt)
	}
	l.Truncated(ingress, 3, from)
	return Check(l, nil)
}
