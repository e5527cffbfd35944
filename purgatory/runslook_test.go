package purgatory

import (
	"testing"

	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory/far"
)

// crowdedCopies is how many copies each run of a crowd has. One is due each 20 hours.
const crowdedCopies = 32

// crowd is a core with partitions that have as many runs each as docs/runs.md has for a thousand million records.
func crowd(t testing.TB, parts int32) *rig {
	const count = runs.MaxRuns - 1
	d := runs.Directory{Writer: 77, End: count * crowdedCopies}
	for n := range int64(count) {
		run, err := runs.NewRun(77, uint64(n), crowdedCopies, crowdedCopies*1000, func(i int64) (offset, deadlineMs int64) {
			return n*crowdedCopies + i, startMs + 60_000 + n*200 + i*72_000_000
		})
		if err != nil {
			t.Fatal(err)
		}
		d.Runs = append(d.Runs, run)
	}
	r := newRig(t, nil)
	for p := range parts {
		a := offsets.Assignment{TopicPartition: partitionOf(p), Epoch: 1}
		r.Assign(facts.Assigned{Assignment: a, Window: offsets.NewWindow(0), Committed: true})
		x := far.New(far.Beginning{Writer: 1, Window: offsets.NewWindow(0)})
		x.Adopt(&d, -1)
		x.Log(offsets.Bounds{End: d.End})
		r.Runs().Begin(a, offsets.TopicID{1}, x, 0)
	}
	return r
}

// TestALookIsAboutSoManyRuns, and the next one is about the others: nothing is delivered meanwhile.
func TestALookIsAboutSoManyRuns(t *testing.T) {
	const parts, each, most = 9, runs.MaxRuns - 1, runsLookMost + runs.MaxRuns
	r := crowd(t, parts)
	closed := offsets.Assignment{TopicPartition: partitionOf(parts), Epoch: 1}
	r.Assign(facts.Assigned{Assignment: closed, Window: offsets.NewWindow(0), Runs: offsets.RunsState{Holds: true}})
	known, before := 0, 0
	for looks := 1; known < parts; looks++ {
		o := r.Runs().outlook()
		known = 0
		for i, v := range o.Partitions {
			if v.Known {
				known++
			}
			if v.TopicPartition != partitionOf(int32(i)) || v.Holds != (i == parts) {
				t.Errorf("partition %d after %d looks: %+v", i, looks, v)
			}
		}
		if got := (known - before) * each; got > most || got < 1 {
			t.Fatalf("look %d is about %d runs, want at most %d, and some", looks, got, most)
		}
		if copies := int64(known * each * crowdedCopies); o.Copies != copies || o.Bytes != copies*1000 {
			t.Errorf("after %d looks %d copies of %d bytes are told, want %d of those of %d partitions", looks, o.Copies, o.Bytes, copies, known)
		}
		before = known
	}
	o := r.Runs().outlook()
	for i, within := range Horizons {
		if due := r.Runs().DueBy(startMs + within).Copies; o.DueWithin[i] != due {
			t.Errorf("%d copies are due within %d ms, and %d of each partition alone", o.DueWithin[i], within, due)
		}
	}
	if o.NextDueMs != startMs+60_000 {
		t.Errorf("the next is due %d ms from the start", o.NextDueMs-startMs)
	}
}

// TestEachPartitionHasItsLook: what has changed is told after as many looks as its runs take.
func TestEachPartitionHasItsLook(t *testing.T) {
	const parts, each = 9, (runs.MaxRuns - 1) * crowdedCopies
	r := crowd(t, parts)
	for range parts {
		r.Runs().outlook()
	}
	for p := range r.parts.here() {
		p.moved.index.Start(1) // the first copy is gone from the log
	}
	looks := 0
	for told := int64(0); told != parts*(each-1); looks++ {
		if told = r.Runs().outlook().Copies; looks > parts {
			t.Fatalf("%d copies are told after %d looks, and %d wait", told, looks, parts*(each-1))
		}
	}
	if looks != (parts+4)/5 {
		t.Errorf("it took %d looks at five partitions each", looks)
	}
}

// BenchmarkALookAtRuns asks how long a lane's loop stands for a look at the runs of 32 partitions. Each has as many runs
// as it may. Questions about what is due, or to be moved again, are timed, too, and the commits of all partitions. The
// baseline is to go over the runs, and no more.
func BenchmarkALookAtRuns(b *testing.B) {
	r := crowd(b, 32)
	b.Run("baseline", func(b *testing.B) {
		for b.Loop() {
			r.Runs().RunsDueBy(startMs)
		}
	})
	b.Run("a look", func(b *testing.B) {
		for b.Loop() {
			r.Runs().outlook()
		}
	})
	b.Run("looks at all", func(b *testing.B) {
		for b.Loop() {
			for p := range r.parts.here() {
				p.look(r.now.WallMs)
			}
		}
	})
	b.Run("due in 10 s", func(b *testing.B) {
		for b.Loop() {
			r.Runs().DueBy(startMs + 10_000)
		}
	})
	b.Run("due in 15 min", func(b *testing.B) {
		for b.Loop() {
			r.Runs().DueBy(startMs + 900_000)
		}
	})
	b.Run("the next visit, 10 min ahead", func(b *testing.B) {
		for b.Loop() {
			r.Runs().NextVisit(600_000)
		}
	})
	b.Run("to be moved again", func(b *testing.B) {
		r.Runs().Usable(ingress, true)
		for b.Loop() {
			r.Runs().Cleanings(nil, far.Cleaning{Slack: 1 << 40, Small: 1, Few: 1024}, 1<<30, 100)
		}
	})
	b.Run("commits", func(b *testing.B) {
		for b.Loop() {
			for _, c := range r.Commits(nil, true) {
				r.Committed(offsets.CommitResult{Commit: c})
			}
		}
	})
}
