package purgatory

import (
	"errors"
	"fmt"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

func TestNothingIsOfferedBeforeACommitSucceeded(t *testing.T) {
	r := newRig(t, nil)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: offsets.NewWindow(5), Next: 5})
	r.assign(1, 2, 0)
	r.mustTake(0, 1, 0, 5, 6)
	r.mustTake(1, 2, 0, 0)
	r.pass(1)
	ds := r.offer()
	r.want(ds, 0)
	if !r.Unsettled() {
		t.Error("nobody will look after the partition that waits")
	}
	start := r.Commits(nil, false)
	if len(start) != 1 || start[0].Low != 5 || start[0].Partition != 0 {
		t.Fatalf("commits %+v, want the start position of partition 0", start)
	}
	if again := r.Commits(nil, true); len(again) != 1 || again[0].Partition != 1 {
		t.Fatalf("commits %+v while one of partition 0 is underway", again)
	}
	r.Committed(offsets.CommitResult{Commit: start[0], Err: errors.New("refused")})
	r.want(r.offer())
	start = r.Commits(nil, false)
	r.Committed(offsets.CommitResult{Commit: start[0]})
	r.want(r.offer(), 5, 6)
	r.audit()
}

func TestAfterTheLeaseRanOutOnlyACommitBuiltLaterConfirms(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1, 2)
	r.pass(1)
	r.end(Delivered, r.Offer(nil, 1)...)
	early := r.Commits(nil, false)
	r.Suspend() // the answer to early may have been lying in a buffer all the while
	r.want(r.offer())
	r.Committed(offsets.CommitResult{Commit: early[0]})
	r.want(r.offer())
	late := r.Commits(nil, false)
	if len(late) != 1 {
		t.Fatal("no commit to confirm membership with")
	}
	r.Committed(offsets.CommitResult{Commit: late[0]})
	r.want(r.offer(), 1, 2)
	r.audit()
}

func TestAFencedCommitStopsThePartition(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	r.Committed(offsets.CommitResult{Commit: r.Commits(nil, true)[0], Err: errors.New("illegal generation"), Fenced: true})
	r.want(r.offer())
	if low := r.commitLow(0); low != 0 {
		t.Errorf("committed %d, want 0", low)
	}
	r.want(r.offer(), 0)
}

func TestARevokedPartitionIsForgottenWithAllItsBytes(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	r.assign(1, 2, 0)
	r.mustTake(0, 1, 0, 0, 1, 2)      // in flight, and in the overflow queue behind it
	r.mustTake(0, 1, 3_600_000, 3, 4) // parked
	r.pass(1)
	flying := r.offer()
	r.want(flying, 0)
	r.router[other] = Missing
	held := r.arrival(5, 0, "0 held")
	held.Target, held.Label = other, other
	r.take(0, 1, held)
	r.pass(1)
	r.offer()
	r.Suspend()
	r.mustTake(0, 1, 0, 6) // due, and waiting for membership
	r.pass(1)
	r.offer()
	r.audit()

	r.Revoke(partitionOf(0), 1)
	if n := r.Draining(partitionOf(0), 1); n != 1 {
		t.Errorf("%d draining, want 1", n)
	}
	if _, ok := r.Reader(partitionOf(0), 1); ok {
		t.Error("a revoked partition takes records")
	}
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	r.audit()
	if r.store.live != 1 || r.stats.HandedOver != 6 {
		t.Errorf("%d records kept, %d handed over, want 1 and 6", r.store.live, r.stats.HandedOver)
	}
	r.end(Unknown, flying...)
	r.audit()
	r.Trim()
	if r.store.live != 0 || r.store.bytes != 0 || r.stats.HandedOver != 7 {
		t.Errorf("%d records and %d bytes kept, %d handed over", r.store.live, r.store.bytes, r.stats.HandedOver)
	}
	if r.out.dir.targetOf(ingress, egress, egress).overflow != 0 || r.parts.list[0] != nil {
		t.Error("something still waits for a partition that is gone")
	}
}

