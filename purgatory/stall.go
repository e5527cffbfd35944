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
			o.holds.stall(d)
		}
	}
}

// silentFor is the text about a stalled partition.
func (d *dest) silentFor() string {
	return fmt.Sprintf("partition %d has not answered for %d s", d.no, stallMs/1000)
}

// spill queues a record whose target partition has its fill in flight.
func (o *outbox) spill(e entry, d *dest) {
	if d.stalled {
		o.holds.rehome(&e)
	} else {
		e.since = 0 // that of a hold which is over
	}
	e.note(o.store, inOverflow, uint64(d.no))
	d.target.overflow++
	d.overflow.pushBack(e)
}
