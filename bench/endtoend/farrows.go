package endtoend

import (
	"fmt"
)

// rows says what was found.
func (f *farFound) rows(o Options, k *kafka) []Row {
	where := "in a container"
	if !k.contained {
		where = "by its own settings, for want of a container"
	}
	base := f.base.received
	rows := []Row{
		plain("broker", "%s", k.name),
		plain("daemon", "held to %s and two cores, %s; partitions: %d; %s", mib(float64(o.Memory)), where, farPartitions, f.last.inForce()),
		plain("record", "key %d B, value %d B; due in %v to %v, evenly", keySize, valueSize, soonestFar, farthestFar),
		plain(fmt.Sprintf("lateness at %d/s without runs and with nothing parked, due to receiver's clock", o.PerSecond), "%s", base),
	}
	for i := range f.steps {
		rows = append(rows, f.steps[i].rows(o, f, base.at(990).Seconds())...)
	}
	return append(rows,
		plain("lateness of parked records that fell due, due to delivery's timestamp", "%s", f.late.late),
		plain("lateness of those that fell due between a kill and ready", "%s", f.late.out),
		plain("visits of the last process", "%d, of which %d brought something late", f.end.Runs.Visits, f.end.Runs.LateVisits),
		plain("lost", "%d of %d short delays, %d of %d parked ones that were due; %d offsets of runs", f.account.lost, f.account.sent, f.late.lost, f.late.due, f.end.Runs.Lost).
			aim(f.account.lost+f.late.lost+int(f.end.Runs.Lost) == 0, "0"),
		plain("early", "%d and %d", f.account.early, f.late.early).aim(f.account.early+f.late.early == 0, "0"),
		plain("delivered again after kills", "%d and %d", f.account.again, f.late.again))
}

func (s *farStep) rows(o Options, f *farFound, base float64) []Row {
	name := func(what string) string { return fmt.Sprintf("%d parked: %s", s.parked, what) }
	row := func(what, format string, args ...any) Row { return plain(name(what), format, args...) }
	moving, still := f.flow.account(s.moving.from, s.moving.to).received, f.flow.account(s.parkedFlow.from, s.parkedFlow.to).received
	within := func(r Row, l latenesses) Row {
		p99 := l.at(990).Seconds()
		return r.aim(p99 <= twice*base, "p99 at most twice that without runs; it is %.2f times", p99/base)
	}
	seconds := s.took.Seconds()
	return []Row{
		row("moved", "%.0f/s: %d within %s, %d stay in memory", float64(s.moved)/seconds, s.moved, secs(s.took), s.full.Parked.Records),
		row("resident", "%s while moving, peak %s, %s once ready after the restart", mib(float64(s.filled.Resident)), mib(float64(s.filled.Peak)), mib(float64(s.again.Resident))).
			aim(s.filled.Peak <= uint64(o.Memory), "below %s", mib(float64(o.Memory))),
		row("CPU while moving, the short delays included", "%.1f us a record", (s.filled.CPU-s.before.CPU).Seconds()*1e6/max(float64(s.moved), 1)),
		within(row(fmt.Sprintf("lateness at %d/s while moving", o.PerSecond), "%s", moving), moving),
		within(row(fmt.Sprintf("lateness at %d/s when all was moved", o.PerSecond), "%s", still), still),
		row("runs, by /status", "%d, %.0f copies each; live %s, %.1f B a copy; log %s", s.full.Runs.Runs, float64(s.full.Runs.Records)/max(float64(s.full.Runs.Runs), 1),
			mib(float64(s.full.Runs.Bytes)), float64(s.full.Runs.Bytes)/max(float64(s.full.Runs.Records), 1), mib(float64(s.full.Runs.LogBytes))),
		row("runs topic on disk", "%s, %.1f B a copy that waits", mib(float64(s.disk)), float64(s.disk)/max(float64(s.full.Runs.Records), 1)),
		row("restart: offsets of ingress that are not finished as a whole", "%d", s.window),
		row("restart: process start to assignment", "%s", secs(s.assigned)),
		row("restart: assignment to the first delivery", "%s", secs(s.first-s.assigned)).aim(s.first-s.assigned <= firstGoal, goalOfRestarts, firstGoal.Seconds()),
		row("restart: assignment to ready", "%s", secs(s.ready-s.assigned)).aim(s.ready-s.assigned <= readyGoal, goalOfRestarts, readyGoal.Seconds()),
	}
}