func TestTheMemoryOfABacklogGoesWithItsPartition(t *testing.T) {
	for name, test := range map[string]struct {
		edit    func(*Config)
		verdict Verdict
		suspend bool
	}{
		"in a target's queue":          {func(*Config) {}, Pending, false},
		"held":                         {func(*Config) {}, Missing, false},
		"behind one that is in flight": {func(c *Config) { c.MaxInFlight = 1 }, Usable, false},
		"waiting for membership":       {func(*Config) {}, Usable, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, test.edit)
			r.assign(1, 2, 0)
			r.mustTake(1, 2, 1<<40, 0) // keeps the target known
			r.router[egress] = test.verdict
			before := r.Bytes()
			r.assign(0, 1, 0)
			if test.suspend {
				r.Suspend()
			}
			for o := range int64(20_000) {
				r.mustTake(0, 1, 1, o)
			}
			r.pass(1)
			flying := r.offer()
			r.audit()
			r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
			r.end(Unknown, flying...)
			r.Trim()
			r.audit()
			if kept := r.Bytes() - before; kept > 300<<10 { // the wheel's spare chunks, and room for 1024 entries
				t.Errorf("%d bytes more than before are kept", kept)
			}
			if r.store.live != 1 {
				t.Errorf("%d records kept, want 1", r.store.live)
			}
		})
	}
}

func TestAPartitionThatComesBackIsNotTouchedByItsFormerAssignment(t *testing.T) {
	for _, class := range []Class{Delivered, TooLarge, Rejected, Unavailable, Unknown} {
		t.Run(fmt.Sprint(class), func(t *testing.T) {
			r := newRig(t, nil)
			r.assign(0, 1, 0)
			r.mustTake(0, 1, 0, 0, 1)
			r.pass(1)
			old := r.offer()
			stale := r.Commits(nil, true)[0]
			r.Revoke(partitionOf(0), 1)
			r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
			r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}) // a second one finds nothing

			r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 2}, Window: offsets.NewWindow(0), Next: 0})
			r.mustTake(0, 2, 0, 0, 1)
			r.pass(1)
			r.Committed(offsets.CommitResult{Commit: stale})
			r.want(r.offer()) // the former assignment's commit confirms nothing
			r.end(class, old...)
			r.audit()
			if low := r.parts.find(partitionOf(0), 2).Window.Low(); low != 0 {
				t.Fatalf("low offset %d, but the new assignment delivered nothing", low)
			}
			r.commitLow(0)
			r.want(r.offer(), 0, 1)
			if _, ok := r.Reader(partitionOf(0), 1); ok {
				t.Error("what was fetched for the former assignment is taken")
			}
			r.audit()
		})
	}
}

func TestASlotIsNotUsedAgainWhileItsAssignmentIsInFlight(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0)
	r.pass(1)
	flying := r.offer()
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
	r.assign(1, 2, 0)
	r.mustTake(1, 2, 1000, 0)
	r.end(Unknown, flying...)
	r.assign(0, 3, 0)
	r.mustTake(0, 3, 1000, 0)
	r.audit()
	r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 3})
	r.pass(1000)
	if ds := r.offer(); len(ds) != 1 || ds[0].Partition != 1 {
		t.Errorf("offered %+v, want the record of partition 1", ds)
	}
}

func TestTheFinalCommitNamesWhatWasAcknowledged(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1)
	r.pass(1)
	ds := r.offer()
	if _, ok := r.Final(partitionOf(0), 1); ok {
		t.Error("a final commit without news")
	}
	r.end(Delivered, ds[0])
	r.Revoke(partitionOf(0), 1)
	c, ok := r.Final(partitionOf(0), 1)
	if !ok || c.Low != 1 || c.Epoch != 1 {
		t.Errorf("final commit %+v, %v, want low offset 1", c, ok)
	}
	if cs := r.Commits(nil, true); len(cs) != 0 {
		t.Errorf("commits %+v beside the final one", cs)
	}
	r.end(Delivered, ds[1])
	if c, ok = r.Final(partitionOf(0), 1); !ok || c.Low != 2 {
		t.Errorf("final commit %+v, %v, want low offset 2", c, ok)
	}
	if _, ok = r.Final(partitionOf(0), 9); ok {
		t.Error("a final commit for another epoch")
	}
}

