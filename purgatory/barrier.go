package purgatory

import "layover/offsets"

// The replay barrier: no record with an id is offered before its partition is read up to the
// end that its assignment found. A cancel that was written in time may stand there, and be
// read after its record is due again.
//
// It is open while nothing more is read: memory that only delivering frees would never come
// back otherwise.

// idleOpensMs is how long nothing may be read of a partition until its barrier opens, while
// brokers answer. In an outage nothing can be delivered either.
const idleOpensMs = 30_000

// barrier is the state of one partition's.
type barrier struct {
	over    bool   // all is read
	open    string // why it is open before that; "": it is not
	stopped bool   // nothing of the partition is read any more
	readMs  int64  // Clock.AnsweredMs of the last record read, or of the assignment
}

// read notes a record that is read. An idle barrier shuts at once: what is read in this turn
// may hold the commands about what waits behind it.
func (b *barrier) read(s *source, answeredMs int64) {
	b.readMs = answeredMs
	if b.open == openIdle {
		b.open, s.shut = "", true
	}
}

// The reasons for which a barrier opens.
const (
	openPaused  = "paused"
	openHalted  = "halted"
	openStopped = "stopped"
	openIdle    = "idle"
)

// BarrierReasons returns the reasons that Stats counts openings by.
func BarrierReasons() []string { return []string{openPaused, openHalted, openStopped, openIdle} }

// Replays opens and shuts the barriers of partitions that are replayed: not read yet to the end that
// their assignment found.
type Replays struct {
	now    *Clock      // the core's
	parts  *partitions // the core's
	out    *outbox     // the core's
	stats  *Stats      // the core's: here BarrierOpened is counted
	paused bool        // reading is
	barred int         // partitions that are replayed
}

// Reading takes the news that reading is paused, or goes on.
func (r *Replays) Reading(paused bool) { r.paused = paused }

// Stopped takes the news that nothing of an assignment is read any more.
func (r *Replays) Stopped(tp offsets.TopicPartition, epoch uint64) {
	if p := r.parts.find(tp, epoch); p != nil {
		p.barrier.stopped = true
	}
}

// Assignments appends to out those that are replayed. Their owner says by Reading and Stopped
// whether they are read at all.
func (r *Replays) Assignments(out []offsets.Assignment) []offsets.Assignment {
	if r.barred == 0 {
		return out
	}
	for p := range r.parts.here() {
		if !p.barrier.over {
			out = append(out, p.Assignment)
		}
	}
	return out
}

// tick opens the barriers of partitions that are read, or not to be read at the moment,
// and shuts those of others again.
func (r *Replays) tick() {
	if r.barred == 0 {
		return
	}
	for p := range r.parts.here() {
		if p.barrier.over {
			continue
		}
		if p.next >= p.StableEnd {
			p.barrier = barrier{over: true}
			r.barred--
			r.out.open(p.src)
			continue
		}
		switch why := p.mayOpen(r.now.AnsweredMs, r.paused); {
		case why == p.barrier.open:
		case why == "":
			p.barrier.open, p.src.shut = "", true
		default:
			if p.barrier.open == "" {
				r.stats.BarrierOpened[why]++
			}
			p.barrier.open = why
			r.out.open(p.src)
		}
	}
}

// mayOpen returns why records with an id are offered though not all is read, "" where they
// are not.
func (p *partition) mayOpen(answeredMs int64, paused bool) string {
	switch {
	case p.halted != nil:
		return openHalted
	case p.barrier.stopped:
		return openStopped
	case paused:
		return openPaused
	case answeredMs-p.barrier.readMs >= idleOpensMs:
		return openIdle
	}
	return ""
}
