package purgatory

// Limits is how long an ingress topic may have to keep a record that can be moved, in milliseconds of its age.
type Limits struct {
	AgeMs int64 // that of the oldest record of a partition
	OldMs int64 // that of any record: it is old from then on; 0: none ever is
}

// Behind reports whether a partition that can move records makes ingress keep what is older than
// the limits of its topic say, or more than span offsets; and whether there may be old records, which
// GatherKept takes. It asks for the limits of every topic, as one that can move nothing now may in a
// second. Records that nothing moves make a partition old for ever, so the caller decides how often it
// asks.
func (r *Runs) Behind(limits func(topic string) Limits, span int64) (behind, old bool) {
	for p := range r.parts.here() {
		most, m := limits(p.Topic), &p.moved
		if p.parked == 0 || !p.movable(r.now.MonotonicMs, false) {
			continue
		}
		if m.oldUntil = 0; most.OldMs > 0 {
			m.oldUntil = r.now.WallMs - most.OldMs
		}
		oldest := p.oldestNeededMs()
		behind = behind || oldest > 0 && r.now.WallMs-oldest > most.AgeMs || p.next-p.Window.Low() > span
		old = old || oldest > 0 && oldest <= m.oldUntil
	}
	return behind, old
}

// isOld reports whether ingress has kept a record for so long that it is not to wait there.
func (m *moved) isOld(h *header) bool { return h.timestampMs > 0 && h.timestampMs <= m.oldUntil }
