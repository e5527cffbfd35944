package purgatory

import "fmt"

// stuckMs is how long a target partition may leave everything in flight unanswered,
// while brokers answer, before the others stop waiting for it. It is the most that
// one that is silent makes a healthy one wait, so it is well below five seconds.
const stuckMs = 2_000

// stallMs is how long a target partition may leave everything in flight
// unanswered, while brokers answer, before it counts as unreachable.
const stallMs = 10_000

// maxBuffered is Config.MaxBuffered where none is given.
const maxBuffered = 1 << 16

// roomShare is the part of what is free beside stuck records that may be in flight to
// partitions that answer. All of it may get stuck at once, and takes no more than
// that share of the rest: what is left shrinks, and never ends.
const roomShare = 4

// Room returns how many more records may be put in flight, negative for none.
//
// What is stuck stays with the producer, which alone may send it again, and so keeps
// its place in the client's buffer. Invariant: what is stuck and what is in flight
// beside it is at most Config.MaxBuffered;
// TestWhatIsStuckAndWhatIsInFlightFitsTheBuffer holds it.
func (c *Core) Room() int { return (c.cfg.MaxBuffered-c.stuck)/roomShare - c.Occupying() }

// byteRoom is the same in bytes, of roomShare times MaxInFlightBytes. One record goes
// whatever its size, so each silent partition may add one. Three quarters are left
// however much is stuck: the bytes are in the store anyway, and the client bounds records alone.
func (c *Core) byteRoom() int64 {
	most := c.cfg.MaxInFlightBytes
	return max(most-c.stuckBytes/roomShare, most-most/roomShare) - c.flightBytes
}

// divide gives the targets that have something to offer an equal share of what may be in
// flight. One that answers then waits for silent ones once, until they are stuck: in
// the room that is left then its share is its own, however many there are.
func (c *Core) divide() {
	n := 0
	for _, t := range c.busy {
		if !t.hold.held {
			n++
		}
	}
	n = max(n, 1)
	c.fairRecords = max((c.Room()+c.Occupying())/n, 1)
	c.fairBytes = max((c.byteRoom()+c.flightBytes)/int64(n), 1)
}

// fair says whether a target may have one more record in flight.
func (c *Core) fair(t *target) bool {
	return t.occupying < c.fairRecords && t.occupyingBytes < c.fairBytes && (c.Occupying() == 0 || c.byteRoom() > 0)
}

// wary says whether so much is stuck that a partition has to answer one record before
// it gets a second: each silent one that is met from then on costs one record.
func (c *Core) wary() bool {
	return c.stuck >= c.cfg.MaxBuffered/roomShare || c.stuckBytes >= c.cfg.MaxInFlightBytes
}

// silence finds the partitions of a target that have stopped answering.
func (c *Core) silence(t *target) {
	for _, d := range t.dests {
		silent := c.now.PatienceMs - d.answeredMs
		if d.inFlight == 0 || silent < stuckMs {
			continue
		}
		if !d.stuck {
			c.stick(d)
		}
		if !d.stalled && silent >= stallMs {
			c.stall(d)
		}
	}
}

// stick counts what is in flight to a partition as stuck. A trial there is given up:
// another record may be the next one.
func (c *Core) stick(d *dest) {
	d.stuck = true
	c.stuck += d.inFlight
	c.stuckBytes += d.bytes
	c.occupy(d.target, -d.inFlight, -d.bytes)
	if d.target.hold.trial == d {
		d.target.hold.trial = nil
	}
}

// unstick lets a partition that answers have records again, once what it has in
// flight fits beside that of the others.
func (c *Core) unstick(d *dest) {
	if d.inFlight > 0 && (c.Room()+d.inFlight/roomShare < d.inFlight || c.byteRoom()+d.bytes/roomShare < d.bytes) {
		return
	}
	d.stuck = false
	c.stuck -= d.inFlight
	c.stuckBytes -= d.bytes
	c.occupy(d.target, d.inFlight, d.bytes)
}

// occupy counts what is in flight to partitions that answer.
func (c *Core) occupy(t *target, records int, bytes int64) {
	t.occupying += records
	t.occupyingBytes += bytes
	c.flightBytes += bytes
}

// stall holds what waits behind a target partition that has stopped answering.
func (c *Core) stall(d *dest) {
	t := d.target
	d.stalled, d.stalledMs = true, c.now.WallMs
	t.stalled++
	d.overflow.each(func(e *entry) { c.rehome(e) })
	c.stats.noteError(t.name, d.silentFor())
	c.effects.Holds = append(c.effects.Holds, HoldNotice{Target: t.name, Label: t.label, Held: true, Verdict: Unreachable, Detail: d.silentFor()})
}

// silentFor says what is wrong with a stalled partition.
func (d *dest) silentFor() string {
	return fmt.Sprintf("partition %d has not answered for %d s", d.no, stallMs/1000)
}

// answered notes that a target partition gave some answer.
func (c *Core) answered(d *dest) {
	d.answeredMs, d.proven = c.now.PatienceMs, true
	if d.stuck {
		c.unstick(d)
	}
	if d.stalled {
		d.stalled = false
		d.target.stalled--
		d.overflow.each(func(e *entry) { e.since = 0 })
		c.effects.Holds = append(c.effects.Holds, HoldNotice{Target: d.target.name, Label: d.target.label})
	}
}

// spill queues a record whose target partition has its fill in flight.
func (c *Core) spill(e entry, d *dest) {
	if d.stalled {
		c.rehome(&e)
	}
	d.target.overflow++
	d.overflow.pushBack(e)
}
