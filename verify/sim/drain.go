package sim

import (
	"fmt"

	"layover/purgatory"
)

// drainTurns bounds a drain: with every fault over it takes some tens of turns.
const drainTurns = 400

// Drain ends all faults and lets the world run until nothing is left to do. Then
// every record has its outcome, the offsets are committed up to the end, and the
// cores are empty.
func (w *World) Drain() *Broken {
	if w.err != nil {
		return w.err
	}
	defer func() {
		if r := recover(); r != nil {
			w.fail("PANIC while draining: %v", r)
		}
	}()
	d := drain{w}
	d.run()
	d.verdict()
	return w.err
}

// calm is a drain in the middle of a life: every record so far has its outcome, and
// everybody goes on.
func (w *World) calm() bool {
	d := drain{w}
	d.run()
	d.outcomes()
	return true
}

// run ends all faults, and lets the world go on until nothing is left to do.
func (d drain) run() {
	d.say("all faults end")
	d.heal()
	for turn := 0; d.err == nil && !d.settled(); turn++ {
		if turn == drainTurns {
			d.fail("STUCK: %s", d.unsettled())
			break
		}
		d.settle(turn)
		d.check()
	}
}

func (w *World) check() {
	if w.cfg.IDs > 0 && w.err == nil {
		w.coverAll()
	}
	for _, in := range w.insts {
		in.check()
	}
}

// drain drives a world in which nothing goes wrong any more.
type drain struct{ *World }

// heal makes everything work again: targets, the coordinator, transactions. What
// was on cut connections arrives now.
func (d drain) heal() {
	clear(d.verdicts)
	clear(d.silent)
	for p, log := range d.logs {
		log.sick = well
		log.decide(p, true)
		d.apply(Action{Kind: Resolve, P: p, N: 1})
	}
	for len(d.ghosts) > 0 {
		d.apply(Action{Kind: Haunt})
	}
	for len(d.late) > 0 {
		d.apply(Action{Kind: Late})
	}
	for p, was := range d.group.offsets { // what it takes back is said again with the next record that finishes
		if was != nil && was.late {
			d.append(p, entry{target: egress, deadlineMs: d.nowMs})
		}
	}
	for len(d.runs.ghosts) > 0 {
		d.apply(Action{Kind: CopyHaunt})
	}
	for len(d.journal.ghosts) > 0 {
		d.apply(Action{Kind: JournalHaunt})
	}
	for _, in := range d.insts {
		if !in.up {
			in.start()
		}
		if !d.group.members[in.member] {
			in.lose()
			in.rejoin()
		}
		d.apply(Action{Kind: JournalNotice, I: in.no, N: 1})
		d.apply(Action{Kind: Reading, I: in.no})
		in.core.Runs().Usable(ingress, true)
	}
	for m := range d.group.members { // those that died without a word
		alive := false
		for _, in := range d.insts {
			alive = alive || in.member == m
		}
		if !alive {
			d.group.expel(m)
		}
	}
}

// settle is one turn of everybody, in which all goes well.
func (d drain) settle(turn int) {
	for p := range d.logs {
		d.home(p, turn)
	}
	for _, in := range d.insts {
		in.generation = d.group.generation
		for p := range d.logs {
			for len(in.intake) < 4 && in.fetch(p, 1000) {
			}
		}
		for range 100 {
			if in.turn(1000); len(in.flying) == 0 || d.err != nil {
				break
			}
			for len(in.flying) > 0 {
				in.outcome(0, purgatory.Delivered)
			}
		}
		d.copies(in)
		d.commit(in)
	}
	d.nowMs += 500
	if turn > 20 { // the longest delays
		d.nowMs += 3_600_000
	}
}

// commit lets an instance say what it has to say.
func (d drain) commit(in *instance) {
	in.core.Journals().Cut(true)
	in.effects()
	d.journalled(in)
	if in.core.Dirty() {
		for _, c := range in.core.Commits(nil, false) {
			in.stamp(c, false)
		}
	}
	for len(in.queue) > 0 {
		c := in.queue[0]
		if !c.arrived {
			d.arrive(c)
		}
		in.answered(c)
	}
}

