package purgatory

const (
	// silentMs is how long a partition leaves its copies in flight without an answer until others do not wait
	// for it. Its leader may be away for weeks.
	silentMs = 10_000

	// copyRoomShare divides the room beside copies of silent partitions: one part of so many may be in flight to
	// others. What falls silent at once leaves the other parts.
	copyRoomShare = 2
)

// silence is what nobody waits for: what is in flight to silent and slow partitions, and what is gathered of these. A
// copy keeps its memory, and its place in the client's buffer, until the answer.
type silence struct {
	copies  int   // in flight to silent partitions
	records int64 // gathered or in flight, but for those that are parked again
	bytes   int64 // of those records
}

// silent reports whether a partition has copies in flight and answers none. Nothing more of it is moved before
// the next answer.
func (p *partition) silent(nowMs int64) bool {
	return p.src.moving > 0 && nowMs-p.moved.answeredMs >= silentMs
}

// slow reports whether records of a partition are on their way for so long since they were gathered. Its copies are
// refused, or its commits, or nobody tells of which log it is, or there are many, or its leader takes long for each. It
// goes on as it may, and no flush waits for it.
func (p *partition) slow(nowMs int64) bool {
	m := &p.moved
	return (len(m.gathered) > 0 || p.src.moving > m.given) && nowMs-m.gatheredMs >= silentMs
}

// silence adds up the silent partitions, also those that are gone, and the slow ones.
func (r *Runs) silence() (s silence) {
	if r.stats.Gathered == 0 && r.Flying() == 0 {
		return s
	}
	for _, p := range r.parts.list {
		if p == nil {
			continue
		}
		m, silent := &p.moved, p.silent(r.now.MonotonicMs)
		if silent {
			s.copies += p.src.moving
		}
		if silent || p.slow(r.now.MonotonicMs) {
			s.records += int64(p.src.moving - m.given)
			s.bytes += m.flyingBytes - m.givenBytes + m.gatheredBytes
			for _, list := range m.gathered {
				s.records += int64(len(list))
			}
		}
	}
	return s
}

// Answering returns how many copies are in flight to partitions that are not silent.
func (r *Runs) Answering() int { return r.Flying() - r.silence().copies }

// room returns how many more copies may be in flight beside those that are, of most; negative for none.
//
// Invariant: copies in flight are at most Config.MaxCopies, which
// TestCopiesInFlightFitTheRoomHoweverManyPartitionsAreSilent checks.
func (s *silence) room(most, flying int) int {
	return (most-s.copies+copyRoomShare-1)/copyRoomShare - (flying - s.copies)
}

// crowded reports whether so much is silent that a partition has to answer one copy before it gets a second. Each
// partition that falls silent between two flushes costs one copy of the room.
func (s *silence) crowded(most int) bool { return s.copies >= most/copyRoomShare }
