//go:build !linux

package measure

import "time"

// HasCPUTime is whether figures are of CPU time. Where they are not, all three
// clocks are the one on the wall.
const HasCPUTime = false

// wallBase is only ever read: durations are counted from it.
var wallBase = time.Now()

func processCPU() time.Duration { return time.Since(wallBase) }
func threadCPU() time.Duration  { return time.Since(wallBase) }
