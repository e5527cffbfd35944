package purgatory

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// TestAChunkThatThinnedBeforeItsRecordWasSentStaysInPlace: the Kafka client reads its bytes.
func TestAChunkThatThinnedBeforeItsRecordWasSentStaysInPlace(t *testing.T) {
	r := newRig(t, func(c *Config) { c.LargestChunk = minChunk })
	r.assign(0, 1, 0)
	next := int64(60) // so many leave the chunk open
	for o := range next {
		r.take(0, 1, r.named(o, min(o, 1)*60_000, fmt.Sprint(o)))
	}
	r.pass(1) // the first is due
	for o := int64(1); o < 60; o++ {
		r.take(0, 1, r.cancelOf(next, fmt.Sprint(o)))
		next++
	}
	for first := r.store.classes[idClass].open; r.store.classes[idClass].open == first; next++ {
		r.take(0, 1, r.arrivalOfSize(next, 400)) // until another chunk is open
	}
	if len(r.store.thin) == 0 {
		t.Fatal("nothing is to be compacted")
	}
	ds := r.offer()
	r.want(ds, 0)
	_, body := r.store.read(r.out.flights.list[ds[0].ID].entry.loc)
	if &body[0] != &ds[0].Body[0] {
		t.Error("it was moved")
	}
	r.audit()
	before := r.store.bytes
	r.end(Delivered, ds...)
	if r.audit(); r.store.bytes >= before {
		t.Errorf("%d bytes in chunks, %d before it had landed", r.store.bytes, before)
	}
}

// arrivalOfSize is a record with an id of its own and a large body.
func (r *rig) arrivalOfSize(offset int64, size int) Arrival {
	a := r.named(offset, 60_000, fmt.Sprintf("large-%d", offset))
	a.Body = text(string(a.Body.(text)) + string(make([]byte, size)))
	return a
}

// TestOneThinChunkIsCompactedByItself, and not only with a second one.
func TestOneThinChunkIsCompactedByItself(t *testing.T) {
	r := newRig(t, func(c *Config) { c.LargestChunk = minChunk })
	r.assign(0, 1, 0)
	next := int64(0)
	for ; len(r.store.chunks) < 3; next++ {
		r.take(0, 1, r.named(next, 60_000, fmt.Sprint(next)))
	}
	full, per := r.store.bytes, next/2
	for o := range per * 6 / 10 { // of the first chunk more than half
		r.take(0, 1, r.cancelOf(next, fmt.Sprint(o)))
		next++
	}
	if r.audit(); r.store.bytes >= full {
		t.Errorf("%d bytes in chunks, %d before", r.store.bytes, full)
	}
}

// TestARecordThatHadNoRoomIsFoundWhereItWaits: behind others of its partition, too.
func TestARecordThatHadNoRoomIsFoundWhereItWaits(t *testing.T) {
	r := newIDRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assigned(nil)
	r.must(r.named(0, 0, "a"), r.named(1, 0, "b"))
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0)
	r.end(NoRoom, ds...)
	if n := r.out.dir.byKey[TargetName{Name: egress}].overflow; n != 2 {
		t.Fatalf("%d wait for the partition, want 2", n)
	}
	r.must(r.cancelOf(2, "a"))
	r.pass(fullPauseMs)
	if got := r.drain(); len(got) != 2 || got[0] != "1" || got[1] != "cancelled a 0 by 2" {
		t.Errorf("got %q", got)
	}
}

// TestAReplacedRecordThatComesBackLeavesTheChunksThatAreCompacted: no index knows its name.
func TestAReplacedRecordThatComesBackLeavesTheChunksThatAreCompacted(t *testing.T) {
	for _, class := range []Class{NoRoom, Unknown, TooLarge, Rejected, Unavailable} {
		r := newRig(t, func(c *Config) { c.LargestChunk = minChunk })
		r.assign(0, 1, 0)
		r.must(r.named(0, 0, "a"))
		r.pass(1)
		r.one(Unknown) // it may have been written
		r.pass(holdMaxMs)
		ds := r.offer()
		r.want(ds, 0)
		r.must(r.named(1, 60_000, "a"))
		r.end(class, ds...)
		r.audit()
		for o := int64(2); o < 400; o++ {
			r.take(0, 1, r.named(o, 60_000, "b"))
		}
		r.audit()
		r.pass(5000)
		r.want(r.offer(), 0)
	}
}

// TestAQueueIsLookedThroughPastCancelledRecords for one whose partition has room.
func TestAQueueIsLookedThroughPastCancelledRecords(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 2 })
	r.forbid(4, '0') // the second one is in flight, and never answered
	all := []Arrival{r.named(4, 0, "a"), r.named(5, 0, "b"), r.named(6, 0, "c")}
	all[2].Body = text("1" + string(all[2].Body.(text)[1:]))
	r.must(all...)
	r.pass(1)
	r.must(r.cancelOf(7, "b"))
	if q := &r.out.dir.byKey[TargetName{Name: egress}].queue; q.length != q.count+1 {
		t.Fatalf("%d entries for %d records, want a dead one", q.length, q.count)
	}
	r.pass(holdFirstMs)
	if d := r.one(Delivered); d.Offset != 6 || d.TargetPartition != 1 {
		t.Errorf("tried with %+v", d)
	}
	r.audit()
}

