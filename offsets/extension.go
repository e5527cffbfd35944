package offsets

import (
	"encoding/binary"
	"math"
)

// Extension is the part of metadata beside the set. It names the journal records that
// hold more of the set, and says what is known of the partition's runs. A reader skips
// the fields that it does not know. Extension is comparable.
type Extension struct {
	// Incarnation names one life of the group's offset of the partition, and goes
	// from commit to commit: facts of other lives do not count. 0 is none.
	Incarnation uint64
	// Journal names the journal records that hold more of the set, its zero value
	// none. It needs an incarnation.
	Journal JournalRange
	// Again is an offset. Finished commands from there on, records that end others, count
	// again after a restart. That restart may find a command finished, and the record
	// that the command ended not. 0 is all of them. It needs an incarnation.
	Again int64
	// Runs is what is known of the partition's runs, its zero value nothing. It needs an
	// incarnation, but for Holds.
	Runs RunsState
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

	// longestExtension is the most bytes that an extension takes whose values are in
	// their bounds: TestTheLongestExtensionIsAsLongAsItsBoundSays.
	longestExtension = journalBytes + 9 + 9 + 9 + longestRunsState
)

// header stands before the base64 part: the format version, and the lowest version of a
// reader. It is 1.1 without runs, as it was in releases that did not know them. It is 2.1
// with runs that an older release may skip, and 2.2 with those that hold it off.
func (e Extension) header() string {
	switch {
	case e.Runs.Holds:
		return magic + "2.2."
	case e.saysRuns():
		return magic + "2.1."
	}
	return magic + "1.1."
}

// saysRuns reports whether the extension has the fields of runs.
func (e Extension) saysRuns() bool { return e.Incarnation != 0 && e.Runs.TopicID != TopicID{} }

// append writes the extension's length and the extension.
func (e Extension) append(dst []byte) []byte {
	if e.Incarnation == 0 {
		return append(dst, 0)
	}
	runs := e.saysRuns()
	b := binary.BigEndian.AppendUint64(make([]byte, 0, longestExtension), e.Incarnation)
	if !e.Journal.IsZero() || e.Again > 0 || runs { // fields have their places
		b = append(b, e.Journal.TopicID[:]...)
		b = binary.BigEndian.AppendUint32(b, e.Journal.Sum)
		b = binary.AppendUvarint(b, uint64(e.Journal.From))
		b = binary.AppendUvarint(b, uint64(e.Journal.To-e.Journal.From))
	}
	if e.Again > 0 || runs {
		b = binary.AppendUvarint(b, uint64(max(e.Again, 0)))
	}
	if runs {
		b = e.Runs.append(b, e.Journal.TopicID)
	}
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

// readExtension reads an extension, and skips the fields that a later release added
// behind the known ones. Holds is not in it: see DecodeAll.
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
	again, rest, ok := cutNumber(rest)
	if ok && again <= math.MaxInt64 {
		e.Again = int64(again)
	}
	e.Runs = readRunsState(rest, j.TopicID)
	return e
}