func TestGapsAndControlRecordsAreFinishedWhenReadPast(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 10)
	r.mustTake(0, 1, 0, 13) // 10 to 12 were compacted away
	if low := r.commitLow(0); low != 13 {
		t.Errorf("low offset %d, want 13", low)
	}
	r.take(0, 1, Arrival{Offset: 14, Control: true})
	r.mustTake(0, 1, 0, 20)
	r.pass(1)
	r.end(Delivered, r.offer()...)
	r.take(0, 1, Arrival{Offset: 21, Control: true}) // a log may end in one
	if low := r.commitLow(0); low != 22 {
		t.Errorf("low offset %d, want 22", low)
	}
	if n := total(r.Snapshot().Consumed); n != 2 {
		t.Errorf("%d records consumed, want 2: markers are none", n)
	}
	r.audit()
}

func TestFinishedRecordsAreSkippedAndLongStretchesJumpedOver(t *testing.T) {
	for name, test := range map[string]struct {
		from, to int64 // finished before the assignment, of the log 0 to 99
		jumps    []int64
		skipped  int64
	}{
		"a short stretch":                {5, 15, nil, 10},
		"one longer than is gone over":   {5, 16, []int64{16}, 0},
		"at the very start":              {1, 90, []int64{90}, 0},
		"to the end of what was written": {50, 100, []int64{100}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			w := offsets.NewWindow(0)
			w.FinishRange(test.from, test.to)
			r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 3}, Window: w, Committed: true})
			var jumps []int64
			read := 0
			for o := int64(0); o < 100; o++ {
				if r.take(0, 3, r.arrival(o, 1000, "0")) {
					read++
				}
				for _, j := range r.Take().Jumps {
					jumps = append(jumps, j.To)
					if j.Epoch != 3 || j.TopicPartition != partitionOf(0) {
						t.Errorf("jump %+v", j)
					}
				}
			}
			if fmt.Sprint(jumps) != fmt.Sprint(test.jumps) || read != 100-int(test.to-test.from) {
				t.Errorf("jumps to %v, %d read, want %v and %d", jumps, read, test.jumps, 100-int(test.to-test.from))
			}
			if got := r.Snapshot().Consumed[TopicOutcome{ingress, Skipped}]; got != test.skipped {
				t.Errorf("%d skipped, want %d", got, test.skipped)
			}
			r.audit()
		})
	}
}

func TestAJumpFromTheAssignmentIsAskedForAtOnce(t *testing.T) {
	r := newRig(t, nil)
	w := offsets.NewWindow(0)
	w.FinishRange(40, 80)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: w, Next: 40}) // 0 to 39 left the log
	if j := r.Take().Jumps; len(j) != 1 || j[0].To != 80 {
		t.Errorf("jumps %+v, want one to 80", j)
	}
	if r.stats.LostToRetention != 40 {
		t.Errorf("%d lost to retention, want 40", r.stats.LostToRetention)
	}
	if low := r.commitLow(0); low != 80 {
		t.Errorf("low offset %d, want 80", low)
	}
}

func TestALogThatStartsLaterLosesOnlyWhatWasNotRead(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 100, 0, 1)
	r.LogStart(partitionOf(0), 1, 2) // what is parked is here
	r.LogStart(partitionOf(0), 1, 12)
	r.LogStart(partitionOf(0), 9, 50) // another assignment's
	if r.stats.LostToRetention != 10 {
		t.Errorf("%d lost, want 10", r.stats.LostToRetention)
	}
	if r.take(0, 1, r.arrival(11, 0, "0")) {
		t.Error("an offset below the start of the log is read")
	}
	r.mustTake(0, 1, 100, 12)
	r.pass(100)
	ds := r.offer()
	r.want(ds, 0, 1, 12)
	r.end(Delivered, ds...)
	if low := r.commitLow(0); low != 13 {
		t.Errorf("low offset %d, want 13", low)
	}
	r.audit()
}

func TestAssigningAPartitionTwiceIsABug(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	r.assign(0, 2, 0)
}

func TestStatesAreSpelledOut(t *testing.T) {
	for got, want := range map[string]string{
		Pending.String(): "being looked up", Unreachable.String(): "unreachable", Skipped.String(): "skipped", PastDue.String(): "past_due",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for o := range outcomes {
		if o.String() == "" {
			t.Errorf("outcome %d has no name", o)
		}
	}
}
