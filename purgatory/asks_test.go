package purgatory

import (
	"testing"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory/far"
)

// flushed moves n records of a partition, from an offset on, to the end of the runs partition, and lists
// them. It returns where that ends.
func (r *rig) flushed(a offsets.Assignment, from, end, n int64) int64 {
	r.Helper()
	for o := from; o < from+n; o++ {
		r.take(0, a.Epoch, r.arrival(o, 3_600_000+o, "0 far"))
	}
	r.Runs().Gather(r.at.WallMs+60_000, 1<<20, 1<<20)
	end = r.lands(r.Runs().Offer(nil, 1<<20), end)
	listings := r.Runs().Listings(nil)
	if len(listings) != 1 {
		r.Fatalf("%d directories, want one", len(listings))
	}
	r.Runs().Listed(&listings[0], true, end)
	return end + 1
}

// lands answers copies with offsets from one on, and returns the next.
func (r *rig) lands(moves []Move, at int64) int64 {
	for _, m := range moves {
		r.Runs().Moved(r.at, []Answer{{ID: m.ID, Acked: true, Offset: at, Bytes: 10}})
		at++
	}
	return at
}

func movingRig(t *testing.T) (*rig, offsets.Assignment, *far.Index) {
	r := newRig(t, func(*Config) {})
	a := offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
	r.Assign(facts.Assigned{Assignment: a, Window: offsets.NewWindow(0), Committed: true})
	x := r.begin(a, 0, 3)
	r.Runs().Usable(ingress, true)
	return r, a, x
}

// TestAnElectionBetweenTwoFlushesHasLittleReadAgain: the leader is asked for its epoch behind each flush. So
// a copy moved afterwards is known to be of that epoch, or of a later one.
func TestAnElectionBetweenTwoFlushesHasLittleReadAgain(t *testing.T) {
	r, a, x := movingRig(t)
	end := r.flushed(a, 0, 0, 10) // in epoch 4 already
	asks := r.Runs().Visits(nil, 5000, 5000)
	if len(asks) != 1 || asks[0].From != asks[0].To {
		t.Fatalf("behind a flush the visits are %+v", asks)
	}
	r.Runs().Take(&Visited{Visit: asks[0], Highest: 4, Until: asks[0].From, End: 0, Ended: true, LogEnd: end}, 5000, 1000, nil)
	if more := r.Runs().Visits(nil, 5000, 5000); len(more) != 1 || more[0].From != 0 || more[0].To != end {
		t.Fatalf("then they are %+v, want what landed before the answer", more)
	} else {
		r.answers(a, more[0], r.copiesOf(0, 10), 4, 0)
	}
	for round := range int64(5) { // of a later epoch perhaps, which the next answer tells
		end = r.flushed(a, 10+round*10, end, 10)
		v := r.Runs().Visits(nil, 5000, 5000)[0]
		r.Runs().Take(&Visited{Visit: v, Highest: 4, Until: v.From, Ended: true, LogEnd: end}, 5000, 1000, nil)
	}
	if more := r.Runs().Visits(nil, 5000, 5000); len(more) != 0 {
		t.Errorf("one visit more: %+v", more)
	}
	if n := r.stats.LostFromRuns; n > 0 {
		t.Errorf("%d count as lost", n)
	}
	known := x.Known()
	if _, truncated := x.Raise(5, end); truncated || x.Known() != known {
		t.Errorf("an election behind all of it has the index know %d of %d offsets", x.Known(), known)
	}
	r.audit()
}

// copiesOf is what a visit finds of one flush.
func (r *rig) copiesOf(from, n int64) (found []far.Found) {
	for o := from; o < from+n; o++ {
		found = append(found, far.Found{Offset: o, DeadlineMs: r.at.WallMs + 3_600_000 + o, Bytes: 10, Origin: o, Writer: 2})
	}
	return found
}

