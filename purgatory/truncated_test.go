package purgatory

import (
	"strings"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

// resumed hands over partition 0, read in leader epoch 4 before, with 2 to 5 finished.
func resumed(t *testing.T, low int64) *rig {
	r := newRig(t, nil)
	w := offsets.NewWindow(low)
	w.FinishRange(2, 6)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: w, Next: 0, LeaderEpoch: 4, Committed: true})
	return r
}

// wanted shows the core a batch of offsets, as the lane does, and returns those that it
// wants and reads.
func (r *rig) wanted(leaderEpoch int32, from, to int64) (out []int64) {
	reader, ok := r.Reader(partitionOf(0), 1)
	for o := from; ok && o < to; o++ {
		if a := r.arrival(o, 10, "0 x"); reader.Wants(o, leaderEpoch) == Whole && reader.Read(&a) {
			out = append(out, o)
		}
	}
	return out
}

// fresh hands over partition 0 with a window of which nobody knows the leader epoch.
func fresh(t *testing.T, w *offsets.Window) *rig {
	r := newRig(t, nil)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: w, LeaderEpoch: -1, Committed: true})
	return r
}

func TestWhatWasWrittenAnewAfterATruncationIsNotTakenForFinished(t *testing.T) {
	r := resumed(t, 0)
	if got := r.wanted(4, 0, 4); len(got) != 2 {
		t.Fatalf("read %v, want 0 and 1", got)
	}
	if got := r.wanted(5, 4, 7); len(got) != 3 {
		t.Errorf("of the new log read %v, want 4, 5 and 6", got)
	}
	c := r.Commits(nil, true)[0]
	set, err := offsets.Decode(c.Metadata, offsets.Identity{}, c.Low)
	if err != nil || !set.Finished(3) || set.Finished(4) || c.LeaderEpoch != 5 {
		t.Errorf("commit of epoch %d, %v: 3 is finished %v, 4 %v", c.LeaderEpoch, err, set.Finished(3), set.Finished(4))
	}
	if e := r.Snapshot().Errors; len(e) != 1 || !strings.Contains(e[0].Detail, "truncated at 4: 2 finished offsets") {
		t.Errorf("said %v", e)
	}
}

func TestANewLeaderAloneIsNoTruncation(t *testing.T) {
	r := fresh(t, offsets.NewWindow(0))
	if got := append(r.wanted(1, 0, 3), r.wanted(9, 3, 6)...); len(got) != 6 {
		t.Errorf("read %v, want all", got)
	}
	r.pass(20)
	r.end(Delivered, r.offer()...)
	if got := r.wanted(12, 6, 7); len(got) != 1 {
		t.Errorf("read %v, want 6", got)
	}
	if low := r.Commits(nil, true)[0].Low; low != 6 {
		t.Errorf("low offset %d, want 6", low)
	}
}

func TestATruncationBelowWhatCountsAsFinishedStopsThePartition(t *testing.T) {
	r := newRig(t, nil)
	w := offsets.NewWindow(0)
	w.FinishRange(1, 5)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: w, LeaderEpoch: 4, Committed: true})
	r.wanted(4, 0, 1)
	r.pass(20)
	r.end(Delivered, r.offer()...) // the low offset passes 1 to 4, which were not read
	if got := r.wanted(5, 1, 8); len(got) != 0 {
		t.Errorf("read %v of a log that is another one, want nothing", got)
	}
	halts := r.Take().Halts
	if len(halts) != 1 || !halts[0].Truncated || halts[0].Offset != 1 || !strings.Contains(halts[0].Reason, "truncated at 1") {
		t.Fatalf("notices %+v", halts)
	}
	if c := r.Commits(nil, true)[0]; c.LeaderEpoch != 4 || c.Low != 5 {
		t.Errorf("commit of %d in epoch %d, want 5 in epoch 4, which tells the next reader", c.Low, c.LeaderEpoch)
	}
	if p := r.Snapshot().Partitions[0]; p.Halted != "" {
		t.Errorf("halted by the policy for invalid records: %s", p.Halted)
	}
}

func TestATruncationWhileAPartitionIsReadStopsIt(t *testing.T) {
	r := fresh(t, offsets.NewWindow(0))
	r.wanted(3, 0, 10)
	r.pass(20)
	r.end(Delivered, r.offer()...)
	if got := r.wanted(5, 6, 12); len(got) != 0 {
		t.Errorf("read %v of a log of which 6 to 9 were read before, want nothing", got)
	}
	if c := r.Commits(nil, true)[0]; c.LeaderEpoch != 3 || c.Low != 10 {
		t.Errorf("commit of %d in epoch %d, want 10 in epoch 3", c.Low, c.LeaderEpoch)
	}
}

func TestFactsWithoutALeaderEpochStayWithoutUntilTheyAreReadPast(t *testing.T) {
	w := offsets.NewWindow(0)
	w.FinishRange(1, 8)
	r := fresh(t, w)
	r.wanted(3, 0, 1)
	c := r.Commits(nil, true)[0]
	if c.LeaderEpoch != -1 {
		t.Errorf("facts of unknown epochs are said to be of %d", c.LeaderEpoch)
	}
	r.Committed(offsets.CommitResult{Commit: c})
	r.wanted(5, 4, 12) // of another epoch, and not truncated
	if h := r.Take().Halts; len(h) > 0 {
		t.Errorf("a healthy log halts: %+v", h)
	}
	r.pass(20)
	r.end(Delivered, r.offer()...)
	if c := r.Commits(nil, true)[0]; c.LeaderEpoch != 5 || c.Low != 12 {
		t.Errorf("commit of %d in epoch %d, want 12 in epoch 5", c.Low, c.LeaderEpoch)
	}
}
