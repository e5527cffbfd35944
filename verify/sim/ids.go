package sim

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"layover/purgatory"
)

// happenings is the topic of events.
const happenings = "happenings"

// timers is what a dumb reader of the rules believes about records with ids, and about
// those that expire, during one assignment. Maps are by offset.
type timers struct {
	again     int64 // finished commands count again from there on
	stableEnd int64
	over      bool // all is read that the assignment found
	why       barrier
	readMs    int64 // monotonic, of the last record read
	toldStop  bool  // the core knows that nothing more is read

	shown    map[int64]*entry   // the commands that were read
	newest   map[string]*entry  // by id: the record that a command would find
	by       map[int64][]*entry // commands about a record that wait for its answer, oldest first
	unsure   map[int64]bool     // an attempt of this assignment may have been written
	lettered map[int64]bool     // bound for the dead-letter topic
	ended    map[int64]bool     // by a command, or by its expiry
	misses   map[int64]bool     // cancels that find nothing, whose event has to come
	events   map[string]*happening
}

// barrier is why records with ids are offered before all is read.
type barrier uint8

const (
	shut barrier = iota
	openHalted
	openStopped
	openPaused
	openIdle
)

// happening is an event that the core has made.
type happening struct {
	purgatory.Event
	body    string
	victim  *entry // nil: of a miss
	command *entry // nil: of what expired
	part    int
	written int
	unknown int
}

// finishes are the offsets that the acknowledgement finishes.
func (h *happening) finishes() (out []*entry) {
	switch h.Kind {
	case purgatory.Cancelled:
		return []*entry{h.victim, h.command}
	case purgatory.Replaced, purgatory.Expired:
		return []*entry{h.victim}
	}
	return []*entry{h.command}
}

func newTimers() timers {
	return timers{
		shown: make(map[int64]*entry), newest: make(map[string]*entry), by: make(map[int64][]*entry), unsure: make(map[int64]bool), lettered: make(map[int64]bool),
		ended: make(map[int64]bool), misses: make(map[int64]bool), events: make(map[string]*happening),
	}
}

// commands says whether an entry has an id that counts: it is a cancel, or a record that
// replaces.
func (e *entry) commands() bool {
	return e.id != "" && !e.invalid && !e.large
}

// named is the body of a record with an id, which stands behind the first byte.
func named(id, rest string) string {
	return rest[:1] + string(binary.AppendUvarint(nil, uint64(len(id)+1))) + id + rest[1:]
}

// idAt is where the id stands in a body.
const idAt = 1

// identify gives a record an id, or makes it a cancel, as a number says.
func (w *World) identify(e *entry, n int) {
	if e.kind == control || e.large {
		return
	}
	if n%7 == 3 {
		e.expires, e.expireMs = true, e.deadlineMs+[...]int64{-1, 0, 5, 300, 4000, 30_000}[n/7%6]
	}
	if w.cfg.IDs == 0 {
		return
	}
	kind := n % 5
	if kind == 0 {
		return
	}
	e.id = string(rune('a' + n/5%w.cfg.IDs))
	if kind >= 3 {
		e.cancel, e.copied = true, kind == 4 && n%3 == 0
		e.expires = false
	}
}

// event is what the core calls for the record of an event.
func (in *instance) event(e *purgatory.Event) purgatory.Body {
	h := &happening{Event: *e, part: int(e.Partition)}
	h.ID = nil
	h.body = fmt.Sprintf("%d %v of %s, %d, by %d", h.part, e.Kind, e.ID, e.Offset, e.By)
	in.told = append(in.told, h)
	own := in.partition(h.part)
	if own == nil {
		in.w.fail("an event is made about %d, which is not assigned: %s", h.part, h.body)
		return body(h.body)
	}
	if e.Offset >= 0 {
		h.victim = own.held[e.Offset]
	}
	if e.By >= 0 {
		h.command = own.shown[e.By]
	}
	id := ""
	switch {
	case (e.Offset >= 0) != (h.victim != nil), (e.By >= 0) != (h.command != nil):
		in.w.fail("an event is about something that was not read: %s", h.body)
		return body(h.body)
	case h.victim != nil:
		id = h.victim.id
	case h.command != nil:
		id = h.command.id
	}
	if string(e.ID) != id || h.victim != nil && e.DueMs != h.victim.deadlineMs {
		in.w.fail("an event has another id or deadline than its record: %s", h.body)
	}
	return body(h.body)
}

// tick is what happens to the barriers before a turn.
func (in *instance) tick() {
	for _, own := range in.partitions {
		if own == nil || own.loading != nil || own.over || own.newest == nil {
			continue
		}
		now := in.clock().MonotonicMs
		switch {
		case own.read >= own.stableEnd:
			own.over, own.why = true, shut
		case own.halted:
			own.why = openHalted
		case own.toldStop:
			own.why = openStopped
		case in.paused:
			own.why = openPaused
		case now-own.readMs >= 30_000:
			own.why = openIdle
		default:
			own.why = shut
		}
	}
}

// showed notes that a record was shown to the core: the partition is not idle.
func (own *partition) showed(nowMs int64) {
	own.readMs = nowMs
	if own.why == openIdle {
		own.why = shut
	}
}