// TestWhatIsMovedDuringAVisitIsNotCutOff: the log ended before it when the visit asked.
func TestWhatIsMovedDuringAVisitIsNotCutOff(t *testing.T) {
	r, a, x := movingRig(t)
	for o := range int64(20) {
		r.take(0, a.Epoch, r.arrival(o, 3_600_000+o, "0 far"))
	}
	r.Runs().Gather(r.at.WallMs+60_000, 1<<20, 1<<20)
	end := r.lands(r.Runs().Offer(nil, 10), 5) // behind what others wrote in a transaction that is open
	visits := r.Runs().Visits(nil, 5000, 5000)
	if len(visits) != 1 || visits[0].From != 0 || visits[0].To != 5 {
		t.Fatalf("the visits are %+v, want one of the gap", visits)
	}
	asked := end
	r.lands(r.Runs().Offer(nil, 10), end)
	_, renewed := r.Runs().Take(&Visited{Visit: visits[0], Highest: 3, Ended: true, LogEnd: asked}, 5000, 1000, nil)
	if lost := r.stats.LostFromRuns; renewed || lost > 0 || x.End() != 25 {
		t.Errorf("renewed %v, %d lost, the index ends at %d", renewed, lost, x.End())
	}
	r.audit()
}

// TestALeaderOfFormerTimesCutsNothing: it does not know that there is another one, and its log ends below what that
// has acknowledged. A log is cut in a later leader epoch alone.
func TestALeaderOfFormerTimesCutsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		highest int32 // of the answer; the log of epoch 3 ends at 4
		lost    int64
	}{"of the same epoch": {3, 0}, "of one before": {2, 0}, "of a later one": {4, 7}} { // with its directory
		r, a, x := movingRig(t)
		end := r.flushed(a, 0, 0, 10)
		v := r.Runs().Visits(nil, 5000, 5000)[0]
		_, renewed := r.Runs().Take(&Visited{Visit: v, Highest: c.highest, Until: v.From, End: 4, Ended: true, LogEnd: 4}, 5000, 1000, nil)
		if renewed != (c.lost > 0) || r.stats.LostFromRuns != c.lost {
			t.Errorf("%s: renewed %v, %d count as lost, want %d", name, renewed, r.stats.LostFromRuns, c.lost)
		}
		if renewed {
			continue
		}
		if more := r.Runs().Visits(nil, 5000, 5000); len(more) > 0 {
			t.Errorf("%s: it is asked again at once", name)
		}
		r.pass(visitAgainMs)
		again := r.Runs().Visits(nil, 5000, 5000)
		if len(again) != 1 || again[0].From != again[0].To {
			t.Fatalf("%s: then the visits are %+v, want the same question", name, again)
		}
		r.Runs().Take(&Visited{Visit: again[0], Highest: 3, Until: again[0].From, Ended: true, LogEnd: end}, 5000, 1000, nil)
		if x.Unsure() > 0 || r.stats.LostFromRuns > 0 {
			t.Errorf("%s: %d are unsure after an answer, %d lost", name, x.Unsure(), r.stats.LostFromRuns)
		}
		r.audit()
	}
}

// TestDueCopiesDoNotWaitForAnAnswer: a leader that says that its log ends below what was acknowledged is asked
// each second. What is due below that end is read.
func TestDueCopiesDoNotWaitForAnAnswer(t *testing.T) {
	r, a, x := movingRig(t)
	end := r.flushed(a, 0, 0, 10)
	x.Raise(4, end)
	r.pass(3_600_000)
	found := r.copiesOf(0, 10)
	for i := range found {
		found[i].DeadlineMs -= 3_600_000
	}
	for round := range int64(3) {
		ask := r.Runs().Visits(nil, 5000, 5000)
		if len(ask) != 1 || ask[0].From != ask[0].To {
			t.Fatalf("round %d: the visits are %+v, want a question", round, ask)
		}
		r.Runs().Take(&Visited{Visit: ask[0], Highest: 4, Until: ask[0].From, Ended: true, LogEnd: 8}, 5000, 1000, nil)
		due := r.Runs().Visits(nil, 5000, 5000)
		if len(due) != 1 || !due[0].Due || due[0].From != round*2 {
			t.Fatalf("round %d: then they are %+v, want what is due", round, due)
		}
		due[0].To = round*2 + 2 // as the reader takes no more at a time
		if loaded, _ := r.answers(a, due[0], found[round*2:round*2+2], 4, 0); loaded != 2 {
			t.Errorf("round %d: %d are loaded", round, loaded)
		}
		r.pass(visitAgainMs)
	}
	r.audit()
}

