package purgatory

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

func TestOutlookCountsWhatIsDueWithinEachHorizon(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for offset, delayMs := range []int64{500, 9000, 59_000, 61_000, 3_000_000, 20_000_000, 80_000_000, 90_000_000} {
		r.mustTake(0, 1, delayMs, int64(offset))
	}
	if got, want := r.Outlook().DueWithin, [7]int64{1, 2, 3, 4, 5, 6, 7}; got != want {
		t.Errorf("due within %d, want %d", got, want)
	}
	r.pass(1100) // the first is due, and waits to be offered
	if got, want := r.Outlook().DueWithin, [7]int64{1, 2, 4, 4, 5, 6, 7}; got != want {
		t.Errorf("1.1 s later due within %d, want %d", got, want)
	}
	r.one(Delivered)
	if got, want := r.Outlook().DueWithin, [7]int64{0, 1, 3, 3, 4, 5, 6}; got != want {
		t.Errorf("after its delivery due within %d, want %d", got, want)
	}
}

func TestOutlookNamesTheOldestDeadlineThatHasPassed(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for offset, delayMs := range []int64{10, 20, 30, 60_000} {
		r.mustTake(0, 1, delayMs, int64(offset))
	}
	r.pass(5)
	if got := r.Outlook().OldestOverdueMs; got != 0 {
		t.Errorf("%d is overdue before anything is due", got)
	}
	r.pass(35)
	if got := r.Outlook().OldestOverdueMs; got != startMs+10 {
		t.Errorf("oldest overdue %d ms after the start, want 10", got-startMs)
	}
	sent := r.offer()
	if got := r.Outlook().OldestOverdueMs; got != startMs+10 || len(sent) != 3 {
		t.Errorf("in flight: oldest overdue %d ms after the start, want 10; %d in flight", got-startMs, len(sent))
	}
	r.end(Delivered, sent[0])
	if got := r.Outlook().OldestOverdueMs; got != startMs+20 {
		t.Errorf("oldest overdue %d ms after the start, want 20", got-startMs)
	}
	r.end(Delivered, sent[1:]...)
	if got := r.Outlook().OldestOverdueMs; got != 0 {
		t.Errorf("%d is overdue when all is delivered", got)
	}
}

func TestTheOldestNeededTimestampIsThatOfTheLowOffset(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	needed := func() int64 { return r.Snapshot().Partitions[0].OldestNeededMs }
	if needed() != 0 {
		t.Error("something is needed of an empty partition")
	}
	r.mustTake(0, 1, 100, 0)
	r.pass(40)
	r.mustTake(0, 1, 1000, 1)
	if got := needed(); got != startMs {
		t.Errorf("needed since %d ms after the start, want 0", got-startMs)
	}
	r.pass(60)
	r.one(Delivered)
	if got := needed(); got != startMs+40 {
		t.Errorf("needed since %d ms after the start, want 40", got-startMs)
	}
	r.pass(1000)
	r.one(Delivered)
	if needed() != 0 {
		t.Error("something is needed when all is delivered")
	}
}

// The samples never claim that what is needed is younger than it is, and are exact
// while they are few.
func TestAgesAgainstAllTimestamps(t *testing.T) {
	for _, records := range []int{200, 50_000} {
		t.Run(fmt.Sprint(records), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(5, 6))
			var a ages
			stamps := make([]int64, records)
			low, worst := 0, int64(0)
			for i := range stamps {
				stamps[i] = 1_000_000 + int64(i)*10 + rnd.Int64N(50)
				a.note(int64(i), stamps[i])
				if rnd.IntN(10) > 0 {
					continue
				}
				low = min(low+rnd.IntN(20), i)
				want := stamps[low]
				for _, ms := range stamps[low : i+1] {
					want = min(want, ms)
				}
				got := a.since(int64(low))
				if got > want {
					t.Fatalf("low %d: since %d, but a needed record is of %d", low, got, want)
				}
				worst = max(worst, want-got)
			}
			if len(a.samples) > maxAges || records == 200 && worst > 0 {
				t.Errorf("%d samples, at worst %d ms too old", len(a.samples), worst)
			}
			if span := int64(records) * 10; worst > span/20 {
				t.Errorf("at worst %d ms too old of %d", worst, span)
			}
		})
	}
}

