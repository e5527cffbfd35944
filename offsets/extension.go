package offsets

import (
	"encoding/binary"
	"math"
)

// Extension is the part of metadata beside the set: it names the journal records that
// hold more of the set. A reader that does not know it skips it.
type Extension struct {
	// Incarnation names one life of the group's offset of the partition, and goes
	// from commit to commit: facts of other lives do not count. 0 is none.
	Incarnation uint64
	// Journal names the journal records that hold more of the set, its zero value
	// none. It needs an incarnation.
	Journal JournalRange
	// Again is an offset. Finished commands from there on, records that end others, count
	// again after a restart: it may find one finished, and the record that it ended not.
	// 0 is all of them. It needs an incarnation.
	Again int64
}

// JournalRange names records of a partition of a journal topic.
type JournalRange struct {
	TopicID TopicID
	// From is the offset of the first record of a complete snapshot, and To that of
	// the last acknowledged record. The records from From to To and the set in the
	// metadata are the whole finished set. From <= To.
	From, To int64
	Sum      uint32 // checksum in the record at To, which tells another record from it
}

// IsZero reports whether no records are named.
func (j JournalRange) IsZero() bool { return j == JournalRange{} }

// The lengths of an extension: nothing, an incarnation, or that and a journal's
// fixed part.
const (
	incarnationBytes = 8
	journalBytes     = incarnationBytes + 16 + 4
)

// append writes the extension's length and the extension.
func (e Extension) append(dst []byte) []byte {
	if e.Incarnation == 0 {
		return append(dst, 0)
	}
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 64), e.Incarnation)
	if !e.Journal.IsZero() || e.Again > 0 { // fields have their places
		b = append(b, e.Journal.TopicID[:]...)
		b = binary.BigEndian.AppendUint32(b, e.Journal.Sum)
		b = binary.AppendUvarint(b, uint64(e.Journal.From))
		b = binary.AppendUvarint(b, uint64(e.Journal.To-e.Journal.From))
	}
	if e.Again > 0 {
		b = binary.AppendUvarint(b, uint64(e.Again))
	}
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// readExtension reads an extension, and skips the fields that a later release added
// behind the known ones.
func readExtension(b []byte) (e Extension) {
	if len(b) < incarnationBytes {
		return e
	}
	e.Incarnation = binary.BigEndian.Uint64(b)
	if len(b) < journalBytes || e.Incarnation == 0 {
		return e
	}
	j := JournalRange{TopicID: TopicID(b[incarnationBytes:]), Sum: binary.BigEndian.Uint32(b[incarnationBytes+16:])}
	from, rest, ok := cutNumber(b[journalBytes:])
	length, rest, ok2 := cutNumber(rest)
	if !ok || !ok2 {
		return e
	}
	j.From, j.To = int64(from), int64(from+length)
	if j.From >= 0 && length <= math.MaxInt64 && j.To >= j.From {
		e.Journal = j
	}
	if again, _, ok := cutNumber(rest); ok && again <= math.MaxInt64 {
		e.Again = int64(again)
	}
	return e
}
