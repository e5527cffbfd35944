package sim

import "testing"

// TestSimulationOfOutagesKeepsTheRateOfCatchUp plays half a minute of each seed, and the
// outages in it.
func TestSimulationOfOutagesKeepsTheRateOfCatchUp(t *testing.T) {
	n := usually(15, 18, 60)
	all := 0
	for seed := range n {
		putBack, err := After(seed, 600)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		all += putBack
	}
	if t.Logf("%d late records were put back", all); all < 100*int(n) {
		t.Errorf("%d late records were put back in %d runs: there was little to hold to the rate", all, n)
	}
}
