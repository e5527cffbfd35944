package purgatory

import (
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
)

// again takes a commit of partition 0 and returns from which offset on commands count again
// for whoever finds it, 0 for all.
func (r *rig) again() int64 {
	r.Helper()
	cs := r.Commits(nil, true)
	r.Committed(offsets.CommitResult{Commit: cs[0]})
	_, ext, err := offsets.DecodeAll(cs[0].Metadata, modelID, cs[0].Low)
	if err != nil {
		r.Fatal(err)
	}
	return ext.Again
}

// knownRig has a partition whose commits can be read back.
func knownRig(t *testing.T, edit func(*facts.Assigned)) *rig {
	r := newRig(t, nil)
	r.assigned(func(a *facts.Assigned) {
		a.TopicID, a.ClusterID = modelID.TopicID, modelID.ClusterID
		if edit != nil {
			edit(a)
		}
		a.Facts = incarnated(0, a.Window)
	})
	return r
}

func TestACommitSaysFromWhichOffsetOnCommandsCountAgain(t *testing.T) {
	for name, test := range map[string]struct {
		play func(r *rig)
		want int64
	}{
		"the read position": {func(r *rig) {
			r.must(r.named(0, 60_000, "a"), r.arrival(1, 0, "0"), r.cancelOf(2, "b"))
		}, 3},
		"a replacement whose record is in flight": {func(r *rig) {
			r.must(r.named(0, 0, "a"))
			r.pass(1)
			r.offer()
			r.must(r.named(1, 0, "a"), r.arrival(2, 0, "0"))
		}, 1},
		"the oldest of several": {func(r *rig) {
			r.must(r.named(0, 0, "a"), r.named(1, 0, "b"), r.named(2, 60_000, "c"))
			r.pass(1)
			ds := r.offer()
			r.must(r.named(3, 60_000, "b"), r.cancelOf(4, "a"), r.arrival(5, 0, "0"))
			r.end(Delivered, ds[1])
		}, 4},
		"nothing waits that has an id": {func(r *rig) {
			r.must(r.arrival(0, 60_000, "0"), r.named(1, 60_000, "a"), r.cancelOf(2, "a"))
		}, 0},
	} {
		r := knownRig(t, nil)
		test.play(r)
		r.pass(1)
		for _, d := range r.offer() {
			r.end(Delivered, d)
		}
		if got := r.again(); got != test.want {
			t.Errorf("%s: from %d on, want %d", name, got, test.want)
		}
	}
}

// TestACommitThatLeavesAnythingOutSaysNothing: a finished command counts again, wherever it is.
func TestACommitThatLeavesAnythingOutSaysNothing(t *testing.T) {
	r := knownRig(t, nil)
	r.must(r.named(0, 60_000, "a"))
	r.parts.byTopic[partitionOf(0)].metaLimit = minMetadata
	for o := int64(1); o < 4000; o++ {
		delayMs := int64(60_000)
		if o*o%7 < 3 {
			delayMs = 0
		}
		r.take(0, 1, r.arrival(o, delayMs, "0"))
	}
	r.pass(1)
	for ds := r.offer(); len(ds) > 0; ds = r.offer() {
		r.end(Delivered, ds...)
	}
	if got := r.again(); got != 0 {
		t.Errorf("from %d on, want nothing said", got)
	}
	if r.stats.MetadataOverflows == 0 {
		t.Error("the commit leaves nothing out")
	}
}

// TestFinishedCommandsAreReadAgainWhileIDsWait, from the offset on that the commit names.
func TestFinishedCommandsAreReadAgainWhileIDsWait(t *testing.T) {
	for name, test := range map[string]struct {
		named bool
		again int64
		jumps []int64
		want  []int64 // offsets of which commands count
	}{
		"an id waits, and all count":  {true, 0, nil, []int64{1, 2, 97, 98, 99}},
		"an id waits":                 {true, 98, []int64{98}, []int64{98, 99}},
		"an id waits, and none count": {true, 100, []int64{100}, nil},
		"no id waits":                 {false, 0, []int64{100}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := offsets.NewWindow(0)
			set.FinishRange(1, 100)
			r := knownRig(t, func(a *facts.Assigned) { a.Window, a.Again, a.StableEnd = set, test.again, 101 })
			if test.named {
				r.must(r.named(0, 60_000, "a"))
			} else {
				r.must(r.arrival(0, 60_000, "0"))
			}
			reader, _ := r.Reader(partitionOf(0), 1)
			var jumps, counts []int64
			for _, o := range []int64{1, 2, 97, 98, 99, 100} {
				want := reader.Wants(o, 0)
				for _, j := range r.Take().Jumps {
					jumps = append(jumps, j.To)
				}
				if want == Commanded {
					counts = append(counts, o)
				}
				if (want == Whole) != (o == 100) {
					t.Errorf("%d is wanted: %v", o, want)
				}
			}
			if !slices.Equal(jumps, test.jumps) || !slices.Equal(counts, test.want) {
				t.Errorf("jumps to %v, want %v; commands at %v, want %v", jumps, test.jumps, counts, test.want)
			}
		})
	}
}

