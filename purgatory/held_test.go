package purgatory

import (
	"fmt"
	"slices"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// TestAPartitionHasProvenThatItAnswersForAWhile: one that was left alone may have died since.
func TestAPartitionHasProvenThatItAnswersForAWhile(t *testing.T) {
	for name, test := range map[string]struct {
		proven   bool
		idleMs   int64
		inFlight int
		want     bool
	}{
		"just now":                   {true, 0, 0, true},
		"a moment before it is over": {true, stuckMs - 1, 0, true},
		"long ago":                   {true, stuckMs, 0, false},
		"long ago, with one there":   {true, stuckMs, 1, true},
		"never":                      {false, 0, 0, false},
	} {
		f := &flights{cfg: &Config{MaxInFlight: 10, MaxBuffered: 400, MaxInFlightBytes: 1000}, store: newStore(0)}
		d := &dest{target: &target{}, proven: test.proven, answeredMs: 5000, inFlight: test.inFlight}
		f.start(flight{entry: entry{from: &source{}}, dest: d}, Clock{AnsweredMs: 5000 + test.idleMs})
		if d.proven != test.want || test.inFlight == 0 && d.answeredMs != 5000+test.idleMs {
			t.Errorf("%s: proven is %v, want %v", name, d.proven, test.want)
		}
	}
}

// TestAHoldTakesAllThatWaitsForTheTarget, wherever in it.
func TestAHoldTakesAllThatWaitsForTheTarget(t *testing.T) {
	for behind := range int64(4) {
		r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
		r.assign(0, 1, 0)
		for o := range behind + 1 {
			r.mustTake(0, 1, 0, o)
		}
		r.pass(1)
		ds := r.offer()
		r.want(ds, 0)
		r.end(Unavailable, ds...)
		if h := r.heldView(); h.Records != int(behind)+1 || r.out.dir.byKey[TargetName{Name: egress}].overflow != 0 {
			t.Errorf("with %d behind the first: %+v", behind, h)
		}
		r.audit()
	}
}

// TestReadingGoesOnOnceCancelsMakeRoomInAShare, each time.
func TestReadingGoesOnOnceCancelsMakeRoomInAShare(t *testing.T) {
	r := newRig(t, func(c *Config) { c.DeadLetterTopic, c.HeldShare = "", 60+2*entrySize })
	r.assign(0, 1, 0)
	r.router[egress] = Missing
	next := int64(0)
	for round := range 2 {
		first := next
		for ; next < first+3; next++ {
			r.must(r.named(next, 0, fmt.Sprint(next)))
		}
		r.pass(1)
		r.want(r.offer())
		r.pass(checkEveryMs)
		if len(r.Pauses()) != 1 {
			t.Errorf("round %d: more than the share is held, and pauses are %v", round, r.Pauses())
		}
		for o := first; o < first+3; o++ {
			r.must(r.cancelOf(next, fmt.Sprint(o)))
			next++
			if o == first {
				continue // one is left
			}
			r.pass(checkEveryMs)
			if len(r.Pauses()) != 0 {
				t.Errorf("round %d: the share is free again, and pauses are %v", round, r.Pauses())
			}
		}
		r.pass(holdMaxMs)
		r.offer()
		r.audit()
	}
}

// TestTheEndOfAnAssignmentWritesTheLeast: a single offset that has finished since.
func TestTheEndOfAnAssignmentWritesTheLeast(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, journalTopic)
	r.scattered(0, 1, 8000)
	r.wait(8000)
	at := int64(1)
	for round := range int64(3) {
		r.Commits(nil, true)
		r.CutOf(partitionOf(0), 1)
		writes := r.Take().Writes
		if len(writes) == 0 {
			t.Errorf("round %d: nothing is written", round)
		}
		for _, w := range writes {
			r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: at})
			at++
		}
		if f := r.Snapshot().Partitions[0].Facts; f.Unwritten != 0 {
			t.Errorf("round %d: %d offsets are not written", round, f.Unwritten)
		}
		r.finishMore(round)
	}
}

// TestATargetIsKeptWhileARecordNamesIt, however many others there are.
func TestATargetIsKeptWhileARecordNamesIt(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxBuffered = 1 << 20 })
	r.assign(0, 1, 0)
	const n = forgetAbove + 50
	give := func(offset, delayMs int64, no int64) {
		a := r.arrival(offset, delayMs, "0")
		a.Target, a.Label = fmt.Sprintf("jobs.%d", no), "jobs.*"
		r.take(0, 1, a)
	}
	for no := range int64(n) {
		give(2*no, 0, no)
		give(2*no+1, 1000, no)
	}
	for _, wait := range []int64{1, 1000} {
		r.pass(wait)
		ds := r.offer()
		if len(ds) != n {
			t.Fatalf("offered %d, want %d", len(ds), n)
		}
		r.end(Delivered, ds...)
		r.offer()
		r.audit()
	}
	if known := len(r.out.dir.byKey); known > forgetAbove+1 {
		t.Errorf("%d targets are known, and no record names any", known)
	}
}

