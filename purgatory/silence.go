package purgatory

const (
	// silentMs is how long a partition leaves its copies in flight without an answer until others do not wait
	// for it. Its leader may be away for weeks.
	silentMs = 10_000

	// copyRoomShare divides the room beside copies of silent partitions: one part of so many may be in flight to
	// others. What falls silent at once leaves the other parts.
	copyRoomShare = 2
)

// silence is what is in flight to silent partitions, and what is gathered of stalled ones. A copy keeps its memory, and
// its place in the client's buffer, until the answer.
type silence struct {
	copies  int
	records int64 // of those copies, but for records that are parked again; and gathered ones
	bytes   int64 // of those records
}

// silent reports whether a partition has copies in flight and answers none. Nothing more of it is moved before
// the next answer.
func (p *partition) silent(nowMs int64) bool {
	return p.src.moving > 0 && nowMs-p.moved.answeredMs >= silentMs
}

// stalled reports whether records of a partition are gathered, and none has been moved for so long. Its copies are
// refused, or its commits, or nobody tells of which log it is. It goes on as it may, and no flush waits for it.
func (p *partition) stalled(nowMs int64) bool {
	return len(p.moved.gathered) > 0 && nowMs-p.moved.progressMs >= silentMs
}

// silence adds up the silent partitions, also those that are gone, and the stalled ones.
func (r *Runs) silence() (s silence) {
	if r.stats.Gathered == 0 && r.Flying() == 0 {
		return s
	}
	for _, p := range r.parts.list {
		if p == nil {
			continue
		}
		m := &p.moved
		if p.stalled(r.now.MonotonicMs) {
			s.bytes += m.gatheredBytes
			for _, list := range m.gathered {
				s.records += int64(len(list))
			}
		}
		if p.silent(r.now.MonotonicMs) {
			s.copies += p.src.moving
			s.records += int64(p.src.moving - m.given)
			s.bytes += m.flyingBytes - m.givenBytes
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