// TestARecordReadBeforeIsNotWanted, whatever became of it.
func TestARecordReadBeforeIsNotWanted(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 60_000, 0, 1, 2)
	reader, _ := r.Reader(partitionOf(0), 1)
	for o := range int64(3) {
		if want := reader.Wants(o, 0); want != Nothing {
			t.Errorf("%d is wanted a second time: %d", o, want)
		}
	}
	if reader.Wants(3, 0) != Whole {
		t.Error("the next one is not wanted")
	}
}

// TestFactsHaveTheEpochOfTheRecordBehindThem once that is read: the last of them is enough.
func TestFactsHaveTheEpochOfTheRecordBehindThem(t *testing.T) {
	for last, want := range map[int64]int32{3: -1, 4: 2, 5: 2} {
		w := offsets.NewWindow(0)
		w.FinishRange(3, 5)
		r := fresh(t, w)
		reader, _ := r.Reader(partitionOf(0), 1)
		for o := range last + 1 {
			if a := r.arrival(o, 60_000, "0"); reader.Wants(o, 2) == Whole {
				reader.Read(&a)
			}
		}
		if c := r.Commits(nil, true)[0]; c.LeaderEpoch != want {
			t.Errorf("read up to %d: facts of epoch %d, want %d", last, c.LeaderEpoch, want)
		}
	}
}

// TestAStoresLargestChunkIsWithinItsBounds.
func TestAStoresLargestChunkIsWithinItsBounds(t *testing.T) {
	for largest, want := range map[int]int{-1: maxChunk, 0: maxChunk, 1: minChunk, minChunk: minChunk, 10_000: 10_000, maxChunk: maxChunk, maxChunk + 1: maxChunk, 1 << 30: maxChunk} {
		if got := newStore(largest).largest; got != want {
			t.Errorf("%d: %d, want %d", largest, got, want)
		}
	}
}

// TestAChunkIsFilledToItsLastByte, and one of a single large record goes with it.
func TestAChunkIsFilledToItsLastByte(t *testing.T) {
	s := newStore(0)
	first, _ := s.alloc(0, minChunk-96)
	second, _ := s.alloc(0, 96)
	third, _ := s.alloc(0, 1)
	if first>>locationBits != second>>locationBits || second>>locationBits == third>>locationBits || s.bytes != 3*minChunk+2*chunkOverhead {
		t.Errorf("chunks %d, %d and %d of %d bytes", first>>locationBits, second>>locationBits, third>>locationBits, s.bytes)
	}
	s = newStore(0)
	large, _ := s.alloc(0, 5<<20)
	if s.release(large, 5<<20); s.bytes != 0 || len(s.classes) != 0 {
		t.Errorf("%d bytes are kept of a large record", s.bytes)
	}
}

// TestAnIDOfADeliveryIsUsedAgain once it has ended: the list of those in flight stays short.
func TestAnIDOfADeliveryIsUsedAgain(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for o := range int64(10) {
		r.mustTake(0, 1, 0, 2*o, 2*o+1)
		r.pass(1)
		ds := r.offer()
		if len(ds) != 2 || ds[0].ID == ds[1].ID || max(ds[0].ID, ds[1].ID) > 1 {
			t.Errorf("offered %+v", ds)
		}
		r.end(Delivered, ds...)
	}
}

// TestWhatRestsInACoreIsWhatItsRecordsGiveBack: their chunks and places in queues, and all bytes while one is in flight.
// What is kept for reuse behind them is given back as well.
func TestWhatRestsInACoreIsWhatItsRecordsGiveBack(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for round := range int64(2) {
		if rests := r.Resting(r.Bytes()); rests != 0 {
			t.Errorf("round %d: with nothing parked %d bytes rest", round, rests)
		}
		r.mustTake(0, 1, 5, round)
		if rests := r.Resting(r.Bytes()); rests != r.store.bytes || rests < minChunk {
			t.Errorf("round %d: with one that is parked %d bytes rest, of chunks of %d", round, rests, r.store.bytes)
		}
		r.pass(5)
		if rests := r.Resting(r.Bytes()); rests != r.store.bytes+r.out.flights.memory()+entrySize {
			t.Errorf("round %d: with one that is due %d bytes rest, of chunks of %d", round, rests, r.store.bytes)
		}
		ds := r.offer()
		if rests := r.Resting(r.Bytes()); rests != r.Bytes() {
			t.Errorf("round %d: with one in flight %d bytes rest, of %d", round, rests, r.Bytes())
		}
		r.end(Delivered, ds...)
		if rests := r.Resting(r.Bytes()); rests != r.store.bytes+r.out.flights.memory() || r.out.flights.memory() == 0 {
			t.Errorf("round %d: with one delivered %d bytes rest, of chunks of %d", round, rests, r.store.bytes)
		}
		r.Trim()
	}
}

