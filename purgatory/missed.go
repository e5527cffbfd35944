package purgatory

// missedAfterMs is how long before an assignment a record was due to count as missed. A
// partition goes from one member to the next in less.
const missedAfterMs = 10_000

// missedApartMs is how far apart the deliveries after two downtimes are. Of the earlier one
// nothing is kept: its numbers would be told of the later one.
const missedApartMs = 15 * 60_000

// Missed sums up deliveries of records that were in the log when their partition was
// assigned, and due more than 10 s before. Nobody delivered them then. So it is after a
// downtime, and they are late whatever this process does.
type Missed struct {
	Records    int64
	EarliestMs int64 // deadline; of a record without a delay its timestamp
	LatestMs   int64 // the same
	AssignedMs int64 // when the partition of the last of them was assigned
	MostLateMs int64 // from deadline to acknowledgement
	LastMs     int64 // when the last of them was delivered
}

// Add adds up what two lanes have. Of two downtimes the later one alone is kept.
func (m *Missed) Add(o *Missed) {
	switch {
	case o.Records == 0 || m.Records > 0 && m.LastMs-o.LastMs >= missedApartMs:
		return
	case m.Records == 0 || o.LastMs-m.LastMs >= missedApartMs:
		*m = *o
		return
	}
	m.Records += o.Records
	m.EarliestMs, m.LatestMs = min(m.EarliestMs, o.EarliestMs), max(m.LatestMs, o.LatestMs)
	m.AssignedMs, m.MostLateMs, m.LastMs = max(m.AssignedMs, o.AssignedMs), max(m.MostLateMs, o.MostLateMs), max(m.LastMs, o.LastMs)
}

// note counts a record that its target took.
func (m *Missed) note(p *partition, h *header, nowMs int64) {
	dueMs := max(h.deadlineMs, h.timestampMs)
	if h.offset >= p.StableEnd || dueMs > p.assignedMs-missedAfterMs {
		return
	}
	m.Add(&Missed{1, dueMs, dueMs, p.assignedMs, nowMs - dueMs, nowMs})
}
