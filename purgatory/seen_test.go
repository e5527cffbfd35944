package purgatory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
)

// TestADeliveryHasAllOfItsRecord, and says where it goes.
func TestADeliveryHasAllOfItsRecord(t *testing.T) {
	r := newRig(t, nil)
	r.assign(4, 1, 0)
	a := r.arrival(7, 0, "3 of a record")
	a.TimestampMs, a.DeadlineMs = startMs-5000, startMs-1000
	r.take(4, 1, a)
	r.pass(1)
	ds := r.offer()
	if len(ds) != 1 {
		t.Fatalf("offered %+v", ds)
	}
	d := ds[0]
	if string(d.Body) != "3 of a record" || d.Topic != ingress || d.Partition != 4 || d.Offset != 7 || d.TimestampMs != startMs-5000 || d.DeadlineMs != startMs-1000 ||
		d.Target != egress || d.TargetPartition != 3 || d.Reason != "" || d.Message != "" || d.DeadLettered || d.Event || d.Alone || d.Bare || d.Last != 0 || d.Records != 0 {
		t.Errorf("%+v", d)
	}
}

// TestAViewOfAPartitionHasItsOffsets and counts, each of which moves.
func TestAViewOfAPartitionHasItsOffsets(t *testing.T) {
	r := newRig(t, nil)
	w := offsets.NewWindow(3)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(2), Epoch: 9}, Window: w, Next: 3, StableEnd: 30})
	v := r.Snapshot().Partitions[0]
	if v.Partition != 2 || v.Epoch != 9 || v.Low != 3 || v.Next != 3 || v.StableEnd != 30 || v.Committed != 3 || v.Confirmed || v.Uncommitted != 0 {
		t.Errorf("at first %+v", v)
	}
	r.take(2, 9, r.arrival(3, 1000, "0"))
	r.take(2, 9, r.arrival(4, 0, "0"))
	r.take(2, 9, r.arrival(6, 0, "0"))
	r.commitAll()
	r.pass(1)
	v = r.Snapshot().Partitions[0]
	if v.Parked != 1 || v.Due != 2 || v.InFlight != 0 || v.Next != 7 || v.Finished != 1 || v.FurthestMs != startMs+1000 || !v.Confirmed || v.Uncommitted != 0 {
		t.Errorf("with two that are due %+v", v)
	}
	ds := r.offer()
	if v = r.Snapshot().Partitions[0]; v.Due != 0 || v.InFlight != 2 {
		t.Errorf("with two in flight %+v", v)
	}
	r.end(Delivered, ds...)
	if v = r.Snapshot().Partitions[0]; v.InFlight != 0 || v.Finished != 3 || v.Uncommitted != 2 || v.Low != 3 {
		t.Errorf("with two delivered %+v", v)
	}
	r.pass(1000)
	r.one(Delivered)
	r.commitAll()
	if v = r.Snapshot().Partitions[0]; v.Low != 7 || v.Committed != 7 || v.Uncommitted != 0 || v.Finished != 0 || v.FurthestMs != 0 || v.Parked != 0 {
		t.Errorf("with all committed %+v", v)
	}
	r.audit()
}

// TestAnOffsetIsFinishedOnce in the count of what no commit says yet: cancels, too.
func TestAnOffsetIsFinishedOnce(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	uncommitted := func(want int64) {
		t.Helper()
		if v := r.Snapshot().Partitions[0]; v.Uncommitted != want {
			t.Errorf("%d offsets are in no commit, want %d", v.Uncommitted, want)
		}
	}
	r.must(r.cancelOf(0, "none"))
	uncommitted(1)
	r.must(r.named(1, 1000, "a"), r.cancelOf(2, "a"))
	uncommitted(3)
	r.must(r.named(3, 1000, "b"), r.named(4, 1000, "b"))
	uncommitted(4)
}

