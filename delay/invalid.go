package delay

import (
	"slices"
	"strconv"
)

// Reason is the stable code for the cause of a dead letter: the value of
// layover.errors.reason and of the metric's label. A code never changes its
// meaning; a new cause gets a new code.
type Reason string

// The reasons that Parse gives.
const (
	// ReasonMalformedDelay: x-delay is in none of its forms, or overflows.
	ReasonMalformedDelay Reason = "malformed_delay"
	// ReasonMalformedDeliverAt: x-deliver-at is in none of its forms, has no
	// zone, overflows, or is in seconds, microseconds or nanoseconds.
	ReasonMalformedDeliverAt Reason = "malformed_deliver_at"
	// ReasonDelayTooLong: the deadline is further than the maximum from the
	// record's timestamp, or from the clock where there is no timestamp.
	ReasonDelayTooLong Reason = "delay_too_long"
	// ReasonFutureTimestamp: the deadline is further ahead of the clock than
	// the maximum plus an hour, because the record's timestamp is.
	ReasonFutureTimestamp Reason = "future_timestamp"
	// ReasonNoTimestamp: a relative or default delay has no timestamp to count from.
	ReasonNoTimestamp Reason = "no_timestamp"
	// ReasonTargetNotAllowed: x-deliver-to names no topic, or one that is not allowed.
	ReasonTargetNotAllowed Reason = "target_not_allowed"
	// ReasonNoTarget: the record names no target and no egress topic is set.
	ReasonNoTarget Reason = "no_target"
	// ReasonMalformedID: x-delay-id is empty, over 256 bytes, no UTF-8, or has control
	// characters.
	ReasonMalformedID Reason = "malformed_id"
	// ReasonMalformedCancel: x-delay-cancel is not "true", has no x-delay-id beside it, or
	// has a delay, a target or an expiry beside it.
	ReasonMalformedCancel Reason = "malformed_cancel"
	// ReasonMalformedExpireAt: x-expire-at is in none of the forms of x-deliver-at.
	ReasonMalformedExpireAt Reason = "malformed_expire_at"
	// ReasonMalformedAttempt: a back-off applies, and x-delay-attempt is not digits or
	// above MaxAttempts.
	ReasonMalformedAttempt Reason = "malformed_attempt"
	// ReasonAttemptsExhausted: the record had all attempts that its back-off has.
	ReasonAttemptsExhausted Reason = "attempts_exhausted"
	// ReasonTooManyHops: the record was delivered too often, probably in a circle.
	ReasonTooManyHops Reason = "too_many_hops"
)

// ReasonExpired: the record's expiry came before it was handed out. Parse never gives
// it, for that is the clock's to say.
const ReasonExpired Reason = "expired"

// The reasons that arise when a record is produced. Parse never gives them.
const (
	// ReasonTooLarge: the target refuses a record of this size.
	ReasonTooLarge Reason = "too_large"
	// ReasonRejected: the target refuses the record for its content.
	ReasonRejected Reason = "rejected"
	// ReasonTargetUnavailable: the target was missing, unreachable or
	// forbidden for longer than patience or memory allowed.
	ReasonTargetUnavailable Reason = "target_unavailable"
)

// The reasons of records that were not read.
const (
	// ReasonTooLargeToRead: the record's batch takes too much decompressed. One dead
	// letter stands for the whole batch.
	ReasonTooLargeToRead Reason = "too_large_to_read"
	// ReasonUnreadable: the record's batch cannot be read, and an operator left it out.
	// One dead letter stands for the whole batch.
	ReasonUnreadable Reason = "unreadable"
	// ReasonSkipped: an operator left the record out.
	ReasonSkipped Reason = "skipped"
)

// Reasons returns every Reason, sorted, in a slice that is the caller's own:
// for series that exist from the start, and for documents.
func Reasons() []Reason {
	all := []Reason{
		ReasonMalformedDelay, ReasonMalformedDeliverAt, ReasonDelayTooLong, ReasonFutureTimestamp,
		ReasonNoTimestamp, ReasonTargetNotAllowed, ReasonNoTarget,
		ReasonMalformedID, ReasonMalformedCancel, ReasonMalformedExpireAt, ReasonExpired,
		ReasonMalformedAttempt, ReasonAttemptsExhausted, ReasonTooManyHops,
		ReasonTooLarge, ReasonRejected, ReasonTargetUnavailable,
		ReasonTooLargeToRead, ReasonUnreadable, ReasonSkipped,
	}
	slices.Sort(all)
	return all
}

// Invalid is the reason for which a record cannot be delivered. It holds no memory
// of the record, and can be kept.
type Invalid struct {
	Reason Reason
	// Message names the header, quotes its value and describes a valid one:
	//
	//	header x-deliver-at "tomorrow": want RFC 3339 with a zone, or Unix milliseconds
	//
	// It is printable ASCII on one line, and the value in it is cut to 100
	// bytes. It does not say which record it is about; the caller does.
	Message string
}

// Error returns the message. A nil *Invalid means valid: compare it with nil
// before it becomes an error, which would no longer be nil.
func (i Invalid) Error() string { return i.Message }

// fault is a value's mistake, as the end of a message; empty for a valid value.
// It is not an error, because a constant costs nothing to return.
type fault string

const fine fault = ""

// maxQuotedBytes bounds the part of a value that a message quotes. Headers may
// be as large as the broker takes, and messages end in headers and logs.
const maxQuotedBytes = 100

// malformed returns the Invalid for a header whose value has a fault.
func malformed(reason Reason, name string, value []byte, f fault) *Invalid {
	return &Invalid{Reason: reason, Message: describe(name, value) + ": " + string(f)}
}

// describe returns a message's subject: the header and its value.
func describe(name string, value []byte) string {
	return "header " + name + " " + quote(value)
}

// quote renders value for a message: null as such, anything else in double
// quotes, with all but printable ASCII escaped. Between the quotes are at
// most maxQuotedBytes; escapes count in full and are never cut in two. A value
// that was cut is followed by its length, so that it is not taken for whole.
func quote(value []byte) string {
	if value == nil {
		return "null"
	}
	out := make([]byte, 1, min(len(value), maxQuotedBytes)+len(`"" (cut from 1048588 bytes)`))
	out[0] = '"'
	cut := false
	for _, c := range value {
		n := len(out)
		out = appendEscaped(out, c)
		if len(out)-1 > maxQuotedBytes {
			out, cut = out[:n], true
			break
		}
	}
	out = append(out, '"')
	if cut {
		out = append(out, " (cut from "...)
		out = strconv.AppendInt(out, int64(len(value)), 10)
		out = append(out, " bytes)"...)
	}
	return string(out)
}

func appendEscaped(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case isPrintable(c):
		return append(dst, c)
	}
	return append(dst, '\\', 'x', hex[c>>4], hex[c&15])
}

func isPrintable(c byte) bool { return 0x20 <= c && c <= 0x7E }

// isText reports whether value is to be read as text rather than as a number
// in binary. It is for values that are not empty.
func isText(value []byte) bool {
	for _, c := range value {
		if !isPrintable(c) {
			return false
		}
	}
	return true
}
