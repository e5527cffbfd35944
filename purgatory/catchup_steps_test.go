package purgatory

import (
	"testing"
)

// TestAStepBackDelaysNothingThatWasPutBack: instants move with the clock.
func TestAStepBackDelaysNothingThatWasPutBack(t *testing.T) {
	for _, back := range []int64{500, 1500, 1_800_000, 3_590_000} {
		r := paced(t, 10, nil)
		r.assign(0, 1, 0)
		r.late(0, 1, 0, 1, 2, 3)
		r.mustTake(0, 1, 50, 4)
		r.pass(0)
		r.one(Delivered)
		r.step(-back)
		r.audit()
		if back > stepBackMs {
			r.wantCatchingUp(3, 300)
			r.late(0, 1, 5) // late by the new clock, too
			r.wantLeft(450, []int64{1, 2, 3, 5}, []int64{100, 200, 300, 400})
			continue
		}
		r.wantLeft(back+350, []int64{4, 1, 2, 3}, []int64{back + 50, back + 100, back + 200, back + 300})
	}
}

// TestAStepBackBehindTheDeadlineMakesNothingEarly, and puts nothing back a second time.
func TestAStepBackBehindTheDeadlineMakesNothingEarly(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	r.late(0, 1, 0, 1, 2)
	r.pass(0)
	r.one(Delivered)
	r.step(-3_700_000)
	r.audit()
	r.pass(99_999)
	r.want(r.offer())
	r.pass(1)
	r.want(r.offer(), 1, 2)
	r.audit()
}

// TestTwoStepsBackDelayNothingBeyondItsDeadline: the first one is to before the deadlines of
// records that were put back, and they wait for those.
func TestTwoStepsBackDelayNothingBeyondItsDeadline(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	r.late(0, 1, 0, 1, 2)
	r.pass(0)
	r.one(Delivered)
	r.step(-3_700_000)
	r.wantCatchingUp(2, 100_000)
	r.step(-2000)
	r.wantCatchingUp(2, 102_000)
	r.audit()
	r.pass(101_999)
	r.want(r.offer())
	r.pass(1)
	r.want(r.offer(), 1, 2)
	r.wantCatchingUp(0, 0)
	r.audit()
}

// TestAStepBackKeepsNothingForEverThatWasPutBackBehindTheWheel: the first step is too short for
// a new wheel, so instants that are given then are in the past of the old one.
func TestAStepBackKeepsNothingForEverThatWasPutBackBehindTheWheel(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	r.late(0, 1, 0, 1, 2)
	r.pass(0)
	r.step(-900)
	r.one(Delivered)
	r.step(-1500)
	r.audit()
	r.wantLeft(200, []int64{1, 2}, []int64{0, 0})
	r.wantCatchingUp(0, 0)
	r.audit()
}

// TestAStepBackDelaysNothingWhileTheWheelIsBehindTheClock: more is due than a turn takes.
func TestAStepBackDelaysNothingWhileTheWheelIsBehindTheClock(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	for o, delayMs := range []int64{1, 2, 3, 25_000} {
		r.mustTake(0, 1, delayMs, int64(o))
	}
	r.at.WallMs, r.at.MonotonicMs = r.at.WallMs+31_000, r.at.MonotonicMs+31_000
	if !r.Tick(r.at, 3) {
		t.Fatal("all is taken in one turn")
	}
	r.one(Delivered)
	r.step(-3000)
	r.audit()
	r.wantCatchingUp(2, 200)
	r.wantLeft(350, []int64{3, 1, 2}, []int64{0, 100, 200})
}

func TestAStepForwardsLetsThoseGoWhoseInstantsItPasses(t *testing.T) {
	r := paced(t, 10, nil)
	r.assign(0, 1, 0)
	r.late(0, 1, 0, 1, 2, 3)
	r.pass(0)
	r.one(Delivered)
	r.step(250)
	r.want(r.offer(), 1, 2)
	r.audit()
}
