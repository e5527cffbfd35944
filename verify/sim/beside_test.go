package sim

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

var sick = flag.Uint64("sick", 0, "how many seeds from -from on each world with sick things plays; 0: as many as fit into the kind of test")

// besides plays seeds of a world with sick things: as many as usual, or as -sick and -from say.
func besides(t *testing.T, usual uint64, play func(seed uint64) *Broken) {
	first, n := uint64(0), usual
	if *sick > 0 {
		first, n = *from, *sick
	}
	var next, failed atomic.Uint64
	next.Store(first)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1) - 1; seed < first+n && failed.Load() == 0; seed = next.Add(1) - 1 {
				if err := play(seed); err != nil {
					failed.Store(1)
					t.Errorf("seed %d, replayed by -run %s -from %d -sick 1: %v", seed, t.Name(), seed, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestSimulationOfSickThingsKeepsHealthyOnesOnTime plays a minute of each seed.
func TestSimulationOfSickThingsKeepsHealthyOnesOnTime(t *testing.T) {
	besides(t, usually(10, 12, 40), func(seed uint64) *Broken { return Beside(seed, 600) })
}

// TestSimulationOfSickRunsKeepsHealthyRecordsOnTime plays two minutes and a third of each seed.
func TestSimulationOfSickRunsKeepsHealthyRecordsOnTime(t *testing.T) {
	var mu sync.Mutex
	var tally Tally
	n := uint64(0)
	besides(t, usually(2, 10, 100), func(seed uint64) *Broken {
		var own Tally
		err := BesideRuns(seed, 700, &own)
		mu.Lock()
		defer mu.Unlock()
		n++
		tally.Add(&own)
		return err
	})
	t.Logf("%d seeds: %v", n, &tally)
	if least := min(tally[Copied], tally[Visited]); least < 10*int(n) {
		t.Errorf("%d copies are answered, and %d visits: there was little to hold to deadlines", tally[Copied], tally[Visited])
	}
}
