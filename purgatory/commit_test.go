package purgatory

import (
	"errors"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
)

func TestOnlyPartitionsWithNewsAreCommitted(t *testing.T) {
	r := newRig(t, nil)
	for no := range int32(3) {
		r.assign(no, uint64(no)+1, 0)
		r.mustTake(no, uint64(no)+1, 0, 0)
	}
	if cs := r.Commits(nil, false); len(cs) != 0 {
		t.Errorf("commits %+v without news", cs)
	}
	r.pass(1)
	for _, d := range r.offer() {
		if d.Partition == 1 {
			r.end(Delivered, d)
		}
	}
	if !r.Dirty() || r.Committing() {
		t.Error("want news, and no commit underway")
	}
	cs := r.Commits(nil, false)
	if len(cs) != 1 || cs[0].Partition != 1 || cs[0].Low != 1 || cs[0].Epoch != 2 {
		t.Fatalf("commits %+v, want partition 1 alone", cs)
	}
	if r.Dirty() || !r.Committing() {
		t.Error("want no news, and a commit underway")
	}
	r.Committed(offsets.CommitResult{Commit: cs[0]})
	if v := r.Snapshot().Partitions[1]; v.Committed != 1 || v.Uncommitted != 0 || r.Committing() {
		t.Errorf("view %+v", v)
	}
	if cs := r.Commits(nil, true); len(cs) != 3 {
		t.Errorf("%d commits by force, want all", len(cs))
	}
}

func TestWhatFinishesWhileACommitIsUnderwayIsInTheNextOne(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.mustTake(0, 1, 0, 0, 1)
	r.pass(1)
	ds := r.offer()
	r.end(Delivered, ds[0])
	first := r.Commits(nil, false)[0]
	r.end(Delivered, ds[1])
	if v := r.Snapshot().Partitions[0]; v.Uncommitted != 2 {
		t.Errorf("%d uncommitted, want 2", v.Uncommitted)
	}
	r.Committed(offsets.CommitResult{Commit: first})
	if v := r.Snapshot().Partitions[0]; v.Uncommitted != 1 || v.Committed != 1 {
		t.Errorf("view %+v, want 1 uncommitted above 1", v)
	}
	if low := r.commitLow(0); low != 2 {
		t.Errorf("low offset %d, want 2", low)
	}
}

func TestARefusedCommitIsBuiltAgain(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.take(0, 1, Arrival{Offset: 0, Control: true})
	c := r.Commits(nil, false)[0]
	r.Committed(offsets.CommitResult{Commit: c, Err: errors.New("coordinator loading")})
	if v := r.Snapshot().Partitions[0]; v.Committed != 0 || v.Uncommitted != 1 {
		t.Errorf("view %+v", v)
	}
	if again := r.Commits(nil, false); len(again) != 1 || again[0].Low != 1 {
		t.Errorf("commits %+v", again)
	}
}

func TestMetadataCarriesTheLongestPrefixAndLearnsTheBrokersLimit(t *testing.T) {
	r := newRig(t, nil)
	id := offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{9}}
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, TopicID: id.TopicID, ClusterID: id.ClusterID, Window: offsets.NewWindow(0), Committed: true})
	reader, _ := r.Reader(partitionOf(0), 1)
	for o := range int64(20_000) {
		a := r.arrival(o, 3_600_000, "0")
		a.Control = o%2 == 1 // finished at once
		if reader.Wants(o, 0) == Whole {
			reader.Read(&a)
		}
	}
	for _, limit := range []int{4096, 2048, 1024, 512, 256, 0} {
		c := r.Commits(nil, true)[0]
		if len(c.Metadata) > limit || limit-len(c.Metadata) > 4 {
			t.Errorf("metadata of %d characters, want nearly %d", len(c.Metadata), limit)
		}
		w, err := offsets.Decode(c.Metadata, id, c.Low)
		if err != nil {
			t.Fatal(err)
		}
		covered := w.Above()
		for o := range 2 * covered {
			if w.Finished(o) != (o%2 == 1) {
				t.Fatalf("offset %d: finished is %v", o, w.Finished(o))
			}
		}
		r.Committed(offsets.CommitResult{Commit: c})
		if v := r.Snapshot().Partitions[0]; v.BeyondPrefix != 10_000-covered || v.BeyondPrefix == 0 {
			t.Errorf("%d beyond the prefix, want %d", v.BeyondPrefix, 10_000-covered)
		}
		c = r.Commits(nil, true)[0]
		r.Committed(offsets.CommitResult{Commit: c, Err: errors.New("offset metadata too large"), MetadataTooLarge: true})
	}
	if r.stats.MetadataOverflows != 12 {
		t.Errorf("%d overflows counted, want 12", r.stats.MetadataOverflows)
	}
}

