package purgatory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
)

// journalTopic is the journal of the rig's ingress topic.
var journalTopic = JournalState{Usable: true, TopicID: offsets.TopicID{9}, MaxBytes: 1 << 20}

// scattered finishes every second offset of partition no up to n, as one that was
// delivered before: the set does not fit into 4096 characters.
func (r *rig) scattered(no int32, epoch uint64, n int64) {
	r.Helper()
	w := offsets.NewWindow(0)
	for o := int64(1); o < n; o += 2 {
		w.Finish(o)
	}
	id := facts.Identity{Identity: offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{1}, Partition: no}, Group: "layover", Incarnation: 7}
	r.Assign(facts.Assigned{
		Assignment: offsets.Assignment{TopicPartition: partitionOf(no), Epoch: epoch},
		Window:     w, Facts: facts.NewWriter(id, epoch, facts.Restored{}, w), Committed: true,
	})
}

// commitAll takes the commits that are due and lets them succeed.
func (r *rig) commitAll() (n int) {
	for _, c := range r.Commits(nil, false) {
		r.Committed(offsets.CommitResult{Commit: c})
		n++
	}
	return n
}

// TestAnEffectIsHandedOutOnce: what is asked for again and again is done again and again.
func TestAnEffectIsHandedOutOnce(t *testing.T) {
	r := newRig(t, func(c *Config) { c.OnInvalid = Halt })
	r.scattered(0, 1, 8000)
	r.scattered(1, 1, 8000)
	seen := Effects{}
	next := int64(0)
	for round := range byte(2) {
		made := journalTopic
		made.TopicID[1] = round
		r.Journal(ingress, made)
		r.hold2(next)
		for range 6 { // journal records, then commits that name them, then deletions
			r.at.AnsweredMs += 1000
			for r.Cut(true) {
			}
			e := r.Take()
			if again := r.Take(); len(again.Jumps)+len(again.Halts)+len(again.Holds)+len(again.Writes)+len(again.Deletes) > 0 {
				t.Fatalf("handed out a second time: %+v", again)
			}
			seen.Holds, seen.Writes, seen.Deletes = append(seen.Holds, e.Holds...), append(seen.Writes, e.Writes...), append(seen.Deletes, e.Deletes...)
			for _, w := range e.Writes {
				next++
				r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: next})
			}
			for _, d := range e.Deletes {
				r.Deleted(d, nil)
			}
			for _, c := range r.Commits(nil, true) {
				r.Committed(offsets.CommitResult{Commit: c})
			}
		}
	}
	if len(seen.Holds) < 2 || len(seen.Writes) < 2 || len(seen.Deletes) < 2 {
		t.Errorf("too little happened: %d holds, %d writes, %d deletions", len(seen.Holds), len(seen.Writes), len(seen.Deletes))
	}
}

// hold2 makes a target held and usable again.
func (r *rig) hold2(at int64) {
	a := r.arrival(1_000_000+2*at, 0, "0")
	a.Target, a.Label = other, other
	r.take(0, 1, a)
	r.router[other] = Missing
	r.pass(1)
	r.offer()
	r.router[other] = Usable
	r.pass(holdMaxMs)
	r.end(Delivered, r.offer()...)
}

// TestAPartitionThatComesLaterKnowsItsJournal, whatever was told before it came.
func TestAPartitionThatComesLaterKnowsItsJournal(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, JournalState{})
	for epoch := range uint64(3) {
		r.Journal(ingress, journalTopic)
		r.scattered(0, 1+epoch, 8000)
		r.Commits(nil, true)
		for r.Cut(true) {
		}
		if writes := r.Take().Writes; len(writes) == 0 {
			t.Errorf("assignment %d does not write to the journal", epoch)
		}
		r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1 + epoch})
		r.Take()
	}
}

