package verify

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAnUnknownOutcomeIsNeitherMissedNorStrange(t *testing.T) {
	l := NewLedger(dead)
	l.Enter(sample("a"))
	if err := Check(l, nil).Err(); err != nil {
		t.Errorf("missed: %v", err)
	}
	if err := Check(l, []Record{delivery("a", 9, 123)}).Err(); err != nil {
		t.Errorf("strange: %v", err)
	}
	if r := Check(l, nil); r.Unknown != 1 || r.Acked != 0 || r.Refused != 0 {
		t.Errorf("counted as\n%s", r)
	}
}

func TestWhatALogLostBeforeItWasReadIsExcused(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(l *Ledger)
		missing int
	}{
		"nothing":                 {func(*Ledger) {}, 1},
		"deleted":                 {func(l *Ledger) { l.DeletedRange(ingress, 3, 42, 43) }, 0},
		"deleted up to it":        {func(l *Ledger) { l.DeletedRange(ingress, 3, 0, 42) }, 1},
		"deleted behind it":       {func(l *Ledger) { l.DeletedRange(ingress, 3, 43, 50) }, 1},
		"deleted in two steps":    {func(l *Ledger) { l.DeletedRange(ingress, 3, 0, 43); l.DeletedRange(ingress, 3, 43, 50) }, 0},
		"another partition":       {func(l *Ledger) { l.DeletedRange(ingress, 2, 0, 100) }, 1},
		"acknowledged afterwards": {func(l *Ledger) { l.DeletedRange(ingress, 3, 0, 100); enter(l, "b", 3, 99) }, 0},
		"written afterwards":      {func(l *Ledger) { l.DeletedRange(ingress, 3, 0, 100); enter(l, "b", 3, 100) }, 1},
		"topic deleted":           {func(l *Ledger) { l.Deleted(ingress) }, 0},
		"another topic deleted":   {func(l *Ledger) { l.Deleted("other") }, 1},
		"topic made again":        {func(l *Ledger) { l.DeletedRange(ingress, 3, 0, 43); l.Deleted(ingress); enter(l, "b", 3, 1) }, 1},
		"topic deleted under way": {func(l *Ledger) { l.Enter(sample("b")); l.Deleted(ingress); l.Acked("b", 3, 43) }, 0},
		"truncated":               {func(l *Ledger) { l.Truncated(ingress, 3, 42) }, 0},
		"truncated behind it":     {func(l *Ledger) { l.Truncated(ingress, 3, 43) }, 1},
		"another one truncated":   {func(l *Ledger) { l.Truncated(ingress, 2, 0) }, 1},
		"truncated and anew":      {func(l *Ledger) { l.Truncated(ingress, 3, 42); enter(l, "b", 3, 42) }, 1},
		"truncated twice":         {func(l *Ledger) { l.Truncated(ingress, 3, 42); enter(l, "b", 3, 42); l.Truncated(ingress, 3, 40) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := one()
			c.happens(l)
			if r := Check(l, nil); r.Count(Lost) != c.missing {
				t.Errorf("want %d missing:\n%s", c.missing, r)
			}
		})
	}
}

// enter notes an acknowledged record.
func enter(l *Ledger, id string, partition int32, offset int64) {
	l.Enter(sample(id))
	l.Acked(id, partition, offset)
}

func TestAnExcusedRecordIsStillJudgedWhereItCame(t *testing.T) {
	l := one()
	l.Deleted(ingress)
	a := delivery("a", 3, 42)
	a.Value = nil
	if r := Check(l, []Record{a}); r.Count(Wrong) != 1 {
		t.Errorf("its value is not looked at:\n%s", r)
	}
}

func TestRepeatsAreAllowedByRecordOrByNumber(t *testing.T) {
	three := []Record{delivery("a", 3, 42), delivery("a", 3, 42), delivery("a", 3, 42)}
	for name, c := range map[string]struct {
		allow func(l *Ledger)
		fine  bool
	}{
		"none":                {func(*Ledger) {}, false},
		"one of it":           {func(l *Ledger) { l.MayRepeat("a", 1) }, false},
		"two of it":           {func(l *Ledger) { l.MayRepeat("a", 1); l.MayRepeat("a", 1) }, true},
		"two of another":      {func(l *Ledger) { enter(l, "b", 0, 0); l.DeletedRange(ingress, 0, 0, 1); l.MayRepeat("b", 2) }, false},
		"of one that is none": {func(l *Ledger) { l.MayRepeat("z", 2) }, false},
		"two of any":          {func(l *Ledger) { l.MayRepeatAny(2) }, true},
		"one of any":          {func(l *Ledger) { l.MayRepeatAny(1) }, false},
		"one of each":         {func(l *Ledger) { l.MayRepeatAny(1); l.MayRepeat("a", 1) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := one()
			c.allow(l)
			r := Check(l, three)
			if err := r.Err(); (err == nil) != c.fine {
				t.Errorf("fine: %v, want %v:\n%s", err == nil, c.fine, r)
			}
			if r.Repeats != 2 {
				t.Errorf("%d repeats counted, want 2", r.Repeats)
			}
		})
	}
}

func TestARecordWithoutADelayIsDueAtItsTimestamp(t *testing.T) {
	l := NewLedger(dead)
	s := sample("a")
	s.Due = time.Time{}
	l.Enter(s)
	l.Acked("a", 3, 42)
	a := delivery("a", 3, 42)
	a.Timestamp = sentAt.Add(-time.Hour) // its own may be ahead of the clock
	if r := Check(l, []Record{a}); r.Count(Wrong) != 1 || r.Count(Early) != 0 {
		t.Errorf("want a wrong layover-due alone:\n%s", r)
	}
	a.Headers = set(a.Headers, "layover-due", "2030-01-02T03:04:05.006Z")
	if err := Check(l, []Record{a}).Err(); err != nil {
		t.Error(err)
	}
}

func TestAReportSpellsOutTheFirstFewAndCountsTheRest(t *testing.T) {
	l := NewLedger(dead)
	for i := range 12 {
		enter(l, fmt.Sprint("r", i), 0, int64(i))
	}
	text := Check(l, nil).String()
	for _, want := range []string{"12 sent: 12 acknowledged", "12 lost:", "r4, sent to delayed/0@4", "and 7 more"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "r5,") {
		t.Errorf("more than %d are spelled out:\n%s", shown, text)
	}
}

func TestALedgerRefusesWhatItCouldNotTellApart(t *testing.T) {
	for name, enter := range map[string]func(l *Ledger){
		"an id twice":         func(l *Ledger) { l.Enter(sample("a")) },
		"a record without id": func(l *Ledger) { l.Enter(Sent{ID: "b"}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("entered")
				}
			}()
			enter(one())
		})
	}
}
