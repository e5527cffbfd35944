package purgatory

import (
	"errors"
	"slices"
	"testing"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory/far"
)

// renewing is a rig with a runs partition that has three copies.
func renewing(t *testing.T) (*rig, offsets.Assignment, []far.Found) {
	return renewingWith(t, func(*Config) {})
}

func renewingWith(t *testing.T, with func(*Config)) (*rig, offsets.Assignment, []far.Found) {
	r := newRig(t, with)
	a := offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
	r.Assign(facts.Assigned{Assignment: a, Window: offsets.NewWindow(0), Committed: true})
	r.begin(a, 3, 0)
	var found []far.Found
	for o := range int64(3) {
		found = append(found, far.Found{Offset: o, DeadlineMs: r.at.WallMs + 1000, Bytes: 10, Writer: 9})
	}
	return r, a, found
}

// halting has a record that is rejected stay unfinished.
func halting(c *Config) { c.OnInvalid, c.DeadLetterTopic = Halt, "" }

// begin begins with a runs log that ends at an offset.
func (r *rig) begin(a offsets.Assignment, end int64, epoch int32) *far.Index {
	window := offsets.NewWindow(0)
	if _, ok := r.Runs().LeftEpoch(a); ok {
		window = r.Runs().Left(a, offsets.TopicID{7}, end)
	}
	x, lost := far.Open(&far.Opening{Writer: 2, LeaderEpoch: epoch, Window: window, Log: offsets.Bounds{End: end}})
	r.Runs().Begin(a, offsets.TopicID{7}, x, lost)
	return x
}

// loads gives the answer to the one visit that is due, and loads what is taken.
func (r *rig) loads(a offsets.Assignment, found []far.Found, epoch int32, end int64) (loaded int, renewed bool) {
	r.Helper()
	return r.loadsAhead(5000, a, found, epoch, end)
}

// loadsAhead is loads of what is due within so many ms.
func (r *rig) loadsAhead(ms int64, a offsets.Assignment, found []far.Found, epoch int32, end int64) (loaded int, renewed bool) {
	r.Helper()
	visits := r.Runs().Visits(nil, ms, ms)
	if len(visits) != 1 {
		r.Fatalf("%d visits, want one", len(visits))
	}
	return r.answersAhead(ms, a, visits[0], found, epoch, end)
}

func (r *rig) answers(a offsets.Assignment, v Visit, found []far.Found, epoch int32, end int64) (loaded int, renewed bool) {
	r.Helper()
	return r.answersAhead(5000, a, v, found, epoch, end)
}

func (r *rig) answersAhead(ms int64, a offsets.Assignment, v Visit, found []far.Found, epoch int32, end int64) (loaded int, renewed bool) {
	take, renewed := r.Runs().Take(&Visited{Visit: v, Until: v.To, Found: found, Highest: epoch, End: end}, ms, 1000, nil)
	for _, i := range take {
		l, ok := r.Loader(a)
		if !ok {
			r.Fatal("no loader")
		}
		l.Load(found[i].Offset, &Arrival{Offset: 100 + found[i].Offset, DeadlineMs: found[i].DeadlineMs, Target: egress, Label: egress, Body: text("0 far")})
	}
	return len(take), renewed
}

func TestAnAnswerToAnEarlierIndexIsDropped(t *testing.T) {
	r, a, found := renewing(t)
	old := r.Runs().Visits(nil, 5000, 5000)[0]
	r.Runs().Renewed(a, offsets.TopicID{8})
	x := r.begin(a, 2, 0)
	if n, renewed := r.answers(a, old, found, 0, 0); n != 0 || renewed || x.Known() != 0 {
		t.Errorf("%d copies of the old log are loaded, renewed %t, known up to %d", n, renewed, x.Known())
	}
	r.Runs().Unread(old)
	r.Runs().Listed(&Listing{Assignment: a, index: old.index}, true, 5)
	r.Runs().Deleted(RunsDelete{Assignment: a, Below: 5, index: old.index}, nil)
	if s := x.State(); s.DirectoryEnd != 0 || s.Holds != true {
		t.Errorf("the state is %+v", s)
	}
	if n, _ := r.loads(a, found[:2], 0, 0); n != 2 {
		t.Errorf("%d copies of the new log are loaded, want 2", n)
	}
	r.audit()
}