func TestTwoRefusalsOfOneSizeHalveTheLimitOnce(t *testing.T) {
	r := newRig(t, nil)
	w := offsets.NewWindow(0)
	for o := int64(1); o < 20_000; o += 2 {
		w.Finish(o)
	}
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}, Window: w, LeaderEpoch: -1, Committed: true})
	first := r.Commits(nil, true)[0]
	last, _ := r.Final(partitionOf(0), 1)
	for _, c := range []offsets.Commit{first, last} {
		r.Committed(offsets.CommitResult{Commit: c, Err: errors.New("offset metadata too large"), MetadataTooLarge: true})
	}
	if n := len(r.Commits(nil, true)[0].Metadata); n > 2048 || n < 2040 {
		t.Errorf("metadata of %d characters, want nearly 2048", n)
	}
}

// TestACommitThatMayArriveAgainIsSaidAgainForAMinute, from the next one on that succeeds.
func TestACommitThatMayArriveAgainIsSaidAgainForAMinute(t *testing.T) {
	refused := errors.New("the coordinator is loading")
	for name, test := range map[string]struct {
		answer offsets.CommitResult
		again  int // commits in the two minutes after it, one a second
	}{
		"quick":                        {offsets.CommitResult{TookMs: 999}, 0},
		"perhaps sent twice":           {offsets.CommitResult{TookMs: 1000}, 59},
		"Kafka was away for a quarter": {offsets.CommitResult{TookMs: 900_000}, 59},
		"quick and sent twice":         {offsets.CommitResult{TookMs: 999, MayArrive: true}, 59},
		"refused":                      {offsets.CommitResult{TookMs: 999, Err: refused}, 1},
		"refused late":                 {offsets.CommitResult{TookMs: 1000, Err: refused}, 60},
		"given up":                     {offsets.CommitResult{TookMs: 999, Err: refused, MayArrive: true}, 60},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			r.assign(0, 1, 0)
			r.mustTake(0, 1, 10, 0, 1)
			r.pass(10)
			r.end(Delivered, r.offer()...)
			cs := r.Commits(nil, false)
			if len(cs) != 1 {
				t.Fatalf("%d commits, want 1", len(cs))
			}
			test.answer.Commit = cs[0]
			r.Committed(test.answer)
			again := 0
			for range 120 {
				r.pass(1000)
				for _, c := range r.Commits(nil, false) {
					if again++; c.Low != 2 {
						t.Errorf("low offset %d, want 2", c.Low)
					}
					r.Committed(offsets.CommitResult{Commit: c, TookMs: 3})
				}
			}
			if again != test.again {
				t.Errorf("%d commits more, want %d", again, test.again)
			}
		})
	}
}

// TestACommitIsOfItsLogAndSaysWhatItLeavesOut.
func TestACommitIsOfItsLogAndSaysWhatItLeavesOut(t *testing.T) {
	r := newRig(t, nil)
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(3), Epoch: 8}, TopicID: offsets.TopicID{5}, Window: offsets.NewWindow(4), Next: 4, LeaderEpoch: 2})
	c := r.Commits(nil, false)[0]
	if c.TopicPartition != partitionOf(3) || c.TopicID != (offsets.TopicID{5}) || c.Epoch != 8 || c.Low != 4 || c.LeaderEpoch != 2 || c.Metadata == "" || c.Left != 0 || c.Finished != 0 {
		t.Errorf("%+v", c)
	}
	if n := r.Snapshot().MetadataOverflows; n != 0 {
		t.Errorf("%d commits had no room", n)
	}
	r.Committed(offsets.CommitResult{Commit: c})
	r.scattered(0, 1, 8000)
	if c = r.Commits(nil, true)[1]; c.Partition != 0 {
		t.Fatalf("%+v", c)
	}
	if n := r.Snapshot().MetadataOverflows; n != 1 || c.Left == 0 {
		t.Errorf("%d commits had no room, and %d offsets are left out", n, c.Left)
	}
}
