package measure

import (
	"math"
	"math/rand/v2"
)

// Delays are how long records are parked.
type Delays struct {
	Name string
	Text string

	// fill makes deadlines, in the order in which they will be parked by
	// nowMs.
	fill func(deadlinesMs []int64, nowMs int64, r *rand.Rand)
}

// constantDelayMs and constantPerMs: a topic with one delay of a quarter of an
// hour that gets 100,000 records a second.
const (
	constantDelayMs = 900_000
	constantPerMs   = 100
)

// AllDelays are the kinds of delays.
func AllDelays() []Delays {
	return []Delays{
		{Name: "uniform", Text: "uniform from 60 s to 1 h", fill: uniform},
		{Name: "constant", Text: "constant, 15 min, 100 records parked each ms", fill: constant},
		{Name: "heavy-tailed", Text: "heavy-tailed, log-uniform from 100 ms to 24 h", fill: heavyTailed},
	}
}

func uniform(deadlinesMs []int64, nowMs int64, r *rand.Rand) {
	for i := range deadlinesMs {
		deadlinesMs[i] = nowMs + 60_000 + r.Int64N(3_540_000)
	}
}

// constant gives deadlines as if the clock moved on while records are parked.
// The structure's own clock stays, because a structure that scans would
// otherwise be timed for its ticks.
func constant(deadlinesMs []int64, nowMs int64, _ *rand.Rand) {
	for i := range deadlinesMs {
		deadlinesMs[i] = nowMs + constantDelayMs + int64(i/constantPerMs)
	}
}

// heavyTailed has as many delays between 100 ms and a second as between an hour
// and ten.
func heavyTailed(deadlinesMs []int64, nowMs int64, r *rand.Rand) {
	low, high := math.Log(100), math.Log(24*3_600_000)
	for i := range deadlinesMs {
		deadlinesMs[i] = nowMs + int64(math.Exp(low+r.Float64()*(high-low)))
	}
}
