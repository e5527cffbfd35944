package purgatory

import (
	"fmt"
	"time"

	"layover/offsets"
)

// EventKind is what an event says.
type EventKind uint8

// The EventKinds.
const (
	Cancelled  EventKind = iota // a cancel ended a record
	Replaced                    // a newer record of its id ended it
	TooLate                     // a cancel came when its record was on its way, and it was delivered
	CancelMiss                  // a cancel found no record
	Expired                     // a record was dropped, for its expiry had come
)

// String returns the stable code.
func (k EventKind) String() string {
	return [...]string{"cancelled", "replaced", "too_late", "cancel_miss", "expired"}[k]
}

// EndedOutcomes returns the outcomes that Stats counts ended records by.
func EndedOutcomes() []string {
	return []string{Cancelled.String(), Replaced.String(), Expired.String()}
}

// The results of events.
const (
	eventAcknowledged = "acknowledged"
	eventGivenUp      = "given_up"
)

// EventResults returns the results that Stats counts events by.
func EventResults() []string { return []string{eventAcknowledged, eventGivenUp} }

// Event says what became of a record that leaves nothing elsewhere, or of a cancel.
type Event struct {
	Kind EventKind
	ID   []byte // nil: a record without one expired. It is good until the call ends
	offsets.TopicPartition
	Offset int64 // of the record; -1: of a cancel that found none
	By     int64 // offset of the command, -1 for none
	DueMs  int64 // the record's deadline
	AtMs   int64 // when it happened
}

// eventMaker makes the events, and finishes the offsets that each is about.
//
// An event that is made is a due record like others, for the core to queue: see queueEvents.
type eventMaker struct {
	cfg   *Config    // the core's: Event
	dir   *directory // the outbox's: its events is their target
	stats *Stats     // the core's: here EventsWaiting and Events are counted
	now   *Clock     // the core's

	due     []entry // made and not queued yet
	scratch Event   // of say
}

// say finishes places: that of a record that has ended, and that of the cancel that ended it;
// noPlace for none. Where there is a topic for events, the event goes there, and its
// acknowledgement finishes them.
func (ev *eventMaker) say(p *partition, e Event, record, cancel place) {
	t := ev.dir.events
	if t == nil {
		p.finish(record)
		p.finish(cancel)
		p.pairs.close(e.By)
		return
	}
	if e.By >= 0 && record != noPlace {
		p.pairs.open(e.By)
	}
	nowMs := ev.now.WallMs
	e.TopicPartition, e.AtMs = p.TopicPartition, nowMs
	ev.scratch = e // not on the heap for each
	h := header{slot: p.src.slot, atOnce: true, offset: int64(record), deadlineMs: nowMs, timestampMs: nowMs, marks: isEvent, by: e.By}
	switch {
	case record == noPlace: // about the cancel alone
		h.offset, h.by = int64(cancel), -1
	case cancel != noPlace:
		h.marks |= finishesBy
	}
	loc := ev.dir.park(t, &h, ev.cfg.Event(&ev.scratch), 0)
	ev.scratch = Event{}
	ev.stats.EventsWaiting++
	ev.due = append(ev.due, entry{loc: loc, from: p.src, target: t, size: h.total()})
}

// said ends an event: its topic has it, or never will.
func (ev *eventMaker) said(p *partition, h *header, f fate) {
	ev.stats.EventsWaiting--
	switch f {
	case taken:
		ev.stats.Events[eventAcknowledged]++
	case unsaid:
		ev.stats.Events[eventGivenUp]++
	}
	if f == handedOver || p.src.gone { // its next owner says it again
		return
	}
	p.finish(place(h.offset)) // that of the record
	if h.marks&finishesBy != 0 {
		p.finish(place(h.by))
	}
	if h.by >= 0 {
		p.pairs.close(h.by)
	}
}

// queueEvents queues the events that were made.
func (c *Core) queueEvents() {
	made := c.events.due
	if len(made) == 0 {
		return
	}
	for _, e := range made {
		c.out.enqueue(e)
	}
	clear(made)
	if c.events.due = made[:0]; cap(made) > keptEntries {
		c.events.due = nil
	}
}

// expiredText says why a record expired. One that expires before it could be delivered does so when it is read.
func expiredText(h *header, nowMs int64) string {
	if h.expireMs > nowMs {
		return fmt.Sprintf("the record expires at %s, no later than it is due at %s, and it is %s", instant(h.expireMs), instant(h.deadlineMs), instant(nowMs))
	}
	return fmt.Sprintf("the record expired at %s, was due at %s, and it is %s", instant(h.expireMs), instant(h.deadlineMs), instant(nowMs))
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
