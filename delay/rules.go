package delay

import (
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
}

// futureSlack is how far beyond MaxDelay a deadline may be ahead of the clock.
// A producer's clock is allowed to be wrong by as much; a timestamp from next
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
	// is false there is no delay, or the delay is Immediate: the record goes at
	// once, even with a timestamp, and so a DeadlineMs, ahead of the clock.
	Delayed bool
	// Target is the topic that the record goes to.
	Target string
	// Label names Target in metrics: itself, or the glob that allowed it.
	Label string
	// Ambiguous: both x-deliver-at, which won, and x-delay were there.
	Ambiguous bool
	// Immediate: x-delay is zero or negative.
	Immediate bool
	// PastDue: the instant in x-deliver-at had come by nowMs. A relative delay
	// that ran out before the record was read is not counted here: it says
	// something about the reader, not about the header.
	PastDue bool

	// ID is the name of the record within its ingress partition, or of the record that a
	// cancel is about: the value of x-delay-id, in the header's own memory. Nil: none.
	ID []byte
	// IDHeader is the index of that header in the headers given. Without an ID it
	// means nothing.
	IDHeader int
	// Cancel: x-delay-cancel is there. Such a record is never delivered, even where it is
	// invalid. A valid one has an ID, a DeadlineMs, and nothing else.
	Cancel bool
	// CancelOf: a valid cancel that is one of several, one a partition.
	CancelOf bool
	// Expires: the record is not handed out from ExpireMs on.
	Expires bool
	// ExpireMs is in Unix milliseconds, rounded down: a clock that counts in
	// milliseconds has no instant below it that is past the header's. It may be
	// before the deadline.
	ExpireMs int64
}

// Parse decides about one record, as it was read: with its headers, its topic, partition
// and offset, and its timestamp, where the Unix epoch and before mean that it has none.
// nowMs is the clock of the reader, in Unix milliseconds.
//
// For an invalid record the decision holds only a DeadlineMs: the record's
// timestamp, or nowMs where it has none. It is for the policy that delivers such
// records all the same, unless Cancel is set.
//
// The decision depends on nowMs only in PastDue, in ReasonFutureTimestamp, and
// where there is no timestamp: a record that is read again after a restart is
// due when it was due before. The cost is linear in the headers; a valid
// record allocates nothing, but for a target that Targets has not seen before.
func (r *Rules) Parse(record *kgo.Record, nowMs int64) (d Decision, inv *Invalid) {
	var c control
	c.read(record.Headers)
	timestampMs := record.Timestamp.UnixMilli()
	baseMs := timestampMs
	if timestampMs <= 0 {
		baseMs = nowMs
	}
	d.DeadlineMs = baseMs
	if c.has(kindDelayCancel) {
		inv = c.parseCancel(&d)
	} else {
		inv = r.parseRecord(&c, &d, timestampMs, nowMs)
	}
	if inv != nil {
		return Decision{DeadlineMs: baseMs, Cancel: d.Cancel}, inv
	}
	return d, nil
}

// parseRecord decides about a record that is no cancel. d has the base that a wait counts
// from as its deadline.
func (r *Rules) parseRecord(c *control, d *Decision, timestampMs, nowMs int64) *Invalid {
	if inv := r.parseWait(c, d, timestampMs, nowMs); inv != nil {
		return inv
	}
	if inv := r.parseExpiry(c, d); inv != nil {
		return inv
	}
	if inv := r.parseTarget(c, d); inv != nil {
		return inv
	}
	if c.has(kindDelayID) {
		return c.parseID(d)
	}
	return nil
}

// parseWait completes d with the deadline.
func (r *Rules) parseWait(c *control, d *Decision, timestampMs, nowMs int64) *Invalid {
	baseMs := d.DeadlineMs
	var waitMs int64 // from baseMs; not computed from the deadline, which may be saturated
	switch {
	case c.has(kindDeliverAt):
		value := c.value(kindDeliverAt)
		atMs, f := parseInstant(value, up)
		if f != fine {
			return malformed(ReasonMalformedDeliverAt, HeaderDeliverAt, value, f)
		}
		waitMs = subSat(atMs, baseMs)
		d.DeadlineMs, d.Ambiguous, d.PastDue = atMs, c.has(kindDelay), atMs <= nowMs

	case c.has(kindDelay):
		value := c.value(kindDelay)
		delayMs, f := parseDelay(value)
		if f != fine {
			return malformed(ReasonMalformedDelay, HeaderDelay, value, f)
		}
		if timestampMs <= 0 {
			return noTimestamp(describe(HeaderDelay, value))
		}
		if delayMs <= 0 {
			d.Immediate = true
			return nil
		}
		waitMs = delayMs
		d.DeadlineMs = addSat(timestampMs, waitMs)

	case r.DefaultDelay > 0:
		if timestampMs <= 0 {
			return noTimestamp(r.subject(c))
		}
		waitMs = ceilMs(r.DefaultDelay)
		d.DeadlineMs = addSat(timestampMs, waitMs)

	default:
		return nil
	}
	d.Delayed = true
	return r.checkBounds(c, waitMs, d.DeadlineMs, baseMs, nowMs)
}

// checkBounds holds a wait against the maximum. It counts first from the
// record's timestamp, which gives the same answer whenever the record is read.
// Then it counts from the clock, as the timestamp is only a producer's claim.
func (r *Rules) checkBounds(c *control, waitMs, deadlineMs, baseMs, nowMs int64) *Invalid {
	maxMs := ceilMs(r.MaxDelay)
	if waitMs > maxMs {
		return &Invalid{ReasonDelayTooLong, r.subject(c) + ": want at most " + r.longest() +
			" after " + FormatTime(baseMs)}
	}
	if subSat(deadlineMs, nowMs) > maxMs+futureSlack.Milliseconds() {
		return &Invalid{ReasonFutureTimestamp, r.subject(c) + ": due " + FormatTime(deadlineMs) +
			" by the record's timestamp " + FormatTime(baseMs) + ", want at most " + r.longest() +
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
	return "default delay " + FormatDuration(r.DefaultDelay)
}

// longest is the maximum as a message has it: the value, and the setting to raise.
func (r *Rules) longest() string { return FormatDuration(r.MaxDelay) + " (LAYOVER_MAX_DELAY)" }

// parseTarget completes d with the record's target.
func (r *Rules) parseTarget(c *control, d *Decision) *Invalid {
	var ok bool
	if !c.has(kindDeliverTo) {
		if d.Target, d.Label, ok = r.Targets.Default(); !ok {
			return &Invalid{ReasonNoTarget,
				"header " + HeaderDeliverTo + " missing: want one, or a topic in LAYOVER_EGRESS_TOPIC or LAYOVER_TOPIC_TARGETS"}
		}
		return nil
	}
	to := c.value(kindDeliverTo)
	if d.Target, d.Label, ok = r.Targets.Resolve(to); !ok {
		return malformed(ReasonTargetNotAllowed, HeaderDeliverTo, to, r.Targets.fault(to))
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
