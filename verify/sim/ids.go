package sim

import (
	"encoding/binary"
	"fmt"

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
	readMs    int64 // of the last record read, by the time in which brokers answered
	toldStop  bool  // the core knows that nothing more is read

	shown    map[int64]*entry   // the commands that were read
	newest   map[string]*entry  // by id: the record that a command would find
	by       map[int64][]*entry // commands about a record that wait for its answer, oldest first
	unsure   map[int64]bool     // an attempt of this assignment may have been written
	lettered map[int64]bool     // bound for the dead-letter topic
	ended    map[int64]bool     // by a command, or by its expiry
	tooFar   map[int64]bool     // found invalid for a deadline too far ahead
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
		ended: make(map[int64]bool), tooFar: make(map[int64]bool), misses: make(map[int64]bool), events: make(map[string]*happening),
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
	if w.cfg.IDs > 0 {
		w.postpone(e, n)
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
		now := in.clock().AnsweredMs
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
