package purgatory

import (
	"math"
	"slices"
	"testing"

	"layover/purgatory/far"
)

// TestWhatIngressKeepsIsGathered: what is far off, and what is old by its timestamp or its offset. A copy that
// was read back stays: its record is as old as any, and ingress does not keep it.
func TestWhatIngressKeepsIsGathered(t *testing.T) {
	const minute, hour = 60_000, 3_600_000
	for name, test := range map[string]struct {
		afterMs, oldMs, span int64
		want                 []int64
	}{
		"far off":                     {hour, 0, 1 << 40, []int64{1}},
		"nothing":                     {math.MaxInt64 / 2, 0, 1 << 40, nil},
		"old by its timestamp":        {math.MaxInt64 / 2, 1000, 1 << 40, []int64{0}},
		"both":                        {hour, 1000, 1 << 40, []int64{0, 1}},
		"old by its offset":           {math.MaxInt64 / 2, 0, 4, []int64{0, 1}},
		"within three quarters of it": {math.MaxInt64 / 2, 0, 6, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := movable(t, 1)
			v := Visit{Assignment: w.a(), From: 0, To: 1, index: w.index}
			if take, _ := w.Runs().Take(&Visited{Visit: v, Until: 1, Found: []far.Found{w.there[0].Found}}, 2*hour, 1000, nil); len(take) != 1 {
				t.Fatal("the copy is not taken")
			}
			loader, _ := w.Loader(w.a())
			loader.Load(0, &Arrival{Offset: 0, TimestampMs: startMs - hour, DeadlineMs: w.there[0].DeadlineMs, Target: egress, Label: egress, Body: text("0")})
			w.mustTake(0, 1, 30*minute, 0)
			w.pass(1000)
			w.mustTake(0, 1, 2*hour, 1)
			w.mustTake(0, 1, 30*minute, 2)
			w.mustTake(0, 1, minute, 3)
			w.Runs().Behind(func(string) Limits { return Limits{AgeMs: hour, OldMs: test.oldMs} }, test.span)
			if w.Runs().GatherKept(w.at.WallMs+test.afterMs, w.at.WallMs+minute, 100) {
				t.Error("there is more")
			}
			var got []int64
			for _, m := range w.Runs().Offer(nil, 100) {
				if m.Copy > 0 {
					t.Error("the copy is moved again")
				}
				got = append(got, m.Offset)
			}
			if slices.Sort(got); !slices.Equal(got, test.want) {
				t.Errorf("gathered is %v, want %v", got, test.want)
			}
		})
	}
}
