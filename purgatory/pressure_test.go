package purgatory

import (
	"testing"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory/far"
)

// TestCopiesThatAreLoadedToBeMovedAreStranded until they are moved, also once their chunks are emptied.
func TestCopiesThatAreLoadedToBeMovedAreStranded(t *testing.T) {
	const copies = 200
	w := movable(t, copies)
	w.store.largest = minChunk
	l, _ := w.Loader(w.a())
	for n := range int64(copies) {
		v := w.cleanings(far.Cleaning{Slack: 1 << 30, Small: 1000, Few: 1})[0]
		found := []far.Found{w.there[n].Found}
		if take, _ := w.Runs().Take(&Visited{Visit: v, Until: n + 1, Found: found}, aheadMs, 1000, nil); len(take) != 1 {
			t.Fatalf("the copy at %d is not taken", n)
		}
		body := text("0 a body that makes some chunks of all of these together")
		l.Load(n, &Arrival{Offset: 1000 + n, TimestampMs: startMs, DeadlineMs: found[0].DeadlineMs, Target: egress, Label: egress, Reloaded: true, Body: body})
		w.loaded++
	}
	stranded := func(when string, want int64) {
		t.Helper()
		if loaded := w.Runs().LoadedBytes(); loaded != want || w.Runs().ReloadedBytes() != want || w.Runs().Stranded() != want {
			t.Errorf("%s: %d bytes are loaded, %d to be moved, %d stranded, want %d", when, loaded, w.Runs().ReloadedBytes(), w.Runs().Stranded(), want)
		}
	}
	bytes := w.Runs().LoadedBytes()
	if bytes < 2*minChunk {
		t.Fatalf("%d bytes are loaded", bytes)
	}
	stranded("loaded", bytes)
	for no, ch := range w.store.chunks {
		ch.emptied = w.store.classes[ch.class].open != no
	}
	for w.Runs().SqueezeOn(1 << 20) {
	}
	stranded("carried together", bytes)
	w.audit()
	w.Runs().Gather(0, 1<<40, 1<<20)
	w.moveAll()
	stranded("moved", 0)
	w.audit()
}

// TestLateCopiesAreCountedWhileTheyArePutBack: they leave one by one, or with their partition.
func TestLateCopiesAreCountedWhileTheyArePutBack(t *testing.T) {
	for _, lost := range []bool{false, true} {
		r := paced(t, 10, nil)
		a := offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
		r.Assign(facts.Assigned{Assignment: a, Window: offsets.NewWindow(0), Committed: true})
		r.begin(a, 0, 3)
		r.confirmed()
		l, _ := r.Loader(a)
		for n := range int64(5) {
			late := r.overdue(100+n, 3_600_000)
			l.Load(n, &late)
		}
		r.late(0, 1, 0, 1) // read from ingress
		r.pass(1)
		r.end(Delivered, r.offer()...)
		r.audit()
		if got, all := r.Runs().PutBackBytes(), r.Runs().LoadedBytes(); got == 0 || got > all {
			t.Errorf("%d bytes of copies are put back, of %d", got, all)
		}
		if lost {
			r.Sweep(a)
		} else {
			r.left(1000)
		}
		r.audit()
		if got := r.Runs().PutBackBytes(); got != 0 {
			t.Errorf("lost %v: %d bytes of copies are put back, and all are gone", lost, got)
		}
	}
}

// TestNoCopyIsReadBesideOthersThatWaitForMembership: it would only wait, too.
func TestNoCopyIsReadBesideOthersThatWaitForMembership(t *testing.T) {
	w := movable(t, 2)
	const day = 86_400_000
	v, _ := w.Runs().VisitOf(w.a(), day, day)
	w.Suspend()
	take, _ := w.Runs().Take(&Visited{Visit: v, Until: 1, Found: []far.Found{w.there[0].Found}}, day, 1000, nil)
	l, _ := w.Loader(w.a())
	l.Load(0, &Arrival{Offset: 1000, TimestampMs: startMs, DeadlineMs: w.at.WallMs, Target: egress, Label: egress, Body: text("0")})
	w.loaded++
	if v, ok := w.Runs().VisitOf(w.a(), day, day); !ok || len(take) != 1 {
		t.Errorf("with nothing that waits the visit is %+v, %v", v, ok)
	} else {
		w.Runs().Unread(v)
	}
	w.pass(2000)
	if v, ok := w.Runs().VisitOf(w.a(), day, day); ok || w.Runs().Stranded() != w.Runs().LoadedBytes() {
		t.Errorf("beside a copy that waits %+v begins, %d bytes are stranded of %d", v, w.Runs().Stranded(), w.Runs().LoadedBytes())
	}
	w.confirmed()
	w.pass(1)
	if _, ok := w.Runs().VisitOf(w.a(), day, day); !ok {
		t.Error("no visit begins, and nothing waits")
	}
}

// confirmed has all partitions commit.
func (r *rig) confirmed() {
	for _, c := range r.Commits(nil, true) {
		r.Committed(offsets.CommitResult{Commit: c})
	}
}
