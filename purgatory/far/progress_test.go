package far

import (
	"testing"

	"layover/offsets"
)

// TestAVisitThatEndsInTheMiddleOfASixteenthGoesOn: a visit is cut where it has read enough. What it has read is
// due far off, and what begins its sixteenth was due long ago. The visits of other runs come all the same.
func TestAVisitThatEndsInTheMiddleOfASixteenthGoesOn(t *testing.T) {
	const each, cut, soonMs, untilMs, farMs = 160, 3, 100, 300, 1 << 40
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	var all []Found
	for run, dueMs := range []int64{soonMs, 2 * soonMs} {
		for i := range int64(each) {
			f := Found{Offset: int64(len(all)), DeadlineMs: dueMs, Bytes: 1, Writer: 1, Run: uint64(run)}
			if i > each-8 {
				f.DeadlineMs = farMs
			}
			all = append(all, f)
			x.Acked(f)
		}
		x.Seal()
	}
	visits := 0
	for ; visits < each; visits++ {
		v, ok := x.Next(untilMs)
		if !ok || v.DueMs > untilMs {
			break
		}
		to := min(v.To, v.From+cut)
		x.Read(v.From, to, all[v.From:to], untilMs, 1<<20, nil)
	}
	for _, f := range all {
		if f.DeadlineMs <= untilMs && !x.taken.Finished(f.Offset) {
			t.Fatalf("offset %d is due at %d ms, and not taken by %d visits", f.Offset, f.DeadlineMs, visits)
		}
	}
	if next, ok := x.NextMs(); !ok || next != farMs {
		t.Errorf("the next is due at %d, %v, want %d", next, ok, int64(farMs))
	}
}
