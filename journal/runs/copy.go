package runs

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/offsets"
)

// Header is the name of the header that makes a record a copy. It is the last one.
const Header = "layover-run"

// MaxHeader bounds the value of a copy's header as this release writes it, in bytes. A
// usual one has about 60.
const MaxHeader = endWriter + 5 + 9 + 5 + 10 + 10 + 10 + 1

// The layout of the header's value: the end of each field of fixed size.
const (
	endVersions = 2
	endSum      = endVersions + 4
	endOwner    = endSum + 8
	endTopicID  = endOwner + 16
	endWriter   = endTopicID + 8
)

// Origin is where the record of a copy stands in ingress.
type Origin struct {
	TopicID     offsets.TopicID
	Offset      int64
	LeaderEpoch int32 // -1: unknown
	TimestampMs int64 // the record's own, in Unix milliseconds
}

// Copy is a copy of an ingress record without the record.
type Copy struct {
	Origin
	DeadlineMs int64  // Unix milliseconds
	Writer     uint64 // unique to one assignment of the partition
	Run        uint64 // number of the run among the writer's
}

// AppendCopy makes a record a copy: it appends a header to the record's own, and returns
// them. The header's value is appended to buf, which is returned too: it is part of the headers.
// key and value are those of the record; null is nil and not empty, as Kafka
// tells them apart.
//
// It allocates only where headers or buf have no room; MaxHeader bytes are enough.
func AppendCopy(headers []kgo.RecordHeader, buf []byte, id Identity, c *Copy, key, value []byte) ([]kgo.RecordHeader, []byte) {
	from := len(buf)
	buf = append(slices.Grow(buf, MaxHeader), formatVersion, 1, 0, 0, 0, 0)
	buf = binary.BigEndian.AppendUint64(buf, uint64(id.Owner))
	buf = append(buf, c.TopicID[:]...)
	buf = binary.BigEndian.AppendUint64(buf, c.Writer)
	buf = binary.AppendUvarint(buf, uint64(id.Partition))
	buf = binary.AppendUvarint(buf, uint64(c.Offset))
	buf = binary.AppendUvarint(buf, uint64(int64(c.LeaderEpoch)+1))
	buf = binary.AppendVarint(buf, c.TimestampMs)
	buf = binary.AppendVarint(buf, c.DeadlineMs-c.TimestampMs)
	buf = binary.AppendUvarint(buf, c.Run)
	buf = append(buf, 0)
	own := buf[from:len(buf):len(buf)] // what is appended to it later goes elsewhere
	binary.BigEndian.PutUint32(own[endVersions:], uint32(copySum(own, key, value, headers)))
	return append(headers, kgo.RecordHeader{Key: Header, Value: own}), buf
}

// ReadCopy reads a record of the runs topic. It returns the copy and the record's own
// headers, a part of headers; its key and value are the record's.
//
// The error is ErrNoCopy, ErrForeign, ErrDamaged or ErrNewer. The checksum is checked
// first, then the owner: a newer copy of another owner is foreign. Nothing is allocated
// but an error's text.
func ReadCopy(id Identity, key, value []byte, headers []kgo.RecordHeader) (Copy, []kgo.RecordHeader, error) {
	last := lastHeader(headers)
	if last < 0 {
		return Copy{}, nil, ErrNoCopy
	}
	if behind := len(headers) - 1 - last; behind > 0 {
		return Copy{}, nil, fmt.Errorf("header %s: %d headers behind it, want it last: %w", Header, behind, ErrDamaged)
	}
	c, err := readHeader(id, headers[last].Value, key, value, headers[:last])
	if err != nil {
		return Copy{}, nil, fmt.Errorf("header %s: %w", Header, err)
	}
	return c, headers[:last:last], nil
}

func lastHeader(headers []kgo.RecordHeader) int {
	for i := len(headers) - 1; i >= 0; i-- {
		if headers[i].Key == Header {
			return i
		}
	}
	return -1
}

func readHeader(id Identity, own, key, value []byte, others []kgo.RecordHeader) (Copy, error) {
	if len(own) < endWriter {
		return Copy{}, fmt.Errorf("%d bytes, want at least %d: %w", len(own), endWriter, ErrDamaged)
	}
	want := copySum(own, key, value, others)
	if got := sum(binary.BigEndian.Uint32(own[endVersions:])); got != want {
		return Copy{}, fmt.Errorf("checksum %08x, want %08x for this header and record: %w", uint32(got), uint32(want), ErrDamaged)
	}
	owner := Owner(binary.BigEndian.Uint64(own[endSum:]))
	if err := checkOwner(owner, id, own); err != nil {
		return Copy{}, err
	}
	c := Copy{Writer: binary.BigEndian.Uint64(own[endTopicID:])}
	c.TopicID = offsets.TopicID(own[endOwner:])
	f := fields{b: own, at: endWriter}
	f.partition(id)
	c.Offset = int64(f.number("offset", math.MaxInt64))
	c.LeaderEpoch = int32(int64(f.number("leader epoch and one", 1<<31)) - 1)
	c.TimestampMs = f.signed("timestamp")
	c.DeadlineMs = c.TimestampMs + f.signed("deadline less timestamp")
	c.Run = f.number("run", math.MaxUint64)
	f.bytes("extension", f.number("length of the extension", math.MaxInt32))
	f.end()
	if f.wrong != nil {
		return Copy{}, f.wrong
	}
	return c, nil
}

// copySum is the checksum of a copy. own is the value of its header, whose checksum is
// left out.
func copySum(own, key, value []byte, others []kgo.RecordHeader) sum {
	s := sum(0).bytes(own[:endVersions]).bytes(own[endSum:])
	s = s.field(key).field(value).number(uint32(len(others)))
	for i := range others {
		s = s.text(others[i].Key).field(others[i].Value)
	}
	return s
}