func TestCopiesInMemoryAreDeliveredThoughTheirLogIsTruncated(t *testing.T) {
	r, a, found := renewing(t)
	if n, _ := r.loads(a, found, 0, 0); n != 3 {
		t.Fatalf("%d are loaded, want 3", n)
	}
	p := r.parts.byTopic[partitionOf(0)]
	p.moved.doubtful = true // as an answer would tell
	if n, renewed := r.loads(a, nil, 1, 1); n != 0 || !renewed {
		t.Fatalf("%d are loaded, renewed %t", n, renewed)
	}
	found[1].DeadlineMs += 100_000 // another copy stands there now
	x := r.begin(a, 2, 1)
	if n, _ := r.loads(a, found[:2], 1, 0); n != 0 {
		t.Errorf("%d are loaded: one is in memory, the other is far off", n)
	}
	r.pass(2000)
	sent := r.offer()
	if len(sent) != 3 {
		t.Fatalf("%d are offered, want all 3 that were in memory", len(sent))
	}
	for _, d := range sent {
		r.Outcomes(r.at, []Result{{ID: d.ID, Class: Delivered}})
	}
	if !x.Finished(0) || x.Finished(1) || x.Low() != 1 || r.stats.LostFromRuns != 0 {
		t.Errorf("finished below %d, the other copy at 1: %t, lost %d", x.Low(), x.Finished(1), r.stats.LostFromRuns)
	}
	r.audit()
}

// TestACopyThatStaysUnfinishedIsCountedOnceItsLogIsTruncated: it is in memory no more. What is written
// anew there has its own outcome.
func TestACopyThatStaysUnfinishedIsCountedOnceItsLogIsTruncated(t *testing.T) {
	r, a, found := renewingWith(t, halting)
	r.loads(a, found, 0, 0)
	r.pass(2000)
	for i, d := range r.offer() {
		r.Outcomes(r.at, []Result{{ID: d.ID, Class: [...]Class{Rejected, Rejected, Delivered}[i]}})
	}
	for n := 0; r.stats.Unfinished < 2 && n < 4; n++ { // together, and then each alone
		r.end(Rejected, r.offer()...)
	}
	p := r.parts.byTopic[partitionOf(0)]
	if p.moved.doubtful = true; r.stats.Unfinished != 2 {
		t.Fatalf("%d stay unfinished, want 2", r.stats.Unfinished)
	}
	if _, renewed := r.loads(a, nil, 1, 1); !renewed || r.stats.LostFromRuns != 1 {
		t.Fatalf("renewed %t, lost %d, want the one at 1", renewed, r.stats.LostFromRuns)
	}
	x := r.begin(a, 2, 1)
	if n, _ := r.loads(a, found[:2], 1, 0); n != 1 {
		t.Fatalf("%d are loaded, want the new one at 1", n)
	}
	r.pass(2000)
	for _, d := range r.offer() {
		r.Outcomes(r.at, []Result{{ID: d.ID, Class: Delivered}})
	}
	if x.Finished(0) || !x.Finished(1) || r.stats.LostFromRuns != 1 {
		t.Errorf("finished: the one at 0 %t, the new one at 1 %t; lost %d", x.Finished(0), x.Finished(1), r.stats.LostFromRuns)
	}
	r.audit()
}

func TestAnOutcomeWhileNoIndexIsThereCountsInTheNext(t *testing.T) {
	r, a, found := renewing(t)
	r.loads(a, found, 0, 0)
	p := r.parts.byTopic[partitionOf(0)]
	p.moved.doubtful = true
	r.loads(a, nil, 1, 2)
	r.pass(2000)
	for _, d := range r.offer() {
		r.Outcomes(r.at, []Result{{ID: d.ID, Class: Delivered}})
	}
	if x := r.begin(a, 2, 1); x.Low() != 2 {
		t.Errorf("finished below %d, want 2", x.Low())
	}
	if s, _ := p.saidOfRuns(); s.TopicID != (offsets.TopicID{7}) || s.Low != 2 {
		t.Errorf("a commit says %+v", s)
	}
}

