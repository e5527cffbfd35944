package endtoend

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"layover/bench/process"
	"layover/bench/row"
	"layover/cluster"
)

const (
	kindPartitions = 8
	// kindBound is the bound of a daemon that moves, for each of so many records.
	kindBound, kindPer = 48 << 20, 1_000_000
	// The delays of a kind are between: what is due within the horizon, a minute at least, is not moved.
	leastKind = 70 * time.Second
	mostKind  = 150 * time.Second
)

// kind is how delays are spread: as those of months, on a scale that can be waited for.
type kind struct {
	name  string
	delay func(*rand.Rand) time.Duration
}

func kinds() []kind {
	const span = int64(mostKind - leastKind)
	return []kind{
		{"uniform, up to 150 s", func(r *rand.Rand) time.Duration { return leastKind + time.Duration(r.Int64N(span)) }},
		{"constant, 100 s", func(*rand.Rand) time.Duration { return 100 * time.Second }},
		{"exponential, 20 s on average behind 70 s, up to 150 s", func(r *rand.Rand) time.Duration {
			return min(leastKind+time.Duration(r.ExpFloat64()*float64(20*time.Second)), mostKind)
		}},
		{"99 % 85 s, 1 % 150 s", func(r *rand.Rand) time.Duration {
			if r.IntN(100) == 0 {
				return mostKind
			}
			return 85 * time.Second
		}},
	}
}

// kindFound is what came of a kind in one way.
type kindFound struct {
	spent         time.Duration // CPU
	moved, copies int64         // records, and how often those were written
	visits        int64
	late          dueAccount
}

// Kinds lets as many records as [Herd] wait for each kind of delays. They wait in memory, and moved to runs
// by a daemon that has a quarter of the memory for them, both at a time. A record that is lost or early is an
// error.
func Kinds(ctx context.Context, o Options) ([]row.Row, error) {
	o = o.filled()
	k, c, stop, err := startAll(ctx, o)
	if err != nil {
		return nil, err
	}
	defer stop()
	rows := []row.Row{
		row.Plain("broker", "%s", k.Name),
		row.Plain("written", "%d records of each kind, as fast as they are read; the least delay is %v", o.Herd, leastKind),
	}
	for i, of := range kinds() {
		var found [2]kindFound
		var failed [2]error
		var ways sync.WaitGroup
		for way, settings := range [][]string{
			{fmt.Sprintf("LAYOVER_MAX_PARKED_BYTES=%d", max(int64(o.Herd)*2*boundPerRecord, leastBound)), "LAYOVER_RUNS=off"},
			{fmt.Sprintf("LAYOVER_MAX_PARKED_BYTES=%d", max(int64(o.Herd)*kindBound/kindPer, leastBound/8))},
		} {
			h := newHeld(o, k, c, fmt.Sprintf("kind-%d-%d", i, way), kindPartitions)
			h.memory, h.pauses = 0, true
			ways.Go(func() { found[way], failed[way] = of.measure(ctx, h, settings) }) // ended by ctx, or when all is through
		}
		ways.Wait()
		if err := errors.Join(failed[:]...); err != nil {
			return nil, fmt.Errorf("%s: %w", of.name, err)
		}
		rows = append(rows, of.rows(o, &found[0], &found[1])...)
	}
	return rows, nil
}

// measure writes them, and waits until all are through.
func (k *kind) measure(ctx context.Context, h *held, settings []string) (f kindFound, err error) {
	err = h.run(ctx, settings, func(ctx context.Context) error {
		dice := rand.New(rand.NewPCG(5, 6))
		if err := h.fill(ctx, int64(h.Herd), func(int64) time.Duration { return k.delay(dice) }); err != nil {
			return err
		}
		if err := cluster.Pause(ctx, mostKind+2*time.Second); err != nil {
			return err
		}
		if err := h.awaitDues(ctx); err != nil {
			return err
		}
		r, err := h.daemon.Ask(process.OrderRead)
		if err != nil {
			return err
		}
		if h.last, err = askStatus(ctx, h.http); err != nil {
			return err
		}
		runs := &h.last.Runs
		f = kindFound{spent: r.CPU, moved: runs.Moved - runs.Cleaned, copies: runs.Moved, visits: runs.Visits, late: h.dues.account(time.Now())}
		fmt.Fprintf(h.Log, "%s: CPU %v, %d copies of %d records, %d visits\n", k.name, f.spent, f.copies, f.moved, f.visits)
		return f.late.fault()
	})
	return f, err
}

// each is the CPU of a record in microseconds.
func (f *kindFound) each(records int) float64 { return f.spent.Seconds() * 1e6 / float64(records) }

func (k *kind) rows(o Options, memory, runs *kindFound) []row.Row {
	line := func(what, format string, args ...any) row.Row { return row.Plain(k.name+": "+what, format, args...) }
	stays, moves := memory.each(o.Herd), runs.each(o.Herd)
	return []row.Row{
		line("CPU from memory", "%.1f us a record, the start included", stays),
		line("CPU from runs", "%.1f us a record; %.0f %% were moved, %.2f copies of each, %d visits",
			moves, 100*float64(runs.moved)/float64(o.Herd), float64(runs.copies)/float64(max(runs.moved, 1)), runs.visits).
			Aim(moves <= costTwice*stays, "at most twice that from memory; it is %.2f times", moves/stays),
		line("lateness, due to delivery's timestamp", "%s from memory; %s from runs", memory.late.late, runs.late.late),
		line("delivered again", "%d and %d", memory.late.again, runs.late.again),
	}
}
