package purgatory

// Limits is how long an ingress topic may have to keep a record that can be moved, in milliseconds of its age.
type Limits struct {
	AgeMs int64 // that of the oldest record of a partition
	OldMs int64 // that of any record: it is old from then on; 0: none ever is
}

// Kept is what ingress keeps too long of what can be moved.
type Kept struct {
	Aged bool // the oldest record of a partition is older than AgeMs
	Old  bool // there may be old records, by OldMs
	// Long: a partition keeps more than three quarters of its span, and a quarter of it was read since this was
	// said last. Records in the first half of such a span are old.
	Long bool
}

// Behind says what ingress keeps too long, in partitions that can move records. A span is the offsets between the
// first that is not finished and the read position: a restart reads them again. What is old GatherKept takes.
//
// It asks for the limits of every topic, as one that can move nothing now may in a second. Records that nothing
// moves make a partition aged or old for ever, so the caller decides how often it asks.
func (r *Runs) Behind(limits func(topic string) Limits, span int64) (k Kept) {
	for p := range r.parts.here() {
		most, m := limits(p.Topic), &p.moved
		if p.parked == 0 || !p.movable(r.now.MonotonicMs, false) {
			continue
		}
		if m.oldUntil = 0; most.OldMs > 0 {
			m.oldUntil = r.now.WallMs - most.OldMs
		}
		oldest := p.oldestNeededMs()
		k.Aged = k.Aged || oldest > 0 && r.now.WallMs-oldest > most.AgeMs
		k.Old = k.Old || oldest > 0 && oldest <= m.oldUntil
		if m.oldBelow = 0; p.next-p.Window.Low() > span*3/4 {
			m.oldBelow = p.next - span/2
			if p.next-m.longAt >= span/4 {
				k.Long, m.longAt = true, p.next
			}
		}
	}
	return k
}

// isOld reports whether a record is not to wait in ingress: it has been there for so long, or so far back.
func (m *moved) isOld(h *header) bool {
	return h.timestampMs > 0 && h.timestampMs <= m.oldUntil || h.offset < m.oldBelow
}
