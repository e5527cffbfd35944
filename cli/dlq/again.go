package dlq

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
	"layover/producer"
)

// rewrite says what of a letter's headers is changed when it is sent again.
type rewrite struct {
	delay  string // value of x-delay in place of any delay and instant; "" keeps them
	keepID bool
	names  *delay.Names // headers of other products; nil: none
}

// record returns the record that sends a letter again, of an ingress topic with that many
// partitions. It shares no memory with the letter. Each record of an answer of Kafka keeps
// all of that answer, and only a few of the answer's records may be sent.
//
// The partition is the one that the record had: a new one would separate it from the
// records of its key, or of its id. Where it is gone, the key chooses.
func (w *rewrite) record(l *letter, partitions int32, now time.Time) *kgo.Record {
	r := &kgo.Record{
		Topic: l.origin.Topic, Partition: l.origin.Partition, Key: bytes.Clone(l.Key), Value: bytes.Clone(l.Value), Timestamp: now,
		Headers: make([]kgo.RecordHeader, 0, len(l.Headers)+3),
	}
	if r.Partition >= partitions {
		r.Partition = producer.Pick(l.Key, partitions, nil)
	}
	wait := w.wait(l, now)
	for _, h := range l.Headers {
		if !w.removes(h.Key, l, wait) {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: strings.Clone(h.Key), Value: bytes.Clone(h.Value)})
		}
	}
	if wait != "" {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: delay.HeaderDelay, Value: []byte(wait)})
	}
	w.settleID(r, l)
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: delay.HeaderRedriven, Value: []byte(l.id())})
	return r
}

// wait returns the value of x-delay that stands in for any delay and instant of a letter, ""
// for none. LAYOVER_EXPIRE_AFTER counts from an instant, and so a record that expired after
// its own would expire at once again.
func (w *rewrite) wait(l *letter, now time.Time) string {
	if w.delay == "" && l.reason == delay.ReasonExpired && l.claim.Timed && l.claim.AtMs <= now.UnixMilli() {
		return "0"
	}
	return w.delay
}

// settleID lets a record have an id only where its letter had one and keeps it.
//
// The key of a schedule of etf1 is its id, and with a null value it is a cancel. A schedule is
// a record without headers of Layover's own, and removes may have taken the last of these. So
// its instant gets Layover's name. Where it has none, a count of no attempts keeps it from
// being a cancel, and says nothing else.
func (w *rewrite) settleID(r *kgo.Record, l *letter) {
	kept := w.keepID && l.claim.Schedule
	claim := w.names.Claim(r)
	switch named := func(h kgo.RecordHeader) bool { return w.names.StandsFor(h.Key) == delay.HeaderDelayID }; {
	case kept && !claim.Schedule && l.Key != nil && !slices.ContainsFunc(r.Headers, named):
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: delay.HeaderDelayID, Value: r.Key})
	case kept || !claim.Schedule:
	case claim.Timed:
		r.Headers = slices.DeleteFunc(r.Headers, func(h kgo.RecordHeader) bool { return w.names.StandsFor(h.Key) == delay.HeaderDeliverAt })
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: delay.HeaderDeliverAt, Value: []byte(delay.FormatTime(claim.AtMs))})
	case claim.Cancel:
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: delay.HeaderAttempt, Value: []byte("0")})
	}
}

// sizeOf is what a record takes in memory, in bytes, but for a few of its own.
func sizeOf(r *kgo.Record) int64 {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return int64(n)
}

// removes reports whether a header of a letter is left out. An id goes: an old letter must not
// replace what was sent under that name since. Retries begin to count anew. wait stands in for
// any delay and instant.
func (w *rewrite) removes(name string, l *letter, wait string) bool {
	if delay.IsError(name) || strings.EqualFold(name, delay.HeaderRedriven) {
		return true
	}
	switch w.names.StandsFor(name) {
	case delay.HeaderAttempt, delay.HeaderHops:
		return true
	case delay.HeaderDelayID:
		return !w.keepID
	case delay.HeaderExpireAt:
		return l.reason == delay.ReasonExpired
	case delay.HeaderDelay, delay.HeaderDeliverAt:
		return wait != ""
	}
	return false
}
