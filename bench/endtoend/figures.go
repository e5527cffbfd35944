package endtoend

import (
	"fmt"
	"time"

	"layover/bench/process"
	"layover/bench/row"
)

const (
	overheadGoal = 60.0 // bytes per record beside its payload
	idleGoal     = 0.01 // of one core

	// forcedPerMinute is how often the runtime collects even with nothing to do.
	forcedPerMinute = 0.5
)

// figures is what was measured, before it is said.
type figures struct {
	empty  process.Reading // after a collection, with nothing parked
	filled process.Reading // when all were parked, with whatever garbage that made
	parked process.Reading // then, after a collection
	idle   process.Stretch
	flow   process.Stretch // from is after a collection
	after  process.Reading // after another, when the flow is through

	accounted int64 // bytes of the lanes, as the daemon counts them
	account   account
}

func (f *figures) rows(o Options) []row.Row {
	rows := []row.Row{
		row.Plain("parked", "%d records on %d partitions, LAYOVER_MAX_PARKED_BYTES %s", o.Records, partitions, row.MiB(float64(o.bound()))),
		row.Plain("Go runtime of the daemon", "%s", f.parked.InForce()),
	}
	rows = append(rows, f.memory(float64(o.Records))...)
	rows = append(rows, f.cpu(o)...)
	return append(rows, f.lateness(o)...)
}

// memory is in bytes per parked record.
func (f *figures) memory(n float64) []row.Row {
	per := func(r process.Reading, bytes func(process.Reading) uint64) float64 {
		return (float64(bytes(r)) - float64(bytes(f.empty))) / n
	}
	heap := func(r process.Reading) uint64 { return r.Heap }
	resident := func(r process.Reading) uint64 { return r.Resident }
	live := per(f.parked, heap)
	return []row.Row{
		row.Plain("payload per record", "%d B: key %d, value %d, header %q %d", payload, keySize, valueSize, headerName, payload-keySize-valueSize),
		row.Plain("live bytes per record", "%.1f B", live).Aim(live-float64(payload) <= overheadGoal, "payload + %.0f B or less", overheadGoal),
		row.Plain("overhead per record", "%.1f B", live-float64(payload)).Aim(live-float64(payload) <= overheadGoal, "%.0f B or less", overheadGoal),
		row.Plain("accounted per record by the memory bound", "%.1f B", float64(f.accounted)/n),
		row.Plain("resident per record", "%.1f B once parked, %.1f B idle, %.1f B with the flow",
			per(f.filled, resident), per(f.idle.To, resident), per(f.flow.To, resident)),
		row.Plain("resident in all", "%s with nothing parked, %s once parked, %s idle, %s with the flow", row.MiB(float64(f.empty.Resident)),
			row.MiB(float64(f.filled.Resident)), row.MiB(float64(f.idle.To.Resident)), row.MiB(float64(f.flow.To.Resident))),
	}
}

// cpu is of the daemon's process. The cost of collecting in a minute is
// reckoned from how fast the flow allocates, because a minute may hold one
// collection or none. The cost of one collection is the mean of all since the
// flow began, those that were asked for among them.
func (f *figures) cpu(o Options) []row.Row {
	idle, flow := f.idle.Cores(), f.flow.Cores()
	minutes := f.flow.Wall().Minutes()
	allocated := float64(f.flow.To.Allocated - f.flow.From.Allocated)
	perMinute := forcedPerMinute
	if room := float64(f.flow.From.NextGC) - float64(f.flow.From.Heap); room > 0 {
		perMinute = max(perMinute, allocated/minutes/room)
	}
	all := f.after.Collections - f.flow.From.Collections // with those of the last order
	one := (f.after.GCCPU - f.flow.From.GCCPU) / time.Duration(max(all, process.Forced))
	return []row.Row{
		row.Plain("CPU while idle", "%.2f %% of a core, over %v", idle*100, f.idle.Wall().Round(time.Second)).Aim(idle < idleGoal, "below %.0f %%", idleGoal*100),
		row.Plain(fmt.Sprintf("CPU at %d/s", o.PerSecond), "%.1f %% of a core, %.0f us per record", flow*100, flow*1e6/float64(o.PerSecond)),
		row.Plain(fmt.Sprintf("GC CPU per minute at %d/s", o.PerSecond), "%s: one collection %s, %.2f a minute at %s/s allocated (%d seen in %v)",
			row.MS(time.Duration(perMinute*float64(one))), row.MS(one), perMinute, row.MiB(allocated/minutes/60),
			f.flow.To.Collections-f.flow.From.Collections, f.flow.Wall().Round(time.Second)),
	}
}

// lateness and what became of the short-delayed records. That none was lost or
// early is checked before there are rows.
func (f *figures) lateness(o Options) []row.Row {
	a := f.account
	return []row.Row{
		row.Plain(fmt.Sprintf("lateness at %d/s, due to delivery's timestamp, in whole ms", o.PerSecond), "%s", a.stamped),
		row.Plain(fmt.Sprintf("lateness at %d/s, due to receiver's clock", o.PerSecond), "%s", a.received),
		row.Plain("lost", "%d of %d", a.lost, a.sent).Aim(a.lost == 0, "0"),
		row.Plain("early", "%d of %d", a.early, a.sent).Aim(a.early == 0, "0"),
		row.Plain("delivered more than once", "%d of %d", a.again, a.sent).Aim(a.again == 0, "0"),
	}
}