// TestAnElectionDuringAVisitCutsWhatWasAcknowledgedMeanwhile: the visit asked before, so its answer alone cuts nothing.
// The next one asks behind all of it, and the same leader believes that its log ends below.
func TestAnElectionDuringAVisitCutsWhatWasAcknowledgedMeanwhile(t *testing.T) {
	for name, acked := range map[string]bool{"by the former leader": false, "and one by a later one": true} {
		r, a, x := movingRig(t)
		end := r.flushed(a, 0, 0, 10)
		v := r.Runs().Visits(nil, 5000, 5000)[0]
		for o := range int64(10) {
			r.take(0, a.Epoch, r.arrival(10+o, 3_600_000+o, "0 far"))
		}
		r.Runs().Gather(r.at.WallMs+60_000, 1<<20, 1<<20)
		late := r.Runs().Offer(nil, 9)
		r.lands(late, end)
		answer := func(v Visit) bool {
			_, renewed := r.Runs().Take(&Visited{Visit: v, Highest: 4, Until: v.From, End: end, Ended: true, LogEnd: end}, 5000, 1000, nil)
			return renewed
		}
		if answer(v) || r.stats.LostFromRuns > 0 {
			t.Errorf("%s: the first answer cuts, %d are lost", name, r.stats.LostFromRuns)
		}
		if acked {
			x.Acked(far.Found{Offset: end, Origin: 20})
		}
		r.pass(visitAgainMs)
		next := r.Runs().Visits(nil, 5000, 5000)
		if len(next) != 1 || next[0].From != end && !acked {
			t.Fatalf("%s: the visits are %+v", name, next)
		}
		if renewed := answer(next[0]); renewed == acked {
			t.Errorf("%s: renewed %v", name, renewed)
		}
		if lost := r.stats.LostFromRuns; !acked && lost != 9 {
			t.Errorf("%s: %d count as lost, want 9", name, lost)
		}
	}
}

// TestAFlushBeginsWithTheFarthest, also where the last one has ended in the middle. All are within the
// levels of the wheel: what is beyond has no order.
func TestAFlushBeginsWithTheFarthest(t *testing.T) {
	r, a, _ := movingRig(t)
	const n = 1000
	for o := range int64(n) {
		r.take(0, a.Epoch, r.arrival(o, 100_000+o*100, "0 far"))
	}
	r.Runs().Gather(r.at.WallMs+60_000, 1<<20, n/2)
	r.lands(r.Runs().Offer(nil, n), 0)
	r.take(0, a.Epoch, r.arrival(n, 250_000, "0 far"))
	r.Runs().FromFarthest()
	r.Runs().Gather(r.at.WallMs+60_000, 1<<20, 10)
	for _, m := range r.Runs().Offer(nil, n) {
		if m.Offset == n {
			return
		}
	}
	t.Error("the farthest record is not among the first that are gathered")
}

