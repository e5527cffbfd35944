package purgatory

import "unsafe"

// Horizons are the distances, in milliseconds, within which Outlook counts due records.
var Horizons = [7]int64{1000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000}

// Outlook is the records ahead of the clock and behind it. It costs more than a
// snapshot and so is looked at less often.
type Outlook struct {
	// DueWithin counts the records that wait, by horizon: those due within it,
	// and those that are due already. A late one that was put back counts by its instant.
	DueWithin [len(Horizons)]int64
	// OldestOverdueMs is the earliest deadline of the records that are first in
	// their queues, of those in flight, and of those that were put back. It is 0 where none is due. A record without
	// a deadline of its own, such as a dead letter, counts from when it was put in flight, or from when its queue
	// was held.
	OldestOverdueMs int64
	// OldestLateMs is the same without what is held for a target or a partition of it. It leaves out what waits for
	// membership, or for its turn after an outage. It leaves out runs partitions whose last visit failed, too.
	OldestLateMs int64
	Runs         RunsOutlook
}

// Outlook looks ahead from the core's clock. Its cost grows with the buckets of the
// wheel, the queues, and the records in flight: some 0.3 ms with ten million parked.
func (c *Core) Outlook() Outlook {
	var o Outlook
	if c.parking.wheel.Len() > 0 {
		instants := Horizons
		for i := range instants {
			instants[i] += c.now.WallMs
		}
		c.parking.wheel.Within(instants[:], o.DueWithin[:])
	}
	c.lookAtRuns(&o)
	due := int64(0)
	for p := range c.parts.here() {
		due += int64(p.src.due)
	}
	for i := range o.DueWithin {
		o.DueWithin[i] += due
	}
	c.lookAtOldest(&o)
	return o
}

// lookAtOldest looks for the oldest record that is due, where each waits or is in flight.
func (c *Core) lookAtOldest(o *Outlook) {
	for p := range c.parts.here() {
		o.overdue(c.dueSince(p.src.waiting.front(), p.src.waitsMs), c.now.WallMs, !p.src.mayDeliver())
		o.overdue(c.dueSince(p.src.behind.front(), p.src.behindMs), c.now.WallMs, false)
	}
	for _, u := range c.parking.catching.labels {
		o.overdue(u.oldestMs(c.now.WallMs), c.now.WallMs, true)
	}
	for _, t := range c.out.busy {
		o.overdue(c.dueSince(t.queue.front(), t.hold.sinceMs), c.now.WallMs, t.hold.held)
		for _, d := range t.dests {
			o.overdue(c.dueSince(d.overflow.front(), d.heldSinceMs()), c.now.WallMs, d.stalled)
		}
	}
	for i := range c.out.flights.list {
		if f := &c.out.flights.list[i]; f.busy && !f.entry.from.gone {
			o.overdue(c.dueSince(&f.entry, f.sinceMs), c.now.WallMs, f.dest.stalled || f.dest.target.hold.held)
		}
	}
}

// dueSince returns the deadline of a record, in Unix milliseconds. It is sinceMs where it has none of its own, and 0 for no
// record.
func (c *Core) dueSince(e *entry, sinceMs int64) int64 {
	switch {
	case e == nil:
		return 0
	case e.hasDeadline(c.store):
		return readHeader(c.store.at(e.loc)).deadlineMs
	}
	return sinceMs
}

// hasDeadline says whether a record asked for a deadline and goes where it asked.
func (e *entry) hasDeadline(s *store) bool {
	return e.failure == nil && !readHeader(s.at(e.loc)).atOnce
}

// overdue notes the deadline of a record; 0: there is none. held: nothing that is done here would help it now.
func (o *Outlook) overdue(ms, nowMs int64, held bool) {
	if ms == 0 || ms > nowMs {
		return
	}
	o.OldestOverdueMs = oldest(o.OldestOverdueMs, ms)
	if !held {
		o.OldestLateMs = oldest(o.OldestLateMs, ms)
	}
}

// oldest returns the earlier of two instants, of which the first may be 0 for none.
func oldest(a, b int64) int64 {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// maxAges bounds the samples of one partition: 4 KiB.
const maxAges = 256

// ages tells about when the record at an offset was written, from samples of records
// read. By that time plus its retention a log may delete the record. Where there are
// more samples than fit, two and two become one, and later ones cover twice as much.
type ages struct {
	// Invariant: offsets and timestamps both rise. A sample is for the records from
	// its offset to the next one's, and no record from there on is older.
	samples []age
	stride  int64 // offsets that a sample covers at least
}

type age struct{ offset, timestampMs int64 }

func (a *ages) bytes() int64 { return int64(cap(a.samples)) * int64(unsafe.Sizeof(age{})) }

// note takes the record at an offset above all before, if it has a timestamp.
func (a *ages) note(offset, timestampMs int64) {
	if timestampMs <= 0 {
		return
	}
	s := age{offset, timestampMs}
	for n := len(a.samples); n > 0; n-- {
		last := a.samples[n-1]
		if last.timestampMs < timestampMs {
			if offset < last.offset+a.stride {
				return
			}
			break
		}
		s.offset = last.offset
		a.samples = a.samples[:n-1]
	}
	if len(a.samples) == maxAges {
		for i := range maxAges / 2 {
			a.samples[i] = a.samples[2*i]
		}
		a.samples, a.stride = a.samples[:maxAges/2], max(2, 2*a.stride)
	}
	a.samples = append(a.samples, s)
}

// since returns a timestamp that no record noted at or above low is older than, and
// forgets samples below it; 0: nothing is known.
func (a *ages) since(low int64) int64 {
	first := 0
	for first+1 < len(a.samples) && a.samples[first+1].offset <= low {
		first++
	}
	if first > 0 {
		a.samples = append(a.samples[:0], a.samples[first:]...)
		if n := len(a.samples); n < maxAges/4 { // as fine as the samples left allow
			a.stride = min(a.stride, (a.samples[n-1].offset-a.samples[0].offset)/(maxAges/2))
		}
	}
	if len(a.samples) == 0 {
		return 0
	}
	return a.samples[0].timestampMs
}

// clip forgets records from an offset on, which a truncated log writes anew.
func (a *ages) clip(offset int64) {
	for n := len(a.samples); n > 0 && a.samples[n-1].offset >= offset; n-- {
		a.samples = a.samples[:n-1]
	}
}

// oldestNeededMs is a timestamp. No record that waits for a deadline is older. It is 0
// where there is no such record, or none has a timestamp.
func (p *partition) oldestNeededMs() int64 {
	if p.Window.Low() >= p.next {
		p.ages = ages{samples: p.ages.samples[:0]}
		return 0
	}
	return p.ages.since(p.Window.Low())
}
