package purgatory

import "layover/purgatory/far"

// cleaning is where the next call of Cleanings goes on.
type cleaning struct {
	from  int  // slot of the partition
	found bool // since slot 0 something to be moved again was found
}

// Cleanings appends to out the visits with which runs are loaded whole, to be moved again: at most so many. There is one
// where the log of a runs partition takes too much for what waits in it, or many of its runs are small. Cleanings is
// for when nothing is late by seconds, and there is room for so many bytes. A copy that is loaded so is parked like any
// other, and the next flush moves it.
//
// Partitions whose small runs become one take the room in turn. Where all of them had a part of it, each might load one
// run at a time, which is moved as one again.
//
// A call looks at runsLookMost runs, and those of one partition beyond: nothing is delivered meanwhile. more: the next
// one goes on with others, or something was found since the first partition.
func (r *Runs) Cleanings(out []Visit, c far.Cleaning, room int64, most int) (visits []Visit, more bool) {
	left, from := runsLookMost, r.cleaning.from
	for slot, p := range r.parts.list {
		looks := slot >= from
		if looks && (left <= 0 || most <= 0) {
			r.cleaning.from = slot
			return out, true
		}
		if p == nil || !p.cleanable(*r.now) {
			continue
		}
		m := &p.moved
		v, ok := far.Visit{}, false
		if looks {
			left -= m.index.Runs()
			v, ok = r.clean(m, c)
		}
		waits := m.merging > 0 && room <= 0
		if !m.unread { // else nobody waits for it
			room -= m.merging
			r.cleaning.found = r.cleaning.found || ok
		}
		if !ok || waits || m.visiting || r.now.MonotonicMs < m.visitsAfter {
			continue
		}
		m.visiting = true
		whole := m.visit(p.Assignment, v.From, v.To)
		whole.Whole = true
		out = append(out, whole)
		most--
	}
	more, r.cleaning = r.cleaning.found, cleaning{}
	return out, more
}

// refusesMs is how long nothing is loaded to be moved again of a partition that has refused its last copy. What was loaded
// before is tried each minute.
const refusesMs = 2 * 60_000

// cleanable reports whether runs of a partition may be moved again now: it takes copies, and none is on its way.
func (p *partition) cleanable(now Clock) bool {
	m := &p.moved
	refuses := m.wary && now.MonotonicMs < m.pauseUntil+refusesMs || now.WallMs < m.largeUntil
	return !p.src.gone && p.movable(now.MonotonicMs, true) && !refuses && p.src.moving == 0 && len(m.gathered) == 0
}

// clean returns what is to be loaded of a partition.
func (r *Runs) clean(m *moved, c far.Cleaning) (v far.Visit, ok bool) {
	v, ok = m.index.Clean(c, m.firstHalted())
	ok = ok && v.From < m.below(r.now.MonotonicMs)
	if m.merging = 0; ok && m.index.Merging() {
		m.merging = v.Bytes
	}
	return v, ok
}
