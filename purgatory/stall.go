package purgatory

import "fmt"

// stuckMs is how long a target partition may leave everything in flight unanswered,
// while brokers answer, before the others stop waiting for it. It is the most that
// one that is silent makes a healthy one wait, so it is well below five seconds.
const stuckMs = 2_000

// stallMs is how long a target partition may leave everything in flight
// unanswered, while brokers answer, before it counts as unreachable.
const stallMs = 10_000

// silence finds the partitions of a target that have stopped answering.
func (o *outbox) silence(t *target) {
	for _, d := range t.dests {
		silent := o.now.AnsweredMs - d.answeredMs
		if d.inFlight == 0 || silent < stuckMs {
			continue
		}
		if !d.stuck {
			o.flights.stick(d)
			if t.hold.trial == d { // given up: another record may be the next one
				t.hold.trial = nil
			}
		}
		if !d.stalled && silent >= stallMs {
			o.stall(d)
		}
	}
}

// stall holds the records behind a target partition that has stopped answering.
func (o *outbox) stall(d *dest) {
	t := d.target
	d.stalled, d.stalledMs = true, o.now.WallMs
	t.stalled++
	d.overflow.each(func(e *entry) { o.rehome(e) })
	o.stats.noteError(t.name, d.silentFor())
	o.notices = append(o.notices, HoldNotice{Target: t.name, Label: t.label, Held: true, Verdict: Unreachable, Detail: d.silentFor()})
}

// silentFor is the text about a stalled partition.
func (d *dest) silentFor() string {
	return fmt.Sprintf("partition %d has not answered for %d s", d.no, stallMs/1000)
}

// answered notes that a target partition gave some answer.
func (o *outbox) answered(d *dest) {
	d.answeredMs, d.proven = o.now.AnsweredMs, true
	if d.stuck {
		o.flights.unstick(d)
	}
	if d.stalled {
		d.stalled = false
		if d.target.stalled--; d.target.stalled == 0 && !d.target.hold.held {
			d.target.givenUp = 0
		}
		d.overflow.each(func(e *entry) { e.since = 0 })
		o.notices = append(o.notices, HoldNotice{Target: d.target.name, Label: d.target.label})
	}
}

// spill queues a record whose target partition has its fill in flight.
func (o *outbox) spill(e entry, d *dest) {
	if d.stalled {
		o.rehome(&e)
	}
	o.note(&e, inOverflow, uint64(d.no))
	d.target.overflow++
	d.overflow.pushBack(e)
}
