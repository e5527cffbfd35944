package daemon

import (
	"log/slog"
	"slices"
	"sync"

	"layover/admin"
	"layover/consumer"
	"layover/lane"
	"layover/purgatory"
)

// governor pauses reading when memory is used up, while the dead-letter topic
// fails, or when a target's share is used up and there is no dead-letter topic.
// What is parked goes on being delivered, which is what frees memory.
type governor struct {
	limit    func() int64                // used bytes at which reading pauses
	names    func() int64                // bytes of the names that headers chose
	why      func(label string) lane.Why // what is wrong with a target
	log      *slog.Logger
	lanes    []*lane.Lane
	consumer *consumer.Consumer

	mu     sync.Mutex
	full   bool // over the limit, and not yet a tenth below it again
	paused []purgatory.Pause
}

func (g *governor) start(lanes []*lane.Lane, c *consumer.Consumer) { g.lanes, g.consumer = lanes, c }

// used returns the memory that counts against the bound: what is parked, what was
// handed over, and the names that headers chose. What the client holds ready is in the reserve below the limit and not
// counted here: a pause throws it away, so counting it would fetch a batch larger
// than a small bound again and again.
func (g *governor) used() int64 {
	used := g.consumer.Unread() + g.names()
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
		pauses = append(pauses, purgatory.Pause{Reason: admin.PauseBytes})
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
	before := g.paused
	g.paused = pauses
	g.consumer.SetPaused(len(pauses) > 0)
	g.say(before, used, limit)
}

// say logs what reading pauses for and did not before, or that it goes on. Memory is
// named where it is what reading paused for, and else what is wrong with the target.
func (g *governor) say(before []purgatory.Pause, used, limit int64) {
	memory := []any{"used", used, "limit", limit}
	if len(g.paused) == 0 {
		if !slices.ContainsFunc(before, func(p purgatory.Pause) bool { return p.Reason == admin.PauseBytes }) {
			memory = nil
		}
		g.log.Info("reading goes on", memory...)
		return
	}
	type told struct{ reason, label string } // a name may be a header's
	said := make(map[told]bool)
	for _, p := range before {
		said[told{p.Reason, p.Label}] = true
	}
	for _, p := range g.paused {
		if said[told{p.Reason, p.Label}] {
			continue
		}
		said[told{p.Reason, p.Label}] = true
		line := []any{"reason", p.Reason}
		if p.Reason == admin.PauseBytes {
			line = append(line, memory...)
		} else {
			line = append(append(line, "target", p.Label), g.why(p.Label).Attrs()...)
		}
		g.log.Warn("reading pauses, what is parked goes on", line...)
	}
}

// pauses returns why reading is paused; empty: it is not.
func (g *governor) pauses() []purgatory.Pause {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.paused)
}
