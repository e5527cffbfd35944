package facts

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"strings"

	"layover/offsets"
)

// Identity names the group and partition of a record, and one life of the offset. Records
// of another identity are passed over.
type Identity struct {
	offsets.Identity
	Group       string
	Incarnation uint64
}

// Kind tells facts from parts of a snapshot.
type Kind byte

const (
	Fact     Kind = 1
	Snapshot Kind = 2 // a part of a snapshot
	LastPart Kind = 3 // the last part of one
)

// String returns the word that people read.
func (k Kind) String() string {
	if k < Fact || k > LastPart {
		return "unknown"
	}
	return [...]string{"fact", "snapshot", "snapshot end"}[k-1]
}

// Header is a record without its runs.
type Header struct {
	Writer      uint64
	Kind        Kind
	LeaderEpoch int32 // -1: unknown
	Low         int64 // everything below is finished
	Number      uint64
	From        int64 // of a snapshot's part: the first offset that it covers
}

// Record is one record of the journal as it was read.
type Record struct {
	Header
	ClusterHash uint64
	TopicID     offsets.TopicID
	Partition   int32
	Group       string
	Incarnation uint64
	Sum         uint32

	runs []byte
}

// The reasons for which a value is no record of the journal.
var (
	ErrForeign = errors.New("not a record of a journal")
	ErrDamaged = errors.New("damaged")
	ErrNewer   = errors.New("written by a newer release")
)

const (
	magic         = "LJ"
	formatVersion = 1

	endVersions = 4
	endSum      = endVersions + 4
	endCluster  = endSum + 8
	endTopicID  = endCluster + 16
	endLife     = endTopicID + 8
	endWriter   = endLife + 8
	endKind     = endWriter + 1

	// maxGroup bounds a group's name in a record, in bytes.
	maxGroup = 1 << 15
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func clusterHash(clusterID string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(clusterID)) // a hash returns no error
	return h.Sum64()
}

func checksum(value []byte, clusterID string) uint32 {
	return crc32.Update(crc32.Checksum(value[endSum:], castagnoli), castagnoli, []byte(clusterID))
}

// appendHeader writes all of a record but its runs; seal completes it.
func (id *Identity) appendHeader(dst []byte, h Header) []byte {
	dst = append(dst, magic...)
	dst = append(dst, formatVersion, 1, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint64(dst, clusterHash(id.ClusterID))
	dst = append(dst, id.TopicID[:]...)
	dst = binary.BigEndian.AppendUint64(dst, id.Incarnation)
	dst = binary.BigEndian.AppendUint64(dst, h.Writer)
	dst = append(dst, byte(h.Kind))
	dst = binary.AppendUvarint(dst, uint64(id.Partition))
	dst = binary.AppendUvarint(dst, uint64(len(id.Group)))
	dst = append(dst, id.Group...)
	dst = binary.AppendUvarint(dst, uint64(int64(h.LeaderEpoch)+1))
	dst = binary.AppendUvarint(dst, uint64(h.Low))
	dst = binary.AppendUvarint(dst, h.Number)
	dst = binary.AppendUvarint(dst, uint64(max(h.From-h.Low, 0)))
	return append(dst, 0)
}

func (id *Identity) seal(value []byte) []byte {
	binary.BigEndian.PutUint32(value[endVersions:], checksum(value, id.ClusterID))
	return value
}

// Read reads a record of any identity. Record.Sound checks its checksum. The error is
// ErrForeign, ErrDamaged or ErrNewer; with ErrNewer the fields up to the incarnation are
// read.
func Read(value []byte) (Record, error) {
	var r Record
	if len(value) < endVersions || string(value[:2]) != magic {
		return r, ErrForeign
	}
	if len(value) < endKind {
		return r, fmt.Errorf("%d bytes, want at least %d: %w", len(value), endKind, ErrDamaged)
	}
	r.Sum = binary.BigEndian.Uint32(value[endVersions:])
	r.ClusterHash = binary.BigEndian.Uint64(value[endSum:])
	r.TopicID = offsets.TopicID(value[endCluster:])
	r.Incarnation = binary.BigEndian.Uint64(value[endTopicID:])
	if value[3] > formatVersion {
		return r, fmt.Errorf("format version %d wants a reader of version %d, this one is %d: %w", value[2], value[3], formatVersion, ErrNewer)
	}
	r.Writer = binary.BigEndian.Uint64(value[endLife:])
	r.Kind = Kind(value[endWriter])
	d := fields{rest: value[endKind:]}
	r.Partition = int32(d.number(1 << 31))
	r.Group = strings.Clone(string(d.bytes(d.number(maxGroup))))
	r.LeaderEpoch = int32(int64(d.number(1<<31)) - 1)
	r.Low = int64(d.number(1 << 63))
	r.Number = d.number(0)
	from := int64(d.number(1 << 63))
	r.From = r.Low + from
	d.bytes(d.number(uint64(len(value))))
	r.runs = d.rest
	if d.bad || r.Kind < Fact || r.Kind > LastPart || r.From < r.Low {
		return r, fmt.Errorf("fields that no release writes: %w", ErrDamaged)
	}
	return r, nil
}

// Sound checks the checksum of the value that a record of this cluster was read from.
func (r *Record) Sound(value []byte, clusterID string) error {
	if sum := checksum(value, clusterID); sum != r.Sum {
		return fmt.Errorf("checksum %08x, want %08x: %w", r.Sum, sum, ErrDamaged)
	}
	return nil
}

// Each calls f with the runs of finished offsets above Low, ascending and half open.
func (r *Record) Each(f func(from, to int64)) error {
	if offsets.ReadRuns(r.runs, r.Low, f) != nil {
		return fmt.Errorf("runs that cannot be read: %w", ErrDamaged)
	}
	return nil
}

// about reports whether the record is about a partition in one life of its offset.
func (r *Record) about(id *Identity) bool {
	return r.Incarnation == id.Incarnation && r.Of(*id)
}

// newerOf reports whether a record of a newer format is about this life of a topic's
// offset. Its partition and group cannot be read.
func (r *Record) newerOf(id *Identity) bool {
	return r.Incarnation == id.Incarnation && r.TopicID == id.TopicID && r.ClusterHash == clusterHash(id.ClusterID)
}

// Of reports whether the record is about a partition, in any life of its offset.
func (r *Record) Of(id Identity) bool {
	return r.TopicID == id.TopicID && r.Partition == id.Partition && r.Group == id.Group && r.ClusterHash == clusterHash(id.ClusterID)
}

// fields takes fields from the front of a record; bad is set when one is not there.
type fields struct {
	rest []byte
	bad  bool
}

// number takes a number below limit; a limit of 0 is none.
func (d *fields) number(limit uint64) uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || limit > 0 && n >= limit {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *fields) bytes(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}
