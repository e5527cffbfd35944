package lane

import (
	"encoding/binary"
	"time"
	"unsafe"

	"layover/delay"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// slotSize is what a slot is accounted with, in bytes: a kgo.Record, its closure and
// a handful of headers.
const slotSize = 512

// slot is what one delivery in flight needs, used again with its id: the record,
// room for its headers and their text, and the one closure that its promise is.
type slot struct {
	record  *kgo.Record
	headers []kgo.RecordHeader
	text    []byte // of the headers that are added
	promise func(*kgo.Record, error)
}

// offer produces what the core has ready.
func (l *Lane) offer(now time.Time) {
	l.deliveries = l.deliveries[:0]
	if l.paced = l.core.Occupying() > 0 && now.Before(l.nextOffer); l.paced {
		return
	}
	if !l.suspended {
		l.deliveries = l.core.Offer(l.deliveries, offerBudget)
	}
	for i := range l.deliveries {
		d := &l.deliveries[i]
		s := l.slot(d.ID)
		l.fill(s, d, now)
		l.deliver.Deliver(s.record, d.Alone, s.promise)
	}
	if len(l.deliveries) > 0 {
		l.changed = true
		l.nextOffer = now.Add(offerEvery)
	}
}

// slot returns the slot of an id. Its promise only appends to the mailbox: kgo
// runs all promises of a client on one goroutine.
func (l *Lane) slot(id int32) *slot {
	for int(id) >= len(l.slots) {
		n := int32(len(l.slots))
		l.slots = append(l.slots, slot{record: new(kgo.Record), promise: func(_ *kgo.Record, err error) {
			l.box.put(func(m *mail) { m.ended = append(m.ended, ended{n, err}) })
		}})
	}
	return &l.slots[id]
}

// fill builds the record that goes out. Key, value and passed headers alias the
// store, whose bytes stay until the outcome is in.
func (l *Lane) fill(s *slot, d *purgatory.Delivery, now time.Time) {
	key, value, headers := l.decode(d.Body)
	origin := delay.Origin{Topic: d.Topic, Partition: d.Partition, Offset: d.Offset, TimestampMs: d.TimestampMs}
	why := delay.Invalid{Reason: delay.Reason(d.Reason), Message: d.Message}
	switch {
	case d.DeadLettered: // with its control headers, so that it can be sent again
		s.headers = delay.AppendErrors(s.headers[:0], headers, origin, l.cfg.Group, why, now.UnixMilli())
		if d.Bare {
			value = nil
		}
		if d.Records > 0 {
			s.headers = delay.AppendBatch(s.headers, d.Last, d.Records)
		}
	case d.Reason != "" && !d.Bare: // delivered all the same, as the policy for invalid records says
		l.stamped = delay.AppendDelivered(l.stamped[:0], headers, origin, d.DeadlineMs, false, &s.text)
		s.headers = delay.AppendErrors(s.headers[:0], l.stamped, origin, l.cfg.Group, why, now.UnixMilli())
	default:
		s.headers = delay.AppendDelivered(s.headers[:0], headers, origin, d.DeadlineMs, d.Bare, &s.text)
	}
	*s.record = kgo.Record{
		Topic: d.Target, Partition: d.TargetPartition, Key: key, Value: value,
		Headers: s.headers, Timestamp: now,
	}
	if l.cfg.OriginalTime && !d.DeadLettered && d.TimestampMs > 0 {
		s.record.Timestamp = time.UnixMilli(d.TimestampMs)
	}
}

// decode reads a body back. The headers are good until the next call.
func (l *Lane) decode(b []byte) (key, value []byte, headers []kgo.RecordHeader) {
	key, b = field(b)
	value, b = field(b)
	count, n := binary.Uvarint(b)
	b = b[n:]
	l.scratch = l.scratch[:0]
	for range count {
		size, n := binary.Uvarint(b)
		name := b[n : n+int(size)]
		var h kgo.RecordHeader
		h.Key = unsafe.String(unsafe.SliceData(name), len(name))
		h.Value, b = field(b[n+int(size):])
		l.scratch = append(l.scratch, h)
	}
	return key, value, l.scratch
}

// field reads one nullable byte string and returns what follows it.
func field(b []byte) (value, rest []byte) {
	size, n := binary.Uvarint(b)
	if size == 0 {
		return nil, b[n:]
	}
	end := n + int(size) - 1
	return b[n:end:end], b[end:]
}

// Key returns the record key within the body that a Router is given.
func Key(b []byte) []byte {
	key, _ := field(b)
	return key
}

// land takes the outcomes of deliveries. Slots let go of the store's bytes.
func (l *Lane) land(now time.Time, done []ended) {
	if len(done) == 0 {
		return
	}
	l.results = l.results[:0]
	for _, e := range done {
		s := &l.slots[e.id]
		r := purgatory.Result{ID: e.id}
		if e.err != nil {
			r = l.deliver.Classify(e.err)
			r.ID = e.id
			l.cfg.Log.Debug("produce failed", "err", e.err)
		}
		clear(s.headers)
		*s.record = kgo.Record{}
		l.results = append(l.results, r)
	}
	l.core.Outcomes(l.clock(now), l.results)
}