// command is what a command does that was just read, or read again.
func (in *instance) command(own *partition, c *entry, counted bool) {
	v := own.newest[c.id]
	switch {
	case v == nil:
		in.missed(own, c, counted)
	case own.lettered[v.offset]:
		v.letter = true
		in.missed(own, c, counted)
	case own.unsure[v.offset] && !in.isFlying(own, v.offset) && in.misses(own, c):
		in.missedLettered(own, v, c, counted)
	case own.unsure[v.offset] || in.isFlying(own, v.offset):
		v.letter = v.letter || in.doubtful(own, v)
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
	if own.lettered[v.offset], v.letter = true, true; !in.w.cfg.DeadLetters {
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
// the dead-letter topic, where newer records do not find it.
func (in *instance) doubtful(own *partition, v *entry) bool {
	return in.w.cfg.DeadLetters && own.unsure[v.offset] && !in.isFlying(own, v.offset)
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
	return drops && e.expires && !e.invalid && !own.unsure[e.offset] && !own.ended[e.offset] && e.expired(in.clock().WallMs)
}

func (e *entry) expired(nowMs int64) bool { return e.expires && e.expireMs <= max(nowMs, e.deadlineMs) }

func (in *instance) endExpired(own *partition, e *entry) {
	own.ended[e.offset] = true
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
		if v == nil || v.cancel && !v.invalid || own.isDone(o) || !own.window.Finished(o) || in.isFlying(own, o) {
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
func (w *World) called(v *entry) { v.gone, v.called = true, w.epochs }

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
	case len(own.by[o]) > 0 && (class != purgatory.NoRoom || !own.unsure[o]):
		return true // refused for certain
	case class == purgatory.Rejected || class == purgatory.TooLarge && f.d.Bare:
		own.lettered[o] = in.w.cfg.DeadLetters
		if !in.w.cfg.DeadLetters {
			own.forget(v)
		}
	}
	return false
}

// asks is what an entry asks for beside its delivery, for people.
func (e *entry) asks(nowMs int64) (s string) {
	switch {
	case e.cancel:
		s = " cancels " + e.id
	case e.id != "":
		s = " is " + e.id
	}
	if e.expires {
		s += fmt.Sprintf(" expires in %d ms", e.expireMs-nowMs)
	}
	return s
}

// finishedBefore is a record that was finished before its assignment, or is jumped over. Its
// command may count again.
func (in *instance) finishedBefore(reader purgatory.Reader, own *partition, e *entry, want purgatory.Want) bool {
	in.effects() // a jump
	if want == purgatory.Nothing && own.read == e.offset {
		in.hopped(own, e.offset)
	}
	own.read = max(own.read, e.offset+1)
	if want == purgatory.Commanded && e.commands() {
		in.w.say("%s reads the command %v again", in.member, e)
		own.shown[e.offset] = e
		reader.Command(e.offset, []byte(e.id), e.cancel)
		in.command(own, e, true)
	}
	return in.w.err == nil
}

// hopped holds the core to the commands that count again: none is passed over while a record
// of its id waits.
func (in *instance) hopped(own *partition, offset int64) {
	if offset >= own.log.end() || offset < own.again {
		return
	}
	if c := own.log.entries[offset]; c.commands() && own.isDone(offset) && own.newest[c.id] != nil {
		in.w.fail("the command %v counts again, and is passed over while %v waits", c, own.newest[c.id])
	}
}

// reading is news about reading for the core.
func (in *instance) reading(a Action) bool {
	own := in.partition(a.P)
	switch {
	case a.N == 2 && (own == nil || own.loading != nil || !own.stopped || own.toldStop):
		return false
	case a.N == 2:
		own.toldStop = true
		in.core.Stopped(partitionOf(a.P), own.epoch)
	case in.paused == (a.N == 1):
		return false
	default:
		in.paused = a.N == 1
		in.core.Reading(in.paused)
	}
	return true
}

// waiting adds up what the cores should have of commands: the cancels that wait, and how many
// more entries there are in the core than open offsets. Of loose events nothing tells whether
// they are there still: all that they would finish is finished.
func (own *partition) entries(open int) (most, loose int) {
	for _, waiting := range own.by {
		for _, c := range waiting {
			if c.cancel && !own.isDone(c.offset) {
				open--
			}
		}
	}
	for _, h := range own.events {
		n := 0
		for _, e := range h.finishes() {
			if !own.isDone(e.offset) {
				n++
			}
		}
		if open += 1 - n; n == 0 {
			loose++
		}
	}
	return open, loose
}

// checkIDs holds the number of ids that a core has to those of its assignments.
func (in *instance) checkIDs(s *purgatory.Snapshot) {
	n, cancels := 0, 0
	for _, own := range in.partitions {
		if own == nil || own.halted {
			if own != nil {
				return
			}
			continue
		}
		n += len(own.newest)
		for _, waiting := range own.by {
			for _, c := range waiting {
				if c.cancel && !own.isDone(c.offset) {
					cancels++
				}
			}
		}
	}
	gone := 0
	for _, f := range in.flying {
		if in.still(f.part, f.epoch) == nil {
			gone++
		}
	}
	if s.IDs < n || s.IDs > n+gone {
		in.w.fail("%s knows %d ids, want %d, or up to %d more", in.member, s.IDs, n, gone)
	}
	if gone == 0 && s.Waiting != cancels {
		in.w.fail("%s has %d cancels that wait, want %d", in.member, s.Waiting, cancels)
	}
}

// encodeIDs writes what an assignment knows of ids.
func (own *partition) encodeIDs(s *scribe, nowMs int64) {
	if own.newest == nil {
		return
	}
	if s.flags(own.over); !own.over || own.again > own.read {
		s.flags(own.toldStop)
		s.num(int64(own.why), own.again, own.stableEnd, min(nowMs-own.readMs, 30_000))
	}
	for o := own.low; o < own.read; o++ {
		s.flags(own.unsure[o], own.lettered[o], own.ended[o], own.misses[o])
		for _, c := range own.by[o] {
			s.num(c.offset)
		}
		if e := own.held[o]; e != nil {
			s.flags(e.called >= own.epoch)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(own.newest)) {
		s.num(own.newest[id].offset)
	}
	for _, text := range slices.Sorted(maps.Keys(own.events)) {
		s.text(text)
	}
}
