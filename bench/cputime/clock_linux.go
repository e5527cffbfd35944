// Package cputime reads the processor time of this process and of its current thread.
package cputime

import (
	"syscall"
	"time"
	"unsafe"
)

// Known is whether Process and Thread are of CPU time. Where they are not, both
// are the clock on the wall.
const Known = true

// The clocks of clock_gettime. Unlike getrusage, which counts ticks of the
// scheduler, they are exact to the nanosecond.
const (
	clockProcessCPU = 2
	clockThreadCPU  = 3
)

// Process returns what all threads of this process have used.
func Process() time.Duration { return cpuClock(clockProcessCPU) }

// Thread returns what the thread of the caller has used.
func Thread() time.Duration { return cpuClock(clockThreadCPU) }

func cpuClock(id uintptr) time.Duration {
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic("cputime: clock_gettime: " + errno.Error())
	}
	return time.Duration(t.Nano())
}
