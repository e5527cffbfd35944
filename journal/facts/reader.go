package facts

import (
	"errors"
	"fmt"
	"math"

	"layover/offsets"
)

// Reader reads the records of one partition's journal, in their order, and finishes their
// offsets in a window. Only the window takes memory.
type Reader struct {
	id        Identity
	window    *offsets.Window
	logEnd    int64 // of the ingress partition; facts about offsets beyond are void
	committed offsets.JournalRange

	epoch   int32 // the committed one
	highest int32 // leader epoch of any fact
	unknown bool  // some finished offsets have no known leader epoch
	until   int64 // see Until

	// Records and Bytes count the records that were added. Others counts those about other
	// partitions, groups or lives, Damaged those that cannot be read.
	Records, Bytes, Others, Damaged int64
	// Group is the first other group with a record here, "" for none.
	Group string

	snapshotBytes, facts int64
	last                 int64  // journal offset of the last record that was added, -1: none
	sum                  uint32 // its checksum
	named                bool   // the record at committed.To was read and has the named checksum
	parts                parts
}

// parts follows the snapshots in a journal and finds the last complete one.
type parts struct {
	writer, number uint64
	next           int64 // first offset that no part has covered yet
	from           int64 // journal offset of the first part
	complete       int64 // journal offset at which the last complete snapshot begins, -1: none
}

// NewReader returns a reader that adds to w the facts about id. The ingress log ends at
// logEnd. epoch is the commit's leader epoch, -1 for none; committed is the journal
// records that the commit names.
func NewReader(id Identity, w *offsets.Window, epoch int32, logEnd int64, committed offsets.JournalRange) *Reader {
	return &Reader{id: id, window: w, logEnd: logEnd, committed: committed, epoch: epoch, highest: epoch,
		unknown: epoch < 0 && w.Above() > 0, until: math.MaxInt64, last: -1, parts: parts{complete: -1}}
}

// LeaderEpoch returns the highest leader epoch of the finished offsets, for the next
// commit; -1 where that of some is unknown.
func (u *Reader) LeaderEpoch() int32 {
	if u.unknown {
		return -1
	}
	return u.highest
}

// Until returns the offset below which the commit is about the records that the log has now.
// That is where the log of the commit's leader epoch ends, if facts of later ones were read.
// It is 0 where that is not known.
//
// It is also 0 where the journal's log starts behind the snapshot that the commit names. A
// snapshot behind that may be of a later owner, which found the journal incomplete: it then
// lacks offsets that the commit knows as finished.
func (u *Reader) Until(start int64) int64 {
	if !u.committed.IsZero() && start > u.committed.From {
		return 0
	}
	return u.until
}

// EndOf returns where the ingress log of a leader epoch ends: facts of that epoch are
// void from there on. -1 means that the broker does not know the epoch, as one without a
// history. Then nothing is cut off until a record of a later epoch is read.
type EndOf func(leaderEpoch int32) (int64, error)

// Add reads the record at a journal offset. Records that are not about this life of this
// partition are passed over and counted. The error is ErrNewer for a record that must
// not be passed over, ErrTruncated, or endOf's.
func (u *Reader) Add(offset int64, value []byte, endOf EndOf) error {
	r, err := Read(value)
	switch {
	case errors.Is(err, ErrNewer):
		if r.Sound(value, u.id.ClusterID) == nil && r.newerOf(&u.id) {
			return fmt.Errorf("journal record at %d: %w", offset, err)
		}
		u.Others++
		return nil
	case errors.Is(err, ErrForeign):
		u.Others++
		return nil
	case err == nil && r.ClusterHash == clusterHash(u.id.ClusterID):
		err = r.Sound(value, u.id.ClusterID)
	}
	if err != nil {
		u.Damaged++
		return nil
	}
	if r.Group != u.id.Group && u.Group == "" {
		u.Group = r.Group
	}
	if !r.about(&u.id) {
		u.Others++
		return nil
	}
	if r.LeaderEpoch >= 0 || r.Low > u.window.Low() || len(r.runs) > 0 { // else it says nothing, of a log that nobody had read
		if err := u.raise(r.LeaderEpoch, endOf); err != nil {
			return err
		}
	}
	end := u.logEnd
	if r.LeaderEpoch >= 0 {
		e, err := endOf(r.LeaderEpoch)
		if err != nil {
			return err
		}
		if e >= 0 {
			end = min(end, e)
		}
	}
	u.window.FinishRange(u.window.Low(), min(r.Low, end))
	if r.Each(func(from, to int64) { u.window.FinishRange(from, min(to, end)) }) != nil {
		u.Damaged++
		return nil
	}
	u.note(offset, &r, int64(len(value)))
	return nil
}

