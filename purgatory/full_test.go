package purgatory

import (
	"testing"

	"layover/journal/runs"
	"layover/purgatory/far"
)

// TestAFullPartitionIsCleaned: it has as many runs as a directory lists, of one copy each.
func TestAFullPartitionIsCleaned(t *testing.T) {
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
		visits := r.Runs().Cleanings(nil, far.Cleaning{Slack: 1 << 30, Small: 1000, Few: 64})
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
