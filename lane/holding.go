package lane

import (
	"sync"

	"layover/purgatory"
)

// Holding has the reasons for which targets hold their records, one for each target
// however many lanes hold some. All lanes of a process share one. Its methods may be called from any
// goroutine.
type Holding struct {
	mu   sync.Mutex
	held map[string]*held // by label
}

// held is the holds under one label.
type held struct {
	holds int // that have begun and not ended, of all lanes
	why   Why // as of the last line
}

// Why is the reason for which a target holds its records, with nothing of a record.
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

// NewHolding returns one that holds nothing.
func NewHolding() *Holding { return &Holding{held: make(map[string]*held)} }

// Why returns the reason for the holds under a label, as it was logged, and an empty one
// where nothing is held.
func (h *Holding) Why(label string) Why {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.held[label]; t != nil {
		return t.why
	}
	return Why{}
}

// note counts the holds under a label, and notes changes of their reason. Of a target that
// a header named nothing is kept that may quote its name.
func (h *Holding) note(n *purgatory.HoldNotice) {
	why := Why{State: n.Verdict.String(), Err: n.Detail}
	if n.Label != n.Target && n.Verdict == purgatory.Mismatched {
		why.Err = ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.held[n.Label]
	switch {
	case n.Held && t == nil:
		h.held[n.Label] = &held{holds: 1, why: why}
	case n.Changed:
		if t != nil {
			t.why = why
		}
	case n.Held:
		t.holds++
	case t == nil: // a hold ends once, so there is none
	case t.holds > 1:
		t.holds--
	default:
		delete(h.held, n.Label)
	}
}