// TestNothingIsWrittenOfAPartitionThatIsGone, though a record of it is in flight.
func TestNothingIsWrittenOfAPartitionThatIsGone(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, journalTopic)
	r.scattered(0, 1, 8000)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	r.want(r.offer(), 0)
	r.Commits(nil, true)
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	made := journalTopic
	made.TopicID[2] = 7
	r.Journal(ingress, made)
	if more := r.Cut(true); more || len(r.Take().Writes) != 0 || r.Writing() {
		t.Error("something is written of it")
	}
	if commits := r.Commits(nil, true); len(commits) != 0 || r.Dirty() || r.Repeating() {
		t.Errorf("commits %+v", commits)
	}
}

// TestABatchThatWasInTheLogIsRestored by its records.
func TestABatchThatWasInTheLogIsRestored(t *testing.T) {
	for stableEnd, want := range map[int64]int64{0: 0, 3: 0, 4: 10, 90: 10} {
		r := newRig(t, nil)
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: offsets.NewWindow(3), Next: 3, StableEnd: stableEnd, Committed: true})
		if !r.unread(r.batch(3, 12)) {
			t.Error("reading stops")
		}
		if n := r.Snapshot().Restored; n != want {
			t.Errorf("of a log that ended at %d then %d are restored, want %d", stableEnd, n, want)
		}
	}
}

// TestABatchWrittenAnewBelowTheLowOffsetStopsItsPartition: where it was truncated is not known
// to be above what counts as finished.
func TestABatchWrittenAnewBelowTheLowOffsetStopsItsPartition(t *testing.T) {
	for first, stops := range map[int64]bool{3: true, 4: true, 5: false} {
		r := newRig(t, nil)
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: offsets.NewWindow(5), Next: 5, LeaderEpoch: 4, Committed: true})
		b := r.batch(first, 12)
		b.LeaderEpoch = 5
		if goesOn := r.unread(b); goesOn == stops {
			t.Errorf("from %d: reading goes on is %v", first, goesOn)
		}
		e := r.Take()
		if (len(e.Halts) == 1 && e.Halts[0].Truncated && e.Halts[0].Offset == first) != stops || len(e.Jumps) > 0 == stops || len(r.offer()) > 0 == stops {
			t.Errorf("from %d: %+v", first, e)
		}
	}
}

// TestTheFurthestDeadlineOutlastsACancel of another record, and goes with the last.
func TestTheFurthestDeadlineOutlastsACancel(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	furthest := func(want int64) {
		t.Helper()
		if v := r.Snapshot().Partitions[0]; v.FurthestMs != want {
			t.Errorf("the furthest is %d, want %d", v.FurthestMs, want)
		}
	}
	r.must(r.named(0, 1000, "a"), r.named(1, 5000, "b"))
	r.must(r.cancelOf(2, "a"))
	furthest(startMs + 5000)
	r.must(r.cancelOf(3, "b"))
	furthest(0)
}

// TestAnErrorOfTheJournalIsTold, and each answer without one is a reason to commit.
func TestAnErrorOfTheJournalIsTold(t *testing.T) {
	for _, err := range []error{nil, errors.New("not allowed")} {
		r := newRig(t, nil)
		r.Journal(ingress, journalTopic)
		r.scattered(0, 1, 8000)
		r.commitAll()
		for _, c := range r.Commits(nil, true) {
			r.Committed(offsets.CommitResult{Commit: c})
		}
		for r.Cut(true) {
		}
		writes := r.Take().Writes
		if len(writes) == 0 || r.Dirty() {
			t.Fatalf("%d records, dirty %v", len(writes), r.Dirty())
		}
		r.Written(writes[0].Assignment, facts.Result{Seq: writes[0].Seq, Offset: 1, Err: err})
		want := []TargetError{{"journal of " + ingress, "not allowed"}}
		if err == nil {
			want = nil
		}
		if got := r.Snapshot().Errors; !slices.Equal(got, want) || err == nil && !r.Dirty() {
			t.Errorf("%v: errors %v, dirty %v", err, got, r.Dirty())
		}
	}
}

// TestOnlyHeldRecordsCountAgainstAShare: not those that wait for room, or for news.
func TestOnlyHeldRecordsCountAgainstAShare(t *testing.T) {
	for name, v := range map[string]Verdict{"for room": Usable, "for news": Pending} {
		r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
		r.assign(0, 1, 0)
		for o := range int64(2) {
			a := r.arrival(o, 0, "0")
			a.Target, a.Label = "jobs.7", "jobs.*"
			r.router[a.Target] = v
			r.take(0, 1, a)
		}
		r.pass(1)
		r.offer()
		for range 3 {
			if of := r.Shares(r.at, nil); len(of) != 0 {
				t.Errorf("%s: told %+v", name, of)
			}
			r.pass(checkEveryMs)
		}
	}
}