// journalled lets what is on its way to the journal arrive, and its answers.
func (d drain) journalled(in *instance) {
	for len(in.writes) > 0 && d.err == nil {
		g := in.writes[0]
		if !g.applied {
			d.apply(Action{Kind: JournalAppend, I: in.no, P: g.part})
		}
		failed := 0
		if !g.applied { // it was sent to a topic that is gone
			failed = 1
		}
		d.apply(Action{Kind: JournalAnswer, I: in.no, P: g.part, N: failed})
	}
	for len(d.journal.deletes) > 0 && d.err == nil {
		d.apply(Action{Kind: JournalDelete})
	}
}

// home gives a partition to somebody who can read it. What an operator would have
// to do is done.
func (d drain) home(p, turn int) {
	var owner *instance
	truncated := false
	for _, in := range d.insts {
		if own := in.partition(p); own != nil {
			owner = in
			for in.load(p) {
			}
			if unreadable := own.revoking || own.stopped || own.loading != nil || own.log != d.logs[p] || own.cut; unreadable {
				d.end(in, p)
				owner, truncated = nil, own.cut
			}
		}
	}
	if owner != nil {
		return
	}
	if was, log := d.group.offsets[p], d.logs[p]; was != nil && was.topicID == log.topicID {
		if end := log.endOf(was.LeaderEpoch); truncated || was.Offset > end {
			d.apply(Action{Kind: Reset, P: p, N: int(min(was.Offset, end) - log.start)})
		}
	}
	in := d.insts[(p+turn)%len(d.insts)]
	in.generation = d.group.generation
	d.apply(Action{Kind: Assign, I: in.no, P: p})
}

// end gives a partition up in good order.
func (d drain) end(in *instance, p int) {
	in.generation = d.group.generation
	own := in.partitions[p]
	in.core.Revoke(partitionOf(p), own.epoch)
	own.revoking = true
	for len(in.flying) > 0 {
		in.outcome(0, purgatory.Delivered)
	}
	if c, ok := in.core.Final(partitionOf(p), own.epoch); ok {
		in.stamp(c, true)
	}
	d.commit(in)
	d.apply(Action{Kind: Sweep, I: in.no, P: p})
}

// settled says whether there is nothing left to do.
func (d drain) settled() bool { return d.unsettled() == "" }

func (d drain) unsettled() string {
	for _, in := range d.insts {
		s := in.core.Snapshot()
		switch {
		case len(in.intake) > 0:
			return "what was fetched is not read"
		case s.Gathered > 0 || len(in.copies) > 0 || len(in.visits) > 0:
			return fmt.Sprintf("%s has %d records on their way to runs, %d copies, %d visits", in.member, s.Gathered, len(in.copies), len(in.visits))
		case s.Parked+s.Due+s.InFlight > 0:
			return fmt.Sprintf("%s has %d parked, %d due, %d in flight", in.member, s.Parked, s.Due, s.InFlight)
		case in.core.Dirty() || in.core.Committing():
			return fmt.Sprintf("%s has something to commit", in.member)
		}
	}
	for p, log := range d.runs.logs {
		for o := log.start; o < log.end(); o++ {
			if e := log.entries[o].entry; e != nil && !e.finished() && !d.halted(p) {
				return fmt.Sprintf("the copy of %v at %d of the runs of %d waits", e, o, p)
			}
		}
	}
	for p, log := range d.logs {
		was := d.group.offsets[p]
		if in := d.stopped(p); in != nil {
			return fmt.Sprintf("%s has stopped reading %d", in.member, p)
		}
		if in := d.loading(p); in != nil { // the offset may be of a log that was truncated
			return fmt.Sprintf("%s does not know yet where %d begins", in.member, p)
		}
		if d.group.owner[p] == "" { // what is committed may be of a log that was truncated
			return fmt.Sprintf("nobody reads %d", p)
		}
		if d.halted(p) {
			continue
		}
		if was == nil || was.topicID != log.topicID || was.Offset < log.quiet() {
			return fmt.Sprintf("partition %d is not committed up to %d: %+v", p, log.quiet(), was)
		}
	}
	return ""
}

