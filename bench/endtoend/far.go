package endtoend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"layover/bench/process"
	"layover/bench/row"
	"layover/cluster"
)

const (
	farPartitions = 8
	// Parked records are due in so long, evenly. The horizon is a minute at least.
	soonestFar  = 2 * time.Minute
	farthestFar = 30 * 24 * time.Hour

	twice          = 2 // p99 of lateness against that without runs
	firstGoal      = 5 * time.Second
	readyGoal      = 10 * time.Second
	firstStep      = 1_000_000
	secondStep     = 10_000_000
	goalOfRestarts = "%.0f s"
)

// farStep is what was seen with so many parked.
type farStep struct {
	parked             int64
	took               time.Duration // filling
	moving, parkedFlow window
	before, filled     process.Reading // of one process, around filling
	moved              int64
	full               status // when nothing more was moved
	disk               int64  // of the runs topic then, on the brokers

	assigned, first, ready time.Duration   // since the process was started
	again                  process.Reading // when it was ready
	window                 int64           // offsets of ingress that the restart reads or jumps over
}

// window is which records of the flow were sent meanwhile.
type window struct{ from, to int }

// farFound is what came of it.
type farFound struct {
	base     account
	baseSpan process.Stretch
	steps    []farStep
	end      status
	last     process.Reading
	late     dueAccount
	flow     *ledger
	account  account
}

// steps are the numbers parked at which a daemon is killed.
func (o *Options) steps() []int64 {
	steps := slices.DeleteFunc([]int64{firstStep, secondStep}, func(n int64) bool { return n >= int64(o.Far) })
	return append(steps, int64(o.Far))
}

// Far parks o.Far records in the runs of one daemon that has 512 MiB and two cores, and lets short
// delays through beside them. At a million, ten million and o.Far it kills the daemon and times the
// next one. A record that is lost or early is an error, and there are no rows then.
func Far(ctx context.Context, o Options) ([]row.Row, error) {
	o = o.filled()
	k, c, stop, err := startAll(ctx, o)
	if err != nil {
		return nil, err
	}
	defer stop()
	var f farFound
	if err := f.baseline(ctx, newHeld(o, k, c, "without-runs", farPartitions)); err != nil {
		return nil, fmt.Errorf("without runs: %w", err)
	}
	if err := f.measure(ctx, newHeld(o, k, c, "runs", farPartitions)); err != nil {
		return nil, fmt.Errorf("with runs: %w", err)
	}
	return f.rows(o, k), nil
}

// baseline lets the flow through a daemon that has no runs, and nothing parked.
func (f *farFound) baseline(ctx context.Context, h *held) error {
	return h.run(ctx, []string{"LAYOVER_RUNS=off"}, func(ctx context.Context) error {
		var w window
		err := h.flowing(ctx, func() (err error) {
			w, f.baseSpan, err = h.watch(ctx, h.Flow)
			return err
		})
		if err != nil {
			return err
		}
		f.base = h.ledger.account(w.from, w.to)
		return f.base.fault()
	})
}

// watch lets the flow go on for a time.
func (h *held) watch(ctx context.Context, d time.Duration) (w window, s process.Stretch, err error) {
	w.from = h.ledger.count()
	if s.From, err = h.daemon.Ask(process.OrderRead); err != nil {
		return w, s, err
	}
	if err := cluster.Pause(ctx, d); err != nil {
		return w, s, err
	}
	w.to = h.ledger.count()
	s.To, err = h.daemon.Ask(process.OrderRead)
	return w, s, err
}

// measure fills a daemon step by step.
func (f *farFound) measure(ctx context.Context, h *held) error {
	return h.run(ctx, nil, func(ctx context.Context) error {
		if err := h.until(ctx, "able to move", func(s *status) bool { return len(s.Runs.Topics) == 1 && s.Runs.Topics[0].Usable }); err != nil {
			return err
		}
		err := h.flowing(ctx, func() error {
			for _, n := range h.steps() {
				s := farStep{parked: n}
				if err := s.carryOut(ctx, h); err != nil {
					return fmt.Errorf("%d parked: %w", n, err)
				}
				f.steps = append(f.steps, s)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := h.settledDues(ctx); err != nil {
			return err
		}
		f.flow, f.account, f.late = h.ledger, h.ledger.account(0, 0), h.dues.account(time.Now().Add(-arriveWithin))
		if f.end, err = askStatus(ctx, h.http); err != nil {
			return err
		}
		if f.last, err = h.daemon.Ask(process.OrderRead); err != nil {
			return err
		}
		return errors.Join(f.account.fault(), f.late.fault())
	})
}

// settledDues waits until what was due half a minute ago is there, or cannot be waited for.
func (h *held) settledDues(ctx context.Context) error {
	cut := time.Now()
	for by := cut.Add(2 * arriveWithin); h.dues.left(cut) > 0 && time.Now().Before(by); {
		if err := cluster.Pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// carryOut parks up to a number, watches, kills, and starts again.
func (s *farStep) carryOut(ctx context.Context, h *held) (err error) {
	if s.before, err = h.daemon.Ask(process.OrderRead); err != nil {
		return err
	}
	from, began := h.last.Runs.Moved, time.Now()
	s.moving.from = h.ledger.count()
	random := h.dues.random()
	if err := h.fill(ctx, s.parked, func(int64) time.Duration {
		return soonestFar + time.Duration(random.Int64N(int64((farthestFar-soonestFar)/time.Millisecond)))*time.Millisecond
	}); err != nil {
		return err
	}
	s.moving.to, s.took = h.ledger.count(), time.Since(began)
	s.moved = h.last.Runs.Moved - from
	if s.filled, err = h.daemon.Ask(process.OrderRead); err != nil {
		return err
	}
	if err := h.quiet(ctx); err != nil {
		return err
	}
	s.full = h.last
	if s.disk, err = h.onDisk(ctx, h.ingress()+"."+h.name+".runs"); err != nil {
		return err
	}
	fmt.Fprintf(h.Log, "%d parked after %v: %d moved, %d in %d runs, log %d B; resident %d, peak %d\n",
		s.parked, s.took.Round(time.Millisecond), s.moved, s.full.Runs.Records, s.full.Runs.Runs, s.full.Runs.LogBytes, s.filled.Resident, s.filled.Peak)
	if s.parkedFlow, _, err = h.watch(ctx, h.Flow); err != nil {
		return err
	}
	if err := cluster.Pause(ctx, lead+time.Second); err != nil { // what was sent meanwhile is through then
		return err
	}
	return s.restart(ctx, h)
}

// restart kills the daemon and times the next one.
func (s *farStep) restart(ctx context.Context, h *held) error {
	var err error
	if h.last, err = askStatus(ctx, h.http); err != nil {
		return err
	}
	s.window = h.last.window()
	h.daemon.Kill()
	out := outage{from: time.Now()}
	if err := cluster.Pause(ctx, settleKilled); err != nil {
		return err
	}
	first, err := h.awaitFirst(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := h.start(ctx); err != nil {
		return err
	}
	if s.assigned, s.ready, err = h.awaitReady(ctx, began); err != nil {
		return err
	}
	select {
	case at := <-first:
		s.first = at.Sub(began)
	case <-time.After(arriveWithin):
		return fmt.Errorf("nothing delivered within %v after the start: %+v", arriveWithin, h.last)
	}
	out.to = time.Now()
	h.dues.outages = append(h.dues.outages, out)
	fmt.Fprintf(h.Log, "assigned after %v, first delivery %v, ready %v\n", s.assigned, s.first, s.ready)
	s.again, err = h.daemon.Ask(process.OrderRead)
	return err
}
