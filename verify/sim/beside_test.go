package sim

import "testing"

// TestSimulationOfSickThingsKeepsHealthyOnesOnTime plays a minute of each seed.
func TestSimulationOfSickThingsKeepsHealthyOnesOnTime(t *testing.T) {
	for seed := range usually(10, 12, 40) {
		if err := Beside(seed, 600); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}
