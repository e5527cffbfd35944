package lane

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"layover/delay"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// intake has the fetched records that are not in the core yet.
type intake struct {
	core    *purgatory.Core
	reading Reading
	rules   func(ingress string) *delay.Rules
	wall    func(time.Time) time.Time
	fetched []fetched // oldest first
	next    int       // index of the next record within fetched[0]
	spent   int64     // bytes of the reading budget that were read, until giveBack
	soonMs  int64     // earliest deadline of those read in this turn
	body    body      // scratch of take

	onInvalid purgatory.Policy
}

// read takes up to a budget of fetched records into the core. A fetched record
// pins its whole fetch response, so each is copied and let go.
func (in *intake) read() {
	now := in.wall(time.Now()).UnixMilli()
	in.soonMs = math.MaxInt64
	defer in.tellWait(now)
	for budget := intakeBudget; budget > 0 && len(in.fetched) > 0; {
		f := &in.fetched[0]
		in.core.LogStart(f.assignment.TopicPartition, f.assignment.Epoch, f.logStart)
		reader, ok := in.core.Reader(f.assignment.TopicPartition, f.assignment.Epoch)
		if ok && f.unread != nil {
			ok = reader.Unread(f.unread, &body{record: new(kgo.Record)}) // key and value are null
		}
		rules := in.rules(f.assignment.Topic)
		for ok && budget > 0 && in.next < len(f.records) {
			ok = in.take(reader, rules, f.records[in.next], now)
			in.next++
			budget--
		}
		if ok && in.next < len(f.records) {
			return
		}
		in.spent += f.bytes
		in.fetched[0] = fetched{}
		in.fetched, in.next = in.fetched[1:], 0
		budget--
	}
	if len(in.fetched) == 0 {
		in.fetched = nil
	}
}

// has reports whether fetched records of an assignment are not read yet.
func (in *intake) has(a offsets.Assignment) bool {
	return slices.ContainsFunc(in.fetched, func(f fetched) bool { return f.assignment == a })
}

// tellWait tells the consumer how soon the first of the records read is due.
func (in *intake) tellWait(nowMs int64) {
	if in.soonMs < math.MaxInt64 {
		in.reading.Waits(time.Duration(max(min(in.soonMs-nowMs, time.Hour.Milliseconds()), 0)) * time.Millisecond)
	}
}

// giveBack gives back the budget of what was read. Before, the lane has told the bytes that
// it takes here: whoever adds up both sees them twice rather than not at all.
func (in *intake) giveBack() {
	if in.spent > 0 {
		in.reading.Consumed(in.spent)
		in.spent = 0
	}
}

// drop forgets fetched records that were not read; the partition's next owner reads them
// again.
func (in *intake) drop() {
	for _, f := range in.fetched {
		in.reading.Consumed(f.bytes)
	}
	in.fetched, in.next = nil, 0
}

// take reads one record; false when its partition stops reading with it.
func (in *intake) take(reader purgatory.Reader, rules *delay.Rules, r *kgo.Record, nowMs int64) bool {
	switch reader.Wants(r.Offset, r.LeaderEpoch) {
	case purgatory.Nothing:
		return true
	case purgatory.Commanded:
		in.command(reader, rules, r, nowMs)
		return true
	}
	a := purgatory.Arrival{Offset: r.Offset, TimestampMs: r.Timestamp.UnixMilli(), Control: r.Attrs.IsControl()}
	if a.Control {
		return reader.Read(&a)
	}
	in.body.record = r
	a.Body = &in.body
	d, invalid := rules.Parse(r, nowMs)
	a.DeadlineMs, a.Cancel = d.DeadlineMs, d.Cancel
	in.soonMs = min(in.soonMs, d.DeadlineMs)
	if invalid != nil {
		a.Reason = string(invalid.Reason)
		a.Message = message(r.Topic, r.Partition, r.Offset, invalid)
		a.Target, a.Label, _ = rules.Targets.Default() // there is one where invalid records are delivered
	} else {
		a.Target, a.Label, a.Ambiguous = d.Target, d.Label, d.Ambiguous
		a.Outcome = outcome(d)
		a.Copied, a.Expires, a.ExpireMs = d.CancelOf, d.Expires, d.ExpireMs
		a.Attempt = d.Attempt
		if d.Exhausted { // and so it waits for no attempt
			a.Attempt = 0
			a.Outcome, a.Despite = purgatory.Invalid, string(delay.ReasonAttemptsExhausted)
		}
		if d.ID != nil {
			a.ID, a.IDAt = d.ID, in.body.idAt(d.IDHeader)
		}
	}
	ok := reader.Read(&a)
	in.body.record = nil
	return ok
}

