package purgatory

import (
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// TestAPartitionThatHasLeftStandsInNobodysWay: its place among the partitions is empty, or
// kept until its records in flight are answered.
func TestAPartitionThatHasLeftStandsInNobodysWay(t *testing.T) {
	for name, flying := range map[string]bool{"its place is empty": false, "its records are in flight": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.Journal(ingress, journalTopic)
			r.assign(0, 1, 0)
			if flying {
				r.mustTake(0, 1, 0, 0)
				r.pass(1)
				r.want(r.offer(), 0)
			}
			r.scattered(1, 1, 8000)
			r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1})
			at := int64(1)
			for round := range byte(2) {
				made := journalTopic
				made.TopicID[2] = round
				r.Journal(ingress, made)
				for _, c := range r.Commits(nil, true) {
					r.Committed(offsets.CommitResult{Commit: c})
				}
				for r.Cut(true) {
				}
				writes := r.Take().Writes
				if len(writes) == 0 || !r.Writing() {
					t.Fatalf("round %d: %d records are written, an answer is owed: %v", round, len(writes), r.Writing())
				}
				if r.GiveUp(); r.Writing() {
					t.Errorf("round %d: what was given up is waited for", round)
				}
				for _, w := range writes {
					r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: at})
					at++
				}
				if !r.Dirty() || r.Committing() {
					t.Errorf("round %d: dirty %v, committing %v", round, r.Dirty(), r.Committing())
				}
				commits := r.Commits(nil, true)
				if r.Dirty() || !r.Committing() || len(commits) != 1 {
					t.Errorf("round %d, with %d commits underway: dirty %v, committing %v", round, len(commits), r.Dirty(), r.Committing())
				}
				for _, c := range commits {
					r.Committed(offsets.CommitResult{Commit: c})
				}
				if r.Suspend(); !r.Unconfirmed() {
					t.Error("the lease is over, and no partition waits for a commit")
				}
				if r.commitAll() != 1 || r.Unconfirmed() || r.Committing() {
					t.Errorf("round %d: unconfirmed %v, committing %v after a commit", round, r.Unconfirmed(), r.Committing())
				}
			}
			if s := r.Snapshot(); len(s.Partitions) != 1 || s.Partitions[0].Partition != 1 {
				t.Errorf("partitions %+v", s.Partitions)
			}
			r.audit()
		})
	}
}

// TestTheEndOfAnAssignmentWritesAllOfItsSet to the journal, and nothing of others.
func TestTheEndOfAnAssignmentWritesAllOfItsSet(t *testing.T) {
	r := newRig(t, nil)
	small := journalTopic
	small.MaxBytes = 1500 // so that a snapshot has several parts
	r.Journal(ingress, small)
	r.scattered(0, 1, 4000)
	r.scattered(1, 1, 4000)
	for _, c := range r.Commits(nil, true) {
		r.Committed(offsets.CommitResult{Commit: c})
	}
	r.CutOf(partitionOf(0), 1)
	writes := r.Take().Writes
	if len(writes) < 2 {
		t.Fatalf("%d records, want several parts", len(writes))
	}
	for i, w := range writes {
		if w.Partition != 0 {
			t.Errorf("record %d is of partition %d", i, w.Partition)
		}
		if !r.WritingOf(partitionOf(0), 1) || r.WritingOf(partitionOf(1), 1) {
			t.Errorf("before the answer to record %d: owed to the first %v, to the second %v", i, r.WritingOf(partitionOf(0), 1), r.WritingOf(partitionOf(1), 1))
		}
		r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: int64(1 + i)})
	}
	views := r.Snapshot().Partitions
	if r.WritingOf(partitionOf(0), 1) || views[0].Facts.Unwritten != 0 || views[1].Facts.Unwritten != -1 {
		t.Errorf("once all is answered: %+v and %+v", views[0].Facts, views[1].Facts)
	}
}

// TestSamplesOfTimestampsAreCutWhereTheLogWas, all of them at its first offset.
func TestSamplesOfTimestampsAreCutWhereTheLogWas(t *testing.T) {
	for cut, want := range map[int64]int{0: 0, 1: 0, 10: 0, 11: 1, 20: 1, 21: 2, 30: 2, 31: 3, 99: 3} {
		var a ages
		for i := range int64(3) {
			a.note(10+10*i, 1000+i)
		}
		if a.clip(cut); len(a.samples) != want {
			t.Errorf("cut at %d: %d samples are left, want %d", cut, len(a.samples), want)
		}
		since := int64(0)
		if want > 0 {
			since = 1000
		}
		if got := a.since(0); got != since {
			t.Errorf("cut at %d: since %d, want %d", cut, got, since)
		}
	}
}

// TestAFamilyLosesWhatItsTargetsGiveUp, and a target's own part with its last record.
func TestAFamilyLosesWhatItsTargetsGiveUp(t *testing.T) {
	f := &family{own: ShareBytes{Held: 10_000, Rejected: 500}}
	for _, step := range []struct {
		bytes int64
		left  int
		want  int64
	}{{100, 2, 9900}, {50, 1, 9850}, {10, 0, 9840 - heldTargetSize}} {
		if f.shed(step.bytes, step.left); f.own != (ShareBytes{step.want, 500}) {
			t.Errorf("with %d left: %+v, want %d bytes held", step.left, f.own, step.want)
		}
	}
	(*family)(nil).shed(1, 0) // a target that no glob allowed
}

