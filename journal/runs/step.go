package runs

import (
	"math"
	"math/bits"
)

// step is a distance between deadlines of a run, rounded down. See the package comment.
type step byte

const openStep step = 255 // has no upper bound

// stepOf returns the step of a distance in milliseconds.
func stepOf(ms uint64) step {
	if ms < 16 {
		return step(ms)
	}
	shift := bits.Len64(ms) - 4
	return step(min(uint64(shift+1)<<3|ms>>shift&7, uint64(openStep)))
}

// least returns the shortest distance of a step.
func (s step) least() uint64 {
	if s < 16 {
		return uint64(s)
	}
	return uint64(8+s&7) << (s>>3 - 1)
}

// most returns the longest distance of a step.
func (s step) most() uint64 {
	if s == openStep {
		return math.MaxInt64
	}
	return (s + 1).least() - 1
}
