package sim

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"layover/verify/long"
)

var (
	seeds = flag.Uint64("seeds", 0, "how many seeds TestSimulation plays; 0: as many as fit into the kind of test")
	from  = flag.Uint64("from", 0, "the first of them")
	steps = flag.Int("steps", 500, "steps of a run")
)

// usually returns how much of a kind is played where no flag says so. One number is for -short, one for the checks of a
// change, which set LAYOVER_TEST_LONG to a part, and one for a long test. Without any of these it is a fifth of what
// the checks play.
func usually(short, checks, whole uint64) uint64 {
	switch {
	case testing.Short():
		return short
	case long.Whole():
		return whole
	case long.Asked():
		return checks
	}
	return max(1, checks/5)
}

// played returns how many seeds TestSimulation plays.
func played() uint64 {
	if *seeds > 0 {
		return *seeds
	}
	return usually(200, 500, 2000)
}

// TestSimulationKeepsEveryPromise plays random runs. A seed that breaks a promise is
// shrunk and told; the same seed and steps break it again.
func TestSimulationKeepsEveryPromise(t *testing.T) {
	n := played()
	var next, failed atomic.Uint64
	next.Store(*from)
	var mu sync.Mutex
	var tally Tally
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var own Tally
			for seed := next.Add(1) - 1; seed < *from+n && failed.Load() == 0; seed = next.Add(1) - 1 {
				run, err := Seeded(seed, *steps, &own)
				if err == nil || !failed.CompareAndSwap(0, 1) {
					continue
				}
				short := run.Shrink(2000, Breaks(err))
				t.Errorf("seed %d, %d steps: %v\nshrunk to %d of %d steps, replayed by -run %s -from %d -seeds 1 -steps %d:\n%s",
					seed, *steps, err, len(short.Trace), len(run.Trace), t.Name(), seed, *steps, short.Tell())
			}
			mu.Lock()
			defer mu.Unlock()
			tally.Add(&own)
		})
	}
	wg.Wait()
	for k, times := range tally {
		if times == 0 && Kind(k) != Calm && n >= 200 && !t.Failed() { // which is Again's
			t.Errorf("%s never happened", Kind(k))
		}
	}
	t.Logf("%d seeds from %d, %d steps each: %v", n, *from, *steps, &tally)
}
