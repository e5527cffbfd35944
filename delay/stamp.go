package delay

import (
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Origin is where a record came from.
type Origin struct {
	Topic       string
	Partition   int32
	Offset      int64
	TimestampMs int64 // the record's own, in Unix milliseconds; zero and below: it has none
}

// Form is how a delivery differs from a usual one, which is Whole.
type Form uint8

// The Forms. Bare and Refused may come together.
const (
	Whole   Form = 0
	Bare    Form = 1 // without the headers of an Added, as it is too large with them
	Refused Form = 2 // of an invalid record: its count of attempts stays as it came
)

// AppendDelivered appends to dst the headers of a delivered record. First are those
// of in, byte for byte and in their order, without the control, the mapped and the stamped
// ones; a mapped expiry stays. Where a back-off applies, x-delay-attempt is behind them
// instead of among them, and layover-hops for a record that was delivered before. Then come
// layover-id, layover-due (which is dueMs) and, for a record with a timestamp,
// layover-original-timestamp, as far as r adds them.
//
// By layover-id a record that comes back is known to have been delivered. Where r leaves it out,
// layover-hops says so from the first delivery on, which has a count of 0.
//
// The names and values of in are shared, not copied. dst must not overlap in.
// The added values overwrite text and share its memory; where text is nil they have memory of their own.
func (r *Rules) AppendDelivered(dst, in []kgo.RecordHeader, o Origin, dueMs int64, form Form, text *[]byte) []kgo.RecordHeader {
	c, own := control{headers: in}, len(dst)
	if r.Names != nil {
		c.mapped = &mapped{names: r.Names}
	}
	for i := range in {
		if c.note(i) {
			dst = append(dst, in[i])
		}
	}
	attempt, hops := int64(0), c.hops()
	if form&Refused == 0 {
		attempt = r.raised(&c)
	}
	if attempt == 0 {
		attempt = c.carried()
	}
	added := r.added(&c, o, form)
	counts := hops > 0 || form&Bare == 0 && !added.Has(AddID)
	size := added.room(o)
	if attempt > 0 || counts {
		size += 2 * len("1000000")
	}
	if size == 0 {
		return dst
	}
	var values []byte
	if text != nil {
		values = (*text)[:0]
	}
	values = slices.Grow(values, size)
	if text != nil {
		*text = values
	}
	if attempt > 0 {
		if c.has(kindAttempt) {
			dst = withoutAttempts(dst, own)
		}
		dst, values = appendCount(dst, values, HeaderAttempt, attempt)
	}
	if counts {
		dst, values = appendCount(dst, values, HeaderHops, hops)
	}
	return added.append(dst, values, o, dueMs)
}

// appendCount appends a header whose value is behind values, and returns both.
func appendCount(dst []kgo.RecordHeader, values []byte, name string, n int64) ([]kgo.RecordHeader, []byte) {
	at := len(values)
	values = strconv.AppendInt(values, n, 10)
	return append(dst, behind(name, values, at)), values
}

// room is the most that the values of the headers take, in bytes.
func (a Added) room(o Origin) (size int) {
	if a.Has(AddID) {
		size += idBytes(o.Topic)
	}
	if a.Has(AddDue) {
		size += timeBytes
	}
	if a.Has(AddOriginalTimestamp) {
		size += timeBytes
	}
	return size
}

// append appends the headers to dst. Their values are behind values, which has the room. One
// that is not in a is not formatted either: a time costs more than all else of a header.
func (a Added) append(dst []kgo.RecordHeader, values []byte, o Origin, dueMs int64) []kgo.RecordHeader {
	if a.Has(AddID) {
		at := len(values)
		values = appendID(values, o.Topic, o.Partition, o.Offset)
		dst = append(dst, behind(HeaderID, values, at))
	}
	if a.Has(AddDue) {
		at := len(values)
		values = appendTime(values, dueMs)
		dst = append(dst, behind(HeaderDue, values, at))
	}
	if a.Has(AddOriginalTimestamp) {
		at := len(values)
		values = appendTime(values, o.TimestampMs)
		dst = append(dst, behind(HeaderOriginalTimestamp, values, at))
	}
	return dst
}

// behind returns a header whose value is what values has from at on. Its capacity is cut:
// appending to one value must not write over the next.
func behind(name string, values []byte, at int) kgo.RecordHeader {
	return kgo.RecordHeader{Key: name, Value: values[at:len(values):len(values)]}
}

// AppendErrors appends to dst the headers of a record that could not be
// delivered. First are those of in, control headers included, so that it can be sent
// again, but without error headers. Behind them are seven error headers. group is the
// consumer group, nowMs the time in Unix milliseconds.
//
// The names and values of in are shared, not copied. dst must not overlap in.
func AppendErrors(dst, in []kgo.RecordHeader, o Origin, group string, inv Invalid, nowMs int64) []kgo.RecordHeader {
	for _, h := range in {
		if !IsError(h.Key) {
			dst = append(dst, h)
		}
	}
	return append(dst,
		textHeader(HeaderErrorTopic, o.Topic),
		textHeader(HeaderErrorPartition, strconv.FormatInt(int64(o.Partition), 10)),
		textHeader(HeaderErrorOffset, strconv.FormatInt(o.Offset, 10)),
		textHeader(HeaderErrorGroup, group),
		textHeader(HeaderErrorReason, string(inv.Reason)),
		textHeader(HeaderErrorMessage, inv.Message),
		textHeader(HeaderErrorTimestamp, FormatTime(nowMs)),
	)
}

// AppendBatch appends to dst, behind the headers of AppendErrors, the two of a dead
// letter that stands for a whole batch. They are the batch's last offset and its
// number of records.
func AppendBatch(dst []kgo.RecordHeader, last, records int64) []kgo.RecordHeader {
	return append(dst,
		textHeader(HeaderErrorLastOffset, strconv.FormatInt(last, 10)),
		textHeader(HeaderErrorRecords, strconv.FormatInt(records, 10)),
	)
}

// ValueDropped is what HeaderErrorValue says.
const ValueDropped = "dropped"

// AppendDropped appends to dst, behind the headers of AppendErrors, the one of a dead
// letter that its topic takes only without the record's value. Without it nobody could
// tell such a letter from that of a record whose value is null.
func AppendDropped(dst []kgo.RecordHeader) []kgo.RecordHeader {
	return append(dst, textHeader(HeaderErrorValue, ValueDropped))
}

func textHeader(name, value string) kgo.RecordHeader {
	return kgo.RecordHeader{Key: name, Value: []byte(value)}
}

// ID returns the value of layover-id, topic-partition-offset: the same at
// every delivery of the same record, for consumers to tell duplicates by.
func ID(topic string, partition int32, offset int64) string {
	return string(appendID(make([]byte, 0, idBytes(topic)), topic, partition, offset))
}

// idBytes is the largest size of an id of that topic, in bytes.
func idBytes(topic string) int {
	return len(topic) + len("--2147483648") + len("--9223372036854775808")
}

func appendID(dst []byte, topic string, partition int32, offset int64) []byte {
	dst = append(dst, topic...)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, int64(partition), 10)
	dst = append(dst, '-')
	return strconv.AppendInt(dst, offset, 10)
}

