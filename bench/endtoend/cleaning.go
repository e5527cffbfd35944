package endtoend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/bench/broker"
	"layover/bench/process"
	"layover/bench/row"
)

const (
	// cleanedOf is how many of o.Far records are written to be cleaned: enough for a log of several
	// segments in one partition.
	cleanedOf = 8
	// stays of a hundred records are due in a month, and the others soonClean to soonClean and
	// spreadClean from when each is written.
	stays                  = 12
	soonClean, spreadClean = 150 * time.Second, time.Minute
)

// cleanFound is what came of it.
type cleanFound struct {
	records       int64
	base          account
	moved         account // of the flow, while records are moved
	delivering    account // while most of them fall due
	cleaning      account
	before, after status
	took          time.Duration // cleaning
	late          dueAccount
	peak          uint64
}

// Cleaning measures the lateness of short delays while runs are moved again. Most of the records that
// were moved have been delivered, and the rest keeps the log.
func Cleaning(ctx context.Context, o Options) ([]row.Row, error) {
	o = o.filled()
	k, c, stop, err := startAll(ctx, o)
	if err != nil {
		return nil, err
	}
	defer stop()
	var base farFound
	if err := base.baseline(ctx, newHeld(o, k, c, "without-cleaning", 1)); err != nil {
		return nil, fmt.Errorf("without runs: %w", err)
	}
	f := cleanFound{base: base.base, records: int64(max(o.Far/cleanedOf, 500_000))}
	if err := f.measure(ctx, newHeld(o, k, c, "cleaning", 1)); err != nil {
		return nil, err
	}
	return f.rows(o, k), nil
}

func (f *cleanFound) measure(ctx context.Context, h *held) error {
	return h.run(ctx, nil, func(ctx context.Context) error {
		var moving, delivering, cleaning window
		err := h.flowing(ctx, func() (err error) {
			moving.from = h.ledger.count()
			random := h.dues.random()
			if err := h.fill(ctx, f.records, func(int64) time.Duration {
				if random.IntN(100) < stays {
					return farthestFar
				}
				return soonClean + time.Duration(random.Int64N(int64(spreadClean/time.Millisecond)))*time.Millisecond
			}); err != nil {
				return err
			}
			moving.to = h.ledger.count()
			delivering.from = moving.to
			if err := h.until(ctx, "delivered", func(s *status) bool { return h.dues.left(time.Now().Add(watchedFor)) == 0 || s.Runs.Cleaned > 0 }); err != nil {
				return err
			}
			f.before, delivering.to = h.last, h.ledger.count()
			if err := h.until(ctx, "cleaning", func(s *status) bool { return s.Runs.Cleaned > 0 }); err != nil {
				return err
			}
			began := time.Now()
			cleaning.from = h.ledger.count()
			cleaned, since := int64(-1), began
			err = h.until(ctx, "clean", func(s *status) bool {
				if s.Runs.Cleaned != cleaned || s.Runs.Moving > 0 {
					cleaned, since, cleaning.to = s.Runs.Cleaned, time.Now(), h.ledger.count()
				}
				return time.Since(since) > 2*h.Quiet
			})
			f.took, f.after = since.Sub(began), h.last
			return err
		})
		if err != nil {
			return err
		}
		f.moved, f.delivering = h.ledger.account(moving.from, moving.to), h.ledger.account(delivering.from, delivering.to)
		f.cleaning, f.late = h.ledger.account(cleaning.from, cleaning.to), h.dues.account(time.Now().Add(-arriveWithin))
		r, err := h.daemon.Ask(process.OrderRead)
		f.peak = r.Peak
		return errors.Join(err, f.cleaning.fault(), f.late.fault())
	})
}

func (f *cleanFound) rows(o Options, k *broker.Broker) []row.Row {
	base := f.base.received.At(990).Seconds()
	late := func(what string, a account) row.Row {
		p99 := a.received.At(990).Seconds()
		return row.Plain(fmt.Sprintf("lateness at %d/s %s", o.PerSecond, what), "%s", a.received).
			Aim(p99 <= twice*base, "p99 at most twice that without runs; it is %.2f times", p99/base)
	}
	return []row.Row{
		row.Plain("broker", "%s", k.Name),
		row.Plain("written", "%d records to one partition, of which %d %% are due in a month and the others in %v to %v", f.records, stays, soonClean, soonClean+spreadClean),
		row.Plain(fmt.Sprintf("lateness at %d/s without runs and with nothing parked", o.PerSecond), "%s", f.base.received),
		late("while moving", f.moved),
		late("until the others were delivered", f.delivering),
		late("while cleaning", f.cleaning),
		row.Plain("log, estimated", "%s before and %s after cleaning, with %s and %s live", row.MiB(float64(f.before.Runs.LogBytes)), row.MiB(float64(f.after.Runs.LogBytes)),
			row.MiB(float64(f.before.Runs.Bytes)), row.MiB(float64(f.after.Runs.Bytes))),
		row.Plain("moved again", "%d of %d copies within %s", f.after.Runs.Cleaned, f.after.Runs.Moved, secs(f.took)),
		row.Plain("copies written", "%.2f a record that was moved", float64(f.after.Runs.Moved)/float64(max(f.after.Runs.Moved-f.after.Runs.Cleaned, 1))).
			Aim(f.after.Runs.Moved <= 2*(f.after.Runs.Moved-f.after.Runs.Cleaned), "at most 2"),
		row.Plain("peak of resident memory", "%s", row.MiB(float64(f.peak))).Aim(f.peak <= uint64(o.Memory), "below %s", row.MiB(float64(o.Memory))),
		row.Plain("lateness of parked records that fell due, due to delivery's timestamp", "%s", f.late.late),
		row.Plain("lost and early", "%d and %d of %d parked ones that were due", f.late.lost, f.late.early, f.late.due).Aim(f.late.lost+f.late.early == 0, "0"),
	}
}