func TestACopyAtAnOffsetThatIsKnownIsParkedAgain(t *testing.T) {
	r, a, found := renewing(t)
	r.loads(a, found[:0], 0, 0)
	r.Runs().Usable(ingress, true)
	r.mustTake(0, 1, 300_000, 0)
	r.Runs().Gather(0, 1<<20, 100)
	moves := r.Runs().Offer(nil, 1)
	r.Runs().Moved(r.at, []Answer{{ID: moves[0].ID, Acked: true, Offset: 1, Bytes: 10}})
	if r.stats.Moved != 0 || r.stats.Parked != 1 || len(r.Runs().Offer(nil, 1)) != 0 {
		t.Errorf("%d moved, %d parked", r.stats.Moved, r.stats.Parked)
	}
	r.pass(1000)
	if n, _ := r.Runs().Gather(0, 1<<20, 100); n != 0 {
		t.Errorf("%d bytes are gathered while nobody knows which log it is", n)
	}
	if n, renewed := r.loads(a, nil, 0, 0); n != 0 || renewed {
		t.Errorf("%d loaded, renewed %t", n, renewed)
	}
	if n, _ := r.Runs().Gather(0, 1<<20, 100); n == 0 {
		t.Error("nothing is gathered though the log is the same")
	}
	r.audit()
}

func TestACommitRepeatsWhatTheLastOneSaidUntilTheRunsBegin(t *testing.T) {
	said := offsets.RunsState{TopicID: offsets.TopicID{7}, Low: 3, Known: 9, DueMs: 5, Holds: true}
	r := newRig(t, func(*Config) {})
	a := offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
	r.Assign(facts.Assigned{Assignment: a, Window: offsets.NewWindow(0), Committed: true, Runs: said})
	c := r.Commits(nil, true)[0]
	if c.Runs != said {
		t.Errorf("it says %+v", c.Runs)
	}
	p := r.parts.byTopic[partitionOf(0)]
	if needed := p.runsCommitted(&c); needed != 0 {
		t.Errorf("of the journal all from %d on is needed, want all", needed)
	}
}

func TestACopyThatIsMovedAgainIsFinishedByTheAnswerOfTheNext(t *testing.T) {
	r, a, found := renewing(t)
	x := r.parts.byTopic[partitionOf(0)].moved.index
	r.Runs().Usable(ingress, true)
	for i := range found {
		found[i].DeadlineMs += 200_000
	}
	v := r.Runs().Visits(nil, 5000, 5000)[0]
	take, _ := r.Runs().Take(&Visited{Visit: v, Until: 3, Found: found, Highest: -1}, 1_000_000, 1000, nil)
	for _, i := range take {
		l, _ := r.Loader(a)
		l.Load(found[i].Offset, &Arrival{Offset: 100 + found[i].Offset, DeadlineMs: found[i].DeadlineMs, Target: egress, Label: egress, Body: text("0 far")})
	}
	r.Runs().Gather(0, 1<<20, 100)
	moves := r.Runs().Offer(nil, 9)
	if len(moves) != 3 || moves[0].Copy == 0 || x.Low() != 0 || x.Finished(moves[1].Copy-1) {
		t.Fatalf("%d copies are moved again; finished below %d before any answer", len(moves), x.Low())
	}
	r.Runs().Moved(r.at, []Answer{{ID: moves[0].ID}, {ID: moves[1].ID, Acked: true, Offset: 3, Bytes: 5}, {ID: moves[2].ID, Acked: true, Offset: 4, Bytes: 5}})
	if x.Finished(moves[0].Copy-1) || !x.Finished(moves[1].Copy-1) || !x.Finished(moves[2].Copy-1) || r.stats.Parked != 1 {
		t.Errorf("finished are %t, %t, %t; %d are parked", x.Finished(moves[0].Copy-1), x.Finished(moves[1].Copy-1), x.Finished(moves[2].Copy-1), r.stats.Parked)
	}
	r.audit()
}