// TestWhatTheJournalHasIsTold: of what the last commit leaves out, all that was acknowledged.
func TestWhatTheJournalHasIsTold(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, journalTopic)
	r.scattered(0, 1, 8000)
	r.wait(8000)
	r.commitAll()
	for _, c := range r.Commits(nil, true) {
		r.Committed(offsets.CommitResult{Commit: c})
	}
	left := r.Snapshot().Partitions[0].BeyondPrefix
	if v := r.Snapshot().Partitions[0]; left == 0 || v.Journalled != 0 {
		t.Fatalf("before anything is written %+v", v)
	}
	for r.Cut(true) {
	}
	if b := r.parts.byTopic[partitionOf(0)].Facts.Bytes(); b == 0 {
		t.Error("what is being written takes no memory")
	}
	r.audit() // counts that memory
	at := int64(1)
	for _, w := range r.Take().Writes {
		r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: at})
		at++
	}
	if v := r.Snapshot().Partitions[0]; v.Facts.Unwritten != 0 || v.Journalled != left || v.Uncommitted != 0 {
		t.Errorf("once all is written %+v, want %d in the journal", v, left)
	}
	r.finishMore(0)
	if v := r.Snapshot().Partitions[0]; v.Facts.Unwritten != 1 || v.Journalled != left || v.Uncommitted != 1 {
		t.Errorf("with one more delivered %+v, want %d in the journal", v, left)
	}
}

// TestAnAnswerToAnAssignmentThatIsOverIsNobodys: of the journal, or of a commit.
func TestAnAnswerToAnAssignmentThatIsOverIsNobodys(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, journalTopic)
	r.scattered(0, 1, 8000)
	r.wait(8000)
	commits := r.Commits(nil, true)
	for r.Cut(true) {
	}
	writes := r.Take().Writes
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	for _, w := range writes {
		r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: 1})
	}
	r.Committed(offsets.CommitResult{Commit: commits[0]})
	over := offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
	r.Deleted(JournalDelete{over, 5}, nil)
	r.LogStart(over.TopicPartition, 1, 90)
	r.Revoke(over.TopicPartition, 1)
	r.Replays().Stopped(over.TopicPartition, 1)
	r.CutOf(over.TopicPartition, 1)
	if _, ok := r.Final(over.TopicPartition, 1); ok || len(writes) == 0 || len(r.Take().Writes) != 0 || r.Writing() || r.WritingOf(over.TopicPartition, 1) {
		t.Errorf("%d records were written, and something is left to say", len(writes))
	}
	if s := r.Snapshot(); s.Commits != 0 || s.CommitErrors != 0 || s.LostToRetention != 0 || len(s.Errors) != 0 {
		t.Errorf("%+v", s.Stats)
	}
}

