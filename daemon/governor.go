package daemon

import (
	"log/slog"
	"slices"
	"sync"

	"layover/consumer"
	"layover/lane"
	"layover/purgatory"
)

// governor pauses reading when memory is used up, while the dead-letter topic
// fails, or when a target's share is used up and there is no dead-letter topic.
// What is parked goes on being delivered, which is what frees memory.
type governor struct {
	limit    func() int64 // used bytes at which reading pauses
	log      *slog.Logger
	lanes    []*lane.Lane
	consumer *consumer.Consumer

	mu     sync.Mutex
	full   bool // over the limit, and not yet a tenth below it again
	paused []purgatory.Pause
}

func (g *governor) start(lanes []*lane.Lane, c *consumer.Consumer) { g.lanes, g.consumer = lanes, c }

// used returns the memory that counts against the bound: what is parked and what was
// handed over. What the client holds ready is in the reserve below the limit and not
// counted here: a pause throws it away, so counting it would fetch a batch larger
// than a small bound again and again.
func (g *governor) used() int64 {
	used := g.consumer.Unread()
	for _, l := range g.lanes {
		used += l.Bytes()
	}
	return used
}

// check is called by every lane in every turn.
func (g *governor) check() {
	used, limit := g.used(), g.limit()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.full {
		g.full = used > limit-limit/10
	} else {
		g.full = used > limit
	}
	var pauses []purgatory.Pause
	if g.full {
		pauses = append(pauses, purgatory.Pause{Reason: "bytes"})
	}
	for _, l := range g.lanes {
		for _, p := range l.Pauses() {
			if !slices.Contains(pauses, p) {
				pauses = append(pauses, p)
			}
		}
	}
	if slices.Equal(pauses, g.paused) {
		return
	}
	g.paused = pauses
	g.consumer.SetPaused(len(pauses) > 0)
	if len(pauses) == 0 {
		g.log.Info("reading goes on", "used", used, "limit", limit)
		return
	}
	said := make(map[purgatory.Pause]bool)
	for _, p := range pauses {
		if p.Target = p.Label; !said[p] { // a name may be a header's
			said[p] = true
			g.log.Warn("reading pauses, what is parked goes on", "reason", p.Reason, "target", p.Label, "used", used, "limit", limit)
		}
	}
}

// pauses returns why reading is paused; empty: it is not.
func (g *governor) pauses() []purgatory.Pause {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.paused)
}
