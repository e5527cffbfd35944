package measure

import (
	"runtime"
	"runtime/metrics"
	"time"

	"layover/bench/cputime"
	"layover/bench/rival"
)

// hold parks n records into an empty structure and looks at what it takes to
// have them there. No handle is kept, so that what the collector follows is the
// structure and nothing else.
func (b *bench) hold() error {
	deadlinesMs := b.deadlines()
	before := heapBytes()
	r := b.empty(0)
	b.stopwatch(Fresh, func() int {
		for _, deadlineMs := range deadlinesMs {
			r.Add(0, deadlineMs, payload(deadlineMs))
		}
		return b.n
	})
	b.result[LiveBytes] = (heapBytes() - before) / float64(b.n)
	b.collect()
	if s, ok := r.(rival.Sizer); ok {
		b.result[OwnBytes] = float64(s.Bytes()) / float64(b.n)
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(deadlinesMs) // it was there before, so it has to be there after
	return nil
}

func (b *bench) deadlines() []int64 {
	deadlinesMs := make([]int64, b.n)
	b.delays.fill(deadlinesMs, startMs, b.random)
	return deadlinesMs
}

// collect is the figure for garbage collections with n records parked: the mean
// of many if they are cheap, of one that takes a second.
func (b *bench) collect() {
	start, before, n := cputime.Process(), collectorSeconds(), 0
	for ; n < 20 && cputime.Process()-start < time.Second; n++ {
		runtime.GC()
	}
	all := (cputime.Process() - start).Seconds()
	// The runtime reads the clock on the wall. Where other programs take the
	// processor from it, its account is too high, even above all.
	b.result[Collection] = min(collectorSeconds()-before, all) * 1000 / float64(n)
	b.result[Sweeping] = all * 1000 / float64(n)
}

// collectorSeconds is what the runtime counts as the collector's: marking, by
// whichever goroutine, and the pauses.
func collectorSeconds() float64 {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64()
}
