package purgatory

import (
	"testing"

	"layover/offsets"
	"layover/purgatory/far"
)

// stale is a rig whose three copies are in memory, due in a minute, and stale: their log was cut in front of
// them. In the present log, which is x, three offsets are known, and have the copies that now says.
func stale(t *testing.T, now []far.Found, with func(*Config)) (r *rig, a offsets.Assignment, x *far.Index) {
	t.Helper()
	r, a, found := renewingWith(t, with)
	for i := range found {
		found[i].DeadlineMs = r.at.WallMs + 60_000
	}
	if n, _ := r.loadsAhead(100_000, a, found, 0, 0); n != 3 {
		t.Fatalf("%d are loaded, want 3", n)
	}
	r.parts.byTopic[partitionOf(0)].moved.doubtful = true // as an answer would tell
	if _, renewed := r.loadsAhead(100_000, a, nil, 1, 0); !renewed {
		t.Fatal("the log was cut, and its index goes on")
	}
	x = r.begin(a, 3, 1)
	if n, _ := r.loadsAhead(100_000, a, now, 1, 0); n != len(now) {
		t.Fatalf("%d of %d are loaded", n, len(now))
	}
	return r, a, x
}

// TestALateCopyOfARecordWhoseLogWasCutIsNotFinishedBeforeIt: copies are in memory, and their log is truncated by an
// unclean election. What stands at their offsets now is no copy, so it is finished. They are moved once more, and
// parked again before that is acknowledged. Their copies count until they are delivered.
func TestALateCopyOfARecordWhoseLogWasCutIsNotFinishedBeforeIt(t *testing.T) {
	for what, class := range map[string]Class{"they wait": NoRoom, "they stay unfinished": Rejected, "they are delivered": Delivered} {
		t.Run(what, func(t *testing.T) {
			r, _, x := stale(t, nil, halting)
			if !x.Finished(0) {
				t.Fatal("what is no copy is not finished")
			}
			r.Runs().Usable(ingress, true)
			r.Runs().Gather(r.at.WallMs+30_000, 1<<20, 100)
			moves := r.Runs().Offer(nil, 100)
			if len(moves) != 3 {
				t.Fatalf("%d are moved, want 3", len(moves))
			}
			r.pass(59_000) // the client has no answer
			r.Runs().Offer(nil, 100)
			if r.stats.Parked != 3 {
				t.Fatalf("%d are parked again, want 3", r.stats.Parked)
			}
			r.pass(1000)
			for range 4 { // together, and then each alone
				r.end(class, r.offer()...)
			}
			for i, m := range moves {
				r.Runs().Moved(r.at, []Answer{{ID: m.ID, Acked: true, Offset: 3 + int64(i), Bytes: 10}})
			}
			for o := int64(3); o < 6; o++ {
				if x.Finished(o) != (class == Delivered) {
					t.Errorf("the copy at %d is finished: %t", o, x.Finished(o))
				}
			}
			if n := r.stats.LostFromRuns; n != 0 {
				t.Errorf("%d are lost", n)
			}
			r.audit()
		})
	}
}

// TestAStaleCopyThatStaysUnfinishedIsLost: it is in no log, and in memory no more. What stands at its offset has its own
// outcome.
func TestAStaleCopyThatStaysUnfinishedIsLost(t *testing.T) {
	r, _, x := stale(t, nil, halting)
	r.pass(60_000)
	for n := 0; r.stats.Unfinished < 3 && n < 4; n++ { // together, and then each alone
		r.end(Rejected, r.offer()...)
	}
	if p := r.parts.byTopic[partitionOf(0)]; r.stats.LostFromRuns != 3 || len(p.moved.stale) != 0 || p.moved.firstHalted() < 3 {
		t.Errorf("%d are lost, want 3; stale are %v, the first that stays is at %d", r.stats.LostFromRuns, p.moved.stale, p.moved.firstHalted())
	}
	if x.Low() != 3 {
		t.Errorf("finished below %d, want 3", x.Low())
	}
	r.audit()
}

// TestAStaleCopyThatStaysUnfinishedIsLostWithTheRefusalOfItsCopy: that was on its way meanwhile. Where it is there, it
// is what counts.
func TestAStaleCopyThatStaysUnfinishedIsLostWithTheRefusalOfItsCopy(t *testing.T) {
	for what, late := range map[string]Answer{"refused": {}, "too large": {TooLarge: true}, "there": {Acked: true, Bytes: 10}} {
		t.Run(what, func(t *testing.T) {
			r, _, x := stale(t, nil, halting)
			r.Runs().Usable(ingress, true)
			r.Runs().Gather(r.at.WallMs+30_000, 1<<20, 100)
			moves := r.Runs().Offer(nil, 100)
			r.pass(59_000) // the client has no answer
			r.Runs().Offer(nil, 100)
			r.pass(1000)
			for range 4 { // together, and then each alone
				r.end(Rejected, r.offer()...)
			}
			if n := r.stats.LostFromRuns; len(moves) != 3 || n != 0 {
				t.Fatalf("%d are moved, %d are lost", len(moves), n)
			}
			lost := int64(3)
			if late.Acked {
				lost = 0
			}
			for i, m := range moves {
				late.ID, late.Offset = m.ID, 3+int64(i)
				r.Runs().Moved(r.at, []Answer{late})
			}
			if p := r.parts.byTopic[partitionOf(0)]; r.stats.Unfinished != 3 || r.stats.LostFromRuns != lost || len(p.moved.stale) != 0 || x.Low() != 3 {
				t.Errorf("%d stay unfinished, %d are lost, want %d; stale are %v; finished below %d, want 3", r.stats.Unfinished, r.stats.LostFromRuns, lost, p.moved.stale, x.Low())
			}
			r.audit()
		})
	}
}

// TestACopyThatStandsWhereAStaleOneStoodIsNotLostForIt: of two in memory nobody knows which one stays unfinished. So the
// offset does.
func TestACopyThatStandsWhereAStaleOneStoodIsNotLostForIt(t *testing.T) {
	now := []far.Found{{Offset: 1, DeadlineMs: startMs + 60_000, Bytes: 10, Writer: 9}}
	r, _, x := stale(t, now, halting)
	r.pass(60_000)
	for range 4 { // together, and then each alone
		for _, d := range r.offer() {
			class := Delivered
			if d.Copy == 2 && r.stats.Unfinished == 0 {
				class = Rejected
			}
			r.end(class, d)
		}
	}
	if x.Finished(1) || r.stats.LostFromRuns != 0 || r.stats.Unfinished != 1 || r.stats.Parked != 0 {
		t.Errorf("finished: %t; %d are lost, %d stay unfinished, %d parked", x.Finished(1), r.stats.LostFromRuns, r.stats.Unfinished, r.stats.Parked)
	}
	r.audit()
}