// TestAQuestionThatFailsIsAskedAgain: with the most copies of which nobody knows their leader epoch nothing is moved
// before an answer, and nothing else asks. What is due is read meanwhile.
func TestAQuestionThatFailsIsAskedAgain(t *testing.T) {
	r, a, x := movingRig(t)
	for o := range int64(mostUnsure + 5000) {
		r.take(0, a.Epoch, r.arrival(o, 3_600_000+o, "0 far"))
	}
	r.Runs().Gather(r.at.WallMs+60_000, 1<<40, 1<<20)
	end := int64(0)
	for moves := r.Runs().Offer(nil, 4000); len(moves) > 0; moves = r.Runs().Offer(nil, 4000) {
		end = r.lands(moves, end)
		r.commitLow(0)
	}
	if x.Unsure() < mostUnsure || r.stats.Gathered == 0 {
		t.Fatalf("%d are unsure, %d gathered", x.Unsure(), r.stats.Gathered)
	}
	for round := range 3 {
		asks := r.Runs().Visits(nil, 5000, 5000)
		if len(asks) != 1 || asks[0].From != asks[0].To {
			t.Fatalf("round %d: the visits are %+v, want a question", round, asks)
		}
		r.Runs().Unread(asks[0])
		if due := r.Runs().Visits(nil, 5_000_000, 5_000_000); len(due) != 1 || !due[0].Due {
			t.Errorf("round %d: then they are %+v, want what is due", round, due)
		} else {
			r.Runs().Unread(due[0])
		}
		r.pass(visitAgainMs)
	}
}

// TestWhatALogHasIsReadThoughItLacksWhatIsDueBefore: it has the first of two runs alone, and the second is due before
// it. Its leader does not know that there is another one, or a transaction of others is open between the runs.
func TestWhatALogHasIsReadThoughItLacksWhatIsDueBefore(t *testing.T) {
	for name, missing := range map[string]int64{"the leader is of former times": 10, "a transaction is open": 0} {
		r, a, _ := movingRig(t)
		end := r.flushed(a, 0, 0, 10)
		found := r.copiesOf(0, 10)
		for o := int64(10); o < 20; o++ {
			r.take(0, a.Epoch, r.arrival(o, 3_500_000, "0 far"))
		}
		r.Runs().Gather(r.at.WallMs+60_000, 1<<20, 1<<20)
		ended := r.lands(r.Runs().Offer(nil, 10), end) - missing
		r.pass(3_600_000)
		loaded, visits := 0, 0
		for range 25 {
			for _, v := range r.Runs().Visits(nil, 5000, 5000) {
				answer := Visited{Visit: v, Highest: 3, Until: min(v.To, end)}
				if visits++; v.From >= end {
					answer.Until, answer.Ended, answer.LogEnd = v.From, true, ended
				} else {
					answer.Found = found[v.From:min(answer.Until, 10)]
				}
				take, _ := r.Runs().Take(&answer, 5000, 1000, nil)
				loaded += len(take)
			}
			r.pass(visitAgainMs / 5)
		}
		if loaded != 10 || visits > 15 {
			t.Errorf("%s: %d copies are loaded by %d visits in 5 s, want the 10 that are there", name, loaded, visits)
		}
	}
}

// TestALeaderThatLagsIsAskedForWholeRunsOnceASecond: its log ends below runs that are to be moved together.
func TestALeaderThatLagsIsAskedForWholeRunsOnceASecond(t *testing.T) {
	r, a, _ := movingRig(t)
	end := int64(0)
	for i := range int64(70) {
		end = r.flushed(a, 10*i, end, 10)
		for _, v := range r.Runs().Visits(nil, 5000, 5000) {
			r.Runs().Take(&Visited{Visit: v, Highest: 3, Until: v.From, Ended: true, LogEnd: end}, 5000, 1000, nil)
		}
	}
	asked := 0
	for range 10_000 / 200 { // as often as a lane looks
		for _, v := range r.cleanings(far.Cleaning{Slack: 1 << 30, Small: 1000, Few: 64}) {
			asked++
			r.Runs().Take(&Visited{Visit: v, Highest: 2, Until: v.From, Ended: true}, 5000, 1000, nil)
		}
		r.pass(200)
	}
	if asked != 10_000/visitAgainMs {
		t.Errorf("asked %d times in ten seconds, want once a second", asked)
	}
	r.audit()
}
