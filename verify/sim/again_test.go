package sim

import (
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSimulationOfFaultsThatComeAgainKeepsEveryPromise plays lives that have every fault
// twice, and a drained world between any two.
func TestSimulationOfFaultsThatComeAgainKeepsEveryPromise(t *testing.T) {
	n := max(played()/50, 1)
	var next, failed atomic.Uint64
	next.Store(*from)
	var mu sync.Mutex
	total, twice := make(map[string]int), make(map[string]int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for seed := next.Add(1) - 1; seed < *from+n && failed.Load() == 0; seed = next.Add(1) - 1 {
				met := make(map[string]int)
				run, err := Again(seed, met)
				if err != nil && failed.CompareAndSwap(0, 1) {
					short := run.Shrink(500, Breaks(err))
					t.Errorf("seed %d: %v\nshrunk to %d of %d steps, replayed by -run %s -from %d -seeds 50:\n%s",
						seed, err, len(short.Trace), len(run.Trace), t.Name(), seed, short.Tell())
				}
				mu.Lock()
				sure, _ := Faults(run.Config.Journal)
				for _, name := range sure {
					if err == nil && met[name] != lives {
						t.Errorf("seed %d, %+v: %s came %d times in one life, want %d", seed, run.Config, name, met[name], lives)
					}
				}
				for name, times := range met {
					total[name] += times
					if times >= lives {
						twice[name]++
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if _, seldom := Faults(true); n >= 8 && !t.Failed() {
		for _, name := range seldom {
			if twice[name] == 0 {
				t.Errorf("%s came twice in no life", name)
			}
		}
	}
	t.Logf("%d lives from seed %d; of all lives those that had each fault at least twice: %v\nall: %s", n, *from, maps.Collect(maps.All(twice)), Met(total))
}
