package lane

import (
	"log/slog"
	"sync"

	"layover/purgatory"
)

// Holding says in the log which targets hold their records: one line when a target
// begins to, one when the reason changes, and one when it takes records again, however
// many lanes have some for it.
// All lanes of a process share one. Its methods may be called from any goroutine.
type Holding struct {
	log *slog.Logger
	// told says whether it is in the log already that a target has too few partitions.
	told func(detail string) bool

	mu   sync.Mutex
	held map[string]*held // by label
}

// held is what is held under one label.
type held struct {
	holds int // that have begun and not ended, of all lanes
	why   Why // as of the last line
}

// Why is what is wrong with a target that holds its records, with nothing of a record.
type Why struct{ State, Err string }

// Attrs are the attributes of a line about it: err is left out where none is known.
func (w Why) Attrs() []any {
	var out []any
	if w.State != "" {
		out = append(out, "state", w.State)
	}
	if w.Err != "" {
		out = append(out, "err", w.Err)
	}
	return out
}

// NewHolding returns one that holds nothing. told may be nil; it is called for a detail
// of [purgatory.Mismatched], and nothing is said of what it is true for.
func NewHolding(log *slog.Logger, told func(detail string) bool) *Holding {
	return &Holding{log: log, told: told, held: make(map[string]*held)}
}

// Why returns what is wrong with what a label is for, as it was logged, and nothing
// where it does not hold its records.
func (h *Holding) Why(label string) Why {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.held[label]; t != nil {
		return t.why
	}
	return Why{}
}

// note logs the first and the last hold of what a label is for, and changes between.
// Of a target that a header named neither the name is told nor what may quote it, and
// not a line for each. A change that another lane has noted is none any more.
func (h *Holding) note(n *purgatory.HoldNotice) {
	why := Why{State: n.Verdict.String(), Err: n.Detail}
	told := n.Held && n.Verdict == purgatory.Mismatched && h.told != nil && h.told(n.Detail)
	if n.Label != n.Target && n.Verdict == purgatory.Mismatched {
		why.Err = ""
	}
	h.mu.Lock()
	defer h.mu.Unlock() // over the line, or two lanes could say it in the wrong order
	t := h.held[n.Label]
	switch {
	case n.Held && t == nil:
		h.held[n.Label] = &held{holds: 1, why: why}
		h.say("target holds its records", n.Label, why, told)
	case n.Changed:
		if t.why.State != why.State {
			t.why = why
			h.say("target holds its records for another reason", n.Label, why, told)
		}
	case n.Held:
		t.holds++
	case t == nil: // a hold ends once, so there is none
	case t.holds > 1:
		t.holds--
	default:
		delete(h.held, n.Label)
		if !n.Forgotten {
			h.log.Info("target takes records again", "target", n.Label)
		}
	}
}

// say logs why a target holds its records, unless that is in the log already.
func (h *Holding) say(message, label string, why Why, told bool) {
	if !told {
		h.log.Warn(message, append([]any{"target", label}, why.Attrs()...)...)
	}
}
