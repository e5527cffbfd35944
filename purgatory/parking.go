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
	latestMs  int64    // latest wall clock since the wheel was made; the wheel may be behind it
	due       []uint64 // scratch of advance
	catching  catching // the records in the wheel that were put back
}

func newParking(s *store, g wheel.Geometry, nowMs int64) parking {
	return parking{store: s, geometry: g, wheel: wheel.New(nowMs, g), latestMs: nowMs}
}

// parked reads a payload of the wheel: the location of a record, and whether it was put back.
func parked(payload uint64) (loc location, putBack bool) {
	loc = location(payload)
	return loc &^ isPutBack, loc&isPutBack != 0
}

// add parks the record at a location.
func (p *parking) add(loc location, deadlineMs int64) {
	handle := p.wheel.Add(deadlineMs, uint64(loc))
	p.store.move(loc, inWheel, uint64(handle))
}

// again parks a record that was in the wheel before: until its deadline, or its instant where
// it is put back.
func (p *parking) again(loc location, fireMs int64, putBack bool) {
	p.nextDueMs = min(p.nextDueMs, fireMs)
	if !putBack {
		p.add(loc, fireMs)
		return
	}
	handle := p.wheel.Add(fireMs, uint64(loc|isPutBack))
	p.store.move(loc, inWheel, uint64(handle))
	if loc&named != 0 {
		p.store.markPutBack(loc)
	}
}

// cancel takes out a record with an id, by the handle in its header.
func (p *parking) cancel(handle uint64, h *header) {
	expires := h.marks&hasExpiry != 0 && h.expireMs == p.nextDueMs // before its instant
	if h.deadlineMs == p.nextDueMs || h.marks&wasPutBack != 0 || expires {
		p.nextDueMs = 0
	}
	if !p.wheel.Cancel(wheel.Handle(handle)) {
		panic("purgatory: a record with an id is not where its header says")
	}
	if h.marks&wasPutBack != 0 {
		p.catching.leave(p.catching.labelOf(h), h)
	}
}

// stepBackMs is how far the wall clock may go back before the wheel is rebuilt.
// Up to here the wheel waits until the clock has caught up.
const stepBackMs = 1000

// advance takes the time and returns the locations of at most budget records that the
// wheel calls due, good until the next call. more says that there are others. lagMs is how
// late the first of those returned is called due, -1 for none.
func (p *parking) advance(now Clock, budget int) (due []uint64, more bool, lagMs int64) {
	if now.WallMs < p.latestMs-stepBackMs {
		p.rebuild(now.WallMs)
	}
	p.latestMs = max(p.latestMs, now.WallMs)
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

// rebuild moves everything into a new wheel that starts at a wall clock which was
// stepped back. The old wheel is ahead of that clock and would make short delays
// late. It is run to its end rather than drained. That keeps the order of equal
// deadlines without a sort, or a list, of everything parked.
//
// The instants of records that were put back move with the clock, but not to before their
// deadlines. Nothing but the old wheel knows them, so it is run from one instant to the next
// while it may hold such records. It does not know those that were in its past when they were
// given, after a shorter step. For each of these the latest of all stands.
func (p *parking) rebuild(wallMs int64) {
	old, back, lastMs := p.wheel, p.latestMs-wallMs, p.catching.untilMs+p.geometry.TickMs
	p.wheel, p.latestMs = wheel.New(wallMs, p.geometry), wallMs
	p.catching.stepBack(back)
	for more := true; more; {
		until, single := old.NextDeadline()
		if single = single && until < lastMs; !single {
			until = math.MaxInt64
		}
		p.due, more = old.AdvanceClock(until, rebuildBudget, p.due[:0])
		more = more || single
		for _, payload := range p.due {
			loc, putBack := parked(payload)
			h := readHeader(p.store.at(loc))
			fireMs := h.fireMs(wallMs)
			if putBack {
				fireMs = max(fireMs, min(until, lastMs)-back)
				p.catching.move(&h, fireMs)
			}
			p.again(loc, fireMs, putBack)
		}
	}
}

// rebuildBudget is how many records are moved at a time, to bound scratch memory.
const rebuildBudget = 4096

// sweep takes out the records that match, in one pass over all, and returns how many.
func (p *parking) sweep(match func(loc location, putBack bool) bool) int64 {
	swept := p.wheel.Sweep(func(payload uint64) bool { return match(parked(payload)) })
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
