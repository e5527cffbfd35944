package delay

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
)

// mapped finds the mapped header of a record that counts for each role. A control has one only
// where there are Names, so that without them none is cleared for every record.
type mapped struct {
	names    *Names
	others   [roles]other
	seen     bool // the record has a mapped header
	rivals   bool // two mapped headers have one role
	schedule bool // the record is one of etf1's scheduler
}

// other is a mapped header.
type other struct {
	last int32  // index + 1 in the record's headers; 0: none
	word uint16 // index in names.words
}

func (o *other) index() int { return int(o.last) - 1 }

// other returns the mapped header that counts for a role, nil where there is none. A native
// header for that role wins over it, and the caller has looked before.
func (c *control) other(r role) *other {
	if c.mapped == nil || c.mapped.others[r].last == 0 {
		return nil
	}
	return &c.mapped.others[r]
}

// text returns the value of a mapped header, which may be null.
func (c *control) text(o *other) []byte { return c.headers[o.index()].Value }

// word returns what a mapped header is.
func (c *control) word(o *other) *word { return &c.mapped.names.words[o.word] }

// readAll is read for a record that may have mapped headers. c has a mapped, which is zero
// but for its names.
func (c *control) readAll(headers []kgo.RecordHeader) {
	c.headers = headers
	for i := range headers {
		c.note(i)
	}
}

// note takes the header of that index, and reports whether a delivery keeps it. A mapped
// expiry is kept, for consumers may want to know it.
func (c *control) note(index int) (keeps bool) {
	name := c.headers[index].Key
	if c.mapped != nil && c.mapped.names.rulesOut(name) {
		return true
	}
	if k := kindOf(name); k != kindOther || c.mapped == nil {
		c.last[k] = int32(index) + 1
		return k.passes()
	}
	w := c.mapped.names.find(name)
	if w < 0 {
		return true
	}
	c.mapped.note(index, uint16(w))
	return c.mapped.names.words[w].role == roleExpiry
}

// note takes one mapped header, which is a word of the names.
func (m *mapped) note(index int, word uint16) {
	o := &m.others[m.names.words[word].role]
	none := o.last == 0
	m.seen = true
	m.rivals = m.rivals || !none && o.word != word
	if none || word <= o.word {
		o.word, o.last = word, int32(index)+1
	}
}

// natives are the kinds of headers that a producer writes for Layover, with the role that a
// mapped header may have beside each.
var natives = [...]struct {
	kind kind
	role role
}{
	{kindDeliverAt, roleWhen}, {kindDelay, roleWhen}, {kindDeliverTo, roleTarget},
	{kindDelayID, roleID}, {kindExpireAt, roleExpiry}, {kindAttempt, roleAttempt}, {kindDelayCancel, roles},
}

// ambiguous reports whether two mapped headers, or a native one and a mapped one, have one
// role. c has a mapped.
func (c *control) ambiguous() bool {
	for _, n := range natives {
		if n.role < roles && c.has(n.kind) && c.other(n.role) != nil {
			return true
		}
	}
	return c.mapped.rivals
}

// isSchedule reports whether a record is one of etf1's scheduler. Its key is its id then, unless
// a mapped header has one, and with a null value it cancels that id.
//
// It is one if it has no native header, and scheduler-epoch is what says when, or nothing does
// and the value is null. A record that another product's header gives a deadline is of that
// product, also with a null value. A null value that was delivered before is nobody's cancel: a
// consumer has written it back.
func (c *control) isSchedule(record *kgo.Record) bool {
	switch o := c.other(roleWhen); {
	case o == nil && (record.Value != nil || c.has(kindID) || c.has(kindHops)):
		return false
	case o != nil && !c.word(o).epoch:
		return false
	}
	for _, n := range natives {
		if c.has(n.kind) {
			return false
		}
	}
	return true
}

// IDIsKey is the IDHeader of a Decision whose ID is the record's key.
const IDIsKey = -1

// parseAnyID completes d with the record's id: from a native header, from a mapped one, or the
// key of a schedule. It leaves d as it is where there is none. c has a mapped.
//
// A message never quotes the key, which is no control header.
func (c *control) parseAnyID(d *Decision, key []byte) *Invalid {
	if c.has(kindDelayID) || c.other(roleID) != nil {
		return c.parseID(d)
	}
	if !c.mapped.schedule || key == nil {
		return nil
	}
	if f := idFault(key); f != fine {
		return &Invalid{ReasonMalformedID, "the record's key, of " + strconv.Itoa(len(key)) + " bytes, as the id of a schedule: " + string(f)}
	}
	d.ID, d.IDHeader = key, IDIsKey
	return nil
}

// parseTombstone completes d for a schedule with a null value, which cancels the one of its id.
// Nothing else of it matters: etf1's own tombstones have the headers of what they end.
func (c *control) parseTombstone(key []byte, d *Decision) *Invalid {
	d.Cancel = true
	if inv := c.parseAnyID(d, key); inv != nil || d.ID != nil {
		return inv
	}
	return &Invalid{ReasonMalformedCancel, "a null value without a key: want the key of the schedule to cancel"}
}

// parseMapped completes d with the deadline that a mapped header gives. It returns the wait
// from d's deadline before, which is the base that a wait counts from. The record has one.
func (c *control) parseMapped(d *Decision, timestampMs, nowMs int64) (waitMs int64, inv *Invalid) {
	o := c.other(roleWhen)
	w, value, baseMs := c.word(o), c.text(o), d.DeadlineMs
	ms, at, f := formats[w.format].parse(value, baseMs)
	switch {
	case f != fine:
		reason := ReasonMalformedDelay
		if formats[w.format].instant {
			reason = ReasonMalformedDeliverAt
		}
		return 0, malformed(reason, w.name, value, w.format.complain(f))
	case at:
		d.DeadlineMs, d.PastDue = ms, ms <= nowMs
		return subSat(ms, baseMs), nil
	case timestampMs <= 0:
		return 0, noTimestamp(describe(w.name, value))
	case ms <= 0:
		d.Immediate = true
		return 0, nil
	}
	d.DeadlineMs = addSat(timestampMs, ms)
	return ms, nil
}