// stopped is who waits for an operator to say where a truncated log goes on.
func (d drain) stopped(p int) *instance {
	for _, in := range d.insts {
		if own := in.partition(p); own != nil && (own.stopped || own.cut) {
			return in
		}
	}
	return nil
}

// loading is who has not let the partition begin yet.
func (d drain) loading(p int) *instance {
	for _, in := range d.insts {
		if own := in.partition(p); own != nil && own.loading != nil {
			return in
		}
	}
	return nil
}

func (d drain) halted(p int) bool {
	for _, in := range d.insts {
		if own := in.partition(p); own != nil && own.halted {
			return true
		}
	}
	return false
}

// outcomes holds a drained world to the promises: every record has an outcome, and what
// the cores count adds up.
func (d drain) outcomes() {
	if d.err != nil {
		return
	}
	for p, log := range d.logs {
		for _, e := range log.entries[log.start:] {
			if !e.finished() && e.kind == record && !d.halted(p) {
				d.fail("LOST: %v has no outcome in the end", e)
			}
		}
	}
	for _, in := range d.insts {
		in.conserve()
	}
}

// verdict holds the end to the promises: nothing is left in the cores either.
func (d drain) verdict() {
	if d.outcomes(); d.err != nil {
		return
	}
	for _, in := range d.insts {
		for p, own := range in.partitions {
			if own != nil {
				in.sweep(p)
			}
		}
		in.core.Trim()
		if live := in.core.Snapshot().LiveBytes; live > 0 {
			d.fail("KEPT: an empty core needs %d bytes for records", live)
		}
		s, keeps := in.core.Snapshot(), leftover*int64(min(d.cfg.Burst, 4))
		if d.cfg.IDs > 0 {
			keeps += leftoverIDs
		}
		if s.IDs > 0 || s.EventsWaiting > 0 || s.Waiting > 0 {
			d.fail("KEPT: an empty core has %d ids, %d events, %d cancels that wait", s.IDs, s.EventsWaiting, s.Waiting)
		}
		if fresh, left := d.core(in.clock(), nil, nil).Bytes(), in.core.Bytes(); left > fresh+keeps {
			d.fail("KEPT: an empty core holds %d bytes, a fresh one %d", left, fresh)
		}
	}
}

// leftover is what an empty core may keep for reuse, in bytes. It may keep its table of deliveries, its queues' first
// allocations, and targets that it knows. It may also keep a slab of the wheel with its tables, and what an index of
// runs is unsure of. Where records come in bursts, its queues have grown.
const leftover = 102 << 10

// leftoverIDs is what it may keep besides, in bytes: an empty index of ids.
const leftoverIDs = 12 << 10

// conserve holds the counters to each other: what was read has one outcome each.
func (in *instance) conserve() {
	s := in.core.Snapshot()
	var read, ended int64
	for _, n := range s.Consumed {
		read += n
	}
	for _, n := range s.Delivered {
		ended += n
	}
	for _, n := range s.DeadLettered {
		ended += n
	}
	for _, n := range s.Dropped {
		ended += n
	}
	cancels := int64(s.Waiting)
	for _, n := range s.Cancels {
		cancels += n
	}
	if read := s.Consumed[purgatory.TopicOutcome{Topic: ingress, Outcome: purgatory.Cancel}]; cancels > read || cancels < read-s.HandedOver {
		in.w.fail("%s counts %d cancels read and %d results, %d records handed over", in.member, read, cancels, s.HandedOver)
	}
	for _, n := range s.Ended {
		ended += n
	}
	ended += cancels - s.EventsWaiting
	for o, n := range s.Consumed {
		if o.Outcome == purgatory.Skipped {
			ended += n
		}
	}
	ended += s.Unfinished + s.HandedOver + int64(s.Parked+s.Due+s.InFlight) + s.Referred + s.Moved + s.Gathered
	if read += s.Loaded; read != ended {
		in.w.fail("%s counts %d records read and %d outcomes", in.member, read, ended)
	}
}
