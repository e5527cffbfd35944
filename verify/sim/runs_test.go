package sim

import "testing"

// TestSimulationPlaysRuns: in worlds that have them, records are moved, read back and moved
// again, and their log is deleted from, truncated and made again.
func TestSimulationPlaysRuns(t *testing.T) {
	var tally Tally
	for seed := uint64(3); seed < 4*max(40, usually(40, 100, 5000)); seed += 4 {
		run, broken := Seeded(seed, 500, &tally)
		if broken != nil {
			t.Fatalf("seed %d: %v\n%s", seed, broken, run.Shrink(300, Breaks(broken)).Tell())
		}
	}
	t.Log(&tally)
	for k := Gather; k < Calm; k++ {
		if tally[k] == 0 {
			t.Errorf("nothing of the kind: %v", k)
		}
	}
}
