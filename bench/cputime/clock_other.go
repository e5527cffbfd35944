//go:build !linux

// Package cputime reads the processor time of this process and of its current thread.
package cputime

import "time"

// Known is whether Process and Thread are of CPU time. Where they are not, both
// are the clock on the wall.
const Known = false

// wallBase is only ever read: durations are counted from it.
var wallBase = time.Now()

// Process returns the time on the wall.
func Process() time.Duration { return time.Since(wallBase) }

// Thread returns the time on the wall.
func Thread() time.Duration { return time.Since(wallBase) }
