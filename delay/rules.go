package delay

import (
	"cmp"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Rules turns a record's headers into a Decision. Nothing in it changes after
// it was made, and any number of goroutines may use it.
type Rules struct {
	// DefaultDelay is for records without a delay header. Zero and below: none.
	DefaultDelay time.Duration
	// MaxDelay is the longest delay that is not invalid; it holds for
	// DefaultDelay as well. Like a deadline it counts in whole milliseconds,
	// rounded up.
	MaxDelay time.Duration
	// ExpireAfter is how long after its deadline a record without x-expire-at expires, in
	// whole milliseconds, rounded up. Zero and below: never.
	ExpireAfter time.Duration
	// Targets lists the topics that records may go to. It is never nil.
	Targets *Targets
	// Backoff is what x-delay: auto means; none: that value is malformed.
	Backoff Backoff
	// TopicBackoff stands in for DefaultDelay, where it is not none.
	TopicBackoff Backoff
	// MaxHops is how often a record that was delivered may come to be delivered again.
	// Zero and below: no end.
	MaxHops int64
	// DeliverInvalid: invalid records are delivered all the same. One whose attempts have
	// ended then goes on with the longest wait, and one that goes in a circle goes on.
	DeliverInvalid bool
	// Names are the headers of other products that count beside Layover's own. Nil: none.
	Names *Names
	// LeaveOut are headers that a delivery does without. Zero: it has them all.
	LeaveOut Added
}

// futureSlack is how far beyond MaxDelay a deadline may be ahead of the clock.
// A producer's clock is allowed to be wrong by as much. A timestamp from next
// year must not park a record, and its partition's memory, until then.
const futureSlack = time.Hour

// Decision is what a valid record asks for: a deadline and a target, or the cancel of
// another record.
type Decision struct {
	// DeadlineMs is the instant before which the record is not delivered, in
	// Unix milliseconds, rounded up. Without a wait (no delay, or Immediate)
	// it is the record's timestamp, or nowMs where the record has none, and
	// only fills layover-due. It is never before
	// the year 0, so that its distance to any clock fits an int64.
	DeadlineMs int64
	// Delayed: the record waits until DeadlineMs, which may have passed. Where it
	// is false there is no delay, or the delay is Immediate. The record then goes
	// at once, even with a timestamp, and so a DeadlineMs, ahead of the clock.
	Delayed bool
	// Target is the topic that the record goes to.
	Target string
	// Label names Target in metrics: itself, or the glob that allowed it.
	Label string
	// Ambiguous: both x-deliver-at, which won, and x-delay were there, or a mapped header
	// beside another that says the same.
	Ambiguous bool
	// Immediate: the delay is zero or negative.
	Immediate bool
	// PastDue: the instant that the record asked for had come by nowMs. A relative delay
	// that ran out before the record was read is not counted here: it says
	// something about the reader, not about the header.
	PastDue bool

	// ID is the name of the record within its ingress partition, or of the record that a
	// cancel is about. It is the value of x-delay-id or of a mapped header, or the key
	// of a schedule, in the record's own memory. Nil: none.
	ID []byte
	// IDHeader is the index of that header in the headers given, and IDIsKey where the id is
	// the record's key. Without an ID it means nothing.
	IDHeader int
	// Cancel: x-delay-cancel is there, or the record is a schedule with a null value. Such a
	// record is never delivered, even where it is invalid. A valid one has an ID, a
	// DeadlineMs, and nothing else.
	Cancel bool
	// CancelOf: a valid cancel that is one of several, one a partition.
	CancelOf bool
	// Expires: the record is not handed out from ExpireMs on.
	Expires bool
	// ExpireMs is in Unix milliseconds, rounded down: a clock that counts in
	// milliseconds has no instant below it that is past the header's. It may be
	// before the deadline.
	ExpireMs int64

	// Attempt is the number of the attempt that the record waits for, where a back-off
	// applies; else 0.
	Attempt int64
	// Exhausted: no attempt is left, and the record is delivered all the same.
	Exhausted bool
}

// Parse decides about one record, as it was read: with its headers, its topic, partition
// and offset, and its timestamp. A timestamp at the Unix epoch or before means that the
// record has none. nowMs is the clock of the reader, in Unix milliseconds.
//
// For an invalid record the decision holds only a DeadlineMs: the record's
// timestamp, or nowMs where it has none. It is for the policy that delivers such
// records all the same, unless Cancel is set.
//
// The decision depends on nowMs only in PastDue, in ReasonFutureTimestamp, and
// where there is no timestamp. So a record that is read again after a restart
// is due when it was due before. The cost is linear in the headers; a valid
// record allocates nothing, but for a target that Targets has not seen before.
func (r *Rules) Parse(record *kgo.Record, nowMs int64) (d Decision, inv *Invalid) {
	var m mapped
	c := r.controls(record, &m)
	timestampMs := record.Timestamp.UnixMilli()
	baseMs := timestampMs
	if timestampMs <= 0 {
		baseMs = nowMs
	}
	d.DeadlineMs = baseMs
	switch {
	case c.has(kindDelayCancel):
		inv = c.parseCancel(&d)
	case c.mapped != nil && c.mapped.schedule && record.Value == nil:
		inv = c.parseTombstone(record.Key, &d)
	default:
		inv = r.parseRecord(&c, &d, record, nowMs)
	}
	if inv != nil {
		return Decision{DeadlineMs: baseMs, Cancel: d.Cancel}, inv
	}
	return d, nil
}

// controls finds the control headers of a record. m is where those of other products go; as a
// part of the result it stays on the stack.
func (r *Rules) controls(record *kgo.Record, m *mapped) (c control) {
	if r.Names == nil {
		c.read(record.Headers)
		return c
	}
	m.names, c.mapped = r.Names, m
	c.readAll(record.Headers)
	m.schedule = m.names.keyed && c.isSchedule(record)
	if !m.seen && !m.schedule { // as without Names
		c.mapped = nil
	}
	return c
}

// parseRecord decides about a record that is no cancel. d has the base that a wait counts
// from as its deadline.
func (r *Rules) parseRecord(c *control, d *Decision, record *kgo.Record, nowMs int64) *Invalid {
	inv := r.parseWait(c, d, record, nowMs)
	if inv != nil && inv.Reason != ReasonFutureTimestamp {
		return inv
	}
	if wrong := r.parseExpiry(c, d); wrong != nil {
		return cmp.Or(inv, wrong)
	}
	if inv != nil && !d.ExpiresUnsent() {
		return inv
	}
	if inv := r.parseTarget(c, d); inv != nil {
		return inv
	}
	if inv := r.checkHops(c); inv != nil {
		return inv
	}
	if c.mapped != nil {
		d.Ambiguous = d.Ambiguous || c.ambiguous()
		return c.parseAnyID(d, record.Key)
	}
	if c.has(kindDelayID) {
		return c.parseID(d)
	}
	return nil
}

// parseWait completes d with the deadline.
func (r *Rules) parseWait(c *control, d *Decision, record *kgo.Record, nowMs int64) *Invalid {
	timestampMs := record.Timestamp.UnixMilli()
	w := wait{baseMs: d.DeadlineMs, base: baseTimestamp}
	switch {
	case c.has(kindDeliverAt):
		value := c.value(kindDeliverAt)
		atMs, f := parseInstant(value, up)
		if f != fine {
			return malformed(ReasonMalformedDeliverAt, HeaderDeliverAt, value, f)
		}
		w.ms = subSat(atMs, w.baseMs)
		d.DeadlineMs, d.Ambiguous, d.PastDue = atMs, c.has(kindDelay), atMs <= nowMs

	case c.has(kindDelay):
		value := c.value(kindDelay)
		delayMs, f := parseDelay(value)
		if f != fine {
			b, wrong := r.backoff(c)
			if wrong == fine && !b.IsZero() {
				return r.parseBackoff(b, c, d, record, nowMs)
			}
			return malformed(ReasonMalformedDelay, HeaderDelay, value, cmp.Or(wrong, f))
		}
		if timestampMs <= 0 {
			return noTimestamp(describe(HeaderDelay, value))
		}
		if delayMs <= 0 {
			d.Immediate = true
			return nil
		}
		w.ms = delayMs
		d.DeadlineMs = addSat(timestampMs, w.ms)

	case c.other(roleWhen) != nil:
		var inv *Invalid
		if w.ms, inv = c.parseMapped(d, timestampMs, nowMs); inv != nil || d.Immediate {
			return inv
		}

	case !r.TopicBackoff.IsZero():
		return r.parseBackoff(r.TopicBackoff, c, d, record, nowMs)

	case r.DefaultDelay > 0:
		if timestampMs <= 0 {
			return noTimestamp(r.subject(c))
		}
		w.ms = ceilMs(r.DefaultDelay)
		d.DeadlineMs = addSat(timestampMs, w.ms)

	default:
		return nil
	}
	d.Delayed = true
	return r.checkBounds(c, w, d.DeadlineMs, nowMs)
}

// wait is what a deadline is made of. It is not computed from the deadline, which may be
// saturated.
type wait struct {
	baseMs, ms int64  // the instant that it counts from, and how long it is
	base       string // what has that instant, for messages
}

const (
	baseTimestamp = "the record's timestamp"
	baseDue       = "its " + HeaderDue
)

// checkBounds holds a wait against the maximum. It counts first from the
// wait's base, which gives the same answer whenever the record is read.
// Then it counts from the clock, as the timestamp is only a producer's claim.
func (r *Rules) checkBounds(c *control, w wait, deadlineMs, nowMs int64) *Invalid {
	maxMs := ceilMs(r.MaxDelay)
	if w.ms > maxMs {
		return &Invalid{ReasonDelayTooLong, r.subject(c) + ": want at most " + r.longest() +
			" after " + FormatTime(w.baseMs)}
	}
	if subSat(deadlineMs, nowMs) > maxMs+futureSlack.Milliseconds() {
		return &Invalid{ReasonFutureTimestamp, r.subject(c) + ": due " + FormatTime(deadlineMs) +
			" by " + w.base + " " + FormatTime(w.baseMs) + ", want at most " + r.longest() +
			" and one hour after the clock's " + FormatTime(nowMs)}
	}
	return nil
}

// subject opens a message with the header or setting of the deadline.
func (r *Rules) subject(c *control) string {
	switch {
	case c.has(kindDeliverAt):
		return describe(HeaderDeliverAt, c.value(kindDeliverAt))
	case c.has(kindDelay):
		return describe(HeaderDelay, c.value(kindDelay))
	}
	if o := c.other(roleWhen); o != nil {
		return describe(c.word(o).name, c.text(o))
	}
	if !r.TopicBackoff.IsZero() {
		return "back-off " + r.TopicBackoff.String()
	}
	return "default delay " + FormatDuration(r.DefaultDelay)
}

// longest is the maximum as a message has it: the value, and the setting to raise.
func (r *Rules) longest() string { return FormatDuration(r.MaxDelay) + " (LAYOVER_MAX_DELAY)" }

// parseTarget completes d with the record's target.
func (r *Rules) parseTarget(c *control, d *Decision) *Invalid {
	var ok bool
	var to []byte
	name := HeaderDeliverTo
	if c.has(kindDeliverTo) {
		to = c.value(kindDeliverTo)
	} else if o := c.other(roleTarget); o != nil {
		to, name = c.text(o), c.word(o).name
	} else {
		if d.Target, d.Label, ok = r.Targets.Default(); !ok {
			return &Invalid{ReasonNoTarget,
				"header " + HeaderDeliverTo + " missing: want one, or a topic in LAYOVER_EGRESS_TOPIC or LAYOVER_TOPIC_TARGETS"}
		}
		return nil
	}
	if d.Target, d.Label, ok = r.Targets.Resolve(to); !ok {
		return malformed(ReasonTargetNotAllowed, name, to, r.Targets.fault(to))
	}
	return nil
}

func noTimestamp(subject string) *Invalid {
	return &Invalid{ReasonNoTimestamp, subject + ": want a record timestamp to count from, or " + HeaderDeliverAt}
}

// ceilMs returns d in milliseconds, rounded up: a wait may end late by less
// than a millisecond, and never early.
func ceilMs(d time.Duration) int64 {
	ms := d.Milliseconds()
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

// addSat returns a+b, or the end of the range that the sum is beyond.
func addSat(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

// subSat returns a-b, or the end of the range that the difference is beyond.
func subSat(a, b int64) int64 {
	switch {
	case b < 0 && a > math.MaxInt64+b:
		return math.MaxInt64
	case b > 0 && a < math.MinInt64+b:
		return math.MinInt64
	}
	return a - b
}
