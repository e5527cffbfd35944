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
	w.say("all faults end")
	w.heal()
	for turn := 0; w.err == nil && !w.settled(); turn++ {
		if turn == drainTurns {
			w.fail("STUCK: %s", w.unsettled())
			break
		}
		w.settle(turn)
		w.check()
	}
	w.verdict()
	return w.err
}

func (w *World) check() {
	for _, in := range w.insts {
		in.check()
	}
}

// heal makes everything work again: targets, the coordinator, transactions. What
// was on cut connections arrives now.
func (w *World) heal() {
	clear(w.verdicts)
	clear(w.silent)
	for p, log := range w.logs {
		log.sick = well
		log.decide(p, true)
		w.apply(Action{Kind: Resolve, P: p, N: 1})
	}
	for len(w.ghosts) > 0 {
		w.apply(Action{Kind: Haunt})
	}
	for len(w.late) > 0 { // what it takes back is said again with the next record that finishes
		p := w.late[0].part
		w.apply(Action{Kind: Late})
		w.append(p, entry{target: egress, deadlineMs: w.nowMs})
	}
	for len(w.journal.ghosts) > 0 {
		w.apply(Action{Kind: JournalHaunt})
	}
	for _, in := range w.insts {
		if !in.up {
			in.start()
		}
		if !w.group.members[in.member] {
			in.lose()
			in.rejoin()
		}
		w.apply(Action{Kind: JournalNotice, I: in.no, N: 1})
	}
	for m := range w.group.members { // those that died without a word
		alive := false
		for _, in := range w.insts {
			alive = alive || in.member == m
		}
		if !alive {
			w.group.expel(m)
		}
	}
}

// settle is one turn of everybody, in which all goes well.
func (w *World) settle(turn int) {
	for p := range w.logs {
		w.home(p, turn)
	}
	for _, in := range w.insts {
		in.generation = w.group.generation
		for p := range w.logs {
			for len(in.intake) < 4 && in.fetch(p, 1000) {
			}
		}
		for range 100 {
			if in.turn(1000); len(in.flying) == 0 || w.err != nil {
				break
			}
			for len(in.flying) > 0 {
				in.outcome(0, purgatory.Delivered)
			}
		}
		w.commit(in)
	}
	w.nowMs += 500
	if turn > 20 { // the longest delays
		w.nowMs += 3_600_000
	}
}

// commit lets an instance say what it has to say.
func (w *World) commit(in *instance) {
	in.core.Cut(true)
	in.effects()
	w.journalled(in)
	if in.core.Dirty() {
		for _, c := range in.core.Commits(nil, false) {
			in.stamp(c, false)
		}
	}
	for len(in.queue) > 0 {
		c := in.queue[0]
		if !c.arrived {
			w.arrive(c)
		}
		in.answered(c)
	}
}

// journalled lets what is on its way to the journal arrive, and its answers.
func (w *World) journalled(in *instance) {
	for len(in.writes) > 0 && w.err == nil {
		g := in.writes[0]
		if !g.applied {
			w.apply(Action{Kind: JournalAppend, I: in.no, P: g.part})
		}
		failed := 0
		if !g.applied { // it was sent to a topic that is gone
			failed = 1
		}
		w.apply(Action{Kind: JournalAnswer, I: in.no, P: g.part, N: failed})
	}
	for len(w.journal.deletes) > 0 && w.err == nil {
		w.apply(Action{Kind: JournalDelete})
	}
}

// home gives a partition to somebody who can read it. What an operator would have
// to do is done.
func (w *World) home(p, turn int) {
	var owner *instance
	truncated := false
	for _, in := range w.insts {
		if own := in.partition(p); own != nil {
			owner = in
			for in.load(p) {
			}
			if unreadable := own.revoking || own.stopped || own.loading != nil || own.log != w.logs[p] || own.cut; unreadable {
				w.end(in, p)
				owner, truncated = nil, own.cut
			}
		}
	}
	if owner != nil {
		return
	}
	if was, log := w.group.offsets[p], w.logs[p]; was != nil && was.topicID == log.topicID {
		if end := log.endOf(was.LeaderEpoch); truncated || was.Offset > end {
			w.apply(Action{Kind: Reset, P: p, N: int(min(was.Offset, end) - log.start)})
		}
	}
	in := w.insts[(p+turn)%len(w.insts)]
	in.generation = w.group.generation
	w.apply(Action{Kind: Assign, I: in.no, P: p})
}

