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

// AppendDelivered appends to dst the headers of a delivered record. First are those
// of in, byte for byte and in their order, without the control and the stamped ones.
// Behind them are layover-id, layover-due (which is dueMs) and, for a record with a
// timestamp, layover-original-timestamp. bare leaves these three out, for a record
// that is too large only with them.
//
// The names and values of in are shared, not copied. dst must not overlap in.
// The added values overwrite text and share its memory; where text is nil they have memory of their own.
func (r *Rules) AppendDelivered(dst, in []kgo.RecordHeader, o Origin, dueMs int64, bare bool, text *[]byte) []kgo.RecordHeader {
	for _, h := range in {
		if kindOf(h.Key).passes() {
			dst = append(dst, h)
		}
	}
	if bare {
		return dst
	}
	var values []byte
	if text != nil {
		values = (*text)[:0]
	}
	values = slices.Grow(values, idBytes(o.Topic)+2*len(timeLayout))
	if text != nil {
		*text = values
	}
	values = appendID(values, o.Topic, o.Partition, o.Offset)
	idEnd := len(values)
	values = appendTime(values, dueMs)
	dueEnd := len(values)
	// The capacities are cut as well: appending to one value must not write
	// over the next.
	dst = append(dst,
		kgo.RecordHeader{Key: HeaderID, Value: values[:idEnd:idEnd]},
		kgo.RecordHeader{Key: HeaderDue, Value: values[idEnd:dueEnd:dueEnd]})
	if o.TimestampMs > 0 {
		values = appendTime(values, o.TimestampMs)
		dst = append(dst, kgo.RecordHeader{Key: HeaderOriginalTimestamp, Value: values[dueEnd:]})
	}
	return dst
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
// letter that stands for a whole batch: its last offset, and its number of records.
func AppendBatch(dst []kgo.RecordHeader, last, records int64) []kgo.RecordHeader {
	return append(dst,
		textHeader(HeaderErrorLastOffset, strconv.FormatInt(last, 10)),
		textHeader(HeaderErrorRecords, strconv.FormatInt(records, 10)),
	)
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

const timeLayout = "2006-01-02T15:04:05.000Z"

// FormatTime returns ms, in Unix milliseconds, as RFC 3339 in UTC with three
// digits of fraction. RFC 3339 has only the years 0 to 9999: an instant
// outside is written as the nearest inside.
func FormatTime(ms int64) string {
	return string(appendTime(make([]byte, 0, len(timeLayout)), ms))
}

func appendTime(dst []byte, ms int64) []byte {
	ms = min(max(ms, minInstantMs), maxInstantMs)
	return time.UnixMilli(ms).UTC().AppendFormat(dst, timeLayout)
}
