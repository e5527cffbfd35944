package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// event is the value of a record in the topic of events, as docs/timeouts.md promises it.
type event struct {
	Event     string  `json:"event"`
	ID        *string `json:"id"`
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Offset    *int64  `json:"offset"`
	By        *int64  `json:"by"`
	Due       *string `json:"due"`
	At        string  `json:"at"`
}

// eventForm is which members an event has, and what its command is.
type eventForm struct {
	victim, by bool
	cancel     bool // the command is one
	ends       bool // its record is not delivered from then on
}

// eventForms are the events that docs/timeouts.md promises.
var eventForms = map[string]eventForm{
	"cancelled":   {victim: true, by: true, cancel: true, ends: true},
	"replaced":    {victim: true, by: true, ends: true},
	"too_late":    {victim: true, by: true, cancel: true},
	"cancel_miss": {by: true, cancel: true},
	"expired":     {victim: true},
}

// parseEvent reads a record of the topic of events, or says what is wrong with it.
func parseEvent(a *Record) (e *event, at time.Time, fault string) {
	e = new(event)
	d := json.NewDecoder(bytes.NewReader(a.Value))
	d.DisallowUnknownFields()
	if err := d.Decode(e); err != nil {
		return nil, at, err.Error()
	}
	form, known := eventForms[e.Event]
	at, err := time.Parse(instant, e.At)
	switch {
	case !known:
		fault = fmt.Sprintf("nobody knows the event %q", e.Event)
	case err != nil:
		fault = err.Error()
	case form.victim != (e.Offset != nil) || form.victim != (e.Due != nil):
		fault = "offset and due are not those of a record"
	case form.by != (e.By != nil):
		fault = "by is not that of a command"
	case form.by && e.ID == nil:
		fault = "it is about no id"
	case (e.ID == nil) != (a.Key == nil) || e.ID != nil && *e.ID != string(a.Key):
		fault = fmt.Sprintf("its key is %s", show(a.Key))
	case len(a.Headers) > 0:
		fault = fmt.Sprintf("it has the header %s", a.Headers[0].Name)
	}
	return e, at, fault
}

// note judges one event by itself, and notes what it says.
func (t *timers) note(a *Record) {
	e, at, fault := parseEvent(a)
	if fault != "" {
		t.r.add(Wrong, "%s is the event %s: %s", place(a), a.Value, fault)
		return
	}
	t.r.Events[e.Event]++
	form, name := eventForms[e.Event], ""
	if e.ID != nil {
		name = *e.ID
	}
	victim := t.find(e, e.Offset, name, func(of *entry) bool { return !of.Timer.Cancel && *e.Due == formatted(of.due()) })
	by := t.find(e, e.By, name, func(of *entry) bool { return of.Timer.Cancel == form.cancel && (form.victim || !of.Timer.Copied) })
	if (form.victim && victim == nil || form.by && by == nil) && !t.unknown[name] {
		t.r.add(Uncommanded, "%s is the event %s, and the log has no such record of that id", place(a), a.Value)
		return
	}
	if text := t.unfounded(&form, e, at, victim, by); text != "" {
		t.r.add(Uncommanded, "%s is the event %s: %s", place(a), a.Value, text)
		return
	}
	if !a.Offered.IsZero() {
		at = a.Offered
	}
	if victim != nil && form.ends {
		t.ended[victim] = true
		if first, ok := t.holds[victim]; by != nil && !by.excused && (!ok || at.Before(first)) {
			t.holds[victim] = at
		}
	}
	switch about := victim; {
	case form.cancel && by != nil:
		t.said[by]++
	case !form.cancel && about != nil:
		t.said[about]++
	}
}

// find returns the record of an id at an offset, nil for none that is known. Where the topic
// was made again there may be two, and the one that the event fits is meant.
func (t *timers) find(e *event, offset *int64, name string, fits func(*entry) bool) (found *entry) {
	if offset == nil {
		return nil
	}
	for _, of := range t.at[logPlace{logPosition{e.Topic, e.Partition}, *offset}] {
		if of.Timer.Name == name && (found == nil || fits(of)) {
			found = of
		}
	}
	return found
}

// unfounded says why an event cannot be true, "" where it can.
func (t *timers) unfounded(form *eventForm, e *event, at time.Time, victim, by *entry) string {
	switch {
	case victim != nil && victim.Timer.Cancel:
		return "its record is a cancel"
	case by != nil && by.Timer.Cancel != form.cancel:
		return "its command is not of that kind"
	case victim != nil && by != nil && by.Record.Offset <= victim.Record.Offset:
		return "its command is in front of its record"
	case by != nil && by.Timer.Copied && !form.victim:
		return "its cancel is one of several"
	case victim != nil && *e.Due != formatted(victim.due()):
		return "its record is due " + formatted(victim.due())
	case e.Event != "expired" || victim == nil: // of a record whose write has no known outcome
		return ""
	case !victim.Dropped || victim.Expires.IsZero():
		return "its record is not to be dropped"
	case !victim.expiresAtOnce() && at.Before(victim.Expires):
		return "its record expires at " + formatted(victim.Expires)
	}
	return ""
}
