package dev

import (
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
)

// maxMessage is how many bytes of a dead letter's header are printed. Layover writes
// less than that, but anybody may write to the topic.
const maxMessage = 400

// deadLetter says what is wrong with a record, and what would be right.
func deadLetter(r *kgo.Record, maxDelay time.Duration, now time.Time) string {
	said := make(map[string]string) // the last value by name
	for _, h := range r.Headers {
		said[strings.ToLower(h.Key)] = printable(h.Value)
	}
	reason := said[delay.HeaderErrorReason]
	if reason == "" {
		return fmt.Sprintf("%s  in %s (not written by Layover: it has no %s)", shown(r.Value), dlqTopic, delay.HeaderErrorReason)
	}
	text := fmt.Sprintf("%s-%s-%s  dead letter, %s  %s\n      %s", said[delay.HeaderErrorTopic], said[delay.HeaderErrorPartition], said[delay.HeaderErrorOffset],
		reason, shown(r.Value), said[delay.HeaderErrorMessage])
	if ofAnother(delay.Reason(reason), said[delay.HeaderErrorMessage]) {
		return text // the message says what that header wants
	}
	if right := remedy(delay.Reason(reason), said[delay.HeaderDeliverTo], maxDelay, now); right != "" {
		text += "\n      right would be: " + right
	}
	return text
}

// ofAnother reports whether a reason is about a value that is in no header of Layover's own.
// The message then names a header to which LAYOVER_HEADERS or LAYOVER_HEADER_MAP give a
// meaning.
func ofAnother(reason delay.Reason, message string) bool {
	switch reason {
	case delay.ReasonMalformedDelay, delay.ReasonMalformedDeliverAt, delay.ReasonTargetNotAllowed,
		delay.ReasonMalformedID, delay.ReasonMalformedCancel, delay.ReasonMalformedExpireAt,
		delay.ReasonMalformedAttempt, delay.ReasonAttemptsExhausted:
		_, rest, _ := strings.Cut(message, ": header ")
		name, _, _ := strings.Cut(rest, " ")
		return !delay.IsControl(name) && !delay.IsExpireAt(name) && !strings.EqualFold(name, delay.HeaderAttempt)
	}
	return false
}

// remedy is what a record of that reason would have to be; to is the target that it names.
func remedy(reason delay.Reason, to string, maxDelay time.Duration, now time.Time) string {
	at := delay.HeaderDeliverAt + "=" + now.Add(time.Hour).UTC().Format(time.RFC3339)
	switch reason {
	case delay.ReasonMalformedDelay:
		return "x-delay=30s, x-delay=1h30m, x-delay=2d, x-delay=PT5M or x-delay=1s..1h"
	case delay.ReasonMalformedDeliverAt:
		return at + ", or Unix milliseconds"
	case delay.ReasonDelayTooLong:
		return fmt.Sprintf("at most x-delay=%s, or dev with a longer LAYOVER_MAX_DELAY", delay.FormatDuration(maxDelay))
	case delay.ReasonFutureTimestamp:
		return "a record timestamp of now: the producer's clock is ahead"
	case delay.ReasonNoTimestamp:
		return "a record with a timestamp, or " + at
	case delay.ReasonTargetNotAllowed:
		if to == ingressTopic || to == dlqTopic || !delay.IsTopicName(to) || strings.HasPrefix(to, "__") {
			return "no x-deliver-to, or x-deliver-to=" + egressTopic
		}
		return fmt.Sprintf("no x-deliver-to, or dev with LAYOVER_TARGETS_ALLOWED=%s", to)
	case delay.ReasonNoTarget:
		return "x-deliver-to=" + egressTopic
	case delay.ReasonMalformedID:
		return "x-delay-id=order-1: 1 to 256 bytes of text on one line"
	case delay.ReasonMalformedCancel:
		return "x-delay-id and x-delay-cancel=true, without a delay, a target and an expiry"
	case delay.ReasonMalformedExpireAt:
		return delay.HeaderExpireAt + "=" + now.Add(time.Hour).UTC().Format(time.RFC3339) + ", or Unix milliseconds"
	case delay.ReasonMalformedAttempt:
		return "x-delay-attempt as it was delivered, or none"
	case delay.ReasonAttemptsExhausted:
		return "no x-delay-attempt, which begins anew, or a back-off with a larger max"
	case delay.ReasonTooManyHops:
		return "a consumer that writes it elsewhere, or dev with a larger LAYOVER_MAX_HOPS"
	case delay.ReasonExpired:
		return "a later x-expire-at, or none"
	case delay.ReasonTooLarge:
		return "a smaller record, or a larger max.message.bytes of the target"
	case delay.ReasonRejected:
		return "a record that the target takes: the message says what it refuses"
	case delay.ReasonTargetUnavailable:
		return "a target that exists: write to it once, and the broker makes it"
	case delay.ReasonTooLargeToRead:
		return "smaller batches, or dev with a larger LAYOVER_MAX_PARKED_BYTES"
	case delay.ReasonUnreadable, delay.ReasonSkipped:
		return "to send it again, once its cause is mended"
	}
	return ""
}

// printable is a header's value for a terminal: one line, and nothing that changes it.
func printable(value []byte) string {
	if len(value) > maxMessage {
		value = value[:maxMessage]
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, string(value))
}
