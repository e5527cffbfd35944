package lane

import (
	"encoding/binary"
	"time"
	"unsafe"

	"layover/delay"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// slotSize is the accounted size of a slot, in bytes: a kgo.Record, its closure and
// a handful of headers.
const slotSize = 512

// idleAfter is how long slots are kept without a delivery. They count as used memory: those of a
// burst would keep others from being read.
const idleAfter = 10 * time.Second

// restAfter is the same while reading is paused.
const restAfter = time.Second

// slot belongs to one delivery in flight, and is used again with its id. It has the
// record, room for its headers and their text, and the one closure that is its promise.
type slot struct {
	record  *kgo.Record
	headers []kgo.RecordHeader
	added   []byte // of the headers that are added
	promise func(*kgo.Record, error)
	sent    time.Time
}

// outbound gives offered records to the producer, and takes its answers.
type outbound struct {
	core    *purgatory.Core
	deliver Deliverer
	box     *mailbox
	cfg     *Config
	// throttle hears how long deliveries take.
	throttle *throttle

	next       time.Time // when to offer while answers are owed
	busy       time.Time // of the last offer
	more       bool      // the last offer left records that could have been put back
	slots      []slot    // of deliveries in flight, by id
	deliveries []purgatory.Delivery
	results    []purgatory.Result
	wanted     []purgatory.TargetName  // scratch of tell
	told       []purgatory.TargetState // the same
	scratch    []kgo.RecordHeader      // of decode
	stamped    []kgo.RecordHeader      // of fill
}

// The accounted sizes of one entry in the lists of targets, in bytes.
const (
	nameSize  = int64(unsafe.Sizeof(purgatory.TargetName{}))
	stateSize = int64(unsafe.Sizeof(purgatory.TargetState{}))
	shareSize = int64(unsafe.Sizeof(purgatory.Share{}))
)

// bytes is the memory of the slots, and of the lists of targets: headers choose how long
// these are.
func (o *outbound) bytes() int64 {
	return int64(cap(o.slots))*slotSize + int64(cap(o.wanted))*nameSize + int64(cap(o.told))*stateSize
}

// offer produces the records that the core offers, and returns how many they are.
func (o *outbound) offer(now time.Time, suspended bool, wake *alarm) int {
	o.more = false
	switch {
	case o.core.InFlight() == 0:
		if now.Sub(o.busy) >= idleAfter {
			o.slots = nil
		}
	case o.core.Occupying() > 0 && now.Before(o.next):
		wake.by(o.next)
		return 0
	}
	o.deliveries = o.deliveries[:0]
	if !suspended {
		o.tell()
		o.deliveries = o.core.Offer(o.deliveries, offerBudget)
		o.more = o.core.Unoffered()
	}
	wall := o.cfg.Wall(now)
	for i := range o.deliveries {
		d := &o.deliveries[i]
		s := o.slot(d.ID)
		o.fill(s, d, wall)
		s.sent = now
		o.deliver.Deliver(s.record, d.Alone, s.promise)
	}
	if len(o.deliveries) > 0 {
		o.next, o.busy = now.Add(offerEvery), now
	}
	return len(o.deliveries)
}

// tell tells the core the states of the targets that it would offer records for, once a
// turn and not for each record.
func (o *outbound) tell() {
	o.wanted, o.told = o.core.Wanted(o.wanted[:0]), o.told[:0]
	if len(o.wanted) == 0 {
		return
	}
	for _, name := range o.wanted {
		o.told = append(o.told, o.deliver.Lookup(name))
	}
	o.core.Targets(o.told)
}

// slot returns the slot of an id. Its promise only appends to the mailbox: kgo
// runs all promises of a client on one goroutine.
func (o *outbound) slot(id int32) *slot {
	for int(id) >= len(o.slots) {
		n := int32(len(o.slots))
		o.slots = append(o.slots, slot{record: new(kgo.Record), promise: func(_ *kgo.Record, err error) {
			o.box.put(func(m *mail) { m.ended = append(m.ended, ended{n, err}) })
		}})
	}
	return &o.slots[id]
}

// fill builds the record that goes out. Key, value and passed headers alias the
// store, whose bytes stay until the outcome is in.
func (o *outbound) fill(s *slot, d *purgatory.Delivery, now time.Time) {
	key, value, headers := o.decode(d.Body)
	rules := o.cfg.Rules(d.Topic)
	if !d.Event && !d.DeadLettered && rules.Names.ChooseKeys() {
		key = Key(d.Body, rules.Names)
	}
	origin := delay.Origin{Topic: d.Topic, Partition: d.Partition, Offset: d.Offset, TimestampMs: d.TimestampMs}
	why := delay.Invalid{Reason: delay.Reason(d.Reason), Message: d.Message}
	switch {
	case d.Event:
		s.headers = s.headers[:0]
	case d.DeadLettered: // with its control headers, so that it can be sent again
		s.headers = delay.AppendErrors(s.headers[:0], headers, origin, o.cfg.Group, why, now.UnixMilli())
		if d.Bare && value != nil {
			value, s.headers = nil, delay.AppendDropped(s.headers)
		}
		if d.Records > 0 {
			s.headers = delay.AppendBatch(s.headers, d.Last, d.Records)
		}
	default:
		o.stamp(s, rules, headers, d, origin, why, now)
	}
	*s.record = kgo.Record{
		Topic: d.Target, Partition: d.TargetPartition, Key: key, Value: value,
		Headers: s.headers, Timestamp: now,
	}
	if o.cfg.OriginalTime && !d.DeadLettered && !d.Event && d.TimestampMs > 0 {
		s.record.Timestamp = time.UnixMilli(d.TimestampMs)
	}
}

// stamp builds the headers of a delivery, with error headers where the policy for invalid
// records delivers it all the same. Of a record that has waited, only its headers still
// say that its attempts have ended.
func (o *outbound) stamp(s *slot, rules *delay.Rules, headers []kgo.RecordHeader, d *purgatory.Delivery, origin delay.Origin, why delay.Invalid, now time.Time) {
	form := delay.Whole
	if d.Reason != "" {
		form |= delay.Refused
	} else if ended := rules.Exhausted(headers); ended != nil {
		why = delay.Invalid{Reason: ended.Reason, Message: message(d.Topic, d.Partition, d.Offset, ended)}
	} else if refused := o.refused(rules, d, headers); refused != nil {
		form |= delay.Refused
		why = delay.Invalid{Reason: refused.Reason, Message: message(d.Topic, d.Partition, d.Offset, refused)}
	}
	if d.Bare {
		form |= delay.Bare
	}
	if why.Reason == "" || d.Bare {
		s.headers = rules.AppendDelivered(s.headers[:0], headers, origin, d.DeadlineMs, form, &s.added)
		return
	}
	o.stamped = rules.AppendDelivered(o.stamped[:0], headers, origin, d.DeadlineMs, form, &s.added)
	s.headers = delay.AppendErrors(s.headers[:0], o.stamped, origin, o.cfg.Group, why, now.UnixMilli())
}

// refused returns why a copy is invalid by the rules of today, where those are delivered: it waited for
// its deadline like a valid one.
func (o *outbound) refused(rules *delay.Rules, d *purgatory.Delivery, headers []kgo.RecordHeader) *delay.Invalid {
	if d.Copy == 0 || o.cfg.Core.OnInvalid != purgatory.Deliver {
		return nil
	}
	_, why := rules.ParseAgain(&kgo.Record{Topic: d.Topic, Partition: d.Partition, Offset: d.Offset, Headers: headers}, d.DeadlineMs)
	return why
}

// decode reads a body back. The headers are good until the next call.
func (o *outbound) decode(b []byte) (key, value []byte, headers []kgo.RecordHeader) {
	key, b = field(b)
	value, b = field(b)
	count, n := binary.Uvarint(b)
	b = b[n:]
	o.scratch = o.scratch[:0]
	for range count {
		size, n := binary.Uvarint(b)
		name := b[n : n+int(size)]
		var h kgo.RecordHeader
		h.Key = unsafe.String(unsafe.SliceData(name), len(name))
		h.Value, b = field(b[n+int(size):])
		o.scratch = append(o.scratch, h)
	}
	return key, value, o.scratch
}

// field reads one nullable byte string and returns the bytes behind it.
func field(b []byte) (value, rest []byte) {
	size, n := binary.Uvarint(b)
	if size == 0 {
		return nil, b[n:]
	}
	end := n + int(size) - 1
	return b[n:end:end], b[end:]
}

// Key returns the key that a delivery of the body has, for purgatory.Config.Place. It is the
// record's own, or the value of the header that chooses another by the names. Dead letters and
// events keep their own, and are asked for without names.
func Key(b []byte, names *delay.Names) []byte {
	key, b := field(b)
	if !names.ChooseKeys() {
		return key
	}
	_, b = field(b)
	count, n := binary.Uvarint(b)
	b = b[n:]
	best := 0
	for range count {
		size, n := binary.Uvarint(b)
		name := b[n : n+int(size)]
		var value []byte
		value, b = field(b[n+int(size):])
		if rank := names.KeyRank(unsafe.String(unsafe.SliceData(name), len(name))); rank > 0 && (best == 0 || rank <= best) {
			key, best = value, rank
		}
	}
	return key
}

// land takes the answers of deliveries. Slots let go of the store's bytes.
func (o *outbound) land(now purgatory.Clock, done []ended) {
	if len(done) == 0 {
		return
	}
	o.results = o.results[:0]
	answered := time.Now()
	for _, e := range done {
		s := &o.slots[e.id]
		r := purgatory.Result{ID: e.id}
		if e.err != nil {
			r = o.deliver.Classify(e.err)
			r.ID = e.id
			o.cfg.Log.Debug("produce failed", "err", e.err)
		} else {
			o.throttle.answered(answered, answered.Sub(s.sent))
		}
		clear(s.headers)
		*s.record = kgo.Record{}
		o.results = append(o.results, r)
	}
	o.core.Outcomes(now, o.results)
}