// TestACommitFollowsTheLastDeletion: without it an older release would never read the partition.
func TestACommitFollowsTheLastDeletion(t *testing.T) {
	r := newRig(t, func(*Config) {})
	a := offsets.Assignment{TopicPartition: partitionOf(0), Epoch: 1}
	r.Journal(ingress, journalTopic)
	r.Assign(facts.Assigned{Assignment: a, Window: offsets.NewWindow(0), Committed: true})
	w := offsets.NewWindow(3)
	x, _ := far.Open(&far.Opening{Writer: 2, Window: w, Facts: facts.NewJournalOnly(facts.Identity{}, 2, facts.Restored{}, w), LeaderEpoch: 4, Log: offsets.Bounds{End: 3}})
	r.Runs().Begin(a, offsets.TopicID{7}, x, 0)
	for r.Cut(true) {
	}
	for i, write := range r.Take().Writes {
		r.Written(write.Assignment, facts.Result{Seq: write.Seq, Offset: int64(i)})
	}
	commits := func() (holds []bool) {
		for _, c := range r.Commits(nil, false) {
			r.Committed(offsets.CommitResult{Commit: c})
			holds = append(holds, c.Runs.Holds)
		}
		return holds
	}
	if got := commits(); !slices.Equal(got, []bool{true}) {
		t.Errorf("before anything is deleted commits hold older releases off: %v, want one that does", got)
	}
	deletions := r.Runs().Deletions(nil)
	if len(deletions) != 1 || deletions[0].Below != 3 || deletions[0].LeaderEpoch != 4 {
		t.Fatalf("%+v", deletions)
	}
	r.Runs().Deleted(deletions[0], errors.New("refused"))
	if got := commits(); len(got) > 0 {
		t.Errorf("a deletion that failed is news: %v", got)
	}
	if v := r.Runs().Visits(nil, 0, 0); len(v) != 1 || v[0].From != v[0].To {
		t.Errorf("a deletion that failed is followed by the visits %+v, want one that asks for the log", v)
	}
	r.Runs().Deleted(deletions[0], nil)
	if got := commits(); !slices.Equal(got, []bool{false}) {
		t.Errorf("once all is deleted commits hold older releases off: %v, want one that does not", got)
	}
}

// TestWhatIsLeftOfAnIndexCountsAsMemory, until the next one begins: the copies in memory, and what is finished.
func TestWhatIsLeftOfAnIndexCountsAsMemory(t *testing.T) {
	const n, ofEach = 10_000, 16
	for what, end := range map[string]int64{"the log has them": n, "it has none of them": 0} {
		t.Run(what, func(t *testing.T) {
			r, a, _ := renewing(t)
			r.begin(a, n, 0)
			var found []far.Found
			for o := range int64(n) {
				found = append(found, far.Found{Offset: o, DeadlineMs: r.at.WallMs + 1000, Bytes: 10, Writer: 9})
			}
			v := r.Runs().Visits(nil, 5000, 5000)[0]
			if take, _ := r.Runs().Take(&Visited{Visit: v, Until: n, Found: found}, 5000, 1<<20, nil); len(take) != n {
				t.Fatalf("%d are taken", len(take))
			}
			p := r.parts.byTopic[partitionOf(0)]
			for o := int64(0); o < n; o += 2 {
				p.moved.index.Finish(o)
			}
			r.runs.renew(p, end, 0)
			if got, want := p.moved.bytes(), p.moved.left.Bytes()+n/2*ofEach; got < want {
				t.Errorf("it counts %d bytes, want %d at least", got, want)
			}
			x := r.begin(a, end, 1)
			if got := p.moved.bytes() - x.Bytes(); end > 0 && got > n/2 {
				t.Errorf("it counts %d bytes beside the next index", got)
			}
		})
	}
}

// TestWhatEndsWhileNoIndexIsThereMayComeAgainAfterAKill: no journal has it, and the partition says so.
func TestWhatEndsWhileNoIndexIsThereMayComeAgainAfterAKill(t *testing.T) {
	r, a, found := renewing(t)
	r.loads(a, found, 0, 0)
	r.parts.byTopic[partitionOf(0)].moved.doubtful = true
	if _, renewed := r.loads(a, nil, 1, 2); !renewed {
		t.Fatal("the log is not another one")
	}
	r.pass(2000)
	for _, d := range r.offer() {
		r.Outcomes(r.at, []Result{{ID: d.ID, Class: Delivered}})
	}
	if n := r.Snapshot().Partitions[0].Uncommitted; n != 2 {
		t.Errorf("%d may come again, want the two that the log still has", n)
	}
	r.begin(a, 2, 1)
	if n := r.Snapshot().Partitions[0].Uncommitted; n != 0 { // this index has no journal
		t.Errorf("%d may come again once there is an index", n)
	}
}
