package sim

import (
	"layover/offsets"
	"layover/purgatory"
)

// applyToLog is what producers, operators and accidents do to a log.
func (w *World) applyToLog(a Action) bool {
	log := w.logs[a.P]
	if a.Kind == Sicken {
		return w.sicken(a.P, illness(a.N))
	}
	if !log.sick.hasLeader() {
		return false
	}
	switch a.Kind {
	case Append:
		for i := range w.cfg.Burst {
			w.produce(a.P, a.N*(i+1)+i)
		}
	case Decide:
		return log.decide(a.P, a.N == 0)
	case DeleteRecords:
		to := min(log.start+int64(a.N), log.stable())
		if to <= log.start {
			return false
		}
		log.start = to
		w.say("the log of %d begins at %d", a.P, to)
	case Elect:
		log.epoch++
	case Truncate:
		return w.truncate(a.P, log.end()-int64(a.N))
	case Compact:
		o := log.start + int64(a.N)
		if o >= log.stable()-1 || log.entries[o].kind != record { // a log's last record is never compacted
			return false
		}
		e := log.entries[o]
		e.lost, e.kind = true, compacted
		w.say("%v is compacted away", e)
	case Recreate:
		w.remake(a.P)
		w.say("the topic of %d is made again", a.P)
	}
	return true
}

// delays are what producers ask for, in milliseconds.
var delays = [...]int64{0, 1, 5, 30, 200, 900, 3000, 20_000, 3_600_000}

// delay is one of them. Where there are runs, more of them are far off.
func (w *World) delay(i int) int64 {
	if w.cfg.Runs && i%3 == 1 {
		return delays[i] + 60_000
	}
	return delays[i]
}

// produce writes one record whose kind is the number n.
func (w *World) produce(p, n int) {
	e := entry{target: egress, deadlineMs: w.nowMs + w.delay(n%len(delays))}
	n /= len(delays)
	switch n % 16 {
	case 0:
		e.kind = undecided
	case 1:
		e.invalid = true
	case 2, 3:
		e.passed = true
	case 4, 5, 6:
		e.target = other
	case 7:
		e.kind = control
	case 8:
		e.large = true
	}
	n /= 16
	w.identify(&e, n/40)
	size := 1 + n%40
	if n%23 == 0 {
		size *= 300
	}
	e.body = string(make([]byte, size))
	if got := w.logs[p].append(p, e); w.text != nil {
		w.say("%v is written, due in %d ms%s", got, got.deadlineMs-w.nowMs, got.asks(w.nowMs))
	}
}

// append writes one record that producers ask for.
func (w *World) append(p int, e entry) {
	e.atMs = w.nowMs
	got := w.logs[p].append(p, e)
	w.say("%v is written for %s, due in %d ms", got, e.target, e.deadlineMs-w.nowMs)
}

// targets are the topics that records go to, by number.
var targets = [...]string{egress, other, graves, happenings}

// verdicts are what a router may say, the good news more often.
var verdicts = [...]purgatory.Verdict{
	purgatory.Usable, purgatory.Usable, purgatory.Usable, purgatory.Usable, purgatory.Usable,
	purgatory.Pending, purgatory.Missing, purgatory.Forbidden,
}

// truncate cuts the log off, as an unclean election does.
func (w *World) truncate(p int, end int64) bool {
	log := w.logs[p]
	if end < log.start || end >= log.end() || log.strange {
		return false
	}
	log.truncate(end)
	for _, in := range w.insts {
		if own := in.partition(p); own != nil && own.log == log && own.next > end {
			own.cut = true
		}
	}
	w.say("the log of %d is truncated to %d", p, end)
	return true
}

// applyToBrokers is what happens to the group, to targets, and on the way to them.
func (w *World) applyToBrokers(a Action) bool {
	g := &w.group
	switch a.Kind {
	case Pass:
		w.nowMs += int64(a.N)
	case Verdict:
		name := targets[a.P%len(targets)]
		w.verdicts[name] = verdicts[a.N%len(verdicts)]
	case Silence:
		at := place{targets[a.P%len(targets)], int32(a.N / 2 % 2)}
		if w.silent[at] == (a.N%2 == 0) {
			return false
		}
		w.silent[at] = a.N%2 == 0
	case Limit:
		if g.maxMetadata < smallestLimit { // a core that has given up does not look again
			return false
		}
		g.maxMetadata = max(smallestLimit, a.N)
	case Late:
		if a.N >= len(w.late) {
			return false
		}
		c := w.late[a.N]
		w.late = append(w.late[:a.N:a.N], w.late[a.N+1:]...)
		if w.arrive(c); c.taken != nil {
			c.taken.late = true
		}
	case Haunt:
		if a.N >= len(w.ghosts) {
			return false
		}
		f := w.ghosts[a.N]
		w.ghosts = append(w.ghosts[:a.N:a.N], w.ghosts[a.N+1:]...)
		w.write(f)
	default:
		return w.applyToOffset(a)
	}
	return true
}

// applyToOffset is what others than an owner do to a partition's committed offset.
// Kafka's tools refuse to while the group has members that own it.
func (w *World) applyToOffset(a Action) bool {
	g, p := &w.group, a.P
	log, was := w.logs[p], w.group.offsets[p]
	if a.Kind == Resolve {
		if g.pending[p] == nil {
			return false
		}
		if a.N > 0 {
			g.offsets[p] = g.pending[p]
			w.markPending(p)
		}
		g.pending[p] = nil
		return true
	}
	if g.owner[p] != "" || g.pending[p] != nil || was == nil || was.topicID != log.topicID {
		return false
	}
	f, sound := w.setOf(p, was)
	sound = sound && f.end() <= log.endOf(was.LeaderEpoch)
	switch a.Kind {
	case Reset:
		to := min(log.start+int64(a.N), log.end())
		for o, e := range log.entries {
			e.said = false
			e.lost = e.lost || int64(o) < to && e.written == 0 // the operator's wish
		}
		g.offsets[p] = &committed{offsets.Committed{Offset: to, LeaderEpoch: -1}, log.topicID, true, false}
	case Overwrite:
		metadata, epoch := "member-7c9e", was.LeaderEpoch
		switch a.N {
		case 2: // by a release that named no epochs, before which no log was truncated
			if log.epoch > 0 {
				return false
			}
			log.strange = true
			g.offsets[p] = &committed{offsets.Committed{Offset: was.Offset, LeaderEpoch: -1, Metadata: was.Metadata}, log.topicID, was.byWord, false}
			return true
		case 1: // a mirror's copy
			epoch = 1
			id := w.identity(p)
			id.ClusterID = "elsewhere"
			set := offsets.NewWindow(f.low)
			set.FinishRange(f.low+1, f.low+5)
			metadata = set.Encode(id, 4096).Metadata
		}
		g.offsets[p] = &committed{offsets.Committed{Offset: f.low, LeaderEpoch: epoch, Metadata: metadata}, log.topicID, true, false}
		for o := max(f.low, 0); o < log.end(); o++ {
			log.entries[o].said = false
		}
	case Pending:
		if !sound {
			return false
		}
		g.pending[p] = w.transact(p, f, was)
	}
	return true
}