// TestAFinishedCommandEndsWhatItEndedBefore, and is not counted twice.
func TestAFinishedCommandEndsWhatItEndedBefore(t *testing.T) {
	for _, cancel := range []bool{true, false} {
		for _, flying := range []bool{false, true} {
			set := offsets.NewWindow(0)
			set.FinishRange(1, 2)
			r := newIDRig(t, nil)
			r.assigned(func(a *facts.Assigned) { a.Window, a.StableEnd = set, 2 })
			r.must(r.named(0, 0, "a"))
			var ds []Delivery
			if flying {
				r.Replays().Reading(true)
				r.pass(1)
				ds = r.offer()
			}
			reader, _ := r.Reader(partitionOf(0), 1)
			if reader.Wants(1, 0) != Commanded {
				t.Fatal("the command does not count again")
			}
			reader.Command(&Arrival{Offset: 1, ID: []byte("a"), Cancel: cancel, DeadlineMs: r.at.WallMs})
			r.audit()
			r.end(Rejected, ds...)
			want := []string{map[bool]string{true: "cancelled", false: "replaced"}[cancel] + " a 0 by 1"}
			if got := r.drain(); !slices.Equal(got, want) || !r.finished(0, 2) {
				t.Errorf("cancel %v, in flight %v: got %q, want %q", cancel, flying, got, want)
			}
			if total(r.stats.Cancels) != 0 {
				t.Errorf("counted %v", r.stats.Cancels)
			}
		}
	}
}

// TestAFinishedRecordThatMayHaveBeenInvalidEndsNothing: its deadline is still to come. So a
// command ended it, which counts itself, or it was too far ahead of the clock to be valid.
func TestAFinishedRecordThatMayHaveBeenInvalidEndsNothing(t *testing.T) {
	const slackMs = 5000
	for name, test := range map[string]struct {
		edit func(a *Arrival)
		ends bool
	}{
		"due later than a slow clock explains": {func(a *Arrival) { a.DeadlineMs += slackMs + 1 }, false},
		"due later by a slow clock":            {func(a *Arrival) { a.DeadlineMs += slackMs }, true},
		"due now":                              {func(*Arrival) {}, true},
		"a cancel":                             {func(a *Arrival) { a.Cancel, a.DeadlineMs = true, a.DeadlineMs+2*slackMs }, true},
		"no delay asked for":                   {func(a *Arrival) { a.Outcome, a.DeadlineMs = Passed, a.DeadlineMs+2*slackMs }, true},
		"a delay of zero":                      {func(a *Arrival) { a.Outcome, a.DeadlineMs = Immediate, a.DeadlineMs+2*slackMs }, true},
		"expires before it is due": {func(a *Arrival) {
			a.DeadlineMs += 2 * slackMs
			a.Expires, a.ExpireMs = true, a.DeadlineMs
		}, true},
		"expires after it is due": {func(a *Arrival) {
			a.DeadlineMs += 2 * slackMs
			a.Expires, a.ExpireMs = true, a.DeadlineMs+1
		}, false},
	} {
		set := offsets.NewWindow(0)
		set.FinishRange(1, 2)
		r := newIDRig(t, func(c *Config) { c.ClockSlack = slackMs * time.Millisecond })
		r.assigned(func(a *facts.Assigned) { a.Window, a.StableEnd = set, 2 })
		r.must(r.named(0, 60_000, "a"))
		reader, _ := r.Reader(partitionOf(0), 1)
		reader.Wants(1, 0)
		a := r.named(1, 0, "a")
		test.edit(&a)
		reader.Command(&a)
		r.audit()
		if got := len(r.drain()) > 0; got != test.ends {
			t.Errorf("%s: the older record ends: %v, want %v", name, got, test.ends)
		}
	}
}

// TestAFinishedCommandFindsNothing where what it ended is finished, and says so to nobody.
func TestAFinishedCommandFindsNothing(t *testing.T) {
	set := offsets.NewWindow(0)
	set.FinishRange(1, 2)
	r := newIDRig(t, nil)
	r.assigned(func(a *facts.Assigned) { a.Window = set })
	r.must(r.named(0, 60_000, "a"))
	reader, _ := r.Reader(partitionOf(0), 1)
	reader.Wants(1, 0)
	a := r.cancelOf(1, "b")
	reader.Command(&a)
	r.audit()
	if r.want(r.offer()); total(r.stats.Cancels) != 0 {
		t.Errorf("counted %v", r.stats.Cancels)
	}
}

// TestPairsKeepTheOldestCommand, whatever the order in which they close.
func TestPairsKeepTheOldestCommand(t *testing.T) {
	var p pairs
	if _, ok := p.oldest(); ok || p.bytes() != 0 {
		t.Error("an empty one has an oldest")
	}
	for _, o := range []int64{5, 9, 9, 12, 100_000} {
		p.open(o)
	}
	for _, step := range []struct{ close, oldest int64 }{{9, 5}, {9, 5}, {7, 5}, {5, 12}, {200_000, 12}, {12, 100_000}} {
		p.close(step.close)
		if got, ok := p.oldest(); !ok || got != step.oldest {
			t.Errorf("without %d the oldest is %d, want %d", step.close, got, step.oldest)
		}
	}
	p.close(100_000)
	if _, ok := p.oldest(); ok || p.count != 0 {
		t.Error("it is not empty")
	}
	p.open(3) // of another assignment's log position: nothing is left of before
	if got, _ := p.oldest(); got != 3 {
		t.Errorf("the oldest is %d", got)
	}
	if p.bytes() == 0 {
		t.Error("its memory is not counted")
	}
}
