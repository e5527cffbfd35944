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

// say finishes offsets, -1 for none: that of a record that has ended, and that of the cancel
// that ended it. Where there is a topic for events, the event goes there, and its
// acknowledgement finishes them.
func (c *Core) say(p *partition, e Event, record, cancel int64) {
	t := c.out.dir.events
	if t == nil {
		p.finish(record)
		p.finish(cancel)
		p.pairs.close(e.By)
		return
	}
	if e.By >= 0 && record >= 0 {
		p.pairs.open(e.By)
	}
	e.TopicPartition, e.AtMs = p.TopicPartition, c.now.WallMs
	c.event = e // not on the heap for each
	h := header{slot: p.src.slot, target: t.index, atOnce: true, offset: record, deadlineMs: c.now.WallMs, timestampMs: c.now.WallMs, marks: isEvent, by: e.By}
	switch {
	case record < 0: // about the cancel alone
		h.offset, h.by = cancel, -1
	case cancel >= 0:
		h.marks |= finishesBy
	}
	loc := c.park(t, &h, c.cfg.Event(&c.event), 0)
	c.event = Event{}
	c.stats.EventsWaiting++
	c.out.enqueue(entry{loc: loc, from: p.src, target: t, size: h.total()})
}

// said ends an event: its topic has it, or never will.
func (c *Core) said(p *partition, h *header, f fate) {
	c.stats.EventsWaiting--
	switch f {
	case taken:
		c.stats.Events[eventAcknowledged]++
	case unsaid:
		c.stats.Events[eventGivenUp]++
	}
	if f == handedOver || p.src.gone { // its next owner says it again
		return
	}
	p.finish(h.offset)
	if h.marks&finishesBy != 0 {
		p.finish(h.by)
	}
	if h.by >= 0 {
		p.pairs.close(h.by)
	}
}

// expiredText says why a record expired.
func expiredText(h *header, nowMs int64) string {
	return fmt.Sprintf("the record expired at %s, was due at %s, and it is %s", instant(h.expireMs), instant(h.deadlineMs), instant(nowMs))
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
