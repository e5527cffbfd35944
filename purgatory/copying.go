package purgatory

import "layover/purgatory/far"

const (
	// giveUpMs is how long before its deadline a record is parked again whose copy is not answered.
	giveUpMs = 2000
	// giveUpEveryMs is the time between two looks for such.
	giveUpEveryMs = 500

	// AloneBytes is the size of a record above which its copy may get a batch of its own. Of these a client has one in
	// flight at a time, and keeps the others in a queue. Here they can be given up, so it gets aloneInFlight of each
	// partition: the second is sent with the answer to the first.
	AloneBytes    = 59 << 10
	aloneInFlight = 2
)

// copying is a copy in flight.
type copying struct {
	loc        location
	from       *source
	size       int64
	deadlineMs int64
	run        uint64
	origin     int64 // offset of the record in ingress
	to         *far.Index
	epoch      int32 // of that, when it was sent
	place      place
	given      bool // the record was parked again, and its bytes are retained until the answer
	stays      bool // then it has stayed unfinished, and was in no log: see stays
}

// Answer is how a Move ended.
type Answer struct {
	ID     int32
	Acked  bool
	Offset int64 // in the runs partition, if acknowledged
	Bytes  int64 // that the copy takes there
	// TooLarge: it was refused for its own size, so that smaller ones are not.
	TooLarge bool
}

// Moved takes the answers to moves.
func (r *Runs) Moved(now Clock, answers []Answer) {
	*r.now = now
	for i := range answers {
		r.moved(&answers[i])
	}
	if r.Flying() == 0 { // ids begin at 0 again: callers have memory for each up to the highest
		r.flying, r.free = r.flying[:0], r.free[:0]
	}
}

func (r *Runs) moved(a *Answer) {
	c := r.flying[a.ID]
	r.flying[a.ID] = copying{}
	r.free = append(r.free, a.ID)
	p := r.parts.list[c.from.slot]
	m := &p.moved
	c.from.moving--
	m.fly(-1, c.size)
	m.answeredMs = r.now.MonotonicMs
	if c.given {
		m.given--
		m.givenBytes -= c.size
		r.lateAnswer(p, a, &c)
		return
	}
	r.stats.Gathered--
	h := readHeader(r.store.at(c.loc))
	switch {
	case p.src.gone: // whoever has the partition next reads the copy, and perhaps its origin
		r.stats.HandedOver++
		if !a.Acked { // else its copy is read
			r.stats.orphaned(p, &h, 1, r.now.WallMs)
		}
		r.underway(c.loc, -c.size)
		r.out.release(c.loc, &h)
		r.parts.retire(c.from)
		return
	case r.acked(p, a, &c):
		m.uncommitted++
		r.stats.Moved++
		if _, again := h.place().inRuns(); again {
			r.stats.Cleaned++
		}
		if r.store.tooLarge(c.loc) { // no more
			m.largeUntil = 0
		}
		p.finish(h.place())
		r.underway(c.loc, -c.size)
		r.out.release(c.loc, &h)
	default: // its copy, if there is one, is delivered as well
		r.refused(m, a, &c)
		if a.TooLarge {
			c.loc = r.setApart(c.loc, &h)
		}
		r.park(p, c.loc)
	}
	r.answered(p)
}

// answered ends the run of a partition with the last answer of a flush.
func (r *Runs) answered(p *partition) {
	m := &p.moved
	if p.src.moving == 0 && len(m.gathered) == 0 && m.index != nil {
		m.index.Seal()
		m.index.Answered()
		m.number++
	}
}

// acked gives the index an acknowledgement. False: there is none that counts; or the log may be
// another one than it was, and a visit asks.
func (r *Runs) acked(p *partition, a *Answer, c *copying) bool {
	m := &p.moved
	if !a.Acked || c.to != m.index || m.doubtful {
		return false
	}
	m.doubtful = !m.index.AckedOf(c.epoch, far.Found{Offset: a.Offset, DeadlineMs: c.deadlineMs, Bytes: a.Bytes, Origin: c.origin, Run: c.run})
	r.lose(p, m.index.Lost())
	m.asks = m.asks || m.index.Unsure() >= askUnsure
	m.wary = m.wary && m.doubtful
	return !m.doubtful
}