// ErrTruncated is a committed offset beyond the end of the log that it was committed for.
var ErrTruncated = errors.New("the log was truncated below the committed offset")

// raise notes a fact's leader epoch. The first one above the committed epoch cuts the
// commit's own set to the end of the committed epoch's log. No reader will meet that end any more.
func (u *Reader) raise(epoch int32, endOf EndOf) error {
	if epoch < 0 {
		u.unknown, u.until = true, 0
		return nil
	}
	if u.epoch < 0 {
		u.until = 0
	}
	if u.epoch >= 0 && u.highest == u.epoch && epoch > u.epoch {
		end, err := endOf(u.epoch)
		switch {
		case err != nil:
			return err
		case end < 0:
			u.until = 0
		case u.window.Low() > end:
			return fmt.Errorf("%w: %d, the log of leader epoch %d ends at %d", ErrTruncated, u.window.Low(), u.epoch, end)
		default:
			u.window.ClipAbove(end)
			u.until = min(u.until, end)
		}
	}
	u.highest = max(u.highest, epoch)
	return nil
}

func (u *Reader) note(offset int64, r *Record, size int64) {
	u.Records++
	u.Bytes += size
	u.last, u.sum = offset, r.Sum
	u.named = u.named || offset == u.committed.To && r.Sum == u.committed.Sum
	if r.Kind == Fact {
		u.facts += size
		return
	}
	u.snapshotBytes += size
	u.parts.add(offset, r)
}

func (p *parts) add(offset int64, r *Record) {
	if p.writer != r.Writer || p.number != r.Number {
		if r.From != r.Low {
			return // its first part is gone
		}
		p.writer, p.number, p.from, p.next = r.Writer, r.Number, offset, r.From
	}
	if r.From > max(p.next, r.Low) {
		p.writer, p.number = 0, 0
		return
	}
	r.Each(func(_, to int64) { p.next = to })
	if r.Kind == LastPart {
		p.complete = p.from
	}
}

// Complain returns the fault of a journal that was read whole, with this topic id and log
// from start to end. nil: every record that the commit named was found.
func (u *Reader) Complain(topic offsets.TopicID, start, end int64) error {
	c := u.committed
	switch {
	case c.IsZero():
		return nil
	case topic != c.TopicID:
		return fmt.Errorf("the journal was deleted and made again: the commit names records up to %d of one that is gone", c.To)
	case end <= c.To:
		return fmt.Errorf("the journal ends at %d and the commit names its record at %d: it was truncated", end, c.To)
	case start > c.From && u.parts.complete < 0:
		return fmt.Errorf("the journal begins at %d and the commit names a snapshot at %d: its records were deleted, by its retention or by somebody", start, c.From)
	case start <= c.To && !u.named:
		return fmt.Errorf("the record at %d is not the one that the commit names: the journal was truncated and written anew, or is damaged", c.To)
	}
	return nil
}

// Restored returns the state in which the next writer begins. whole: Complain returned
// nil. tail is the runs in the commit's metadata.
func (u *Reader) Restored(whole bool, start int64, tail []Run) Restored {
	r := Restored{Named: u.committed, Whole: whole, Tail: tail, SnapshotBytes: u.snapshotBytes, Facts: u.facts}
	if r.Named.IsZero() || !whole {
		return r
	}
	if u.last > r.Named.To {
		r.Named.To, r.Named.Sum = u.last, u.sum
	}
	r.Named.From = max(r.Named.From, start)
	return r
}

// Complete reports whether a complete snapshot was read. Without one, offsets that
// finished before the journal's log start may be in no record.
func (u *Reader) Complete() bool { return u.parts.complete >= 0 }

// Name returns the records that a commit has to name for the next reader to find them
// all; zero without records. The journal has this topic id and log start. The range
// begins at the log start, so that nothing is deleted before the next snapshot.
func (u *Reader) Name(topic offsets.TopicID, start int64) offsets.JournalRange {
	if u.last < 0 {
		return offsets.JournalRange{}
	}
	return offsets.JournalRange{TopicID: topic, From: start, To: u.last, Sum: u.sum}
}
