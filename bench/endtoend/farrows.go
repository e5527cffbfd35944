package endtoend

import (
	"fmt"

	"layover/bench/broker"
	"layover/bench/row"
)

// rows says what was found.
func (f *farFound) rows(o Options, k *broker.Broker) []row.Row {
	where := "in a container"
	if !k.Contained {
		where = "by its own settings, for want of a container"
	}
	base := f.base.received
	rows := []row.Row{
		row.Plain("broker", "%s", k.Name),
		row.Plain("daemon", "held to %s and two cores, %s; partitions: %d; %s", row.MiB(float64(o.Memory)), where, farPartitions, f.last.InForce()),
		row.Plain("record", "key %d B, value %d B; due in %v to %v, evenly", keySize, valueSize, soonestFar, farthestFar),
		row.Plain(fmt.Sprintf("lateness at %d/s without runs and with nothing parked, due to receiver's clock", o.PerSecond), "%s", base),
	}
	for i := range f.steps {
		rows = append(rows, f.steps[i].rows(o, f, base.At(990).Seconds())...)
	}
	return append(rows,
		row.Plain("lateness of parked records that fell due, due to delivery's timestamp", "%s", f.late.late),
		row.Plain("lateness of those that fell due between a kill and ready", "%s", f.late.out),
		row.Plain("visits of the last process", "%d, of which %d brought something late", f.end.Runs.Visits, f.end.Runs.LateVisits),
		row.Plain("lost", "%d of %d short delays, %d of %d parked ones that were due; %d offsets of runs", f.account.lost, f.account.sent, f.late.lost, f.late.due, f.end.Runs.Lost).
			Aim(f.account.lost+f.late.lost+int(f.end.Runs.Lost) == 0, "0"),
		row.Plain("early", "%d and %d", f.account.early, f.late.early).Aim(f.account.early+f.late.early == 0, "0"),
		row.Plain("delivered again after kills", "%d and %d", f.account.again, f.late.again))
}

func (s *farStep) rows(o Options, f *farFound, base float64) []row.Row {
	name := func(what string) string { return fmt.Sprintf("%d parked: %s", s.parked, what) }
	line := func(what, format string, args ...any) row.Row { return row.Plain(name(what), format, args...) }
	moving, still := f.flow.account(s.moving.from, s.moving.to).received, f.flow.account(s.parkedFlow.from, s.parkedFlow.to).received
	within := func(r row.Row, l row.Latenesses) row.Row {
		p99 := l.At(990).Seconds()
		return r.Aim(p99 <= twice*base, "p99 at most twice that without runs; it is %.2f times", p99/base)
	}
	seconds := s.took.Seconds()
	return []row.Row{
		line("moved", "%.0f/s: %d within %s, %d stay in memory", float64(s.moved)/seconds, s.moved, secs(s.took), s.full.Parked.Records),
		line("resident", "%s while moving, peak %s, %s once ready after the restart", row.MiB(float64(s.filled.Resident)), row.MiB(float64(s.filled.Peak)), row.MiB(float64(s.again.Resident))).
			Aim(s.filled.Peak <= uint64(o.Memory), "below %s", row.MiB(float64(o.Memory))),
		line("CPU while moving, the short delays included", "%.1f us a record", (s.filled.CPU-s.before.CPU).Seconds()*1e6/max(float64(s.moved), 1)),
		within(line(fmt.Sprintf("lateness at %d/s while moving", o.PerSecond), "%s", moving), moving),
		within(line(fmt.Sprintf("lateness at %d/s when all was moved", o.PerSecond), "%s", still), still),
		line("runs, by /status", "%d, %.0f copies each; live %s, %.1f B a copy; log %s", s.full.Runs.Runs, float64(s.full.Runs.Records)/max(float64(s.full.Runs.Runs), 1),
			row.MiB(float64(s.full.Runs.Bytes)), float64(s.full.Runs.Bytes)/max(float64(s.full.Runs.Records), 1), row.MiB(float64(s.full.Runs.LogBytes))),
		line("runs topic on disk", "%s, %.1f B a copy that waits", row.MiB(float64(s.disk)), float64(s.disk)/max(float64(s.full.Runs.Records), 1)),
		line("restart: offsets of ingress that are not finished as a whole", "%d", s.window),
		line("restart: process start to assignment", "%s", secs(s.assigned)),
		line("restart: assignment to the first delivery", "%s", secs(s.first-s.assigned)).Aim(s.first-s.assigned <= firstGoal, goalOfRestarts, firstGoal.Seconds()),
		line("restart: assignment to ready", "%s", secs(s.ready-s.assigned)).Aim(s.ready-s.assigned <= readyGoal, goalOfRestarts, readyGoal.Seconds()),
	}
}
