package purgatory

import (
	"fmt"
	"slices"
)

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

// failing is what a target partition keeps that answers with errors, of which none is about its topic or the record: its
// broker has a fault. It gets one record at a time, and waits longer before each. Other partitions are not held for it.
// Invariant: one that fails is stalled.
type failing struct {
	detail    string // of the last error
	backoffMs int64  // 0: it does not fail
	retryAtMs int64  // of the monotonic clock
}

// fails reports whether the last answer was such an error.
func (f *failing) fails() bool { return f.backoffMs > 0 }

// fails reports whether any of a target's partitions does.
func (t *target) fails() bool {
	return slices.ContainsFunc(t.dests, func(d *dest) bool { return d.fails() })
}

// why is the text about a stalled partition.
func (d *dest) why() string {
	if d.fails() {
		return fmt.Sprintf("partition %d: %s", d.no, d.detail)
	}
	return fmt.Sprintf("partition %d has not answered for %d s", d.no, stallMs/1000)
}

// heldSinceMs is the wall clock since which what waits for the partition is held; 0: it is not.
func (d *dest) heldSinceMs() int64 {
	if !d.stalled {
		return 0
	}
	return d.stalledMs
}

// takes reports whether a target partition takes one more record now.
func (o *outbox) takes(d *dest, e *entry) bool {
	if d.fails() && (d.inFlight > 0 || o.now.MonotonicMs < d.retryAtMs) {
		return false
	}
	return o.flights.takes(d, e)
}

// failed takes back a record that its target partition answered with an error for. It may have been written.
func (o *outbox) failed(f *flight, r *Result) {
	e, d, t := f.entry, f.dest, f.dest.target
	held := t.hold.held
	if !held && !d.stalled {
		e.since = 0 // that of a hold which is over
	}
	o.holds.fail(d, r.Detail, f.retry)
	if held {
		o.again(e, t, f.trial, Unreachable, r.Detail)
		return
	}
	o.store.doubt(e.loc)
	e.from.due++
	o.store.exempt(e.loc)
	o.waitAgain(e, d)
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
