package purgatory

import (
	"math"
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/wheel"
)

// TestABatchThatNobodyCanReadStopsItsPartition where it begins, unless it is left out.
func TestABatchThatNobodyCanReadStopsItsPartition(t *testing.T) {
	broken := offsets.UnreadBatch{First: 3, Last: 12, Broken: true, Message: "its checksum is wrong"}
	for next, want := range map[int64]int64{0: 3, 3: 3, 5: 5} {
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		for o := range next {
			r.mustTake(0, 1, 1000, o)
		}
		if r.unread(broken) {
			t.Error("reading goes on")
		}
		e := r.Take()
		if len(e.Halts) != 1 || len(e.Jumps) != 0 || e.Halts[0].Offset != want || !e.Halts[0].Unreadable || e.Halts[0].Reason != broken.Message || e.Halts[0].Partition != 0 {
			t.Errorf("read up to %d: %+v, want a halt at %d", next, e, want)
		}
		if _, ok := r.Reader(partitionOf(0), 1); ok {
			t.Error("the partition reads on")
		}
	}
	r := newRig(t, nil)
	w := offsets.NewWindow(0)
	w.FinishRange(3, 15) // as layover skip leaves it
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: w, Committed: true, LeaderEpoch: 4})
	r.Take()
	if !r.unread(broken) {
		t.Error("the batch is left out, and reading stops")
	}
	want := Jump{offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, 15, 4, true}
	if e := r.Take(); len(e.Halts) != 0 || !slices.Equal(e.Jumps, []Jump{want}) {
		t.Errorf("%+v, want a jump behind what is finished", e)
	}
}

// TestAnswersOfTheJournalAreOwedUntilTheyComeOrAreGivenUp, each time.
func TestAnswersOfTheJournalAreOwedUntilTheyComeOrAreGivenUp(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, journalTopic)
	r.scattered(0, 1, 8000)
	r.wait(8000)
	r.commitAll()
	r.Commits(nil, true)
	at := int64(1)
	for round := range 3 {
		if r.Writing() {
			t.Fatalf("round %d: an answer is owed, and nothing was asked", round)
		}
		r.finishMore(int64(round))
		for r.Cut(true) {
		}
		writes := r.Take().Writes
		if len(writes) == 0 || !r.Writing() {
			t.Fatalf("round %d: %d records, an answer is owed: %v", round, len(writes), r.Writing())
		}
		if round == 1 {
			if r.GiveUp(); r.Writing() {
				t.Error("what was given up is waited for")
			}
		}
		for _, w := range writes {
			r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: at})
			at++
		}
		if r.Writing() {
			t.Errorf("round %d: all is answered, and an answer is owed", round)
		}
	}
}

// wait parks what is unfinished of a scattered partition for an hour.
func (r *rig) wait(n int64) {
	r.Helper()
	for o := int64(0); o < n; o += 2 {
		r.mustTake(0, 1, 3_600_000, o)
	}
}

// finishMore delivers a record behind a scattered partition, which is then to be written to
// the journal.
func (r *rig) finishMore(round int64) {
	r.Helper()
	r.mustTake(0, 1, 3_600_000, 8000+2*round)
	r.mustTake(0, 1, 0, 8001+2*round)
	r.pass(1)
	r.end(Delivered, r.offer()...)
}

// TestAnAnswerOfTheJournalCutsNoSmallRecord: what little has finished waits for a commit.
func TestAnAnswerOfTheJournalCutsNoSmallRecord(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, journalTopic)
	r.scattered(0, 1, 8000)
	r.wait(8000)
	r.Commits(nil, true)
	at := int64(1)
	for round := range int64(3) {
		for r.Cut(true) {
		}
		writes := r.Take().Writes
		if len(writes) == 0 {
			t.Fatalf("round %d: nothing is written", round)
		}
		r.finishMore(round)
		for _, w := range writes {
			r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: at})
			at++
		}
		if more := r.Take().Writes; len(more) != 0 {
			t.Errorf("round %d: an answer makes %d records of one offset", round, len(more))
		}
	}
}

