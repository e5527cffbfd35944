package sim

import (
	"fmt"
	"slices"

	"layover/offsets"
	"layover/purgatory"
)

// instance is one process: a core, and around it what the lane and the consumer
// do, without their clocks and connections. Whatever those leave to timing is an
// action of its own here, so that it can happen in any order.
type instance struct {
	w    *World
	no   int
	up   bool
	dead []member // earlier lives, which the group may still count on

	member     member // as it knows itself
	generation int32  // that it knows of
	skewMs     int64  // of its clock
	// steppedBack: its clock went back in this life.
	steppedBack bool
	// steppedBehind: it went back further than records with an instant are late.
	steppedBehind bool

	core       *purgatory.Core
	pacer      *pacer       // nil: no rate of catch-up
	partitions []*partition // by partition, nil: not assigned; the ownership table
	intake     []batch
	flying     []*produce
	queue      []*commitMsg // the committer's: sent one after the other
	writes     []*journalWrite
	copies     []*copying
	visits     []*visit

	told   []*happening // events that the core has made, not looked at yet
	paused bool         // its core knows that reading pauses
}

// partition is a partition during one assignment, with what a dumb reader of the rules
// believes about it.
type partition struct {
	epoch   uint64
	log     *partitionLog
	topicID byte
	window  *offsets.Window  // the core's
	next    int64            // the reader's position
	read    int64            // the core has been shown everything below
	held    map[int64]*entry // what the core took in
	done    map[int64]bool   // finished, from low at the assignment on
	low     int64            // at the assignment: everything below is finished
	lastLow int64            // of the last commit that was built

	known       int32 // the leader epoch that was committed
	epochRead   int32 // the highest that was read
	strange     int64 // one past the highest fact without an epoch, until it is read past
	byWord      bool  // it began at an operator's offset, or a first one, and read nothing
	notices     int   // of halts
	mayHalt     int64 // where the policy for invalid records may halt it, -1: nowhere
	overwritten bool  // it was shown records that were written over what it knows
	rewound     bool  // a truncation made the client read once more from where it cut

	timers
	moving
	loading *loading // nil: it has begun, or is not to be read

	accepted   bool       // a commit of it was taken since it began, or since the lease ran out
	acceptedMs int64      // since when
	answered   *committed // what its last commit became whose answer arrived
	revoking   bool
	halted     bool
	stopped    bool // reading has ended for a reason outside the core
	cut        bool // the log was truncated below the position, which the next fetch tells
}

// batch is what one fetch returned, tagged with the assignment that asked for it.
type batch struct {
	part    int
	epoch   uint64
	entries []*entry
	start   int64 // with no entries: the log begins here now
}

// produce is a delivery on its way.
type produce struct {
	part    int
	epoch   uint64
	entry   *entry
	d       purgatory.Delivery
	applied bool
	event   *happening // nil: a record
}

// place is a partition of a target.
type place struct {
	target    string
	partition int32
}

func (f *produce) place() place { return place{f.d.Target, f.d.TargetPartition} }

func (in *instance) partition(p int) *partition {
	if in.partitions == nil {
		return nil
	}
	return in.partitions[p]
}

// still returns a partition if its assignment still is the one of that epoch.
func (in *instance) still(p int, epoch uint64) *partition {
	if own := in.partition(p); own != nil && own.epoch == epoch {
		return own
	}
	return nil
}

// clock is the time as this instance sees it.
func (in *instance) clock() purgatory.Clock {
	return purgatory.Clock{WallMs: in.w.nowMs + in.skewMs, AnsweredMs: in.w.nowMs - startMs + 1, MonotonicMs: in.w.nowMs - startMs}
}

// start begins a life: an empty core, which joins the group.
func (in *instance) start() {
	in.up = true
	in.partitions = make([]*partition, in.w.cfg.Partitions)
	in.pacer = in.w.newPacer()
	in.core = in.w.core(in.clock(), in.event, in.pacer)
	if in.w.cfg.Journal {
		in.notice(1)
	}
	in.core.Runs().Usable(ingress, true)
	in.rejoin()
}

// rejoin makes the instance a new member.
func (in *instance) rejoin() {
	in.member = member(fmt.Sprintf("instance-%d.%d", in.no, in.w.group.generation))
	in.w.group.join(in.member)
	in.generation = in.w.group.generation
	in.w.say("%s joins, generation %d", in.member, in.generation)
}

// crash ends a life. What was sent may still arrive.
func (in *instance) crash() {
	for _, f := range in.flying {
		in.w.haunt(f)
	}
	if len(in.queue) > 0 && !in.queue[0].arrived {
		in.w.late = append(in.w.late, in.queue[0])
	}
	for _, g := range in.writes {
		if !g.applied {
			in.w.journal.ghosts = append(in.w.journal.ghosts, g)
		}
	}
	for _, c := range in.copies {
		if !c.applied {
			c.move.Body = slices.Clone(c.move.Body)
			in.w.runs.ghosts = append(in.w.runs.ghosts, c)
		}
	}
	*in = instance{w: in.w, no: in.no, skewMs: in.skewMs, dead: append(in.dead, in.member)}
}

