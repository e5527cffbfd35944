package daemon

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// loops counts the turns of the loops that the daemon itself has.
type loops struct{ readiness, drops, sick, preflight, replay, history atomic.Int64 }

// turns returns how often each loop of the process has turned, by its name. Goroutines
// that come and go count together. The look at certificates has a ticker, and nothing else.
func (d *Daemon) turns() map[string]int64 {
	consumer, journal := d.consumer.Turns(), d.journal.Turns()
	out := map[string]int64{
		"cluster_watch":   d.watcher.Turns(),
		"poll":            consumer.Poll,
		"committer":       consumer.Committer,
		"log_ends":        consumer.Ends,
		"loading":         consumer.Loading,
		"journal_keeper":  journal.Keeper,
		"journal_reading": journal.Reading,
		"readiness":       d.loops.readiness.Load(),
		"drop_summary":    d.loops.drops.Load(),
		"sick_list":       d.loops.sick.Load(),
		"preflight":       d.loops.preflight.Load(),
		"replay":          d.loops.replay.Load(),
		"history":         d.loops.history.Load(),
	}
	for i, l := range d.lanes {
		out[laneName(i)] = l.Turns()
	}
	return out
}

func laneName(i int) string { return fmt.Sprintf("lane_%d", i) }

// every calls do at an interval until the context ends, and counts the calls.
func every(ctx context.Context, interval time.Duration, turns *atomic.Int64, do func(now time.Time)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			turns.Add(1)
			do(now)
		}
	}
}
