package measure

import (
	"runtime"
	"time"

	"layover/bench/cputime"
)

// reading is all the clocks at one instant.
type reading struct {
	wall    time.Time
	own     time.Duration // CPU time of this thread
	all     time.Duration // CPU time of the process
	mallocs uint64
}

func read() reading {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return reading{mallocs: m.Mallocs, all: cputime.Process(), own: cputime.Thread(), wall: time.Now()}
}

// stopwatch times f, which returns how many records it worked on, and keeps the
// figure for one of them.
func (b *bench) stopwatch(figure Figure, f func() int) {
	before := read()
	records := float64(f())
	// The clocks in the other order, and the statistics last: reading them
	// stops the world.
	after := reading{wall: time.Now(), own: cputime.Thread(), all: cputime.Process()}
	after.mallocs = read().mallocs
	if records == 0 {
		return
	}
	b.result[figure] = float64(after.own-before.own) / records
	b.result[figure.Wall()] = float64(after.wall.Sub(before.wall)) / records
	b.result[figure.All()] = float64(after.all-before.all) / records
	b.result[figure.Allocs()] = float64(after.mallocs-before.mallocs) / records
}

// heapBytes is what is reachable.
func heapBytes() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
