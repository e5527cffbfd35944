package delay

import "github.com/twmb/franz-go/pkg/kgo"

// Claim is what the headers of a record say of it, valid or not, for those who show a record or
// write it again.
type Claim struct {
	Target []byte // the topic that it names; nil: none, or a null
	Cancel bool   // it ends another record, or is a schedule with a null value
	// Schedule: its key is its id, unless its headers change. See control.isSchedule.
	Schedule bool
	AtMs     int64 // the instant that it asks for, in Unix milliseconds, where Timed
	Timed    bool
}

// Claim reads the headers of a record. A nil n has none of other products.
func (n *Names) Claim(record *kgo.Record) (claim Claim) {
	var c control
	if n != nil {
		c.mapped = &mapped{names: n}
	}
	c.readAll(record.Headers)
	if c.has(kindDeliverTo) {
		claim.Target = c.value(kindDeliverTo)
	} else if o := c.other(roleTarget); o != nil {
		claim.Target = c.text(o)
	}
	claim.Schedule = n != nil && n.keyed && c.isSchedule(record)
	claim.Cancel = c.has(kindDelayCancel) || claim.Schedule && record.Value == nil
	var f fault
	switch o := c.other(roleWhen); {
	case c.has(kindDeliverAt):
		claim.AtMs, f = parseInstant(c.value(kindDeliverAt), up)
		claim.Timed = f == fine
	case c.has(kindDelay):
	case o != nil:
		var at bool
		claim.AtMs, at, f = formats[c.word(o).format].parse(c.text(o), record.Timestamp.UnixMilli())
		claim.Timed = at && f == fine
	}
	return claim
}

// StandsFor returns the header of Layover's own that a header has the meaning of, in lower case.
// That is the header itself, or the one that a mapped header stands for. The name is empty for a
// mapped header without such a one, and for all others.
func (n *Names) StandsFor(name string) string {
	if kindOf(name) != kindOther {
		return asciiFold(name)
	}
	if n == nil {
		return ""
	}
	w := n.find(name)
	if w < 0 {
		return ""
	}
	switch n.words[w].role {
	case roleWhen:
		if formats[n.words[w].format].instant {
			return HeaderDeliverAt
		}
		return HeaderDelay
	case roleTarget:
		return HeaderDeliverTo
	case roleID:
		return HeaderDelayID
	case roleAttempt:
		return HeaderAttempt
	case roleExpiry:
		return HeaderExpireAt
	}
	return ""
}
