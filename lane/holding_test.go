package lane

import (
	"testing"

	"layover/purgatory"
)

// TestAReasonToHoldLastsUntilTheLastHoldEnds, each time it begins again.
func TestAReasonToHoldLastsUntilTheLastHoldEnds(t *testing.T) {
	h := NewHolding()
	begin := func(detail string) {
		h.note(&purgatory.HoldNotice{Target: "jobs.1", Label: "jobs.*", Held: true, Verdict: purgatory.Missing, Detail: detail})
	}
	end := func() { h.note(&purgatory.HoldNotice{Target: "jobs.1", Label: "jobs.*"}) }
	wants := func(when string, want Why) {
		t.Helper()
		if got := h.Why("jobs.*"); got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}
	end() // of nothing
	for range 2 {
		wants("before", Why{})
		begin("first")
		begin("second")
		begin("third")
		wants("held by three", Why{"missing", "first"})
		end()
		end()
		wants("held by one", Why{"missing", "first"})
		h.note(&purgatory.HoldNotice{Target: "jobs.1", Label: "jobs.*", Held: true, Changed: true, Verdict: purgatory.Forbidden, Detail: "by a rule"})
		wants("for another reason", Why{"forbidden", "by a rule"})
		end()
		wants("by none", Why{})
	}
	h.note(&purgatory.HoldNotice{Target: "jobs.1", Label: "jobs.*", Held: true, Verdict: purgatory.Mismatched, Detail: "jobs.1 has 3 partitions"})
	wants("what a header named is not told", Why{State: "mismatched"})
	h.note(&purgatory.HoldNotice{Target: "ready", Label: "ready", Held: true, Verdict: purgatory.Mismatched, Detail: "ready has 3 partitions"})
	if got := h.Why("ready"); got != (Why{"mismatched", "ready has 3 partitions"}) {
		t.Errorf("a configured one: %+v", got)
	}
	if a := (Why{}).Attrs(); len(a) != 0 {
		t.Errorf("attributes of nothing: %v", a)
	}
	if a := (Why{"missing", "x"}).Attrs(); len(a) != 4 || a[0] != "state" || a[1] != "missing" || a[2] != "err" || a[3] != "x" {
		t.Errorf("attributes: %v", a)
	}
}
