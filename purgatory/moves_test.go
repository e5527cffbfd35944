package purgatory

import (
	"testing"

	"layover/offsets"
	"layover/purgatory/far"
)

// movable begins partition 0 with runs of n copies of others, one each, which are due in an hour.
func movable(t *testing.T, n int64) (w *ways) {
	w = newWays(t, 1)
	for at := range n {
		w.there = append(w.there, copied{far.Found{Offset: at, DeadlineMs: w.at.WallMs + 3_600_000, Bytes: 10, Writer: 77, Run: uint64(at)}, 1000 + at, "0"})
	}
	w.visit(0, n)
	w.index.Seal()
	return w
}

// moveAll moves what may be moved now, in offers of a thousand, and answers all of it. It returns how
// many records that were.
func (w *ways) moveAll() (n int) {
	for {
		moves := w.Runs().Offer(nil, 1000)
		if len(moves) == 0 {
			return n
		}
		n += len(moves)
		for _, m := range moves {
			at := int64(len(w.there))
			w.there = append(w.there, copied{far.Found{Offset: at, DeadlineMs: m.DeadlineMs, Bytes: int64(len(m.Body)), Origin: m.Offset, Writer: w.index.Writer(), Run: m.Run}, m.Offset, string(m.Body)})
			w.Runs().Moved(w.at, []Answer{{ID: m.ID, Acked: true, Offset: at, Bytes: int64(len(m.Body))}})
		}
	}
}

// TestCopiesInFlightAreBoundedByTheirBytes, and one may be that is larger than the bound.
func TestCopiesInFlightAreBoundedByTheirBytes(t *testing.T) {
	for size, most := range map[int]int{50_000: copiesInFlight/50_000 + 1, copiesInFlight * 2: 1} {
		w := movable(t, 0)
		for o := range int64(100) {
			if size > copiesInFlight && o > 2 {
				break
			}
			a := w.arrival(o, 3_600_000, "0"+string(make([]byte, size)))
			w.take(0, 1, a)
		}
		w.Runs().Gather(0, 1<<40, 1000)
		for round := range 2 {
			moves := w.Runs().Offer(nil, 1000)
			if len(moves) != most {
				t.Fatalf("of %d bytes each: %d are in flight in round %d, want %d", size, len(moves), round, most)
			}
			if more := w.Runs().Offer(nil, 1000); len(more) > 0 {
				t.Errorf("of %d bytes each: %d more are in flight", size, len(more))
			}
			if most > 30 {
				break
			}
			w.Runs().Moved(w.at, []Answer{{ID: moves[0].ID, Acked: true, Offset: int64(round), Bytes: 10}})
		}
		w.audit()
	}
}

// TestMovesStopAtTheirBoundUntilACommit, which is asked for before: a kill repeats no more than
// that.
func TestMovesStopAtTheirBoundUntilACommit(t *testing.T) {
	w := movable(t, 0)
	const many = 2*movedUncommitted + 3
	for o := range int64(many) {
		w.take(0, 1, w.arrival(o, 3_600_000, "0"))
	}
	w.Runs().Gather(0, 1<<40, many)
	moves := w.Runs().Offer(nil, movedUncommitted/2-1)
	for i, m := range moves {
		w.Runs().Moved(w.at, []Answer{{ID: m.ID, Acked: true, Offset: int64(i), Bytes: 1}})
	}
	if w.Runs().Crowded() {
		t.Error("a commit is asked for before half of the bound is moved")
	}
	w.there = make([]copied, len(moves))
	for round, want := range []int{movedUncommitted - len(moves), movedUncommitted, 3} {
		if n := w.moveAll(); n != want {
			t.Fatalf("round %d: %d are moved, want %d", round, n, want)
		}
		if crowded := w.Runs().Crowded(); crowded != (want > 3) {
			t.Errorf("round %d: a commit is asked for: %v", round, crowded)
		}
		commits := w.Commits(nil, true)
		if len(commits) != 1 || w.Runs().Crowded() || len(w.Runs().Offer(nil, 1)) > 0 {
			t.Errorf("round %d: %d commits, and with one under way another is asked for, or something moves", round, len(commits))
		}
		w.Committed(offsets.CommitResult{Commit: commits[0]})
	}
	w.audit()
}

