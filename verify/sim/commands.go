package sim

import (
	"slices"

	"layover/offsets"
	"layover/purgatory"
)

// This file holds the promises about ids: no record comes back that was called cancelled or
// replaced.

// restart is what an assignment would begin with that found a commit, and in the journal
// more records than are there.
func (b *brokers) restart(p int, c offsets.Committed, more [][]byte) (set doneSet, again int64, ok bool) {
	metadata, ext, err := offsets.DecodeAll(c.Metadata, b.identity(p), c.Offset)
	if err != nil {
		return doneSet{}, 0, false
	}
	valid := b.logs[p].endOf(c.LeaderEpoch)
	window := offsets.NewWindow(min(metadata.Low(), valid))
	metadata.Each(func(from, to int64) bool {
		window.FinishRange(from, min(to, valid))
		return true
	})
	again = ext.Again
	if b.journal.exists() && ext.Incarnation != 0 {
		u, complaint, err := b.readFacts(p, window, c.LeaderEpoch, b.logs[p].end(), ext, more...)
		if err != nil {
			return doneSet{}, 0, false
		}
		again = b.again(p, u, complaint, again)
	}
	return setOf(window), again, true
}

// covers holds a set that an assignment may begin with to the promise. A record that a
// command has ended and the set leaves open has a later command that is open as well, or
// counts again.
func (w *World) covers(p int, set doneSet, again int64, what string) {
	log, slowest := w.logs[p], w.slowestMs()
	for o := max(log.start, set.low); o < log.end(); o++ {
		e := log.entries[o]
		if set.has(o) || e.kind != record || len(e.by) == 0 || e.unfound || !log.tells(e.by) {
			continue
		}
		covered := false
		for _, c := range log.entries[o+1:] {
			covered = covered || c.commands() && c.kind == record && c.id == e.id && (!set.has(c.offset) || c.offset >= again && c.counts(slowest))
		}
		if !covered {
			w.fail("UNCOVERED: %s leaves %v open, about which %v was read, and all later commands of its id are finished below %d: %v", what, e, e.by, again, set)
		}
	}
}

// coverAll holds all that a restart may find to the promise. That is each commit that
// stands or may arrive, beside the journal as it is, and beside each journal record that
// may arrive alone.
func (w *World) coverAll() {
	for p, log := range w.logs {
		var all []offsets.Committed
		add := func(c *commitMsg) {
			if c.part == p && c.topicID == log.topicID {
				all = append(all, offsets.Committed{Offset: c.Low, LeaderEpoch: c.LeaderEpoch, Metadata: c.Metadata})
			}
		}
		for _, c := range w.late {
			add(c)
		}
		var more [][]byte
		write := func(g *journalWrite) {
			if g.part == p && !g.applied && g.topicID == w.journal.topicID {
				more = append(more, g.Value)
			}
		}
		for _, in := range w.insts {
			for _, c := range in.queue {
				add(c)
			}
			for _, g := range in.writes {
				write(g)
			}
		}
		for _, g := range w.journal.ghosts {
			write(g)
		}
		if was := w.group.offsets[p]; was != nil && was.topicID == log.topicID {
			all = append(all, was.Committed)
		}
		for _, c := range all {
			w.coverOne(p, c, more)
		}
	}
}

func (w *World) coverOne(p int, c offsets.Committed, more [][]byte) {
	if set, again, ok := w.restart(p, c, nil); ok {
		w.covers(p, set, again, "a commit with the journal")
	}
	for _, v := range more {
		if set, again, ok := w.restart(p, c, [][]byte{v}); ok {
			w.covers(p, set, again, "a commit with the journal and a record that may arrive")
		}
	}
}

// holdOffer holds the offer of a record with an id to the promises.
func (in *instance) holdOffer(own *partition, e *entry, d *purgatory.Delivery) {
	w, o := in.w, e.offset
	switch {
	case own.ended[o]:
		w.fail("BACK: %v is offered, which has ended", e)
	case e.expires && !own.invalid(e) && d.Reason == "" && !own.unsure[o] && e.expired(in.clock().WallMs):
		w.fail("%v is offered after its expiry", e)
	case d.Reason == "expired" && !e.expired(in.clock().WallMs) && !own.lettered[o] && !in.steppedBack:
		w.fail("%v expires early", e)
	}
	if own.shown[o] == nil || w.err != nil {
		return
	}
	switch {
	case d.Reason != "" && !own.lettered[o] && own.unsure[o] && e.unfound && !slices.ContainsFunc(own.by[o], func(c *entry) bool { return c.cancel }):
		delete(own.by, o) // it was bound for the dead-letter topic when they were read
	case e.cancel:
		w.fail("the cancel %v is offered", e)
	case own.lettered[o] && d.Reason == "":
		w.fail("BACK: %v is offered, which a command did not find", e)
	case len(own.by[o]) > 0 && (!own.unsure[o] || d.Reason != ""):
		w.fail("BACK: %v is offered, though %v about it was read", e, own.by[o])
	case !own.over && own.why == shut && own.read < own.stableEnd:
		w.fail("BARRIER: %v is offered, though %d is read up to %d of %d", e, e.part, own.read, own.stableEnd)
	case e.called > 0 && own.epoch > e.called && !own.unsure[o] && !e.unfound && own.log.tells(e.by):
		in.holdCalled(own, e)
	}
	if d.Reason != "" {
		own.lettered[o] = true
	}
}

// holdCalled holds the offer of a record that was called cancelled or replaced before its
// assignment began. Its commands must not have been read, and the barrier must be open.
func (in *instance) holdCalled(own *partition, e *entry) {
	if c := own.reread(e.by); c != nil {
		in.w.fail("BACK: %v is offered, which %v have ended, and %v was read again", e, e.by, c)
		return
	}
	if own.over || own.why == shut {
		in.w.fail("BACK: %v is offered, which %v have ended", e, e.by)
	}
}