// refused has the copies of a partition pause, and go one by one until one is taken. After one that was too large for the
// topic others go on. Where it was loaded to be moved again, nothing more is, until it is due.
func (r *Runs) refused(m *moved, a *Answer, c *copying) {
	if !a.TooLarge {
		m.pauseUntil, m.wary = r.now.MonotonicMs+againMs, m.wary || !a.Acked
		return
	}
	if r.now.MonotonicMs >= r.largeAfter {
		r.largeAfter = r.now.MonotonicMs + tooLargeMs
	}
	if _, again := c.place.inRuns(); again {
		m.largeUntil = max(m.largeUntil, c.deadlineMs)
	}
}

// setApart carries a record that was refused for its size into a class of its own. It is not moved before largeAfter, and
// until then does not count as movable: flush after flush would move little beside it. Its size before compression says
// nothing about others.
func (r *Runs) setApart(loc location, h *header) location {
	if r.store.tooLarge(loc) {
		return loc
	}
	classNo, size := tooLargeClass, int(h.total())
	r.underway(loc, -int64(size))
	if h.marks&isCopy != 0 {
		classNo = tooLargeCopies
	}
	loc = r.store.rechunk(loc, classNo, size)
	r.underway(loc, int64(size)) // until it is parked
	return loc
}

// underway counts the bytes of a record that is gathered or in flight.
func (r *Runs) underway(loc location, size int64) {
	r.bytes += size
	if !movableClass(r.store.chunks[loc>>locationBits].class) {
		r.apart += size
	}
	if r.store.tooLarge(loc) {
		r.large += size
	}
}

// tooLarge reports whether a record, without an id, is in a class of those.
func (s *store) tooLarge(loc location) bool {
	classNo := s.chunks[loc>>locationBits].class
	return classNo == tooLargeClass || classNo == tooLargeCopies
}

// takes reports whether one more copy of a partition may be in flight.
func (r *Runs) takes(p *partition) bool {
	m := &p.moved
	if m.index.Unsure() >= mostUnsure { // the log is asked
		return false
	}
	more := !m.wary && m.flyingBytes < copiesInFlight && m.flyingAlone < aloneInFlight
	return !p.src.draining && !m.doubtful && r.now.MonotonicMs >= m.pauseUntil && (more || p.src.moving == 0) &&
		int64(p.src.moving)+m.uncommitted+m.committing < movedUncommitted
}

// fly counts a copy that is sent, or -1 for one that is answered.
func (m *moved) fly(n int, size int64) {
	m.flyingBytes += int64(n) * size
	if size > AloneBytes {
		m.flyingAlone += n
	}
}

// giveUp parks records again that are due soon and whose copies are not answered: the client sends
// those without end. Their bytes stay, for the client reads them.
func (r *Runs) giveUp() {
	if r.Flying() == 0 || r.now.MonotonicMs < r.gaveUp+giveUpEveryMs {
		return
	}
	r.gaveUp = r.now.MonotonicMs
	for id := range r.flying {
		c := &r.flying[id]
		if c.from == nil || c.given || c.from.gone || c.deadlineMs > r.now.WallMs+giveUpMs {
			continue
		}
		p := r.parts.list[c.from.slot]
		c.given = true
		p.moved.given++
		p.moved.givenBytes += c.size
		r.store.retain(c.loc)
		r.stats.Gathered--
		r.park(p, c.loc)
	}
}

// givenUp returns the copy in flight of what is at a place, and was parked again; nil where none is.
func (r *Runs) givenUp(p *partition, at place) *copying {
	for id := range r.flying {
		if c := &r.flying[id]; c.given && c.from == p.src && c.place == at {
			return c
		}
	}
	return nil
}

// lateAnswer takes the answer to the copy of a record that was parked again. Where the record has
// its outcome by now, the copy has it as well. Else both count. Of one that stays unfinished and is in
// no log, the copy counts alone, and without it the record is lost.
func (r *Runs) lateAnswer(p *partition, a *Answer, c *copying) {
	r.store.letGo(c.loc)
	m := &p.moved
	if p.src.gone {
		r.parts.retire(c.from)
		return
	}
	acked := r.acked(p, a, c)
	if !acked {
		r.refused(m, a, c)
	}
	switch copyAt, _ := c.place.inRuns(); {
	case c.stays:
		m.ended(copyAt)
		if !a.Acked { // else it is there, whatever log that is by now
			r.lose(p, 1)
		}
	case acked && p.isFinished(c.place) && c.epoch == m.index.LeaderEpoch(): // else another may stand there
		m.index.Finish(a.Offset)
		p.commit.dirty = true
	}
	r.answered(p)
}
