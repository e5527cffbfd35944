package purgatory

import (
	"testing"

	"layover/journal/runs"
	"layover/purgatory/far"
	"layover/verify/long"
)

// TestAFullPartitionIsCleaned: it has as many runs as a directory lists, of one copy each.
func TestAFullPartitionIsCleaned(t *testing.T) {
	long.Only(t)
	r, a, x := movingRig(t)
	var log []far.Found
	for n := range int64(runs.MaxRuns) {
		log = append(log, far.Found{Offset: n, DeadlineMs: r.at.WallMs + 3_600_000 + n, Bytes: 20, Run: uint64(n)})
		x.Acked(log[n])
		x.Seal()
	}
	end := int64(len(log))
	if !x.Full() {
		t.Fatal("it is not full")
	}
	for range 2 * runs.MaxRuns {
		visits := r.cleanings(far.Cleaning{Slack: 1 << 30, Small: 1000, Few: 64})
		if len(visits) == 0 {
			break
		}
		v := visits[0]
		take, _ := r.Runs().Take(&Visited{Visit: v, Until: v.To, Found: log[v.From:v.To], Highest: 3}, 5000, 1<<20, nil)
		l, _ := r.Loader(a)
		for _, i := range take {
			f := log[v.From:v.To][i]
			l.Load(f.Offset, &Arrival{Offset: f.Offset, DeadlineMs: f.DeadlineMs, Target: egress, Label: egress, Body: text("0 far")})
		}
	}
	for more := true; more; {
		_, more = r.Runs().Gather(r.at.WallMs+60_000, 1<<20, 1<<20)
	}
	moves := r.Runs().Offer(nil, 1<<20)
	r.lands(moves, end)
	listings := r.Runs().Listings(nil)
	if len(moves) != runs.MaxRuns || len(listings) != 1 || len(listings[0].Runs) != 1 || x.Full() {
		t.Errorf("%d copies were moved again, %d directories, full: %v", len(moves), len(listings), x.Full())
	}
	r.audit()
}

// TestNothingIsMovedAgainBehindACopyThatStaysUnfinished: its partition was halted by it, and nothing is deleted
// before somebody begins with that. Else what waits would be written again and again, and fill the disk.
func TestNothingIsMovedAgainBehindACopyThatStaysUnfinished(t *testing.T) {
	r, a, found := renewingWith(t, halting)
	r.Runs().Usable(ingress, true)
	x := r.parts.byTopic[partitionOf(0)].moved.index
	v := r.Runs().Visits(nil, 5000, 5000)[0]
	found[0].DeadlineMs += 3_600_000 // in front of the others
	take, _ := r.Runs().Take(&Visited{Visit: v, Until: v.To, Found: found}, 5000, 1000, nil)
	for _, i := range take {
		l, _ := r.Loader(a)
		l.Load(found[i].Offset, &Arrival{Offset: 100 + found[i].Offset, DeadlineMs: found[i].DeadlineMs, Reason: "invalid_delay", Target: egress, Label: egress, Body: text("0 far")})
	}
	const end = 100
	for o := int64(3); o < end; o++ {
		x.Acked(far.Found{Offset: o, DeadlineMs: r.at.WallMs + 3_600_000 + o, Bytes: 100, Run: 1})
	}
	x.Seal()
	for o := int64(3); o < end-5; o++ { // others of the run were delivered
		x.Finish(o)
	}
	first := r.cleanings(far.Cleaning{Few: 64})
	if len(take) != 2 || len(first) != 1 || first[0].From != 0 {
		t.Fatalf("%d are loaded, and then %+v, want 2, and what stands in front of them", len(take), first)
	}
	take, _ = r.Runs().Take(&Visited{Visit: first[0], Until: 1, Found: found[:1]}, 5000, 1000, nil)
	if more := r.cleanings(far.Cleaning{Few: 64}); len(take) != 1 || len(more) > 0 {
		t.Errorf("%d were loaded to be moved again, and then %+v: deletion cannot get past offset 1", len(take), more)
	}
}