// command reads a finished record that may be a command which counts again. An invalid one
// never was one.
func (in *intake) command(reader purgatory.Reader, rules *delay.Rules, r *kgo.Record, nowMs int64) {
	if r.Attrs.IsControl() {
		return
	}
	d, invalid := rules.Parse(r, nowMs)
	if invalid == nil && d.ID != nil {
		reader.Command(&purgatory.Arrival{Offset: r.Offset, ID: d.ID, Cancel: d.Cancel, DeadlineMs: d.DeadlineMs, Outcome: outcome(d), Expires: d.Expires, ExpireMs: d.ExpireMs})
	}
}

// message says why a record is invalid, and which one it is.
func message(topic string, partition int32, offset int64, why *delay.Invalid) string {
	return fmt.Sprintf("%s/%d@%d: %s", topic, partition, offset, why.Message)
}

func outcome(d delay.Decision) purgatory.Outcome {
	switch {
	case d.Immediate:
		return purgatory.Immediate
	case d.PastDue:
		return purgatory.PastDue
	case d.Delayed:
		return purgatory.Parked
	default:
		return purgatory.Passed
	}
}

// body is a record's key, value and headers as the core keeps them. Each length
// is an unsigned varint of length + 1, and 0 is null:
//
//	key value count (name value)*
type body struct{ record *kgo.Record }

func uvarintLen(n int) int {
	l := 1
	for x := uint64(n); x >= 0x80; x >>= 7 {
		l++
	}
	return l
}

func fieldLen(b []byte) int {
	if b == nil {
		return 1
	}
	return uvarintLen(len(b)+1) + len(b)
}

// Size implements purgatory.Body.
func (b *body) Size() int {
	r := b.record
	size := fieldLen(r.Key) + fieldLen(r.Value) + uvarintLen(len(r.Headers))
	for i := range r.Headers {
		h := &r.Headers[i]
		size += uvarintLen(len(h.Key)) + len(h.Key) + fieldLen(h.Value)
	}
	return size
}

// idAt returns where an id stands in what Put writes: the value of a header, or the key, which
// is the first there.
func (b *body) idAt(header int) int {
	if header == delay.IDIsKey {
		return 0
	}
	return b.valueOf(header)
}

// valueOf returns where the value of a header stands in what Put writes.
func (b *body) valueOf(header int) int {
	r := b.record
	at := fieldLen(r.Key) + fieldLen(r.Value) + uvarintLen(len(r.Headers))
	for i := range header {
		h := &r.Headers[i]
		at += uvarintLen(len(h.Key)) + len(h.Key) + fieldLen(h.Value)
	}
	return at + uvarintLen(len(r.Headers[header].Key)) + len(r.Headers[header].Key)
}

func putField(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 0)
	}
	return append(binary.AppendUvarint(dst, uint64(len(b))+1), b...)
}

// Put implements purgatory.Body.
func (b *body) Put(dst []byte) {
	r := b.record
	out := putField(dst[:0], r.Key)
	out = putField(out, r.Value)
	out = binary.AppendUvarint(out, uint64(len(r.Headers)))
	for i := range r.Headers {
		h := &r.Headers[i]
		out = binary.AppendUvarint(out, uint64(len(h.Key)))
		out = append(out, h.Key...)
		out = putField(out, h.Value)
	}
}
