package purgatory

import (
	"testing"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory/far"
)

// TestWhatIsOnItsWayToRunsIsInTheOutlook: gathered, in flight, in a run, and parked again.
func TestWhatIsOnItsWayToRunsIsInTheOutlook(t *testing.T) {
	w := newWays(t, 1)
	w.mustTake(0, 1, 50_000, 0)
	w.mustTake(0, 1, 300_000, 1, 2)
	w.mustTake(0, 1, 7_200_000, 3, 4, 5)
	want := func(when string, copies, next, furthest int64) {
		t.Helper()
		o := w.Outlook()
		if got, all := o.DueWithin, [7]int64{2: 1, 3: 3, 4: 3, 5: 6, 6: 6}; got != all {
			t.Errorf("%s: due are %v, want %v", when, got, all)
		}
		v := o.Runs.Partitions[0]
		if v.Copies != copies || o.Runs.Copies != copies || !v.Known {
			t.Errorf("%s: %+v, want %d copies", when, v, copies)
		}
		if o.Runs.NextDueMs != next || v.FurthestMs != furthest {
			t.Errorf("%s: next at %d, furthest at %d, want %d and %d", when, o.Runs.NextDueMs, v.FurthestMs, next, furthest)
		}
		w.runs.lookedMs = 0
	}
	const near, far = startMs + 300_000, startMs + 7_200_000
	want("parked", 0, 0, 0)
	w.Runs().Gather(w.at.WallMs+60_000, 1<<20, 100)
	want("gathered", 0, near, far)
	w.flying = w.Runs().Offer(nil, 2)
	want("two in flight", 0, near, far)
	w.land(2)
	w.Runs().Moved(w.at, []Answer{{ID: 0, Acked: true, Offset: 0, Bytes: 9}, {ID: 1, Acked: true, Offset: 1, Bytes: 9}})
	want("two in a run that grows", 2, near, far)
	w.Runs().Usable(ingress, false)
	want("the others parked again", 2, near, near)
	if o := w.Outlook(); o.OldestOverdueMs != 0 {
		t.Errorf("overdue since %d", o.OldestOverdueMs)
	}
	w.index.Seal()
	w.pass(310_000)
	w.runs.lookedMs = 0
	if o := w.Outlook(); o.OldestOverdueMs != startMs+50_000 || o.Runs.Partitions[0].Overdue != 2 {
		t.Errorf("overdue since %d, %d of them in runs", o.OldestOverdueMs-startMs, o.Runs.Partitions[0].Overdue)
	}
	w.offer()
	w.runs.lookedMs = 0
	if o := w.Outlook(); o.Runs.NextDueMs != startMs+300_000 {
		t.Errorf("the next is due at %d", o.Runs.NextDueMs-startMs)
	}
}

// TestSinceWhenAPartitionHasTooManyRuns: it is told as long as it lasts, and begins anew afterwards.
func TestSinceWhenAPartitionHasTooManyRuns(t *testing.T) {
	var m moved
	for nowMs, want := range []int64{0, 1, 1, 0, 4} {
		if m.full(want > 0, int64(nowMs)); m.fullSinceMs != want {
			t.Errorf("at %d: since %d, want %d", nowMs, m.fullSinceMs, want)
		}
	}
}

// TestCopiesOfWhichNobodyKnowsAreTold: of a partition that has not begun with its runs the last commit alone says that
// copies may wait there.
func TestCopiesOfWhichNobodyKnowsAreTold(t *testing.T) {
	r := newRig(t, nil)
	a := offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
	for _, holds := range []bool{false, true} {
		r.Assign(facts.Assigned{Assignment: a, Window: offsets.NewWindow(0), Runs: offsets.RunsState{Holds: holds}})
		r.runs.lookedMs = 0
		if v := r.Outlook().Runs.Partitions[0]; v.Holds != holds || v.Known {
			t.Errorf("the commit says %v: %+v", holds, v)
		}
		r.Sweep(a)
		a.Epoch++
	}
	r.Assign(facts.Assigned{Assignment: a, Window: offsets.NewWindow(0), Runs: offsets.RunsState{Holds: true}})
	r.begin(a, 3, 3)
	r.runs.lookedMs = 0
	if v := r.Outlook().Runs.Partitions[0]; v.Holds || !v.Known {
		t.Errorf("once it is known: %+v", v)
	}
}

// TestSinceWhenAGapIsNotRead: as long as nothing of it is read, and anew for each that follows.
func TestSinceWhenAGapIsNotRead(t *testing.T) {
	m, nowMs := moved{}, int64(0)
	for _, step := range []struct {
		does string
		do   func()
		want int64 // Unix milliseconds; each step takes one
	}{
		{"nothing is known", func() {}, 0},
		{"the log is longer than what is known", func() {
			m.index = far.New(far.Beginning{Window: offsets.NewWindow(0)})
			m.index.Log(offsets.Bounds{End: 10})
		}, 2},
		{"nothing is read", func() {}, 2},
		{"a part is read", func() { m.index.Read(0, 5, nil, 0, 0, nil) }, 4},
		{"nothing is read of the rest", func() {}, 4},
		{"the rest is read", func() { m.index.Read(5, 10, nil, 0, 0, nil) }, 0},
		{"others have written in between", func() { m.index.Acked(far.Found{Offset: 12, DeadlineMs: 9, Bytes: 1}) }, 7},
		{"the log is another one", func() { m.index = nil }, 0},
	} {
		nowMs++
		step.do()
		if got := m.gap(nowMs); got != step.want {
			t.Errorf("%s: since %d, want %d", step.does, got, step.want)
		}
	}
}