// TestASetGoesToTheJournalFromTheSizeThatTheConfigurationSays.
func TestASetGoesToTheJournalFromTheSizeThatTheConfigurationSays(t *testing.T) {
	for above, want := range map[int]bool{0: false, 60: true, 4000: false} {
		r := newRig(t, func(c *Config) { c.JournalAbove = above })
		r.Journal(ingress, journalTopic)
		r.scattered(0, 1, 1000)
		c := r.Commits(nil, true)[0]
		for r.Cut(true) {
		}
		if writes := len(r.Take().Writes); (writes > 0) != want || len(c.Metadata) < 100 || len(c.Metadata) > 3000 {
			t.Errorf("above %d: %d records of a set that takes %d characters", above, writes, len(c.Metadata))
		}
	}
}

// TestASingleRecordIsInTheOutlook.
func TestASingleRecordIsInTheOutlook(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 5000, 0)
	if got, want := r.Outlook().DueWithin, [7]int64{0, 1, 1, 1, 1, 1, 1}; got != want {
		t.Errorf("due within %d, want %d", got, want)
	}
}

// TestAnExpiryBehindTheDeadlineMovesNoRecord when the clock is stepped back.
func TestAnExpiryBehindTheDeadlineMovesNoRecord(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	a := r.arrival(0, 60_000, "0")
	a.Expires, a.ExpireMs = true, a.DeadlineMs+60_000
	r.take(0, 1, a)
	r.step(-5000)
	r.pass(1)
	if s := r.Snapshot(); s.Parked != 1 || s.Due != 0 || s.NextDueMs != a.DeadlineMs {
		t.Errorf("%d parked, %d due, the next at %d; want one parked until %d", s.Parked, s.Due, s.NextDueMs, a.DeadlineMs)
	}
	r.pass(65_000)
	r.one(Delivered)
}

// TestACancelThatCountsAgainIsCountedOnce, though its record was delivered meanwhile.
func TestACancelThatCountsAgainIsCountedOnce(t *testing.T) {
	set := offsets.NewWindow(0)
	set.FinishRange(1, 2)
	r := newIDRig(t, nil)
	r.assigned(func(a *facts.Assigned) { a.Window, a.StableEnd = set, 2 })
	r.must(r.named(0, 0, "a"))
	r.Replays().Reading(true)
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0)
	reader, _ := r.Reader(partitionOf(0), 1)
	if reader.Wants(1, 0) != Commanded {
		t.Fatal("the command does not count again")
	}
	a := r.cancelOf(1, "a")
	reader.Command(&a)
	r.end(Delivered, ds...)
	if got, want := r.drain(), []string{"too_late a 0 by 1"}; !slices.Equal(got, want) || total(r.stats.Cancels) != 0 {
		t.Errorf("got %q, want %q; counted %v", got, want, r.stats.Cancels)
	}
}

// TestATargetOfEachGlobIsDescribed, however many there are of another: the log says what is wrong with it.
func TestATargetOfEachGlobIsDescribed(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(mostViews + 1) {
		a := r.arrival(o, 0, "0")
		a.Target, a.Label = fmt.Sprintf("a-%d", o), "a-*"
		if o == mostViews {
			a.Target, a.Label = "b-1", "b-*"
		}
		r.router[a.Target] = Missing
		r.take(0, 1, a)
	}
	r.pass(1)
	r.offer()
	s := r.Snapshot()
	if !slices.ContainsFunc(s.Held, func(h HeldView) bool { return h.Label == "b-*" }) || len(s.Held) != mostViews+1 || len(s.HeldRest) != 0 {
		t.Errorf("%d targets are described, and %v counted", len(s.Held), s.HeldRest)
	}
}

// TestEachQuestionForANameHasItsTime: the only record of a name expired before anything was known about it. An hour later
// another one asks.
func TestEachQuestionForANameHasItsTime(t *testing.T) {
	r := newRig(t, nil)
	r.router[egress] = Pending
	r.assign(0, 1, 0)
	a := r.arrival(0, 0, "0")
	a.Expires, a.ExpireMs = true, a.DeadlineMs+500
	r.take(0, 1, a)
	for range 20 {
		r.pass(100)
		r.end(Delivered, r.offer()...) // its letter
	}
	r.pass(3_600_000)
	r.take(0, 1, r.arrival(1, 0, "0"))
	r.pass(1)
	r.want(r.offer())
	r.pass(stallMs - 1)
	r.want(r.offer())
	if h := r.Take().Holds; len(h) > 0 {
		t.Errorf("held before its time: %+v", h)
	}
	r.pass(1)
	r.want(r.offer())
	if h := r.heldView(); h.Verdict != Unreachable {
		t.Errorf("held %+v", h)
	}
}
