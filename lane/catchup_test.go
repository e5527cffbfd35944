package lane

import (
	"sync"
	"testing"
	"time"
)

// TestLanesThatBeganAtDifferentTimesShareOneRate, from goroutines of their own.
func TestLanesThatBeganAtDifferentTimesShareOneRate(t *testing.T) {
	shared := NewCatchUp(1000)
	began := shared.began
	seen := make([]map[int64]int, 4)
	var wg sync.WaitGroup
	for i := range seen {
		after := time.Duration(i) * time.Minute
		p := shared.of(began.Add(after))
		seen[i] = make(map[int64]int)
		wg.Go(func() {
			for range 500 {
				ms, _ := p.Admit("ready", (time.Hour - after).Milliseconds(), 1<<62)
				seen[i][ms]++
			}
		})
	}
	wg.Wait()
	for ms := range int64(2000) {
		n := 0
		for _, own := range seen {
			n += own[ms]
		}
		if n != 1 {
			t.Fatalf("%d of 2000 records go in %d ms, want 1", n, ms)
		}
	}
}

func TestNoRateIsNoCatchUp(t *testing.T) {
	if c := NewCatchUp(0); c != nil {
		t.Errorf("a rate of 0 is %+v", c)
	}
}
