package batches

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Header has the fields of a batch's header, and the damage that the header shows.
type Header struct {
	First, Last int64 // offsets, as the batch has them; compaction leaves gaps
	Records     int64 // as it counts them
	LeaderEpoch int32 // in which it was written
	Bytes       int   // of all of it in the log, as its length says
	Codec       Codec
	ProducerID  int64
	// FirstMs is the timestamp of the first record, MostMs the latest of all, in Unix
	// milliseconds; below 0: they have none.
	FirstMs, MostMs int64

	Transactional bool
	Control       bool // transaction markers

	// Damage is why the header is not to be believed: nil, or ErrCut, ErrChecksum or
	// ErrLayout.
	Damage error
}

// The Damages of a Header.
var (
	ErrCut      = errors.New("the log ends within it")
	ErrChecksum = errors.New("its checksum is wrong")
	ErrLayout   = errors.New("it is no batch of magic 2")
)

// Codec is how the records of a batch are compressed.
type Codec uint8

// Known says whether there is such a codec.
func (c Codec) Known() bool { return int(c) < len(codecs) }

var codecs = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// String returns the name that producers use.
func (c Codec) String() string {
	if c.Known() {
		return codecs[c]
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// Where the fields of a batch begin, in bytes.
const (
	atLength     = 8
	atEpoch      = 12
	atMagic      = 16
	atChecksum   = 17
	atAttributes = 21
	atLastDelta  = 23
	atFirstTime  = 27
	atMostTime   = 35
	atProducer   = 43
	atRecords    = 57
	headerBytes  = 61
)

const (
	codecBits     = 0x07
	logAppendTime = 0x08 // all records have the latest timestamp
	transactional = 0x10
	control       = 0x20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Parse reads the header that b begins with, and returns the bytes behind the batch. b may
// end within the batch: then rest is nil, and the Damage says so. ok is false where there
// is not even a length.
func Parse(b []byte) (h Header, rest []byte, ok bool) {
	if len(b) <= atMagic {
		return h, nil, false
	}
	length := int64(int32(binary.BigEndian.Uint32(b[atLength:])))
	h.First = int64(binary.BigEndian.Uint64(b))
	h.Last, h.LeaderEpoch = h.First, -1
	h.Bytes = int(length + atEpoch)
	switch {
	case b[atMagic] != 2 || length < headerBytes-atEpoch:
		h.Damage = ErrLayout
	case len(b) < headerBytes:
		h.Damage = ErrCut
		return h, nil, true
	default:
		h.parse(b)
		if len(b) >= h.Bytes && crc32.Checksum(b[atAttributes:h.Bytes], castagnoli) != binary.BigEndian.Uint32(b[atChecksum:]) {
			h.Damage = ErrChecksum
		}
	}
	if length < 0 || len(b) < h.Bytes {
		if h.Damage == nil {
			h.Damage = ErrCut
		}
		return h, nil, true
	}
	return h, b[h.Bytes:], true
}

// parse reads the fields of magic 2.
func (h *Header) parse(b []byte) {
	attributes := binary.BigEndian.Uint16(b[atAttributes:])
	h.LeaderEpoch = int32(binary.BigEndian.Uint32(b[atEpoch:]))
	h.Last = h.First + int64(int32(binary.BigEndian.Uint32(b[atLastDelta:])))
	h.FirstMs, h.MostMs = int64(binary.BigEndian.Uint64(b[atFirstTime:])), int64(binary.BigEndian.Uint64(b[atMostTime:]))
	if attributes&logAppendTime != 0 {
		h.FirstMs = h.MostMs
	}
	h.ProducerID = int64(binary.BigEndian.Uint64(b[atProducer:]))
	h.Records = int64(int32(binary.BigEndian.Uint32(b[atRecords:])))
	h.Codec = Codec(attributes & codecBits)
	h.Transactional, h.Control = attributes&transactional != 0, attributes&control != 0
	if h.Last < h.First || h.Records < 0 || h.Records > h.Last-h.First+1 {
		h.Damage = ErrLayout
	}
}

// TimestampFrom returns a timestamp of the batch, in Unix milliseconds. The oldest of its
// records from an offset on is not younger than that. Below 1, the records have none. The
// timestamp is that of the first record where the batch begins at the offset or behind it,
// else the latest of all.
func (h *Header) TimestampFrom(offset int64) int64 {
	if h.First >= offset {
		return h.FirstMs
	}
	return h.MostMs
}
