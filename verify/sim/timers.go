package sim

import (
	"maps"
	"slices"

	"layover/purgatory"
)

// command is what a command does that was just read, or read again.
func (in *instance) command(own *partition, c *entry, counted bool) {
	v := own.newest[c.id]
	in.holdRefused(c, v)
	switch {
	case v == nil:
		in.missed(own, c, counted)
	case own.lettered[v.offset]:
		v.unfound = true
		in.missed(own, c, counted)
	case own.unsure[v.offset] && !in.isFlying(own, v.offset, 0) && in.misses(own, c):
		in.missedLettered(own, v, c, counted)
	case own.unsure[v.offset] || in.isFlying(own, v.offset, 0):
		v.unfound = v.unfound || in.doubtful(own, v)
		own.by[v.offset] = append(own.by[v.offset], c)
		v.by = append(v.by, c)
	case in.ends(own, v):
		own.by[v.offset] = append(own.by[v.offset], c)
		v.by = append(v.by, c)
		delete(own.newest, v.id)
	default: // only bound for the dead-letter topic a command does not find it
		in.missedLettered(own, v, c, counted)
	}
	if !c.cancel && !counted {
		own.newest[c.id] = c
	}
	in.observe()
}

// missedLettered is a command that does not find a record which waits: that must be bound for
// the dead-letter topic.
func (in *instance) missedLettered(own *partition, v, c *entry, counted bool) {
	if own.lettered[v.offset], v.unfound = true, true; !in.w.cfg.DeadLetters {
		in.w.fail("%v was read, and %v about it does not end it", c, v)
	}
	in.missed(own, c, counted)
}

// misses says whether the core has just called a cancel a miss.
func (in *instance) misses(own *partition, c *entry) bool {
	return c.cancel && (own.window.Finished(c.offset) && !own.isDone(c.offset) || slices.ContainsFunc(in.told, func(h *happening) bool {
		return h.command == c && h.Kind == purgatory.CancelMiss
	}))
}

// doubtful says whether nothing tells that a record which waits to be sent again is bound for
// the dead-letter topic. Newer records do not find one that is.
func (in *instance) doubtful(own *partition, v *entry) bool {
	return in.w.cfg.DeadLetters && own.unsure[v.offset] && !in.isFlying(own, v.offset, 0)
}

// ends says whether the core has just ended a record.
func (in *instance) ends(own *partition, v *entry) bool {
	if !in.w.cfg.Events {
		return own.window.Finished(v.offset)
	}
	return slices.ContainsFunc(in.told, func(h *happening) bool {
		return h.victim == v && (h.Kind == purgatory.Cancelled || h.Kind == purgatory.Replaced)
	})
}

// missed is a command that finds no record.
func (in *instance) missed(own *partition, c *entry, counted bool) {
	switch {
	case !c.cancel || counted:
	case in.w.cfg.Events && !c.copied:
		own.misses[c.offset] = true
	default:
		own.done[c.offset], c.gone = true, true
	}
}

// observe takes note of what the core has ended since the last call, and holds it to the
// rules.
func (in *instance) observe() {
	told := in.told
	in.told = nil
	for _, h := range told {
		own := in.partition(h.part)
		if in.w.err != nil || own == nil {
			return
		}
		in.w.say("%s makes the event %s", in.member, h.body)
		in.hear(own, h)
		own.events[h.body] = h
	}
	for _, own := range in.partitions {
		if own != nil && own.held != nil && in.w.err == nil {
			in.unsaid(own)
		}
	}
}

// hear holds an event to the rules.
func (in *instance) hear(own *partition, h *happening) {
	ok := own.events[h.body] == nil
	switch h.Kind {
	case purgatory.Cancelled, purgatory.Replaced:
		ok = ok && in.end(own, h.victim) == h.command && h.command.cancel == (h.Kind == purgatory.Cancelled)
	case purgatory.TooLate:
		ok = ok && own.isDone(h.victim.offset) && slices.Contains(own.by[h.victim.offset], h.command)
		own.by[h.victim.offset] = slices.DeleteFunc(own.by[h.victim.offset], func(c *entry) bool { return c == h.command })
	case purgatory.CancelMiss:
		ok = ok && own.misses[h.command.offset]
		delete(own.misses, h.command.offset)
	case purgatory.Expired:
		ok = ok && in.mayExpire(own, h.victim)
		in.endExpired(own, h.victim)
	}
	if !ok {
		in.w.fail("an event is not true: %s", h.body)
	}
}

// end ends a record by the oldest command that waits for that, and returns the command.
func (in *instance) end(own *partition, v *entry) *entry {
	waiting := own.by[v.offset]
	delete(own.by, v.offset)
	if len(waiting) == 0 || own.ended[v.offset] || own.isDone(v.offset) {
		return nil
	}
	own.ended[v.offset] = true
	own.forget(v)
	for _, c := range waiting[1:] {
		in.missed(own, c, own.isDone(c.offset))
	}
	in.w.say("%v ends %v", waiting[0], v)
	return waiting[0]
}

