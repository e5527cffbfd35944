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

	core    *purgatory.Core
	tenures []*tenure // by partition, nil: not assigned; the ownership table
	intake  []batch
	flying  []*produce
	queue   []*commitMsg // the committer's: sent one after the other
	writes  []*journalWrite
}

// tenure is a partition in one assignment, with what a dumb reader of the rules
// believes about it.
type tenure struct {
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

	loading *loading // nil: it has begun, or is not to be read

	accepted   bool       // a commit of it was taken since it began, or since the lease ran out
	acceptedMs int64      // since when
	answered   *committed // what its last commit became whose answer arrived
	revoking   bool
	halted     bool
	stopped    bool // reading has ended for a reason outside the core
	cut        bool // the log was truncated below the position, which the next fetch tells
}

// batch is what one fetch returned, tagged with the tenure that asked for it.
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
}

// place is a partition of a target.
type place struct {
	target    string
	partition int32
}

func (f *produce) place() place { return place{f.d.Target, f.d.TargetPartition} }

func (in *instance) tenure(p int) *tenure {
	if in.tenures == nil {
		return nil
	}
	return in.tenures[p]
}

// still returns a partition's tenure if it still is the one of that epoch.
func (in *instance) still(p int, epoch uint64) *tenure {
	if t := in.tenure(p); t != nil && t.epoch == epoch {
		return t
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
	in.tenures = make([]*tenure, in.w.cfg.Partitions)
	in.core = in.w.core(in.clock())
	if in.w.cfg.Journal {
		in.notice(1)
	}
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
	*in = instance{w: in.w, no: in.no, skewMs: in.skewMs, dead: append(in.dead, in.member)}
}

// haunt keeps a produce that nobody waits for, with the bytes as they were sent.
func (w *World) haunt(f *produce) {
	if f.applied {
		return
	}
	g := *f
	g.d.Body = slices.Clone(f.d.Body)
	w.ghosts = append(w.ghosts, &g)
}

// validate is what a client asks before it reads from an offset: whether the log of
// an epoch reaches there.
func (t *tenure) validate(offset int64, leaderEpoch int32) {
	t.cut = t.cut || t.log.endOf(leaderEpoch) < offset
}

// begin notes what a tenure knows at first, and holds it to what was said before.
// A member that has been given up meanwhile knows less: it cannot deliver.
func (t *tenure) begin(w *World, owner bool, was *committed, s offsets.Start) {
	f := setOf(s.Window)
	t.window, t.low, t.next, t.read, t.lastLow = s.Window, f.low, s.Next, s.Next, f.low
	t.known, t.epochRead, t.mayHalt = s.LeaderEpoch, s.LeaderEpoch, -1
	t.byWord = was == nil || was.byWord || was.topicID != t.topicID
	if s.LeaderEpoch < 0 && len(f.above) > 0 {
		t.strange = f.end()
	}
	t.done, t.held = make(map[int64]bool), make(map[int64]*entry)
	for o, end := t.low, max(f.end(), t.next); o < end; o++ {
		t.done[o] = f.has(o)
	}
	for o := range t.log.end() {
		e := t.log.entries[o]
		switch {
		case !f.has(o) && o < t.next:
			e.lost, t.done[o] = true, true
		case owner && !f.has(o) && e.said:
			w.fail("AGAIN: a tenure begins with %v as unfinished, though a commit that was answered said it is finished", e)
		case t.byWord && o < f.low: // an operator's offset is taken at its word, whatever became of the log
			e.lost = e.lost || e.written == 0
		case !f.has(o) || e.finished() || o >= t.log.endOf(t.known):
		case o < t.log.start && (e.reads == 0 || e.epoch > t.known || w.writtenOver(e)):
			e.lost = true // deleted before anybody read it, or whoever said so did
		default:
			w.fail("LOST: a tenure begins with %v as finished, which has no outcome", e)
		}
	}
}

// fetch reads up to n entries of the log from the position on.
func (in *instance) fetch(p, n int) bool {
	t := in.tenures[p]
	if t == nil || t.loading != nil || t.stopped || t.log != in.w.logs[p] || t.log.sick != well {
		return false
	}
	switch {
	case t.cut && !t.rewound && n%2 == 1 && t.epochRead >= 0 && t.log.endOf(t.epochRead) < t.next:
		t.rewound = true // a client that has read goes back before it says that data was lost
		t.next = t.log.endOf(t.epochRead)
		return true
	case t.cut && (!t.rewound || n%2 == 0) || t.next > t.log.end():
		t.stopped = true
		in.w.say("%s stops reading %d: the log was truncated", in.member, p)
		return true
	case t.next < t.log.start:
		in.intake = append(in.intake, batch{part: p, epoch: t.epoch, start: t.log.start})
		t.next = t.log.start
		return true
	}
	var got []*entry
	o := t.next
	for ; o < t.log.stable() && len(got) < n; o++ {
		if e := t.log.entries[o]; e.kind == record || e.kind == control {
			got = append(got, e)
		}
	}
	if len(got) == 0 {
		return false
	}
	t.next = got[len(got)-1].offset + 1
	in.intake = append(in.intake, batch{part: p, epoch: t.epoch, entries: got})
	return true
}

// sweep ends a tenure.
func (in *instance) sweep(p int) {
	t := in.tenures[p]
	in.core.Sweep(offsets.Assignment{TopicPartition: partitionOf(p), Epoch: t.epoch})
	in.tenures[p] = nil
}

// lose ends all tenures: the group has given this member up.
func (in *instance) lose() {
	for p, t := range in.tenures {
		if t != nil {
			in.sweep(p)
		}
	}
}

// stamp copies the identity into a commit, where ownership is checked, and queues it.
func (in *instance) stamp(c offsets.Commit, final bool) {
	p := int(c.Partition)
	t := in.still(p, c.Epoch)
	if t == nil {
		in.w.fail("the core builds a commit of partition %d for epoch %d, which is over", p, c.Epoch)
		return
	}
	msg := &commitMsg{Commit: c, part: p, final: final, byWord: t.byWord && c.LeaderEpoch < 0}
	msg.MemberID, msg.Generation, msg.topicID = string(in.member), in.generation, t.topicID
	msg.knows = setOf(t.window)
	in.audit(t, msg)
	in.queue = append(in.queue, msg)
}