// timeBytes is the size of a time, in bytes.
const timeBytes = len("2006-01-02T15:04:05.000Z")

// FormatTime returns ms, in Unix milliseconds, as RFC 3339 in UTC with three
// digits of fraction. RFC 3339 has only the years 0 to 9999: an instant
// outside is written as the nearest inside.
func FormatTime(ms int64) string {
	return string(appendTime(make([]byte, 0, timeBytes), ms))
}

// appendTime appends what FormatTime returns. Each delivery has two times: AppendFormat takes four times
// as long, and twelve times with a fraction.
func appendTime(dst []byte, ms int64) []byte {
	t := time.UnixMilli(min(max(ms, minInstantMs), maxInstantMs)).UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = appendTwo(dst, year/100)
	dst = appendTwo(dst, year%100)
	dst = appendTwo(append(dst, '-'), int(month))
	dst = appendTwo(append(dst, '-'), day)
	dst = appendTwo(append(dst, 'T'), hour)
	dst = appendTwo(append(dst, ':'), minute)
	dst = appendTwo(append(dst, ':'), second)
	fraction := t.Nanosecond() / int(time.Millisecond)
	dst = appendTwo(append(dst, '.'), fraction/10)
	return append(dst, '0'+byte(fraction%10), 'Z')
}

// appendTwo appends two digits.
func appendTwo(dst []byte, n int) []byte { return append(dst, '0'+byte(n/10), '0'+byte(n%10)) }
