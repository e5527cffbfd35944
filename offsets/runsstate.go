package offsets

import (
	"encoding/binary"
	"math"
)

// RunsState is what a commit says of the partition's runs. These are no runs of
// finished offsets, but copies of records that are due far off, in a topic of
// Layover's own. Package journal/runs has their format.
//
// Offsets and the leader epoch are of the partition of that topic, and none is negative.
// A value out of its bounds is written so that a reader finds nothing but Holds.
type RunsState struct {
	// TopicID is that of the runs topic. Zero: nothing is said but Holds.
	TopicID TopicID
	// Low is an offset. Every copy below it is finished.
	Low int64
	// Known is an offset, the end of what is known of deadlines: of the copies below it,
	// all that are due by DueMs are finished. Low <= Known.
	Known int64
	// DueMs is in Unix milliseconds, MaxInt64 all copies below Known. See Known.
	DueMs int64
	// Sure is an offset, 0 for none: what is below stood in the log of the leader epochs up to LeaderEpoch. Where
	// that ends below, it was cut. Known may be above, as nobody knows in which leader epoch a copy was
	// acknowledged. It may be below, as what is found is not read at once.
	Sure int64
	// LeaderEpoch is the highest leader epoch that was seen of the partition, from 0 on. The
	// state is about the log of the leader epochs up to it.
	LeaderEpoch int32
	// DirectoryEnd is one past the offset of the last directory's record, 0 none.
	DirectoryEnd int64
	// Journal names the journal records that hold the finished copies, its zero value
	// none.
	Journal JournalRange
	// Holds is whether some copy is not finished, or a finished one not deleted yet. An
	// older release would pass over the copies, so it must not read the partition.
	//
	// Holds is in the minimum reader version, so it needs no other field, and comes back
	// also where the other fields cannot be read.
	Holds bool
}

// IsZero reports whether nothing is said.
func (r RunsState) IsZero() bool { return r == RunsState{} }

// Characters returns a bound of how many characters of metadata it takes.
func (r RunsState) Characters() int {
	if r.TopicID == (TopicID{}) {
		return 0
	}
	return text.EncodedLen(len(r.append(nil, TopicID{}))) + 1
}

// longestRunsState is the most bytes of the fields of runs with values in their bounds.
const longestRunsState = 16 + 1 + 5 + 9 + 9 + 10 + 9 + 16 + 4 + 9 + 9 + 9

// The flags: fields that are there, or are not. A reader passes over other flags.
const (
	flagAllDue       = 1 << iota // DueMs is MaxInt64, and not written
	flagJournal                  // there is a journal range
	flagJournalTopic             // it has a topic id; without, that of the extension's journal is meant
	flagSure                     // Sure is there, above Low
)

// append writes the fields. journal is the topic id of the extension's journal, which is
// not written twice.
func (r RunsState) append(b []byte, journal TopicID) []byte {
	var flags byte
	if r.DueMs == math.MaxInt64 {
		flags |= flagAllDue
	}
	if !r.Journal.IsZero() {
		flags |= flagJournal
		if r.Journal.TopicID != journal {
			flags |= flagJournalTopic
		}
	}
	if r.Sure > r.Low {
		flags |= flagSure
	}
	b = append(append(b, r.TopicID[:]...), flags)
	b = binary.AppendUvarint(b, uint64(r.LeaderEpoch))
	b = binary.AppendUvarint(b, uint64(r.Low))
	b = binary.AppendUvarint(b, uint64(r.Known-r.Low))
	if flags&flagAllDue == 0 {
		b = binary.AppendVarint(b, r.DueMs)
	}
	b = binary.AppendUvarint(b, uint64(r.DirectoryEnd))
	if flags&flagJournalTopic != 0 {
		b = append(b, r.Journal.TopicID[:]...)
	}
	if flags&flagJournal != 0 {
		b = binary.BigEndian.AppendUint32(b, r.Journal.Sum)
		b = binary.AppendUvarint(b, uint64(r.Journal.From))
		b = binary.AppendUvarint(b, uint64(r.Journal.To-r.Journal.From))
	}
	if flags&flagSure != 0 {
		b = binary.AppendUvarint(b, uint64(r.Sure-r.Low))
	}
	return b
}

// readRunsState reads what append wrote. The zero state is all there is in fields that
// are cut short, or out of their bounds.
func readRunsState(b []byte, journal TopicID) (r RunsState) {
	f := fields{b: b}
	r.TopicID = f.topicID()
	flags := f.fixed(1)
	if epoch := f.number(); epoch <= math.MaxInt32 {
		r.LeaderEpoch = int32(epoch)
	} else {
		f.bad = true
	}
	r.Low = f.offset(0)
	r.Known = f.offset(r.Low)
	r.DueMs = math.MaxInt64
	if flags&flagAllDue == 0 {
		r.DueMs = f.signed()
	}
	r.DirectoryEnd = f.offset(0)
	if flags&flagJournal != 0 {
		if flags&flagJournalTopic != 0 {
			journal = f.topicID()
		}
		r.Journal = JournalRange{TopicID: journal, Sum: uint32(f.fixed(4)), From: f.offset(0)}
		r.Journal.To = f.offset(r.Journal.From)
	}
	if flags&flagSure != 0 {
		r.Sure = f.offset(r.Low)
		f.bad = f.bad || r.Sure == r.Low
	}
	if f.bad || r.TopicID == (TopicID{}) {
		return RunsState{}
	}
	return r
}

// fields takes fields from the front of b. bad is whether any was cut short or out of its
// bounds: all fields are then to be thrown away.
type fields struct {
	b   []byte
	bad bool
}

// bytes takes n bytes. It returns fewer where there are not so many.
func (f *fields) bytes(n int) []byte {
	f.bad = f.bad || n > len(f.b)
	n = min(n, len(f.b))
	b := f.b[:n]
	f.b = f.b[n:]
	return b
}

func (f *fields) topicID() (id TopicID) {
	copy(id[:], f.bytes(len(id)))
	return id
}

// fixed takes a number of n bytes.
func (f *fields) fixed(n int) (value uint64) {
	for _, c := range f.bytes(n) {
		value = value<<8 | uint64(c)
	}
	return value
}

// number takes a number in its shortest form.
func (f *fields) number() uint64 {
	n, rest, ok := cutNumber(f.b)
	f.b, f.bad = rest, f.bad || !ok
	return n
}

// signed takes a number that may be negative.
func (f *fields) signed() int64 {
	n := f.number()
	return int64(n>>1) ^ -int64(n&1)
}

// offset takes an offset as its distance from one before it, which is not negative.
func (f *fields) offset(before int64) int64 {
	n := f.number()
	if n > uint64(math.MaxInt64-before) {
		f.bad = true
		return before
	}
	return before + int64(n)
}