// TestNewsOfAJournalIsAReasonToCommitOnlyWhenItLostSomething: it comes every few seconds.
func TestNewsOfAJournalIsAReasonToCommitOnlyWhenItLostSomething(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, journalTopic)
	r.scattered(0, 1, 8000)
	at := int64(1)
	settle := func() {
		for range 4 {
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
	}
	settle()
	for round := range byte(2) {
		for range 5 {
			r.Journal(ingress, journalTopic)
			if r.Dirty() || r.commitAll() > 0 {
				t.Errorf("round %d: the same news of the journal makes a commit", round)
			}
		}
		made := journalTopic
		made.TopicID[1] = 1 + round
		r.Journal(ingress, made)
		if v := r.Snapshot().Partitions[0]; !r.Dirty() || v.BeyondPrefix != v.Finished {
			t.Errorf("round %d: a journal that was made again is no news: %+v", round, v)
		}
		settle()
		r.Journal(ingress, journalTopic)
		settle()
	}
}

// TestACutWritesOnePartOfOneSnapshot: the lane has other things to do in between.
func TestACutWritesOnePartOfOneSnapshot(t *testing.T) {
	r := newRig(t, nil)
	r.Journal(ingress, journalTopic)
	const partitions = 3
	for no := range int32(partitions) {
		r.scattered(no, 1, 8000)
	}
	r.Commits(nil, true)
	for i := range partitions {
		more := r.Cut(true)
		if writes := r.Take().Writes; len(writes) != 1 || more != (i < partitions-1) {
			t.Errorf("cut %d: %d records, more %v; want one of %d", i, len(writes), more, partitions)
		}
	}
	if r.CutOf(partitionOf(7), 1); r.WritingOf(partitionOf(7), 1) || !r.WritingOf(partitionOf(0), 1) || r.WritingOf(partitionOf(0), 2) {
		t.Error("what is written of a partition is not told from what is of others")
	}
}

// TestSharesAreListedTenTimesASecond, however often they are asked for.
func TestSharesAreListedTenTimesASecond(t *testing.T) {
	r := newRig(t, nil)
	r.hold(2, Missing)
	listed := 0
	for range 1000 {
		r.at.WallMs++
		shares := r.Shares(r.at, nil)
		listed += len(shares)
		r.Core.Tick(r.at, 1<<20)
		if len(shares) > 0 && (shares[0].Name != egress || shares[0].Own.Held == 0) {
			t.Fatalf("%+v", shares)
		}
	}
	if listed < 9 || listed > 11 {
		t.Errorf("listed %d times in a second, want 10", listed)
	}
	r.pass(100)
	if shares := r.Shares(r.at, nil); len(shares) > 1 {
		t.Errorf("%+v: targets that hold nothing are listed", shares)
	}
}

// TestOnlyRecordsThatMayBeAnsweredSoonAreWaitedForAtARevoke: those that were stuck before
// are not, and those that got stuck since are.
func TestOnlyRecordsThatMayBeAnsweredSoonAreWaitedForAtARevoke(t *testing.T) {
	for silentMs, want := range map[int64]int{0: 2, stuckMs - 1: 2, stuckMs: 1, stuckMs + 1: 1, 10 * stuckMs: 1} {
		r := newRig(t, nil)
		r.assign(0, 1, 0)
		r.take(0, 1, r.arrival(0, 0, "0"))
		r.pass(0)
		r.want(r.offer(), 0)
		r.pass(silentMs)
		r.take(0, 1, r.arrival(1, 0, "1"))
		r.pass(0)
		r.want(r.offer(), 1)
		r.Revoke(partitionOf(0), 1)
		if got := r.Draining(partitionOf(0), 1); got != want {
			t.Errorf("silent for %d ms before: %d are waited for, want %d", silentMs, got, want)
		}
		r.pass(3 * stuckMs)
		if got := r.Draining(partitionOf(0), 1); got != want {
			t.Errorf("silent for %d ms before, and since: %d are waited for, want %d", silentMs, got, want)
		}
	}
}

