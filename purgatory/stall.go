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

// idleFaultMs is how long a partition that fails beside a letter that was refused may go untried, in milliseconds. Then no
// letter waits for it. One that looks had not found begins its fault anew.
const idleFaultMs = 60_000

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

// failing is what a target partition keeps that answers with errors, of which none is about the record, nor about its topic
// as others know it: its broker has a fault. It gets one record at a time, and waits longer before each. Other partitions
// are not held for it.
// Invariant: one that fails is stalled.
type failing struct {
	detail    string // of the last error
	backoffMs int32  // 0: it does not fail
	// apart: another partition took a record after this one denied the topic. So what it says is about itself alone.
	apart     bool
	retryAtMs int64 // of the monotonic clock
	// denied is hold.since of the hold under which it last denied the topic: called it missing or forbidden.
	denied int64
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

// failed takes back a record that its target partition answered with an error for. It may have been written, unless
// the error is about the topic.
func (o *outbox) failed(f *flight, r *Result) {
	e, d := f.entry, f.dest
	o.holds.fail(d, r.Detail, f.retry)
	if d.target.hold.held {
		o.again(f, Unreachable, r.Detail)
		return
	}
	if r.Class == Unknown {
		o.store.doubt(e.loc)
	} else if !o.unknown(e) && o.withdraw(e) {
		return
	}
	e.from.due++
	o.store.exempt(e.loc)
	o.waitAgain(e, d)
}

// denied takes back a record in answer to which its topic was called missing or forbidden. The first such answer holds
// the target. Where another partition has taken a record since, or refuses a letter for its content, it holds the
// partition alone, unless metadata does not know that partition any more.
func (o *outbox) denied(f *flight, r *Result) {
	d, t := f.dest, f.dest.target
	if (t.hold.rejects() || !t.hold.held && d.apart) && t.has(d) {
		d.apart = true
		o.failed(f, r)
		return
	}
	o.again(f, r.Verdict, r.Detail)
	if t.hold.known { // metadata says so as well
		if !d.fails() {
			o.holds.answered(d)
		}
	} else if t.hold.held {
		d.denied, d.detail = t.hold.since, r.Detail
	}
}

// spill queues a record whose target partition has its fill in flight.
func (o *outbox) spill(e entry, d *dest) {
	if d.stalled {
		o.holds.keep(&e, d.stalledSince)
	}
	e.note(o.store, inOverflow, uint64(d.no))
	d.target.overflow++
	d.overflow.pushBack(e)
}
