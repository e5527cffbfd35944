package endtoend

import (
	"fmt"
	"time"
)

const (
	overheadGoal = 60.0 // bytes per record beside its payload
	idleGoal     = 0.01 // of one core

	// forcedPerMinute is how often the runtime collects even with nothing to do.
	forcedPerMinute = 0.5
)

// stretch is what happened from one reading to another.
type stretch struct{ from, to reading }

func (s stretch) wall() time.Duration { return s.to.At.Sub(s.from.At) }

// cores is the CPU used, 1 being all of one core.
func (s stretch) cores() float64 { return (s.to.CPU - s.from.CPU).Seconds() / s.wall().Seconds() }

// figures is what was measured, before it is said.
type figures struct {
	empty  reading // after a collection, with nothing parked
	filled reading // when all were parked, with whatever garbage that made
	parked reading // then, after a collection
	idle   stretch
	flow   stretch // from is after a collection
	after  reading // after another, when the flow is through

	accounted int64 // bytes of the lanes, as the daemon counts them
	account   account
}

func (f *figures) rows(o Options) []Row {
	rows := []Row{
		plain("parked", "%d records on %d partitions, LAYOVER_MAX_PARKED_BYTES %s", o.Records, partitions, mib(float64(o.bound()))),
		plain("Go runtime of the daemon", "%s", f.parked.inForce()),
	}
	rows = append(rows, f.memory(float64(o.Records))...)
	rows = append(rows, f.cpu(o)...)
	return append(rows, f.lateness(o)...)
}

// memory is in bytes per parked record.
func (f *figures) memory(n float64) []Row {
	per := func(r reading, bytes func(reading) uint64) float64 {
		return (float64(bytes(r)) - float64(bytes(f.empty))) / n
	}
	heap := func(r reading) uint64 { return r.Heap }
	resident := func(r reading) uint64 { return r.Resident }
	live := per(f.parked, heap)
	return []Row{
		plain("payload per record", "%d B: key %d, value %d, header %q %d", payload, keySize, valueSize, headerName, payload-keySize-valueSize),
		plain("live bytes per record", "%.1f B", live).aim(live-float64(payload) <= overheadGoal, "payload + %.0f B or less", overheadGoal),
		plain("overhead per record", "%.1f B", live-float64(payload)).aim(live-float64(payload) <= overheadGoal, "%.0f B or less", overheadGoal),
		plain("accounted per record by the memory bound", "%.1f B", float64(f.accounted)/n),
		plain("resident per record", "%.1f B once parked, %.1f B idle, %.1f B with the flow",
			per(f.filled, resident), per(f.idle.to, resident), per(f.flow.to, resident)),
		plain("resident in all", "%s with nothing parked, %s once parked, %s idle, %s with the flow", mib(float64(f.empty.Resident)),
			mib(float64(f.filled.Resident)), mib(float64(f.idle.to.Resident)), mib(float64(f.flow.to.Resident))),
	}
}

// cpu is of the daemon's process. What collecting costs in a minute is reckoned
// from how fast the flow allocates, because a minute may hold one collection or
// none: the cost is the mean of all since the flow began, those that were asked
// for among them.
func (f *figures) cpu(o Options) []Row {
	idle, flow := f.idle.cores(), f.flow.cores()
	minutes := f.flow.wall().Minutes()
	allocated := float64(f.flow.to.Allocated - f.flow.from.Allocated)
	perMinute := forcedPerMinute
	if room := float64(f.flow.from.NextGC) - float64(f.flow.from.Heap); room > 0 {
		perMinute = max(perMinute, allocated/minutes/room)
	}
	all := f.after.Collections - f.flow.from.Collections // with those of the last order
	one := (f.after.GCCPU - f.flow.from.GCCPU) / time.Duration(max(all, forced))
	return []Row{
		plain("CPU while idle", "%.2f %% of a core, over %v", idle*100, f.idle.wall().Round(time.Second)).aim(idle < idleGoal, "below %.0f %%", idleGoal*100),
		plain(fmt.Sprintf("CPU at %d/s", o.PerSecond), "%.1f %% of a core, %.0f us per record", flow*100, flow*1e6/float64(o.PerSecond)),
		plain(fmt.Sprintf("GC CPU per minute at %d/s", o.PerSecond), "%s: one collection %s, %.2f a minute at %s/s allocated (%d seen in %v)",
			ms(time.Duration(perMinute*float64(one))), ms(one), perMinute, mib(allocated/minutes/60),
			f.flow.to.Collections-f.flow.from.Collections, f.flow.wall().Round(time.Second)),
	}
}

// lateness and what became of the short-delayed records. That none was lost or
// early is checked before there are rows.
func (f *figures) lateness(o Options) []Row {
	a := f.account
	return []Row{
		plain(fmt.Sprintf("lateness at %d/s, due to delivery's timestamp, in whole ms", o.PerSecond), "%s", a.stamped),
		plain(fmt.Sprintf("lateness at %d/s, due to receiver's clock", o.PerSecond), "%s", a.received),
		plain("lost", "%d of %d", a.lost, a.sent).aim(a.lost == 0, "0"),
		plain("early", "%d of %d", a.early, a.sent).aim(a.early == 0, "0"),
		plain("delivered more than once", "%d of %d", a.again, a.sent).aim(a.again == 0, "0"),
	}
}