// TestTheValuesOfLabelsAreAllThatAreCounted.
func TestTheValuesOfLabelsAreAllThatAreCounted(t *testing.T) {
	for name, test := range map[string]struct{ got, want []string }{
		"barriers": {BarrierReasons(), []string{"paused", "halted", "stopped", "idle"}},
		"cancels":  {CancelResults(), []string{"cancelled", "too_late", "miss"}},
		"events":   {EventResults(), []string{"acknowledged", "given_up"}},
		"ended":    {EndedOutcomes(), []string{"cancelled", "replaced", "expired"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: %q, want %q", name, test.got, test.want)
		}
	}
	var sum Histogram
	for _, ms := range []int64{1, 7, 1 << 40} {
		var one Histogram
		one.observe(&LatenessBounds, ms)
		sum.Add(&one)
	}
	if sum.Count != 3 || sum.SumMs != 8+1<<40 || sum.Buckets[0] != 1 || sum.Buckets[3] != 1 || sum.Buckets[len(LatenessBounds)] != 1 {
		t.Errorf("three together are %+v", sum)
	}
}

// TestAnInvalidRecordIsCountedByItsReason, whatever becomes of it.
func TestAnInvalidRecordIsCountedByItsReason(t *testing.T) {
	for _, policy := range []Policy{DeadLetter, Deliver, Drop} {
		r := newRig(t, func(c *Config) { c.OnInvalid = policy })
		r.assign(0, 1, 0)
		for i, reason := range []string{"no_target", "no_target", "malformed_delay"} {
			a := r.arrival(int64(i), 0, "0")
			a.Reason = reason
			r.take(0, 1, a)
		}
		cancel := r.cancelOf(3, "a")
		cancel.Reason = "malformed_cancel"
		r.take(0, 1, cancel)
		s := r.Snapshot()
		for reason, want := range map[string]int64{"no_target": 2, "malformed_delay": 1, "malformed_cancel": 1} {
			if n := s.Invalid[TopicReason{ingress, reason}]; n != want {
				t.Errorf("policy %d: %d of %s, want %d", policy, n, reason, want)
			}
		}
		if n := s.Consumed[TopicOutcome{ingress, Invalid}]; n != 4 || total(s.Invalid) != 4 {
			t.Errorf("policy %d: %d invalid, %v", policy, n, s.Invalid)
		}
	}
}

// TestADeadLetterSaysWhyItsTargetWasGivenUp, in words that an operator can look for.
func TestADeadLetterSaysWhyItsTargetWasGivenUp(t *testing.T) {
	for name, test := range map[string]struct {
		share  int64
		detail string
		want   string
	}{
		"its patience":            {1 << 20, "", "target ready is missing, and the record was held for LAYOVER_TARGET_PATIENCE (a minute)"},
		"its patience, in detail": {1 << 20, "no such topic", "target ready is missing, and the record was held for LAYOVER_TARGET_PATIENCE (a minute): no such topic"},
		"its share":               {1, "", "target ready is missing, and the records held for it, or for all targets that ready allows, fill their share of memory, 1 bytes"},
	} {
		r := newRig(t, func(c *Config) {
			c.PatienceText, c.HeldShare = "a minute", test.share
			c.Place = func(s *TargetState, _ offsets.TopicPartition, _ []byte) Route {
				if s.Name == egress {
					return Route{Verdict: Missing, Detail: test.detail}
				}
				return Route{}
			}
		})
		r.assign(0, 1, 0)
		r.mustTake(0, 1, 0, 0)
		r.pass(1)
		r.want(r.offer())
		r.pass(61_000)
		if d := r.one(Delivered); d.Message != test.want || d.Reason != reasonUnavailable {
			t.Errorf("%s: %q, want %q", name, d.Message, test.want)
		}
	}
}

// TestAnOutlookLooksWhereverRecordsWait: behind those in flight, behind the barrier, for
// membership, and at the instant itself.
func TestAnOutlookLooksWhereverRecordsWait(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 10, 0)
	r.mustTake(0, 1, 20, 1)
	r.pass(10)
	overdue := func(name string, r *rig, want int64) {
		t.Helper()
		if got := r.Outlook().OldestOverdueMs; got != startMs+want {
			t.Errorf("%s: overdue since %d ms after the start, want %d", name, got-startMs, want)
		}
	}
	overdue("at its instant", r, 10)
	r.pass(20)
	ds := r.offer()
	r.want(ds, 0)
	r.end(Delivered, ds...)
	if n := r.out.dir.byKey[TargetName{Name: egress}].overflow; n != 1 {
		t.Fatalf("%d records wait behind the one that was in flight", n)
	}
	overdue("behind the one in flight", r, 20)

	r = newIDRig(t, nil)
	r.barredRig(true)
	r.pass(5)
	overdue("behind the barrier", r, 0)

	r = newRig(t, nil)
	r.assign(0, 1, 0)
	r.Suspend()
	r.mustTake(0, 1, 10, 0)
	r.pass(30)
	overdue("for its membership", r, 10)

	r = newRig(t, nil)
	r.assign(0, 1, 0)
	r.bury(0, "0") // its deadline is over, and a dead letter has none
	r.pass(40)
	r.offer()
	r.pass(40)
	overdue("a dead letter in flight", r, 40)
}

// TestBytesOfWhatWaitsForASilentPartitionAreTold, and how long it may wait.
func TestBytesOfWhatWaitsForASilentPartitionAreTold(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2)
	r.pass(1)
	r.want(r.offer(), 0)
	r.pass(stallMs)
	bytes := waitsWith(r.arrival(1, 0, "0 record 1")) + waitsWith(r.arrival(2, 0, "0 record 2"))
	if h := r.heldView(); h.Records != 2 || h.Bytes != bytes || h.Label != egress || h.PatienceLeftMs != 60_000 {
		t.Errorf("%+v, want 2 records of %d bytes", h, bytes)
	}
	r.pass(5000)
	if h := r.heldView(); h.PatienceLeftMs != 55_000 {
		t.Errorf("5 s later %+v", h)
	}
	r = newRig(t, nil)
	r.forbid(1, '0')
	r.pass(holdFirstMs)
	trial := r.offer()
	r.want(trial, 0)
	if h := r.heldView(); h.Records != 0 || h.Bytes != 0 || h.PatienceLeftMs != 60_000 {
		t.Errorf("with the only one on its way %+v", h)
	}
}

