package daemon

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"layover/config"
)

// TuneRuntime sets GOMAXPROCS and GOMEMLIMIT as the settings say, for the whole
// process. The line about the start says what is in force.
//
// By itself it takes one processor more than there are cores. With all of them
// busy a sleeping timer is some 15 ms late otherwise. With one more it is late by
// less than 1 ms. What the environment already sets for the Go runtime is left
// alone.
func TuneRuntime(cfg *config.Config) {
	switch {
	case cfg.GOMAXPROCS.Mode == config.AutoValue:
		runtime.GOMAXPROCS(int(cfg.GOMAXPROCS.Value))
	case cfg.GOMAXPROCS.Mode == config.AutoAuto && os.Getenv("GOMAXPROCS") == "":
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	switch limit, known := config.MemoryLimit(); {
	case cfg.GOMEMLIMIT.Mode == config.AutoValue:
		debug.SetMemoryLimit(cfg.GOMEMLIMIT.Value)
	case cfg.GOMEMLIMIT.Mode == config.AutoAuto && known && os.Getenv("GOMEMLIMIT") == "":
		debug.SetMemoryLimit(config.RuntimeMemory(limit))
	}
}

// memoryLimit is the Go runtime's soft limit in bytes, or none.
func memoryLimit() any {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	return "none"
}