func TestWhatIsReadIsCountedByTimestampAndPlace(t *testing.T) {
	r := newRig(t, nil)
	window := offsets.NewWindow(0)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: window, Next: 0, StableEnd: 2, Committed: true,
		Facts: facts.NewWriter(facts.Identity{}, 1, facts.Restored{}, window)})
	r.mustTake(0, 1, 7000, 0)
	r.mustTake(0, 1, 5000, 1)
	ahead := r.arrival(2, 10_000, "0")
	ahead.TimestampMs += FutureSlackMs + 1
	r.take(0, 1, ahead)
	s := r.Snapshot()
	if s.Restored != 2 || s.Future[ingress] != 1 {
		t.Errorf("%d restored and %d from the future, want 2 and 1", s.Restored, s.Future[ingress])
	}
	// 7 s and 5 s from their timestamps, and 10 s less what the third's is ahead.
	h := s.Requested[ingress]
	if h == nil || h.Count != 3 || h.SumMs != 7000+5000+4999 || h.Buckets[1] != 2 || h.Buckets[2] != 1 {
		t.Errorf("requested delays %+v", h)
	}
}

func TestRecordsFoundFinishedAreRestoredToo(t *testing.T) {
	r := newRig(t, nil)
	window := offsets.NewWindow(0)
	window.FinishRange(1, 5)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: window, Next: 0, StableEnd: 7, Committed: true})
	reader, _ := r.Reader(partitionOf(0), 1)
	for o := range int64(8) {
		if a := r.arrival(o, 1000, "0"); reader.Wants(o, 0) == Whole {
			reader.Read(&a)
		}
	}
	if s := r.Snapshot(); s.Restored != 7 || s.Consumed[TopicOutcome{ingress, Skipped}] != 4 {
		t.Errorf("%d restored, %d skipped, want 7 and 4", s.Restored, s.Consumed[TopicOutcome{ingress, Skipped}])
	}
}

// A long delay that is over leaves samples for millions of records; what comes then has
// its own.
func TestSamplesAreFineAgainWhenALongWindowEnds(t *testing.T) {
	var a ages
	for o := range int64(10_000_000) {
		a.note(o, 1000+o)
	}
	a.since(9_999_999)
	for o := int64(10_000_000); o < 10_000_100; o++ {
		a.note(o, 1000+o)
	}
	if low := int64(10_000_050); a.since(low) != 1000+low {
		t.Errorf("since %d, want %d", a.since(low), 1000+low)
	}
}

func TestWhatAsksForNoDelayIsNotOverdueSinceItWasWritten(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	old := r.arrival(0, -864_000_000, "0") // passed on, ten days after it was written
	old.TimestampMs, old.Outcome = old.DeadlineMs, Passed
	r.take(0, 1, old)
	r.pass(10)
	sent := r.offer()
	r.pass(30)
	if got := r.Outlook().OldestOverdueMs; got != startMs+10 || len(sent) != 1 {
		t.Errorf("overdue since %d ms after the start, want 10, when it was sent", got-startMs)
	}
}

func TestAClockThatStepsIsNobodysLag(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 1000, 0)
	r.mustTake(0, 1, 2000, 1)
	r.pass(1000)
	sent := r.offer()
	before := r.Snapshot().TickLag
	r.step(7_200_000)
	r.end(Delivered, sent...)
	if s := r.Snapshot(); s.TickLag.SumMs != before.SumMs || s.Produced.SumMs != 0 || s.TickLag.Count == before.Count {
		t.Errorf("tick lag %+v before and %+v after, produced in %+v", before, s.TickLag, s.Produced)
	}
}

