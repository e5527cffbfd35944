package far

import (
	"math"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// TestWhatWaitsIsTold: a run of 160 copies, one each ten milliseconds, is read and delivered.
func TestWhatWaitsIsTold(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	told := func(when string, next, furthest, overdueAt80 int64) {
		t.Helper()
		got, ok := x.NextMs()
		if last := x.FurthestMs(); ok != (next > 0) || ok && got != next || last != furthest {
			t.Errorf("%s: the next is due at %d (%v), the last at %d, want %d and %d", when, got, ok, last, next, furthest)
		}
		if n := x.Overdue(1795); n != overdueAt80 {
			t.Errorf("%s: %d are overdue, want %d", when, n, overdueAt80)
		}
	}
	told("at first", 0, 0, 0)
	var found []Found
	for n := range int64(160) {
		f := Found{Offset: n, DeadlineMs: 1000 + 10*n, Bytes: 10, Writer: 1, Run: 1}
		found = append(found, f)
		x.Acked(f)
	}
	told("while the run grows", 1000, 2590, 0)
	x.Seal()
	told("with the run", 1000, 2590, 71) // eight sixteenths have begun, and the last one may have with one copy
	for _, i := range x.Read(0, 160, found, 1400, 1<<20, nil) {
		x.Finish(found[i].Offset)
	}
	next, _ := x.NextMs()
	told("with 41 delivered", next, 2590, x.Overdue(1795))
	if next > 1410 || next < 1300 {
		t.Errorf("the next is due at %d, want 1410 at most", next)
	}
	if n := x.Overdue(1795); n > 39 || n < 21 {
		t.Errorf("%d are overdue, want about 39", n)
	}
	for _, i := range x.Read(0, 160, found, 9999, 1<<20, nil) {
		x.Finish(found[i].Offset)
	}
	x.trim()
	told("with all delivered", 0, 0, 0)
}

// TestWhatIsForNobodyHereIsNeverDue: it has no deadline that anybody waits for.
func TestWhatIsForNobodyHereIsNeverDue(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	never := []Found{{Offset: 0, DeadlineMs: math.MaxInt64, Bytes: 1, Writer: 7}}
	x.Read(0, 1, never, 100, 100, nil)
	for _, when := range []string{"while its run grows", "with its run"} {
		if ms, ok := x.NextMs(); ok || x.FurthestMs() != 0 || x.Overdue(math.MaxInt64-1) != 0 {
			t.Errorf("%s: the next is due at %d (%v), the last at %d, %d are overdue", when, ms, ok, x.FurthestMs(), x.Overdue(math.MaxInt64-1))
		}
		x.Seal()
	}
}

// TestFinishedCopiesAreOpenUntilACommitOrTheJournalHasThem.
func TestFinishedCopiesAreOpenUntilACommitOrTheJournalHasThem(t *testing.T) {
	window := offsets.NewWindow(0)
	x := New(Beginning{Writer: 1, Window: window, Facts: facts.NewJournalOnly(facts.Identity{}, 1, facts.Restored{}, window)})
	x.Facts().Use(offsets.TopicID{1}, 1000)
	want := func(when string, open int64) {
		t.Helper()
		if n := x.Open(); n != open {
			t.Errorf("%s: %d are open, want %d", when, n, open)
		}
	}
	for n := range int64(10) {
		x.Acked(Found{Offset: n, DeadlineMs: 1000, Bytes: 10, Run: 1})
	}
	want("at first", 0)
	for n := range int64(3) {
		x.Finish(2 * n)
	}
	want("before the journal has a snapshot", 2) // 0 is for the commit, which nobody doubts
	writes := x.Facts().CutPart(x.Facts().Cut(nil, 0, true, 0), 0)
	for i, w := range writes {
		x.Facts().Written(facts.Result{Seq: w.Seq, Offset: int64(i)}, 0)
	}
	want("with the snapshot", 0)
	x.Finish(6)
	x.Finish(1)
	x.Finish(3)
	want("with another three", 3)
	x.Committed(x.Low())
	want("with a commit of the low offset", 1)
	x.Finish(5)
	want("with one that the low offset has passed", 2)
	x.Committed(x.Low())
	want("with a commit that has all", 0)
}

// TestWhatWasReadBeforeALogEndsIsVisitedWhenItIsDue: a visit ends in the middle of a sixteenth, as nothing can be read
// from there on. The copies that it has read are due later. They do not wait until the rest can be read.
func TestWhatWasReadBeforeALogEndsIsVisitedWhenItIsDue(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	var found []Found
	for n := range int64(160) {
		f := Found{Offset: n, DeadlineMs: 1000 + 10*n, Bytes: 10, Writer: 1, Run: 1}
		found = append(found, f)
		x.Acked(f)
	}
	x.Seal()
	const ends = 15 // in the second sixteenth
	for _, i := range x.Read(0, ends, found[:ends], 1120, 1<<20, nil) {
		x.Finish(found[i].Offset)
	}
	if v, ok := x.NextBelow(1130, nothing); !ok || v.From != ends {
		t.Fatalf("%+v %v, want a visit from %d: this is not the situation", v, ok, ends)
	}
	v, ok := x.NextBelow(1130, ends)
	if !ok || v.From > 13 || v.To != ends || v.DueMs != 1130 {
		t.Errorf("%+v %v, want a visit of 13 and what is behind it, due at 1130", v, ok)
	}
	take := x.Read(v.From, v.To, found[v.From:v.To], 1139, 1<<20, nil)
	if len(take) != 1 || found[v.From:][take[0]].Offset != 13 {
		t.Errorf("%v are taken of %d to %d, want 13", take, v.From, v.To)
	}
	if v, ok := x.NextBelow(1140, ends); !ok || v.From != 14 || v.DueMs != 1140 {
		t.Errorf("%+v %v, want a visit of 14", v, ok)
	}
}
