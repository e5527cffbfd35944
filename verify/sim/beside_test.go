package sim

import "testing"

// TestSimulationOfSickThingsKeepsHealthyOnesOnTime plays a minute of each seed.
func TestSimulationOfSickThingsKeepsHealthyOnesOnTime(t *testing.T) {
	n := uint64(40)
	if testing.Short() {
		n = 10
	}
	for seed := range n {
		if err := Beside(seed, 600); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