// forget notes that no command finds a record any more.
func (own *partition) forget(v *entry) {
	if own.newest[v.id] == v {
		delete(own.newest, v.id)
	}
}

// mayExpire says whether a record may be dropped for its expiry.
func (in *instance) mayExpire(own *partition, e *entry) bool {
	drops := in.w.cfg.OnExpired == purgatory.Drop || !in.w.cfg.DeadLetters
	return drops && e.expires && !own.invalid(e) && !own.unsure[e.offset] && !own.ended[e.offset] && e.expired(in.clock().WallMs)
}

func (e *entry) expired(nowMs int64) bool { return e.expires && e.expireMs <= max(nowMs, e.deadlineMs) }

func (in *instance) endExpired(own *partition, e *entry) {
	own.ended[e.offset], e.unfound = true, true
	own.forget(e)
	in.w.say("%v expires", e)
}

// unsaid finds what has ended in a partition without a word: without a topic for events, or
// because that topic took none for too long.
func (in *instance) unsaid(own *partition) {
	for _, k := range slices.Sorted(maps.Keys(own.events)) {
		h := own.events[k]
		for _, e := range h.finishes() {
			if !own.isDone(e.offset) && own.window.Finished(e.offset) && !in.onTheWay(h) {
				in.w.say("%s gives up the event %s", in.member, h.body)
				own.acknowledge(in.w, h)
				break
			}
		}
	}
	if in.w.cfg.Events {
		return
	}
	for o := own.low; o < own.read; o++ {
		v := own.held[o]
		if v == nil || v.cancel && !v.invalid || own.isDone(o) || !own.window.Finished(o) || in.isFlying(own, o, 0) {
			continue
		}
		if c := in.end(own, v); c != nil {
			in.w.called(v)
			if own.done[o] = true; c.cancel {
				own.done[c.offset], c.gone = true, true
			}
			continue
		}
		if !in.mayExpire(own, v) {
			in.w.fail("LOST: %v is ended by nobody", v)
			return
		}
		in.endExpired(own, v)
		own.done[o], v.gone = true, true
	}
}

// called notes that a record was called cancelled or replaced.
func (w *World) called(v *entry) {
	v.gone, v.called = true, w.epochs
	v.early = v.early || !v.counts(w.slowestMs())
}

// onTheWay says whether an event is in flight.
func (in *instance) onTheWay(h *happening) bool {
	return slices.ContainsFunc(in.flying, func(f *produce) bool { return f.event == h })
}

// acknowledge ends an event: its topic has it, or never will.
func (own *partition) acknowledge(w *World, h *happening) {
	delete(own.events, h.body)
	for _, e := range h.finishes() {
		own.done[e.offset] = true
	}
	w.heard(h)
}

// heard notes what an event says, for everybody.
func (w *World) heard(h *happening) {
	if h.Kind == purgatory.Cancelled || h.Kind == purgatory.Replaced {
		w.called(h.victim)
	}
	for _, e := range h.finishes() {
		e.gone = true
	}
}

// writeEvent is the broker's side of an event.
func (w *World) writeEvent(f *produce) {
	h := f.event
	h.written++
	w.say("the event %s is written", h.body)
	switch {
	case string(f.d.Body) != h.body:
		w.fail("an event was written with other bytes: %q, want %q", f.d.Body, h.body)
	case h.written > 1+h.unknown:
		w.fail("the event %s was written %d times, though %d answers left it open", h.body, h.written, h.unknown)
	}
	w.heard(h)
}

// settleTimer is what the answer to a record says about the commands that wait for it. It
// returns true where the first of them ends it.
func (in *instance) settleTimer(own *partition, f *produce, class purgatory.Class) bool {
	v, o := f.entry, f.d.Offset
	switch {
	case class == purgatory.Delivered:
		own.forget(v)
		if own.done[o] = true; in.w.cfg.Events {
			return false
		}
		for _, c := range own.by[o] {
			if c.cancel {
				own.done[c.offset], c.gone = true, true
			}
		}
		delete(own.by, o)
	case f.d.Reason != "":
	case class == purgatory.Unknown:
		own.unsure[o] = true
	case len(own.by[o]) > 0:
		return !in.mayBeThere(own, f, class)
	case class == purgatory.Rejected && (f.d.Alone || f.d.Hurried) || class == purgatory.TooLarge && f.d.Bare:
		own.lettered[o] = in.w.cfg.DeadLetters
		if !in.w.cfg.DeadLetters {
			own.forget(v)
		}
	}
	return false
}

// mayBeThere says whether an earlier attempt may have written a record, as far as an answer that was not good tells.
// Only one about the record itself says that no attempt has.
func (in *instance) mayBeThere(own *partition, f *produce, class purgatory.Class) bool {
	return own.unsure[f.d.Offset] && !(f.d.Alone && (class == purgatory.Rejected || class == purgatory.TooLarge))
}
