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
	// Targets lists the topics that records may go to. It is never nil.
	Targets *Targets
}

// futureSlack is how far beyond MaxDelay a deadline may be ahead of the clock.
// A producer's clock is allowed to be wrong by as much; a timestamp from next
// year must not park a record, and its partition's memory, until then.
const futureSlack = time.Hour

// Decision is the deadline and the target that a valid record asks for.
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
}

// control is the last of each control header of a record.
type control struct {
	delay, deliverAt, deliverTo          []byte
	hasDelay, hasDeliverAt, hasDeliverTo bool
}

// Parse decides about one record. timestampMs is the record's own timestamp in
// Unix milliseconds, where zero and below mean that it has none; nowMs is the
// clock of the reader.
//
// For an invalid record the decision holds only a DeadlineMs: the record's
// timestamp, or nowMs where it has none. It is for the policy that delivers such
// records all the same.
//
// The decision depends on nowMs only in PastDue, in ReasonFutureTimestamp, and
// where there is no timestamp: a record that is read again after a restart is
// due when it was due before. The cost is linear in the headers; a valid
// record allocates nothing, but for a target that Targets has not seen before.
func (r *Rules) Parse(headers []kgo.RecordHeader, timestampMs, nowMs int64) (Decision, *Invalid) {
	c := readControl(headers)
	baseMs := timestampMs
	if timestampMs <= 0 {
		baseMs = nowMs
	}

	d, inv := r.parseWait(&c, timestampMs, baseMs, nowMs)
	if inv == nil {
		inv = r.parseTarget(&c, &d)
	}
	if inv != nil {
		return Decision{DeadlineMs: baseMs}, inv
	}
	return d, nil
}

func readControl(headers []kgo.RecordHeader) control {
	var c control
	for i := range headers {
		h := &headers[i]
		switch kindOf(h.Key) {
		case kindDelay:
			c.delay, c.hasDelay = h.Value, true
		case kindDeliverAt:
			c.deliverAt, c.hasDeliverAt = h.Value, true
		case kindDeliverTo:
			c.deliverTo, c.hasDeliverTo = h.Value, true
		}
	}
	return c
}

// parseWait decides everything but the target.
func (r *Rules) parseWait(c *control, timestampMs, baseMs, nowMs int64) (Decision, *Invalid) {
	var d Decision
	var waitMs int64 // from baseMs; not computed from the deadline, which may be saturated
	switch {
	case c.hasDeliverAt:
		atMs, f := parseInstant(c.deliverAt)
		if f != fine {
			return d, malformed(ReasonMalformedDeliverAt, HeaderDeliverAt, c.deliverAt, f)
		}
		waitMs = subSat(atMs, baseMs)
		d = Decision{DeadlineMs: atMs, Delayed: true, Ambiguous: c.hasDelay, PastDue: atMs <= nowMs}

	case c.hasDelay:
		delayMs, f := parseDelay(c.delay)
		if f != fine {
			return d, malformed(ReasonMalformedDelay, HeaderDelay, c.delay, f)
		}
		if timestampMs <= 0 {
			return d, noTimestamp(describe(HeaderDelay, c.delay))
		}
		if delayMs <= 0 {
			return Decision{DeadlineMs: timestampMs, Immediate: true}, nil
		}
		waitMs = delayMs
		d = Decision{DeadlineMs: addSat(timestampMs, waitMs), Delayed: true}

	case r.DefaultDelay > 0:
		if timestampMs <= 0 {
			return d, noTimestamp(r.subject(c))
		}
		waitMs = ceilMs(r.DefaultDelay)
		d = Decision{DeadlineMs: addSat(timestampMs, waitMs), Delayed: true}

	default:
		return Decision{DeadlineMs: baseMs}, nil
	}
	return d, r.checkBounds(c, waitMs, d.DeadlineMs, baseMs, nowMs)
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
	case c.hasDeliverAt:
		return describe(HeaderDeliverAt, c.deliverAt)
	case c.hasDelay:
		return describe(HeaderDelay, c.delay)
	}
	return "default delay " + FormatDuration(r.DefaultDelay)
}

// longest is the maximum as a message has it: the value, and the setting to raise.
func (r *Rules) longest() string { return FormatDuration(r.MaxDelay) + " (LAYOVER_MAX_DELAY)" }

// parseTarget completes d with the record's target.
func (r *Rules) parseTarget(c *control, d *Decision) *Invalid {
	var ok bool
	if !c.hasDeliverTo {
		if d.Target, d.Label, ok = r.Targets.Default(); !ok {
			return &Invalid{ReasonNoTarget,
				"header " + HeaderDeliverTo + " missing: want one, or a topic in LAYOVER_EGRESS_TOPIC or LAYOVER_TOPIC_TARGETS"}
		}
		return nil
	}
	if d.Target, d.Label, ok = r.Targets.Resolve(c.deliverTo); !ok {
		return malformed(ReasonTargetNotAllowed, HeaderDeliverTo, c.deliverTo, r.Targets.fault(c.deliverTo))
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
