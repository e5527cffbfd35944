package purgatory

import (
	"math"

	"layover/journal/runs"
)

// Known returns how many partitions' runs are known.
func (r *Runs) Known() (n int) {
	for p := range r.parts.here() {
		if p.moved.index != nil {
			n++
		}
	}
	return n
}

// MovingBytes returns the bytes of records that are gathered or in flight to runs partitions that are neither silent nor
// slow.
func (r *Runs) MovingBytes() int64 { return r.bytes - r.silence().bytes }

// MovableBytes returns the bytes of records that may be moved, however soon they are due, without those on their way.
func (r *Runs) MovableBytes() int64 {
	movable := r.store.movable - (r.bytes - r.apart)
	if r.now.MonotonicMs >= r.largeAfter {
		movable += r.store.usedBy(tooLargeClass) + r.store.usedBy(tooLargeCopies) - r.large
	}
	return movable
}

// OnceMovableBytes returns the same with those on their way, which may be refused.
func (r *Runs) OnceMovableBytes() int64 { return r.store.movable }

// LoadedBytes returns the bytes of records in memory that were read from runs topics.
func (r *Runs) LoadedBytes() int64 { return r.out.dir.copies }

// Stranded returns how much of what was read from there, at most, waits for something else than its deadline or its
// turn to leave. It need not keep others from being read. It is held, or waits behind refusals, for the dead-letter
// topic, for membership, or in flight for a silent partition. Or it was loaded to be moved again.
func (r *Runs) Stranded() (bytes int64) {
	o := r.out
	bytes = o.flights.stuckBytes + r.ReloadedBytes() + r.store.usedBy(tooLargeCopies)
	for p := range r.parts.here() {
		bytes += p.src.waiting.bytes
	}
	for _, t := range o.busy {
		if t != o.dir.dead {
			_, held := t.held()
			bytes += min(held+t.rejected(r.now.MonotonicMs), t.copies)
		}
	}
	if o.dir.dead != nil && o.deadLettersWait() {
		bytes += o.dir.dead.waiting()
	}
	return min(bytes, o.dir.copies)
}

// ReloadedBytes returns the bytes of copies in memory that were loaded to be moved again. Its cost grows with the
// chunks.
func (r *Runs) ReloadedBytes() int64 { return r.store.usedBy(reloadedClass) }

// AgainBytes returns how much of what was loaded to be moved again may be tried now. What was refused for its size may
// not, for a while.
func (r *Runs) AgainBytes() int64 {
	if r.now.MonotonicMs < r.largeAfter {
		return r.ReloadedBytes()
	}
	return r.ReloadedBytes() + r.store.usedBy(tooLargeCopies)
}

// PutBackBytes returns the bytes of copies in memory that are late and wait for their instant of the catch-up.
func (r *Runs) PutBackBytes() int64 { return r.parking.catching.copies }

// Moving reports whether anything is gathered or in flight that a flush waits for.
func (r *Runs) Moving() bool { return r.stats.Gathered > r.silence().records }

// Underway reports whether anything is gathered or in flight, also to partitions that no flush waits for.
func (r *Runs) Underway() bool { return r.stats.Gathered > 0 }

// Flying returns how many copies are in flight.
func (r *Runs) Flying() int { return len(r.flying) - len(r.free) }

// Lost returns how many offsets are gone from the runs topics, each of which may have been a copy.
func (r *Runs) Lost() int64 { return r.stats.LostFromRuns }

// Crowded reports whether a partition has moved half as many records since its last commit as it
// may. Then a commit is to come soon.
func (r *Runs) Crowded() bool {
	return r.parts.some(func(p *partition) bool {
		return !p.commit.underway && p.moved.uncommitted >= movedUncommitted/2
	})
}

// DueBy returns at most how many copies in runs, and bytes, are due at an instant or before, in
// Unix milliseconds. Its cost grows with the runs.
func (r *Runs) DueBy(ms int64) (a runs.Amount) {
	for p := range r.parts.here() {
		if x := p.moved.index; x != nil {
			due := x.DueBy(ms)
			a.Copies, a.Bytes = a.Copies+due.Copies, a.Bytes+due.Bytes
		}
	}
	return a
}

// RunsDueBy returns how many runs have something to be read that is due at an instant or before, in Unix
// milliseconds. Its cost grows with the runs.
func (r *Runs) RunsDueBy(ms int64) (n int) {
	for p := range r.parts.here() {
		if x := p.moved.index; x != nil {
			n += x.RunsDueBy(ms)
		}
	}
	return n
}

// NextVisit returns the instant at which Visits has something to do by the clock alone, where
// copies are read soonMs before they are due. ok is false where nothing is in any run. Its cost grows
// with the runs.
func (r *Runs) NextVisit(soonMs int64) (ms int64, ok bool) {
	ms = math.MaxInt64
	for p := range r.parts.here() {
		m := &p.moved
		if m.index == nil || m.visiting || p.src.draining {
			continue
		}
		if due, any := m.index.NextDueMs(r.now.WallMs+soonMs, math.MaxInt64); any {
			pause := m.visitsAfter - r.now.MonotonicMs
			if below := m.below(r.now.MonotonicMs); below < math.MaxInt64 {
				if due, any = m.index.NextDueMs(r.now.WallMs+soonMs, below); !any {
					pause = max(pause, m.endsUntil-r.now.MonotonicMs)
				}
			}
			ms, ok = min(ms, max(due-soonMs, r.now.WallMs+pause)), true
		}
	}
	return ms, ok
}