// TestACommitOfARevokedPartitionLetsNothingGo: its records wait for the next owner.
func TestACommitOfARevokedPartitionLetsNothingGo(t *testing.T) {
	for epoch := uint64(1); epoch <= 2; epoch++ {
		r := newRig(t, nil)
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: epoch}, Window: offsets.NewWindow(0)})
		r.mustTake(0, epoch, 0, 0, 1)
		r.pass(1)
		commits := r.Commits(nil, true)
		r.Revoke(partitionOf(0), epoch)
		for _, c := range commits {
			r.Committed(offsets.CommitResult{Commit: c})
		}
		if names := r.Wanted(nil); len(commits) != 1 || len(names) != 0 || len(r.offer()) != 0 {
			t.Errorf("assignment %d: %d commits, and %v is wanted", epoch, len(commits), names)
		}
		r.audit()
		r.Sweep(offsets.Assignment{TopicPartition: partitionOf(0), Epoch: epoch})
		r.audit()
	}
}

// TestARecordThatAskedForNoWaitRequestedNone, whatever its timestamp.
func TestARecordThatAskedForNoWaitRequestedNone(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for i, timestampMs := range []int64{0, 1, startMs} {
		a := r.arrival(int64(i), 0, "0")
		a.Outcome, a.TimestampMs = Immediate, timestampMs
		r.take(0, 1, a)
		if h := r.Snapshot().Requested[ingress]; h.SumMs != 0 || h.Count != uint64(i)+1 {
			t.Errorf("with timestamp %d: %d delays of %d ms together", timestampMs, h.Count, h.SumMs)
		}
	}
}

// TestADeadLetterThatIsTooLargeEvenWithoutItsValueHoldsItsTopic, which then says so.
func TestADeadLetterThatIsTooLargeEvenWithoutItsValueHoldsItsTopic(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	for round := range int64(2) {
		r.bury(round, "0")
		r.pass(1)
		for try := range 3 {
			if d := r.one(TooLarge); d.Alone != (try > 0) || d.Bare != (try > 1) || !d.DeadLettered {
				t.Errorf("round %d, try %d: %+v", round, try, d)
			}
		}
		h := r.heldView()
		if h.Target != graves || h.Verdict != Rejecting || h.Detail != "refuses a record even without its value: said the broker" || h.Records != 1 {
			t.Errorf("round %d: %+v", round, h)
		}
		r.pass(holdFirstMs)
		if d := r.one(Delivered); !d.Bare || d.Offset != round {
			t.Errorf("round %d: the trial is %+v", round, d)
		}
		if s := r.Snapshot(); len(s.Held) != 0 {
			t.Errorf("round %d: held %+v", round, s.Held)
		}
		r.audit()
	}
}

// TestWhatASilentPartitionGaveUpIsToldUntilItAnswers, and not until another one does.
func TestWhatASilentPartitionGaveUpIsToldUntilItAnswers(t *testing.T) {
	r := newRig(t, func(c *Config) { c.MaxInFlight = 1 })
	r.assign(0, 1, 0)
	for round := range int64(2) {
		r.take(0, 1, r.arrival(4*round, 0, "1"))
		r.take(0, 1, r.arrival(4*round+1, 0, "1"))
		r.pass(1)
		silent := r.offer()
		for range 75 {
			r.pass(1000)
			for _, d := range r.offer() {
				r.end(Delivered, d) // a dead letter
			}
		}
		r.take(0, 1, r.arrival(4*round+2, 0, "2"))
		r.pass(1)
		r.one(Delivered)
		if h := r.heldView(); h.GivenUp != 1 {
			t.Errorf("round %d: another partition has answered, and %+v", round, h)
		}
		r.end(Delivered, silent...)
		if s := r.Snapshot(); len(s.Held) != 0 || len(s.GivenUp) != 0 {
			t.Errorf("round %d: it has answered, and held are %+v, given up %v", round, s.Held, s.GivenUp)
		}
		r.audit()
	}
}

// TestACutAsksForAnotherWhileAnyPartitionHasMoreToWrite, the last one or not.
func TestACutAsksForAnotherWhileAnyPartitionHasMoreToWrite(t *testing.T) {
	r := newRig(t, nil)
	small := journalTopic
	small.MaxBytes = 1500
	r.Journal(ingress, small)
	r.scattered(0, 1, 4000)
	r.assign(1, 1, 0) // nothing of it goes to the journal
	for _, c := range r.Commits(nil, true) {
		r.Committed(offsets.CommitResult{Commit: c})
	}
	parts, at := 0, int64(1)
	for more := true; r.Snapshot().Partitions[0].Facts.Unwritten != 0; {
		if !more {
			t.Fatalf("after %d parts nothing more is asked for, and not all is written", parts)
		}
		more = r.Cut(true)
		writes := r.Take().Writes
		for _, w := range writes {
			r.Written(w.Assignment, facts.Result{Seq: w.Seq, Offset: at})
			at++
		}
		parts += len(writes)
	}
	if parts < 2 || r.Cut(true) {
		t.Errorf("all is written in %d parts, and more is asked for", parts)
	}
}

// TestAnOvertakenAssignmentSaysItsCommitAgain for a while: an earlier one may still arrive.
func TestAnOvertakenAssignmentSaysItsCommitAgain(t *testing.T) {
	for _, overtaken := range []bool{false, true} {
		r := newRig(t, nil)
		r.pass(repeatForMs)
		r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: offsets.NewWindow(5), Next: 5, Overtaken: overtaken})
		r.commitAll()
		for _, step := range []int64{1, repeatForMs - 2} {
			r.pass(step)
			if r.Dirty() || r.Repeating() != overtaken || (r.commitAll() == 1) != overtaken {
				t.Errorf("overtaken %v, %d ms after the assignment: dirty %v, said again %v", overtaken, r.at.WallMs-startMs-repeatForMs, r.Dirty(), r.Repeating())
			}
		}
		r.pass(1)
		if r.Repeating() || r.commitAll() != 0 {
			t.Errorf("overtaken %v: the commit is said again after its time", overtaken)
		}
	}
}