// TestANoticeNamesItsTargetAndWhatIsWrong, each time a partition falls silent and answers.
func TestANoticeNamesItsTargetAndWhatIsWrong(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.Take()
	for o := range int64(2) {
		a := r.arrival(o, 0, "3")
		a.Target, a.Label = "jobs.7", "jobs.*"
		r.take(0, 1, a)
		r.pass(0)
		ds := r.offer()
		r.want(ds, o)
		r.pass(stallMs)
		want := HoldNotice{Target: "jobs.7", Label: "jobs.*", Held: true, Verdict: Unreachable, Detail: "partition 3 has not answered for 10 s"}
		if h := r.Take().Holds; !slices.Equal(h, []HoldNotice{want}) {
			t.Errorf("silent: %+v, want %+v", h, want)
		}
		r.end(Delivered, ds...)
		if h := r.Take().Holds; !slices.Equal(h, []HoldNotice{{Target: "jobs.7", Label: "jobs.*"}}) {
			t.Errorf("answered: %+v", h)
		}
		if held := r.Snapshot().Held; len(held) != 0 {
			t.Errorf("answered: %+v is held", held)
		}
	}
}

// TestTheFirstLeaderEpochIsOneToo: the log of epoch 0 can be truncated like any other.
func TestTheFirstLeaderEpochIsOneToo(t *testing.T) {
	for first, halts := range map[int32]bool{-1: false, 0: true, 1: true} {
		r := newRig(t, nil)
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: offsets.NewWindow(0), LeaderEpoch: first, Committed: true})
		reader, _ := r.Reader(partitionOf(0), 1)
		for o := range int64(5) {
			a := r.arrival(o, 1000, "0")
			if reader.Wants(o, first) == Whole {
				reader.Read(&a)
			}
		}
		reader.Wants(2, 2) // written anew
		if h := r.Take().Halts; (len(h) == 1 && h[0].Truncated && h[0].Offset == 2) != halts {
			t.Errorf("epoch %d, then 2 at an offset that was read: %+v, want a halt: %v", first, h, halts)
		}
	}
}

// TestAPartitionThatFallsSilentAgainHasTheWholeOfItsPatience: an end of the silence ends
// what was waited for.
func TestAPartitionThatFallsSilentAgainHasTheWholeOfItsPatience(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Patience, c.MaxInFlight = time.Minute, 1 })
	r.pass(300_000)
	r.assign(0, 1, 0)
	for o := range int64(6) {
		r.take(0, 1, r.arrival(o, 0, "0"))
	}
	r.pass(1)
	for range 4 {
		ds := r.offer()
		if len(ds) != 1 || ds[0].Target != egress {
			t.Fatalf("on offer are %+v, want one for %s", ds, egress)
		}
		for range 45 { // below the patience, and above it together
			r.pass(1000)
			for _, d := range r.offer() {
				t.Fatalf("offset %d goes to %s: %s", d.Offset, d.Target, d.Message)
			}
		}
		r.end(Delivered, ds...)
	}
}

// TestBytesInFlightAreSharedByThePartitionsOfATarget: each gets its turn.
func TestBytesInFlightAreSharedByThePartitionsOfATarget(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight, c.MaxInFlightBytes = 1, 1 })
	r.assign(0, 1, 0)
	offset := int64(0)
	for range 20 {
		for p := range 4 {
			r.take(0, 1, r.arrival(offset, 0, fmt.Sprint(p)))
			offset++
		}
	}
	r.pass(1)
	turns := make(map[int32]int)
	for range 40 {
		for _, d := range r.offer() {
			turns[d.TargetPartition]++
			r.end(Delivered, d)
		}
	}
	for p := range int32(4) {
		if turns[p] < 5 {
			t.Errorf("partition %d got %d turns of 40: %v", p, turns[p], turns)
		}
	}
}
