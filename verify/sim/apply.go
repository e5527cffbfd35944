package sim

import (
	"errors"

	"layover/offsets"
	"layover/purgatory"
)

// apply makes an action happen.
func (w *World) apply(a Action) bool {
	switch a.Kind {
	case JournalHaunt, JournalDelete, JournalDouble, JournalTruncate, JournalTrim, JournalRecreate:
		return w.cfg.Journal && w.applyToJournal(a)
	case CopyHaunt, RunsDelete, RunsTrim, RunsElect, RunsTruncate, RunsRecreate:
		return w.cfg.Runs && w.applyToRuns(a)
	case Calm:
		return w.calm()
	case Append, Decide, DeleteRecords, Elect, Truncate, Compact, Recreate, Sicken:
		return w.applyToLog(a)
	case Pass, Verdict, Silence, Limit, Late, Haunt, Reset, Overwrite, Pending, Resolve:
		return w.applyToBrokers(a)
	}
	in := w.insts[a.I]
	if a.Kind == Expel {
		return w.giveUp(in)
	}
	return in.up != (a.Kind == Start) && in.apply(a)
}

// apply is what happens to one instance.
func (in *instance) apply(a Action) bool {
	g := &in.w.group
	switch {
	case a.Kind >= Write && a.Kind <= Answer:
		return in.applyToMail(a)
	case a.Kind == JournalAppend || a.Kind == JournalAnswer:
		return in.applyToWrites(a)
	case a.Kind >= Gather && a.Kind <= RunsUsable:
		return in.w.cfg.Runs && in.applyToMoves(a)
	}
	switch a.Kind {
	case Start:
		in.start()
	case Crash:
		in.crash()
	case Learn:
		if g.members[in.member] {
			return false
		}
		in.lose()
		in.rejoin()
	case Sync:
		if !g.members[in.member] || in.generation == g.generation {
			return false
		}
		in.generation = g.generation
	case Fetch:
		return len(in.intake) < 4 && in.fetch(a.P, a.N)
	case Turn:
		in.turn(a.N)
	case Suspend:
		in.suspend()
	case Trim:
		in.core.Trim()
	case Cut:
		in.core.Journals().Cut(a.N > 0)
		wrote := len(in.writes)
		in.effects()
		return len(in.writes) > wrote
	case Reading:
		return in.reading(a)
	case JournalNotice:
		if !in.w.cfg.Journal {
			return false
		}
		in.notice(a.N)
		in.effects()
	case Step:
		if skew := in.skewMs + int64(a.N); max(skew, -skew) > clockSlackMs/2 {
			return false
		}
		in.skewMs += int64(a.N)
		in.steppedBack = in.steppedBack || a.N < 0
		in.steppedBehind = in.steppedBehind || a.N <= -purgatory.LateMs
	default:
		return in.applyToPartition(a)
	}
	return true
}

// giveUp is the end of a session: of an earlier life of the instance, or of this one.
func (w *World) giveUp(in *instance) bool {
	m := in.member
	if len(in.dead) > 0 {
		m, in.dead = in.dead[0], in.dead[1:]
	}
	if !w.group.members[m] {
		return false
	}
	w.group.expel(m)
	w.say("%s is given up by the group", m)
	return true
}

// suspend is what the lane does when its lease runs out: commits that are on their
// way prove nothing any more.
func (in *instance) suspend() {
	in.core.Suspend()
	for _, own := range in.partitions {
		if own != nil {
			own.accepted = false
		}
	}
	for _, c := range in.queue {
		c.stale = true
	}
}

// applyToPartition is what happens to one partition of one instance.
func (in *instance) applyToPartition(a Action) bool {
	w, p := in.w, a.P
	own := in.partition(p)
	if a.Kind == Assign {
		free := w.group.owner[p] == "" && w.group.members[in.member] && in.generation == w.group.generation
		if !free || own != nil || w.group.pending[p] != nil {
			return false
		}
		in.assign(p, a.N%2 == 1)
		return true
	}
	if own == nil {
		return false
	}
	switch a.Kind {
	case Load:
		return in.load(p)
	case Revoke:
		if own.revoking || !w.group.members[in.member] {
			return false
		}
		in.core.Revoke(partitionOf(p), own.epoch)
		own.revoking = true
	case Final:
		if !own.revoking || in.finals() > 1 {
			return false
		}
		c, ok := in.core.Final(partitionOf(p), own.epoch)
		if ok {
			in.stamp(c, true)
		}
		return ok
	case Sweep:
		if !own.revoking || !w.group.members[in.member] {
			return false
		}
		in.sweep(p)
		w.group.owner[p] = ""
		w.group.generation++
		in.generation = w.group.generation
	}
	return true
}

// finals counts the last commits that are on their way.
func (in *instance) finals() (n int) {
	for _, c := range in.queue {
		if c.final {
			n++
		}
	}
	return n
}

// applyToMail is what happens to an instance's produces and commits.
func (in *instance) applyToMail(a Action) bool {
	switch a.Kind {
	case Write:
		if a.N >= len(in.flying) || in.flying[a.N].applied || in.w.silent[in.flying[a.N].place()] {
			return false
		}
		in.flying[a.N].applied = true
		in.w.write(in.flying[a.N])
		return true
	case Reply:
		if a.P >= len(in.flying) || in.w.silent[in.flying[a.P].place()] {
			return false
		}
		class := purgatory.Class(a.N)
		if in.flying[a.P].applied && class != purgatory.Unknown {
			class = purgatory.Delivered
		}
		in.outcome(a.P, class)
		return true
	case Build:
		if !in.core.Dirty() {
			return false
		}
		for _, c := range in.core.Commits(nil, a.N > 0) {
			in.stamp(c, false)
		}
		return true
	}
	if len(in.queue) == 0 {
		return false
	}
	c := in.queue[0]
	if a.Kind == Answer {
		if !c.arrived {
			return false
		}
		in.answered(c)
		return true
	}
	if c.arrived {
		return false
	}
	switch a.Kind {
	case Arrive:
		in.w.arrive(c)
	case Straggle: // the request may be on its way still, and goes out once more
		again := *c
		in.w.late = append(in.w.late, &again)
	case Refuse:
		c.arrived, c.answer = true, answer{}
	}
	return true
}

// arrive is a commit that reaches the coordinator.
func (w *World) arrive(c *commitMsg) {
	c.arrived = true
	if c.answer = w.group.judge(c, w.logs[c.part]); c.answer.ok {
		w.take(c)
	}
}

// answered gives the core the answer to its oldest commit.
func (in *instance) answered(c *commitMsg) {
	in.queue = in.queue[1:]
	r := offsets.CommitResult{Commit: c.Commit, Fenced: c.answer.fenced, MetadataTooLarge: c.answer.tooLarge}
	own := in.still(c.part, c.Epoch)
	switch {
	case !c.answer.ok:
		r.Err = errRefused
		in.w.say("%s hears that its commit of %d is refused: %+v", in.member, c.part, c.answer)
		if own != nil && c.answer.fenced {
			own.accepted = false
		}
	case own != nil:
		if !own.accepted && !c.stale {
			own.accepted, own.acceptedMs = true, in.w.nowMs
		}
		own.answered = c.taken
		in.w.noteSaid(own.log, c)
	}
	in.core.Committed(r)
	in.effects()
}

var errRefused = errors.New("refused")