// TestAPartitionIsBehindForItsAgeOrItsSpan, while it can move what it has.
func TestAPartitionIsBehindForItsAgeOrItsSpan(t *testing.T) {
	w := movable(t, 0)
	behind := func(ageMs, oldMs, span int64) Kept {
		return w.Runs().Behind(func(string) Limits { return Limits{AgeMs: ageMs, OldMs: oldMs} }, span)
	}
	w.mustTake(0, 1, 7_200_000, 0, 1, 2, 3, 4, 5)
	w.pass(60_000)
	for _, test := range []struct {
		ageMs, oldMs, span int64
		want               Kept
	}{
		{60_000, 0, 8, Kept{}}, {59_999, 0, 8, Kept{Aged: true}}, {60_000, 60_001, 8, Kept{}}, {60_000, 60_000, 8, Kept{Old: true}},
		{60_000, 0, 7, Kept{Long: true}}, {60_000, 0, 7, Kept{}}, // nothing was read since
	} {
		if got := behind(test.ageMs, test.oldMs, test.span); got != test.want {
			t.Errorf("with %d ms, %d ms and %d offsets it is %+v, want %+v", test.ageMs, test.oldMs, test.span, got, test.want)
		}
	}
	if w.mustTake(0, 1, 7_200_000, 6); behind(60_000, 0, 7) != (Kept{Long: true}) {
		t.Error("it is not long when a quarter of the span was read")
	}
	if w.Runs().Usable(ingress, false); behind(0, 0, 0) != (Kept{}) {
		t.Error("it is behind though nothing may be moved")
	}
	w.Runs().Usable(ingress, true)
	if w.Runs().Gather(0, 1<<40, 100); behind(0, 0, 0) != (Kept{}) {
		t.Error("it is behind though all is gathered")
	}
}

// TestARunIsLoadedWholeToBeMovedAgain, whenever its copies are due, where its partition may move. Small ones that are near
// each other are visited together.
func TestARunIsLoadedWholeToBeMovedAgain(t *testing.T) {
	w := movable(t, 70)
	w.Runs().Usable(ingress, false)
	if v := w.cleanings(far.Cleaning{Slack: 1 << 30, Small: 100, Few: 64}); len(v) > 0 {
		t.Errorf("%d runs are to be loaded, and nothing may be moved", len(v))
	}
	w.Runs().Usable(ingress, true)
	for n := range int64(70) {
		vs := w.cleanings(far.Cleaning{Slack: 1 << 30, Small: 100, Few: 64})
		if len(vs) != 1 || vs[0].From != n || vs[0].To != 70 {
			t.Fatalf("to be loaded is %+v, want the runs from %d on", vs, n)
		}
		if more := w.cleanings(far.Cleaning{Slack: 1 << 30, Small: 100, Few: 64}); len(more) > 0 {
			t.Errorf("%+v is to be loaded beside it", more)
		}
		take, _ := w.Runs().Take(&Visited{Visit: vs[0], Until: n + 1, Found: []far.Found{w.there[n].Found}}, aheadMs, 1000, nil)
		if len(take) != 1 {
			t.Fatalf("the copy at %d is not taken, which is due in an hour", n)
		}
	}
}

// TestTheNextVisitOfAPartitionGoesOnWhereTheLastHasEnded, once that was answered, as the next look would.
func TestTheNextVisitOfAPartitionGoesOnWhereTheLastHasEnded(t *testing.T) {
	const day = 86_400_000
	w := movable(t, 3)
	if v, ok := w.Runs().VisitOf(w.a(), aheadMs, day); ok {
		t.Errorf("what is due in an hour is visited: %+v", v)
	}
	v, ok := w.Runs().VisitOf(w.a(), day, day)
	if !ok || v.From != 0 || v.To != 3 || !v.Due || v.Whole {
		t.Fatalf("the visit is %+v, %v", v, ok)
	}
	if more, ok := w.Runs().VisitOf(w.a(), day, day); ok {
		t.Errorf("%+v begins beside it", more)
	}
	w.Runs().Take(&Visited{Visit: v, Until: 1, Found: []far.Found{w.there[0].Found}}, day, 1000, nil)
	former := w.a()
	former.Epoch--
	if v, ok := w.Runs().VisitOf(former, day, day); ok {
		t.Errorf("of an assignment that is over, %+v begins", v)
	}
	if v, ok := w.Runs().VisitOf(w.a(), day, day); !ok || v.From != 1 {
		t.Errorf("the next visit is %+v, %v", v, ok)
	}
}

// TestTheAnswerToAVisitOfAFormerTenureIsDropped: another owner may have delivered its copies since. The
// visit of the present one stays under way.
func TestTheAnswerToAVisitOfAFormerTenureIsDropped(t *testing.T) {
	const day = 86_400_000
	w := movable(t, 3)
	visit := func() Visited {
		vs := w.Runs().Visits(nil, day, day)
		if len(vs) != 1 || vs[0].From != 0 {
			t.Fatalf("to be visited is %+v", vs)
		}
		return Visited{Visit: vs[0], Until: vs[0].To, Found: []far.Found{w.there[0].Found}}
	}
	former := visit()
	for range 2 {
		w.Revoke(partitionOf(0), w.epoch)
		w.Sweep(w.a())
		w.begin()
		present := visit()
		if take, anew := w.Runs().Take(&former, day, 1000, nil); len(take) > 0 || anew {
			t.Errorf("of the former tenure %d are taken, begun anew %v", len(take), anew)
		}
		if w.Runs().Unread(former.Visit); len(w.Runs().Visits(nil, day, day)) > 0 {
			t.Error("a second visit begins beside the present one")
		}
		if take, _ := w.Runs().Take(&present, day, 1000, nil); len(take) != 1 {
			t.Errorf("of the present tenure %d are taken, want 1", len(take))
		}
		former = present
	}
}
