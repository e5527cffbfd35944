package endtoend

import (
	"io"
	"time"
)

// Options says how much is measured. A zero field is as in [Full].
type Options struct {
	Records   int           // parked an hour or more ahead
	Idle      time.Duration // nothing arrives for so long
	Flow      time.Duration // short delays go through for so long
	PerSecond int           // of them
	Settle    time.Duration // left out before each process.Stretch, while the runtime gives memory back

	LoopRounds int           // of a second, for each of the four row.Latenesses of the loop
	LoopWatch  time.Duration // a sleeping loop's turns are counted for so long

	Window int           // offsets between low offset and head when [Restart] kills the daemon
	Build  time.Duration // until then, from when the first is written
	Around time.Duration // before and after it records are due all the time

	Far    int           // records that [Far] parks in runs
	Herd   int           // records that [Herd] lets fall due in one second
	Memory int           // bytes that a daemon with runs is held to; half of it is its bound
	Quiet  time.Duration // nothing is moved for so long until moving counts as over

	// Profiles is a folder for heap.pprof, idle.pprof and flow.pprof of the
	// daemon; "" is none. Taking them is counted in what they show.
	Profiles string
	// Log takes progress and the daemon's own log; nil is nowhere.
	Log io.Writer
}

// Full is the measurement that figures in a document come from, some seven
// minutes for [EndToEnd] and [Loop], and eight for each [Restart].
func Full() Options {
	return Options{
		Records: 1_000_000, Idle: time.Minute, Flow: time.Minute, PerSecond: 1000, Settle: 5 * time.Second,
		LoopRounds: 20, LoopWatch: 20 * time.Second,
		Window: 5_000_000, Build: 3 * time.Minute, Around: 20 * time.Second,
		Far: 20_000_000, Herd: 1_000_000, Memory: 512 << 20, Quiet: 12 * time.Second, // lanes rest 10 s between two flushes
	}
}

// Quick is for a look while working, some two minutes for both. What
// the wheel and the chunks cost however few the records weighs ten times as much.
func Quick() Options {
	o := Full()
	o.Records, o.Idle, o.Flow, o.Settle = 100_000, 20*time.Second, 20*time.Second, 3*time.Second
	o.LoopRounds, o.LoopWatch = 5, 5*time.Second
	o.Window, o.Build, o.Around = 500_000, 40*time.Second, 5*time.Second
	o.Far, o.Herd = 1_000_000, 100_000
	return o
}

// filled returns o with the zero fields set.
func (o Options) filled() Options {
	full := Full()
	orInt := func(v *int, or int) {
		if *v == 0 {
			*v = or
		}
	}
	orTime := func(v *time.Duration, or time.Duration) {
		if *v == 0 {
			*v = or
		}
	}
	orInt(&o.Records, full.Records)
	orInt(&o.PerSecond, full.PerSecond)
	orInt(&o.LoopRounds, full.LoopRounds)
	orInt(&o.Window, full.Window)
	orInt(&o.Far, full.Far)
	orInt(&o.Herd, full.Herd)
	orInt(&o.Memory, full.Memory)
	orTime(&o.Quiet, full.Quiet)
	orTime(&o.Idle, full.Idle)
	orTime(&o.Flow, full.Flow)
	orTime(&o.Settle, full.Settle)
	orTime(&o.LoopWatch, full.LoopWatch)
	orTime(&o.Build, full.Build)
	orTime(&o.Around, full.Around)
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o
}