func TestTimesOfTicksProducesAndCommitsAreCounted(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 10, 0)
	r.pass(17)
	sent := r.offer()
	r.pass(40)
	r.end(Delivered, sent...)
	c := r.Commits(nil, false)[0]
	r.Committed(offsets.CommitResult{Commit: c, TookMs: 30})
	s := r.Snapshot()
	if h := s.TickLag; h.Count != 1 || h.SumMs != 7 {
		t.Errorf("tick lag %+v, want one of 7 ms", h)
	}
	if h := s.Produced; h.Count != 1 || h.SumMs != 40 {
		t.Errorf("produced in %+v, want one of 40 ms", h)
	}
	if h := s.Stats.Committed; h.Count != 1 || h.SumMs != 30 || s.LastCommitMs != r.at.WallMs {
		t.Errorf("committed in %+v at %d, want one of 30 ms now", h, s.LastCommitMs)
	}
	if got := s.Partitions[0].Metadata; got != len(c.Metadata) || got == 0 {
		t.Errorf("%d bytes of metadata, want %d", got, len(c.Metadata))
	}
}

func TestChunkBytesThatNobodyNeedsAreTold(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	if s := r.Snapshot(); s.ChunkBytes != 0 || s.LiveBytes != 0 {
		t.Errorf("empty: %d of %d bytes", s.LiveBytes, s.ChunkBytes)
	}
	one := sizeOf(r.arrival(0, 1000, "0 record 0"))
	r.mustTake(0, 1, 1000, 0)
	r.mustTake(0, 1, 1020, 1)
	if s := r.Snapshot(); s.LiveBytes != 2*one || s.ChunkBytes != minChunk+chunkOverhead {
		t.Errorf("two parked: %d of %d bytes, want %d of one chunk", s.LiveBytes, s.ChunkBytes, 2*one)
	}
	r.pass(1000)
	r.one(Delivered)
	if s := r.Snapshot(); s.LiveBytes != one {
		t.Errorf("one left: %d bytes live, want %d", s.LiveBytes, one)
	}
}

// TestARecordWithoutATimestampIsNotToldWithAnothers, nor does it hide one.
func TestARecordWithoutATimestampIsNotToldWithAnothers(t *testing.T) {
	var a ages
	a.note(0, 0)
	a.note(1, -1)
	if a.note(2, 5); a.since(0) != 5 {
		t.Errorf("since %d, want 5", a.since(0))
	}
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	needed := func() int64 { return r.Snapshot().Partitions[0].OldestNeededMs }
	for round := range int64(2) {
		r.mustTake(0, 1, 1000, 2*round)
		if got := needed(); got != r.at.WallMs {
			t.Errorf("round %d: needed since %d, want %d", round, got, r.at.WallMs)
		}
		r.pass(1000)
		r.one(Delivered)
		if needed() != 0 {
			t.Errorf("round %d: something is needed when all is delivered", round)
		}
		bare := r.arrival(2*round+1, 1000, "0")
		bare.TimestampMs = 0
		r.take(0, 1, bare)
		if got := needed(); got != 0 {
			t.Errorf("round %d: needed since %d, and nobody knows", round, got)
		}
		r.pass(1000)
		r.one(Delivered)
	}
}

// TestATimestampIsOfTheFutureBeyondItsSlack, and not up to there.
func TestATimestampIsOfTheFutureBeyondItsSlack(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o, want := range map[int64]int64{FutureSlackMs: 0, FutureSlackMs + 1: 1} {
		before := r.Snapshot().Future[ingress]
		a := r.arrival(r.parts.byTopic[partitionOf(0)].next, 60_000, "0")
		a.TimestampMs += o
		r.take(0, 1, a)
		if n := r.Snapshot().Future[ingress] - before; n != want {
			t.Errorf("%d ms ahead: %d are of the future, want %d", o, n, want)
		}
	}
}

// TestARecordWithoutADelayHidesNoneThatIsOverdue: no commit is accepted, and so nothing is offered.
func TestARecordWithoutADelayHidesNoneThatIsOverdue(t *testing.T) {
	for _, front := range []bool{false, true} {
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		r.Suspend()
		if front {
			a := r.arrival(0, 0, "0")
			a.Outcome = Passed
			r.take(0, 1, a)
			r.pass(1)
		}
		r.mustTake(0, 1, 0, 1)
		due := r.at.WallMs
		for range 60 {
			r.pass(1000)
			r.want(r.offer())
		}
		if got := r.Outlook().OldestOverdueMs; got != due {
			t.Errorf("in front %t: the oldest that is overdue was due at %d, want %d", front, got, due)
		}
	}
}