// TestEachPartitionThatIsHeldIsDescribed: one fails, another has been silent since, and their records have waited for as long.
func TestEachPartitionThatIsHeldIsDescribed(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 }) // a patience of a minute
	r.assign(0, 1, 0)
	r.take(0, 1, r.arrival(0, 0, "1"))
	r.pass(1)
	r.end(Unknown, r.offer()...)
	fails := r.at.WallMs
	for o := int64(1); o < 4; o++ {
		r.take(0, 1, r.arrival(o, 0, "2"))
	}
	for range 20 {
		r.pass(1000)
		for _, d := range r.offer() {
			if d.TargetPartition == 1 {
				r.end(Unknown, d)
			}
		}
	}
	silent := r.out.dir.byKey[TargetName{Name: egress}].dests[1].stalledMs
	want := []HeldPartition{
		{1, "partition 1: said the broker", 1, fails, 60_000 - (r.at.WallMs - fails), 0},
		{2, "partition 2 has not answered for 10 s", 2, silent, 60_000 - (r.at.WallMs - silent), 0},
	}
	if h := r.heldView(); !slices.Equal(h.Partitions, want) || h.Detail != want[0].Detail || h.Records != 3 || h.SinceMs != fails || h.PatienceLeftMs != want[0].PatienceLeftMs {
		t.Errorf("%+v, want %+v", h, want)
	}
	if silent < fails+stallMs || silent > fails+stallMs+2000 {
		t.Errorf("partition 2 is held since %d ms", silent-fails)
	}
}

// TestEachTargetOfASettingIsDescribed, and of those that a glob allows a hundred.
func TestEachTargetOfASettingIsDescribed(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience, c.HeldShare = time.Hour, 1<<30 })
	r.assign(0, 1, 0)
	next := int64(0)
	hold := func(label string) {
		a := r.arrival(next, 0, "0")
		a.Target, a.Label = "t"+strings.Repeat("x", int(next)), label
		if label == "" {
			a.Label = a.Target
		}
		r.router[a.Target] = Missing
		r.take(0, 1, a)
		next++
	}
	for range mostViews + 10 {
		hold("")
	}
	for range mostViews + 5 {
		hold("t*")
	}
	hold("")
	r.pass(1)
	r.want(r.offer())
	s := r.Snapshot()
	described := map[string]int{}
	for _, h := range s.Held {
		if h.Label == h.Target {
			described["exact"]++
		} else {
			described[h.Label]++
		}
	}
	if rest := s.HeldRest["t*"]; described["exact"] != mostViews+11 || described["t*"] != mostViews || len(s.HeldRest) != 1 || rest.Targets != 5 || rest.Records != 5 || rest.Bytes == 0 {
		t.Errorf("described %v, the rest %+v", described, s.HeldRest)
	}
}

// TestWhatWasGivenUpIsToldOfEachTarget.
func TestWhatWasGivenUpIsToldOfEachTarget(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for i, name := range []string{"one", "two", "two", "three"} {
		r.router[name] = Missing
		r.give(int64(i), name, 0)
	}
	r.pass(1)
	r.want(r.offer())
	r.pass(61_000)
	r.end(Delivered, r.offer()...)
	r.offer()
	if s := r.Snapshot(); len(s.Held) != 0 || len(s.GivenUp) != 3 || s.GivenUp["one"] != 1 || s.GivenUp["two"] != 2 || s.GivenUp["three"] != 1 {
		t.Errorf("given up %v, held %+v", s.GivenUp, s.Held)
	}
	r.Usable("two")
	if s := r.Snapshot(); len(s.GivenUp) != 2 || s.GivenUp["two"] != 0 {
		t.Errorf("one is usable again, and given up %v", s.GivenUp)
	}
}

// TestOffsetsThatRetentionHasTakenAreCounted, were it a single one.
func TestOffsetsThatRetentionHasTakenAreCounted(t *testing.T) {
	for lost := range int64(3) {
		r := newRig(t, nil)
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: offsets.NewWindow(5), Next: 5 + lost})
		if n := r.Snapshot().LostToRetention; n != lost || r.Snapshot().Partitions[0].Low != 5+lost {
			t.Errorf("%d are counted, want %d", n, lost)
		}
	}
}
