package offsets

import (
	"errors"
	"fmt"
)

// Bounds are where a partition's log begins and ends.
type Bounds struct {
	Start int64
	End   int64 // high watermark: one past the last offset
}

// Committed is the offset and metadata that a group holds for a partition.
type Committed struct {
	Offset      int64
	LeaderEpoch int32 // see Commit; -1: none
	Metadata    string
}

// Start is where an assignment of a partition begins.
type Start struct {
	Window *Window // the finished set
	Extension
	Next int64 // first offset to read; the log has no unfinished offset below it
	// LeaderEpoch is that of the commit, -1 where the commit is of another log.
	LeaderEpoch int32

	// Foreign is ErrForeign, ErrOtherTopic or ErrDamaged where the metadata was not
	// used, else nil.
	Foreign error
	Clipped int64 // finished offsets that the log does not have any more
}

// ErrBeyondEnd is a committed offset above the end of the log: the log was truncated,
// or the offset was committed for another log.
var ErrBeyondEnd = errors.New("the committed offset lies above the end of the log")

// Resume decides where the partition id is read from. Its group has committed was,
// and its log lies within b.
//
// Metadata that is not the finished set costs repeats and never a record: all
// above the offset counts as unfinished. An offset of another topic id says
// nothing about this log, which is read from its start. An error, ErrNewer or
// ErrBeyondEnd, means that any choice could lose records; the caller must not
// read.
func Resume(was Committed, id Identity, b Bounds) (s Start, err error) {
	s.LeaderEpoch = was.LeaderEpoch
	window, ext, err := DecodeAll(was.Metadata, id, was.Offset)
	switch {
	case errors.Is(err, ErrNewer):
		return s, err
	case errors.Is(err, ErrOtherTopic):
		window, s.LeaderEpoch = NewWindow(b.Start), -1
	case errors.Is(err, ErrForeign): // maybe a mirror's copy, with the epoch of another cluster
		s.LeaderEpoch = -1
	}
	s.Window, s.Extension, s.Foreign = window, ext, err
	if window.Low() > b.End {
		return s, fmt.Errorf("%w: %d, the log ends at %d", ErrBeyondEnd, window.Low(), b.End)
	}
	s.Clipped = window.ClipAbove(b.End)
	s.Next = max(window.Low(), b.Start)
	return s, nil
}
