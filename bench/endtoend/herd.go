package endtoend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/bench/broker"
	"layover/bench/process"
	"layover/bench/row"
	"layover/cluster"
)

const (
	herdPartitions = 24
	// herdRuns is how many runs there are at least that the records of one second stand in.
	herdRuns = 500
	// herdBuild is the bound of the daemon that moves them: its flushes are small, so there are many.
	herdBuild = 16 << 20
	// herdAfter is how long after the first record is written they are due: later than moving
	// takes, and the horizon then. From memory as well, as a process that waits takes CPU, too.
	herdAfter = 4 * time.Minute
	// herdFlow is how long before that others begin to flow. Each of those costs as much as many
	// of the herd.
	herdFlow = 10 * time.Second
	// costTwice is the goal of what a record costs that is moved against one that stays.
	costTwice = 2
)

// herdFound is what came of one way.
type herdFound struct {
	name    string
	runs    int64
	moved   int64
	filled  time.Duration
	spent   time.Duration // CPU of all processes
	peak    uint64
	late    dueAccount
	flow    account
	visits  int64
	lateOne int64 // visits that brought something late
}

// Herd lets o.Herd records fall due within one second: from memory, from runs into memory that
// holds them, and from runs in 512 MiB. A record that is lost or early is an error.
func Herd(ctx context.Context, o Options) ([]row.Row, error) {
	o = o.filled()
	k, c, stop, err := startAll(ctx, o)
	if err != nil {
		return nil, err
	}
	defer stop()
	roomy := fmt.Sprintf("LAYOVER_MAX_PARKED_BYTES=%d", max(int64(o.Herd)*4*boundPerRecord/2, leastBound))
	var all []herdFound
	for _, way := range []struct {
		herdFound
		topic    string
		memory   int64
		settings []string
	}{
		{herdFound{name: "from memory"}, "herd-memory", 0, []string{roomy, "LAYOVER_RUNS=off"}},
		{herdFound{name: "from runs"}, "herd-runs", 0, []string{roomy}},
		{herdFound{name: "from runs, in 512 MiB"}, "herd-held", int64(o.Memory), nil},
	} {
		h := newHeld(o, k, c, way.topic, herdPartitions)
		h.memory = way.memory
		if err := way.measure(ctx, h, way.settings); err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		all = append(all, way.herdFound)
	}
	return herdRows(o, k, all), nil
}

// measure fills, starts again with the settings, and waits until all is through.
func (f *herdFound) measure(ctx context.Context, h *held, settings []string) error {
	moves := len(settings) < 2
	build, memory := settings, h.memory
	if moves {
		build, h.memory = []string{fmt.Sprintf("LAYOVER_MAX_PARKED_BYTES=%d", herdBuild), "LAYOVER_LANES=1"}, 0
	}
	return h.run(ctx, build, func(ctx context.Context) error {
		began := time.Now()
		at := began.Add(herdAfter).Truncate(time.Second)
		n := int64(h.Herd)
		err := h.fill(ctx, n, func(i int64) time.Duration { return time.Until(at) + time.Duration(i*1000/n)*time.Millisecond })
		if err != nil {
			return err
		}
		f.filled = time.Since(began)
		if moves {
			if err := f.again(ctx, h, memory, settings); err != nil {
				return err
			}
		}
		if err := cluster.Pause(ctx, time.Until(at.Add(-herdFlow))); err != nil {
			return err
		}
		err = h.flowing(ctx, func() error {
			if err := cluster.Pause(ctx, time.Until(at.Add(2*time.Second))); err != nil {
				return err
			}
			return h.awaitDues(ctx)
		})
		if err != nil {
			return err
		}
		f.late, f.flow = h.dues.account(time.Now()), h.ledger.account(0, h.ledger.count())
		if err := f.note(ctx, h); err != nil {
			return err
		}
		f.moved = f.moved + h.last.Runs.Moved
		f.visits, f.lateOne = h.last.Runs.Visits, h.last.Runs.LateVisits
		return errors.Join(f.late.fault(), f.flow.fault())
	})
}

// again ends the daemon when nothing more is moved, and starts the one that delivers.
func (f *herdFound) again(ctx context.Context, h *held, memory int64, settings []string) error {
	if err := h.quiet(ctx); err != nil {
		return err
	}
	f.runs, f.moved = h.last.Runs.Runs, h.last.Runs.Moved
	if err := f.note(ctx, h); err != nil {
		return err
	}
	if err := h.daemon.End(); err != nil {
		return err
	}
	h.memory = memory
	if err := h.start(ctx, settings...); err != nil {
		return err
	}
	return h.until(ctx, "ready", func(s *status) bool { return s.Ready })
}

// note adds what a process that is about to end has spent.
func (f *herdFound) note(ctx context.Context, h *held) error {
	r, err := h.daemon.Ask(process.OrderRead)
	if err != nil {
		return err
	}
	f.spent, f.peak = f.spent+r.CPU, max(f.peak, r.Peak)
	h.last, err = askStatus(ctx, h.http)
	return err
}

// awaitDues waits until all is there, or cannot be waited for any longer.
func (h *held) awaitDues(ctx context.Context) error {
	for by := time.Now().Add(throughWithin); h.dues.left(time.Now()) > 0 && time.Now().Before(by); {
		if err := cluster.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// herdRows says it, way by way.
func herdRows(o Options, k *broker.Broker, all []herdFound) []row.Row {
	rows := []row.Row{row.Plain("broker", "%s", k.Name)}
	each := func(f herdFound) float64 { return f.spent.Seconds() * 1e6 / float64(o.Herd) }
	for _, f := range all {
		line := func(what, format string, args ...any) row.Row { return row.Plain(f.name+": "+what, format, args...) }
		if f.runs > 0 {
			rows = append(rows, line("runs", "%d, with %d copies; %d visits, of which %d brought something late", f.runs, f.moved, f.visits, f.lateOne).
				Aim(f.runs >= herdRuns || o.Herd < Full().Herd, "at least %d runs", herdRuns))
		}
		rows = append(rows,
			line("lateness of the herd, due to delivery's timestamp", "%s", f.late.late),
			line("from the first delivery to the last", "%s", secs(f.late.last.Sub(f.late.first))),
			line("read at", "%.0f/s", float64(o.Herd)/f.filled.Seconds()),
			line("peak of resident memory", "%s", row.MiB(float64(f.peak))),
			line("delivered again", "%d", f.late.again),
		)
		cpu := line("CPU", "%.1f us a record, starts and a little flow included", each(f))
		if f.runs > 0 {
			cpu = cpu.Aim(each(f) <= costTwice*each(all[0]), "at most twice that from memory; it is %.2f times", each(f)/each(all[0]))
		}
		rows = append(rows, cpu)
	}
	return rows
}
