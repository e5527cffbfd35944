package purgatory

import "testing"

// TestATargetThatIsUsableAgainForgetsWhatItsOutageCost, each time, and one that is held does not.
func TestATargetThatIsUsableAgainForgetsWhatItsOutageCost(t *testing.T) {
	c := newRig(t, nil).Core
	target := c.out.dir.target(TargetName{Name: "a"}, "a")
	other := c.out.dir.target(TargetName{Name: "b"}, "b")
	for range 3 {
		target.givenUp, other.givenUp = 3, 4
		c.Usable("a")
		if got := c.Snapshot().GivenUp; got["a"] != 0 || got["b"] != 4 {
			t.Errorf("given up %v, want 4 of b alone", got)
		}
		target.givenUp, target.hold.held = 3, true
		c.Usable("a")
		if target.givenUp != 3 {
			t.Error("a held target waits for an answer")
		}
		target.hold.held = false
		target.givenUp, target.stalled = 3, 1
		c.Usable("a")
		if target.givenUp != 3 {
			t.Error("a target with a partition that does not answer waits for one")
		}
		target.stalled = 0
	}
}
