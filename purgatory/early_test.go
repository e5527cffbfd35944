package purgatory

import "testing"

// TestAStepBackOfTheClockLeavesNoMemoryThatNobodyCounts: a backlog that is parked again is
// in the wheel then, and there alone.
func TestAStepBackOfTheClockLeavesNoMemoryThatNobodyCounts(t *testing.T) {
	r := newRig(t, nil)
	r.assign(0, 1, 0)
	r.router[egress] = Pending
	for o := range int64(10 * keptEntries) {
		r.mustTake(0, 1, 5000, o)
	}
	r.pass(5000)
	r.want(r.offer())
	r.step(-3000)
	r.want(r.offer())
	if got := r.Snapshot(); got.Parked != 10*keptEntries || got.Due != 0 {
		t.Fatalf("%d parked, %d due", got.Parked, got.Due)
	}
	if n := cap(r.out.returned); n > keptEntries {
		t.Errorf("room for %d entries is kept", n)
	}
	r.audit()
}
