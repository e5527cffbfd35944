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
	againPartitions = 4
	againRounds     = 3
	// rereadGoal is from the assignment to ready, with a million that wait.
	rereadGoal = 2500 * time.Millisecond
	// besideGoal is bytes of a record that waits beside its own, collectGoal the CPU of a collection with a million.
	besideGoal  = 80.0
	collectGoal = time.Millisecond
)

// againFound is what came of a restart, or of a client that reads as many records.
type againFound struct{ ready, bare time.Duration }

// Again parks o.Records in the memory of a daemon, without runs, and kills it again and again. Beside each next
// one a bare client reads the same records, in turn with it.
func Again(ctx context.Context, o Options) ([]row.Row, error) {
	o = o.filled()
	k, c, stop, err := startAll(ctx, o)
	if err != nil {
		return nil, err
	}
	defer stop()
	settings := []string{fmt.Sprintf("LAYOVER_MAX_PARKED_BYTES=%d", o.bound()), "LAYOVER_RUNS=off"}
	h := newHeld(o, k, c, "again", againPartitions)
	h.memory = 0
	var found []againFound
	var parked int64
	var from, to weight
	err = h.run(ctx, settings, func(ctx context.Context) error {
		if from, err = h.weigh(ctx); err != nil {
			return err
		}
		dice := h.dues.random()
		if err := h.fill(ctx, int64(o.Records), func(int64) time.Duration { return parkedFrom + time.Duration(dice.Int64N(int64(parkedSpread))) }); err != nil {
			return err
		}
		if err := h.until(ctx, "full", func(s *status) bool { return s.Parked.Records == int64(o.Records) }); err != nil {
			return err
		}
		if to, err = h.weigh(ctx); err != nil {
			return err
		}
		for range againRounds {
			f, err := h.again(ctx, settings)
			if err != nil {
				return err
			}
			found = append(found, f)
			parked = h.last.Parked.Records
		}
		return nil
	})
	if err == nil && parked != int64(o.Records) {
		err = fmt.Errorf("%d records are parked after the last restart, want %d", parked, o.Records)
	}
	if err != nil {
		return nil, err
	}
	return append([]row.Row{row.Plain("broker", "%s", k.Name)}, againRows(o, found, from, to)...), nil
}

// weight is what a process takes that does nothing else.
type weight struct {
	process.Reading
	collection time.Duration // CPU of one
}

// weigh collects until the runtime is done giving memory back.
func (h *held) weigh(ctx context.Context) (w weight, err error) {
	first, err := h.daemon.Ask(process.OrderCollect)
	if err != nil {
		return w, err
	}
	if err := cluster.Pause(ctx, h.Settle); err != nil {
		return w, err
	}
	w.Reading, err = h.daemon.Ask(process.OrderCollect)
	w.collection = (w.GCCPU - first.GCCPU) / time.Duration(max(w.Collections-first.Collections, 1))
	return w, err
}

// again kills the daemon, times the next one, and then a bare client.
func (h *held) again(ctx context.Context, settings []string) (f againFound, err error) {
	h.daemon.Kill()
	if err := cluster.Pause(ctx, settleKilled); err != nil {
		return f, err
	}
	began := time.Now()
	if err := h.start(ctx, settings...); err != nil {
		return f, err
	}
	assigned, ready, err := h.awaitReady(ctx, began)
	if err != nil {
		return f, err
	}
	f.ready = ready - assigned
	f.bare, err = h.bareRead(ctx, int64(h.Records))
	fmt.Fprintf(h.Log, "assigned after %v, ready %v later; a bare client takes %v\n", assigned, f.ready, f.bare)
	return f, err
}

// bareRead is how long a client takes to read so many records of the ingress topic. It does so in a process
// that has more to do, this one.
func (h *held) bareRead(ctx context.Context, n int64) (time.Duration, error) {
	reader, err := newReceiver(h.kafka.Addrs, h.ingress())
	if err != nil {
		return 0, err
	}
	defer reader.Close()
	began := time.Now()
	for n > 0 {
		fetches := reader.PollFetches(ctx)
		if err := errors.Join(ctx.Err(), fetches.Err()); err != nil {
			return 0, err
		}
		n -= int64(fetches.NumRecords())
	}
	return time.Since(began), nil
}

// againRows are of the medians.
func againRows(o Options, found []againFound, from, to weight) []row.Row {
	median := func(of func(againFound) time.Duration) time.Duration {
		var all []time.Duration
		for _, f := range found {
			all = append(all, of(f))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	each := func(to, from uint64) float64 {
		return (float64(to)-float64(from))/float64(o.Records) - float64(payload)
	}
	ready, bare := median(func(f againFound) time.Duration { return f.ready }), median(func(f againFound) time.Duration { return f.bare })
	return []row.Row{
		row.Plain("waiting", "%d records, values of %d B, on %d partitions, in memory", o.Records, valueSize, againPartitions),
		row.Plain("live heap of a record beside its own bytes", "%.1f B", each(to.Heap, from.Heap)).Aim(each(to.Heap, from.Heap) <= besideGoal, "%.0f B", besideGoal),
		row.Plain("resident of a record beside its own bytes", "%.1f B", each(to.Resident, from.Resident)).Aim(each(to.Resident, from.Resident) <= besideGoal, "%.0f B", besideGoal),
		row.Plain("CPU of a collection", "%s, and %s with nothing parked", row.MS(to.collection), row.MS(from.collection)).Aim(to.collection <= collectGoal, "%s", row.MS(collectGoal)),
		row.Plain("from the assignment to ready", "%s, the median of %d", secs(ready), againRounds).Aim(ready <= rereadGoal, "%s", secs(rereadGoal)),
		row.Plain("a bare client reads as many", "%s; the restart takes %.2f times that", secs(bare), ready.Seconds()/bare.Seconds()),
	}
}