// validate is what a client asks before it reads from an offset: whether the log of
// an epoch reaches there.
func (own *partition) validate(offset int64, leaderEpoch int32) {
	own.cut = own.cut || own.log.endOf(leaderEpoch) < offset
}

// begin notes what an assignment knows at first, and holds it to what was said before.
// A member that has been given up meanwhile knows less: it cannot deliver.
func (own *partition) begin(w *World, owner bool, was *committed, s offsets.Start) {
	f := setOf(s.Window)
	own.window, own.low, own.next, own.read, own.lastLow = s.Window, f.low, s.Next, s.Next, f.low
	own.known, own.epochRead, own.mayHalt = s.LeaderEpoch, s.LeaderEpoch, -1
	own.byWord = was == nil || was.byWord || was.topicID != own.topicID
	if s.LeaderEpoch < 0 && len(f.above) > 0 {
		own.strange = f.end()
	}
	own.done, own.held, own.timers = make(map[int64]bool), make(map[int64]*entry), newTimers()
	for o, end := own.low, max(f.end(), own.next); o < end; o++ {
		own.done[o] = f.has(o)
	}
	for o := range own.log.end() {
		e := own.log.entries[o]
		switch {
		case !f.has(o) && o < own.next:
			e.lost, own.done[o] = true, true
		case owner && !f.has(o) && e.said:
			w.fail("AGAIN: an assignment begins with %v as unfinished, though a commit that was answered said it is finished", e)
		case own.byWord && o < f.low: // an operator's offset is taken at its word, whatever became of the log
			e.lost = e.lost || e.written == 0
		case !f.has(o) || e.finished() || w.moved(e) || o >= own.log.endOf(own.known):
		case o < own.log.start && (e.reads == 0 || e.epoch > own.known || w.writtenOver(e)):
			e.lost = true // deleted before anybody read it, or whoever said so did
		default:
			w.fail("LOST: an assignment begins with %v as finished, which has no outcome", e)
		}
	}
}

// fetch reads up to n entries of the log from the position on.
func (in *instance) fetch(p, n int) bool {
	own := in.partitions[p]
	if own == nil || own.loading != nil || own.stopped || in.paused || own.log != in.w.logs[p] || own.log.sick != well {
		return false
	}
	switch {
	case own.cut && !own.rewound && n%2 == 1 && own.epochRead >= 0 && own.log.endOf(own.epochRead) < own.next:
		own.rewound = true // a client that has read goes back before it says that data was lost
		own.next = own.log.endOf(own.epochRead)
		return true
	case own.cut && (!own.rewound || n%2 == 0) || own.next > own.log.end():
		own.stopped = true
		in.w.say("%s stops reading %d: the log was truncated", in.member, p)
		return true
	case own.next < own.log.start:
		in.intake = append(in.intake, batch{part: p, epoch: own.epoch, start: own.log.start})
		own.next = own.log.start
		return true
	}
	var got []*entry
	o := own.next
	for ; o < own.log.stable() && len(got) < n; o++ {
		if e := own.log.entries[o]; e.kind == record || e.kind == control {
			got = append(got, e)
		}
	}
	if len(got) == 0 {
		return false
	}
	own.next = got[len(got)-1].offset + 1
	in.intake = append(in.intake, batch{part: p, epoch: own.epoch, entries: got})
	return true
}

// sweep ends an assignment.
func (in *instance) sweep(p int) {
	own := in.partitions[p]
	in.core.Sweep(offsets.Assignment{TopicPartition: partitionOf(p), Epoch: own.epoch})
	in.partitions[p] = nil
}

// lose ends all assignments: the group has given this member up.
func (in *instance) lose() {
	for p, own := range in.partitions {
		if own != nil {
			in.sweep(p)
		}
	}
}

// stamp copies the identity into a commit, where ownership is checked, and queues it.
func (in *instance) stamp(c offsets.Commit, final bool) {
	p := int(c.Partition)
	own := in.still(p, c.Epoch)
	if own == nil {
		in.w.fail("the core builds a commit of partition %d for epoch %d, which is over", p, c.Epoch)
		return
	}
	msg := &commitMsg{Commit: c, part: p, final: final, byWord: own.byWord && c.LeaderEpoch < 0}
	msg.MemberID, msg.Generation, msg.topicID = string(in.member), in.generation, own.topicID
	msg.knows = setOf(own.window)
	in.audit(own, msg)
	in.queue = append(in.queue, msg)
}
