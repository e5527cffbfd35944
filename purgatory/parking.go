package purgatory

import (
	"math"

	"layover/wheel"
)

// parking is where records wait for their deadlines: a wheel of locations in the store.
type parking struct {
	store    *store
	wheel    *wheel.TimingWheel
	geometry wheel.Geometry

	// nextDueMs is the earliest deadline in the wheel, while it is ahead of the
	// clock; otherwise it has to be looked up.
	nextDueMs int64
	doneMs    int64    // monotonic clock of the last advance that left nothing undone
	due       []uint64 // scratch of advance
}

func newParking(s *store, g wheel.Geometry, nowMs int64) parking {
	return parking{store: s, geometry: g, wheel: wheel.New(nowMs, g)}
}

// add parks the record at a location.
func (p *parking) add(loc location, deadlineMs int64) {
	handle := p.wheel.Add(deadlineMs, uint64(loc))
	p.store.move(loc, inWheel, uint64(handle))
}

// cancel takes out a record with an id; false where its handle is none.
func (p *parking) cancel(handle uint64, deadlineMs int64) bool {
	if deadlineMs == p.nextDueMs {
		p.nextDueMs = 0
	}
	return p.wheel.Cancel(wheel.Handle(handle))
}

// stepBackMs is how far the wall clock may go back before the wheel is rebuilt;
// up to here the wheel waits until the clock has caught up.
const stepBackMs = 1000

// advance takes the time and returns the locations of at most budget records that the
// wheel calls due, good until the next call; more says that there are others. lagMs is how
// late that is for the first of them, -1 for none.
func (p *parking) advance(now Clock, budget int) (due []uint64, more bool, lagMs int64) {
	if now.WallMs < p.wheel.NowMs()-stepBackMs {
		p.rebuild(now.WallMs)
	}
	lagMs = -1
	if ms, ok := p.wheel.NextDeadline(); ok && ms <= now.WallMs { // a clock that was stepped is nobody's lag
		lagMs = min(now.WallMs-ms, now.MonotonicMs-p.doneMs)
	}
	p.due, more = p.wheel.AdvanceClock(now.WallMs, budget, p.due[:0])
	if !more {
		p.doneMs = now.MonotonicMs
	}
	return p.due, more, lagMs
}

// rebuild moves everything into a new wheel that starts at a wall clock which
// was stepped back: the old one is ahead of it and would make short delays late.
// The old one is run to its end rather than drained: that keeps the order of equal
// deadlines without a sort, or a list, of everything parked.
func (p *parking) rebuild(wallMs int64) {
	old := p.wheel
	p.wheel = wheel.New(wallMs, p.geometry)
	for more := true; more; {
		p.due, more = old.AdvanceClock(math.MaxInt64, rebuildBudget, p.due[:0])
		for _, payload := range p.due {
			h := readHeader(p.store.at(location(payload)))
			p.add(location(payload), h.fireMs(wallMs))
		}
	}
}

// rebuildBudget is how many records are moved at a time, to bound scratch memory.
const rebuildBudget = 4096

// sweep takes out the records that match, in one pass over all, and returns how many.
func (p *parking) sweep(match func(loc location) bool) int64 {
	swept := p.wheel.Sweep(func(payload uint64) bool { return match(location(payload)) })
	p.nextDueMs = 0
	return int64(swept)
}

// soonest returns the earliest deadline of all that is parked, 0 where nothing is.
func (p *parking) soonest(nowMs int64) int64 {
	if p.nextDueMs <= nowMs {
		p.nextDueMs, _ = p.wheel.Earliest()
	}
	if p.wheel.Len() == 0 {
		return 0
	}
	return p.nextDueMs
}