// end gives a partition up in good order.
func (w *World) end(in *instance, p int) {
	in.generation = w.group.generation
	own := in.partitions[p]
	in.core.Revoke(partitionOf(p), own.epoch)
	own.revoking = true
	for len(in.flying) > 0 {
		in.outcome(0, purgatory.Delivered)
	}
	if c, ok := in.core.Final(partitionOf(p), own.epoch); ok {
		in.stamp(c, true)
	}
	w.commit(in)
	w.apply(Action{Kind: Sweep, I: in.no, P: p})
}

// settled says whether there is nothing left to do.
func (w *World) settled() bool { return w.unsettled() == "" }

func (w *World) unsettled() string {
	for _, in := range w.insts {
		s := in.core.Snapshot()
		switch {
		case len(in.intake) > 0:
			return "what was fetched is not read"
		case s.Parked+s.Due+s.InFlight > 0:
			return fmt.Sprintf("%s has %d parked, %d due, %d in flight", in.member, s.Parked, s.Due, s.InFlight)
		case in.core.Dirty() || in.core.Committing():
			return fmt.Sprintf("%s has something to commit", in.member)
		}
	}
	for p, log := range w.logs {
		was := w.group.offsets[p]
		if in := w.stopped(p); in != nil {
			return fmt.Sprintf("%s has stopped reading %d", in.member, p)
		}
		if w.group.owner[p] == "" { // what is committed may be of a log that was truncated
			return fmt.Sprintf("nobody reads %d", p)
		}
		if w.halted(p) {
			continue
		}
		if was == nil || was.topicID != log.topicID || was.Offset < log.quiet() {
			return fmt.Sprintf("partition %d is not committed up to %d: %+v", p, log.quiet(), was)
		}
	}
	return ""
}

// stopped is who waits for an operator to say where a truncated log goes on.
func (w *World) stopped(p int) *instance {
	for _, in := range w.insts {
		if own := in.partition(p); own != nil && (own.stopped || own.cut) {
			return in
		}
	}
	return nil
}

func (w *World) halted(p int) bool {
	for _, in := range w.insts {
		if own := in.partition(p); own != nil && own.halted {
			return true
		}
	}
	return false
}

// verdict holds the end to the promises: every record has an outcome, nothing is
// left in the cores, and what they count adds up.
func (w *World) verdict() {
	if w.err != nil {
		return
	}
	for p, log := range w.logs {
		for _, e := range log.entries[log.start:] {
			if !e.finished() && e.kind == record && !w.halted(p) {
				w.fail("LOST: %v has no outcome in the end", e)
			}
		}
	}
	for _, in := range w.insts {
		in.conserve()
		for p, own := range in.partitions {
			if own != nil {
				in.sweep(p)
			}
		}
		in.core.Trim()
		if live := in.core.Snapshot().LiveBytes; live > 0 {
			w.fail("KEPT: an empty core needs %d bytes for records", live)
		}
		if fresh, left := w.core(in.clock()).Bytes(), in.core.Bytes(); left > fresh+leftover*int64(min(w.cfg.Burst, 4)) {
			w.fail("KEPT: an empty core holds %d bytes, a fresh one %d", left, fresh)
		}
	}
}

// leftover is what an empty core may keep for reuse, in bytes: its table of
// deliveries, its queues' first allocations, targets that it knows, a slab of the
// wheel. Where records come in bursts, its queues have grown.
const leftover = 97 << 10

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
	for o, n := range s.Consumed {
		if o.Outcome == purgatory.Skipped {
			ended += n
		}
	}
	ended += s.Unfinished + s.HandedOver + int64(s.Parked+s.Due+s.InFlight) + s.Referred
	if read != ended {
		in.w.fail("%s counts %d records read and %d outcomes", in.member, read, ended)
	}
}
