package purgatory

import "layover/purgatory/far"

// Cleanings appends to out the visits with which runs are loaded whole, to be moved again. There is one where
// the log of a runs partition takes too much for what waits in it, or many of its runs are small. Cleanings is
// for when nothing is late by seconds, and there is room. A copy that is loaded so is parked like any other, and
// the next flush moves it.
func (r *Runs) Cleanings(out []Visit, c far.Cleaning) []Visit {
	for p := range r.parts.here() {
		m := &p.moved
		if m.visiting || r.now.MonotonicMs < m.visitsAfter || !p.movable(r.now.MonotonicMs, true) || p.src.moving > 0 || len(m.gathered) > 0 {
			continue
		}
		if v, ok := m.index.Clean(c, m.firstHalted()); ok && v.From < m.below(r.now.MonotonicMs) {
			m.visiting = true
			whole := m.visit(p.Assignment, v.From, v.To)
			whole.Whole = true
			out = append(out, whole)
		}
	}
	return out
}