// TestAJournalThatIsAwayIsNotOneThatIsGone: its records count as long as it exists.
func TestAJournalThatIsAwayIsNotOneThatIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		state JournalState
		gone  bool
	}{
		"away": {JournalState{TopicID: journalTopic.TopicID}, false},
		"gone": {JournalState{}, true},
	} {
		r := newRig(t, nil)
		r.scattered(0, 1, 8000)
		at := int64(1)
		for round := range 2 {
			r.Journal(ingress, journalTopic)
			for range 3 {
				for r.Cut(true) {
				}
				for _, w := range r.Take().Writes {
					r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: at})
					at++
				}
				for _, c := range r.Commits(nil, true) {
					r.Committed(offsets.CommitResult{Commit: c})
				}
			}
			if v := r.Snapshot().Partitions[0]; v.BeyondPrefix != 0 || v.Facts.Unwritten != 0 {
				t.Fatalf("%s, round %d: %+v", name, round, v)
			}
			r.Journal(ingress, test.state)
			if v := r.Snapshot().Partitions[0]; r.Dirty() != test.gone || (v.BeyondPrefix == v.Finished) != test.gone {
				t.Errorf("%s, round %d: dirty %v, %d of %d finished offsets are in no commit", name, round, r.Dirty(), v.BeyondPrefix, v.Finished)
			}
		}
	}
}

// TestTheWheelWaitsForAClockThatWasSteppedBackByASecond, and for no other.
func TestTheWheelWaitsForAClockThatWasSteppedBackByASecond(t *testing.T) {
	for back, waits := range map[int64]bool{0: true, 1: true, stepBackMs: true, stepBackMs + 1: false} {
		s := newStore(0)
		p := newParking(s, wheel.DefaultGeometry(), startMs)
		h := header{deadlineMs: math.MaxInt64}
		var buf [maxHeader]byte
		b := h.encode(&buf)
		loc, dst := s.alloc(0, len(b))
		copy(dst, b)
		p.add(loc, h.deadlineMs)
		was := p.wheel
		p.advance(Clock{WallMs: startMs - back}, 10)
		if (p.wheel == was) != waits || p.wheel.Len() != 1 {
			t.Errorf("%d ms back: the wheel waits: %v, with %d records", back, p.wheel == was, p.wheel.Len())
		}
	}
}

// TestAChunkIsUsedAgainFromItsFirstByte.
func TestAChunkIsUsedAgainFromItsFirstByte(t *testing.T) {
	s := newStore(1)
	if s.largest != minChunk {
		t.Errorf("chunks of %d bytes, want %d at least", s.largest, minChunk)
	}
	first, _ := s.alloc(3, 10)
	for range 3 {
		s.release(first, 10)
		again, _ := s.alloc(3, 10)
		if again != first {
			t.Errorf("the record is at %x, the one before was at %x", again, first)
		}
	}
}

// TestARecordThatIsHeldMovesOnce, however often its target is tried.
func TestARecordThatIsHeldMovesOnce(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience = time.Hour })
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	r.one(Unavailable)
	at := r.out.dir.byKey[TargetName{Name: egress}].queue.front().loc
	for range 3 {
		r.pass(holdMaxMs)
		r.one(Unavailable)
		if now := r.out.dir.byKey[TargetName{Name: egress}].queue.front().loc; now != at {
			t.Errorf("a record at %x moved to %x", at, now)
		}
	}
}

// TestSamplesOfTimestampsGetFinerAsTheyAreForgotten: as fine as those that are left allow.
func TestSamplesOfTimestampsGetFinerAsTheyAreForgotten(t *testing.T) {
	var a ages
	for o := range int64(100 * maxAges) {
		a.note(o, 1000+o)
	}
	coarse := a.stride
	if coarse < 64 || len(a.samples) > maxAges {
		t.Fatalf("%d samples, a stride of %d", len(a.samples), coarse)
	}
	low := int64(100*maxAges) - 40*coarse // forty samples and some are left
	if got := a.since(low); got > 1000+low || got < 1000+low-coarse {
		t.Errorf("since %d, want %d or up to %d before", got, 1000+low, coarse)
	}
	n := len(a.samples)
	if want := (a.samples[n-1].offset - a.samples[0].offset) / (maxAges / 2); a.stride != want || n >= maxAges/4 || a.samples[0].offset > low {
		t.Errorf("%d samples from %d on, a stride of %d, want %d", n, a.samples[0].offset, a.stride, want)
	}
	if got := a.since(1 << 40); got != a.samples[0].timestampMs || len(a.samples) != 1 || a.stride != 0 {
		t.Errorf("at the end since %d, %+v", got, a)
	}
}

// TestWithoutTimestampsNothingIsKnownToBeNeeded of records that wait.
func TestWithoutTimestampsNothingIsKnownToBeNeeded(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(2) {
		a := r.arrival(o, 1000, "0")
		a.TimestampMs = 0
		r.take(0, 1, a)
		if v := r.Snapshot().Partitions[0]; v.OldestNeededMs != 0 || v.Parked != int(o)+1 {
			t.Errorf("%d records are parked, and needed is what was written at %d", v.Parked, v.OldestNeededMs)
		}
	}
}
