package far

import (
	"fmt"
	"math"
	"slices"

	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
)

// State returns what a commit says now. The topic's id is the caller's to fill in.
func (x *Index) State() offsets.RunsState {
	x.absorb()
	s := offsets.RunsState{Low: x.window.Low(), Known: x.known, DueMs: x.DueMs(), LeaderEpoch: x.epoch}
	if s.DueMs == nothing-1 && s.Low >= s.Known { // else copies are left that are never due
		s.DueMs = math.MaxInt64
	}
	if x.sure > s.Low {
		s.Sure = x.sure
	}
	if x.directory >= x.window.Low() {
		s.DirectoryEnd = x.directory + 1
	}
	if x.facts != nil {
		s.Journal = x.facts.Named()
	}
	s.Holds = s.Low < max(x.known, x.until) || x.deletion.done < s.Low || len(x.islands) > 0
	return s
}

// Facts returns the writer of finished offsets, nil for none.
func (x *Index) Facts() *facts.Writer { return x.facts }

// Open bounds the finished copies that a restart would find open. No acknowledged record of the
// journal has them, and the last commit has no low offset above them.
func (x *Index) Open() int64 {
	if x.facts == nil {
		return 0
	}
	n := x.facts.Status().Unwritten
	if n < 0 { // nobody knows until the journal has a snapshot
		return x.window.Above()
	}
	return min(n, x.window.Low()-x.deletion.low+x.window.Above())
}

// WantsDirectory reports whether copies were moved that no directory lists.
func (x *Index) WantsDirectory() bool { return x.newCopies }

// Directory returns the runs with copies that are not finished. It ends those that grow. One
// that could not be written is asked for anew by Unlisted. The error is more runs than a directory lists, or a gap that was not read.
func (x *Index) Directory() (runs.Directory, error) {
	if from, to, ok := x.Gap(); ok {
		return runs.Directory{}, fmt.Errorf("the offsets %d to %d were not read", from, to-1)
	}
	x.Seal()
	x.trim()
	if len(x.entries) > runs.MaxRuns {
		return runs.Directory{}, fmt.Errorf("%d runs, want at most %d", len(x.entries), runs.MaxRuns)
	}
	x.newCopies = false
	d := runs.Directory{Writer: x.writer, LeaderEpoch: x.epoch, End: x.known, Runs: make([]runs.Run, len(x.entries))}
	for i := range x.entries {
		d.Runs[i] = x.entries[i].Run
	}
	return d, nil
}

// Listed takes the acknowledgement of a directory, at an offset, as AckedOf does. False: something else is
// known of that offset.
func (x *Index) Listed(epoch int32, offset int64) bool {
	if epoch != x.epoch && offset >= x.known {
		x.until, x.newCopies = max(x.until, offset+1), true
		return true
	}
	i, there := x.island(offset)
	if there || offset < x.known && !x.window.Finished(offset) {
		return false
	}
	x.directory = max(x.directory, offset)
	x.finish(offset, offset+1)
	x.doubts.replaced(offset, nil)
	if offset >= x.known {
		x.islands = slices.Insert(x.islands, i, span{offset, offset + 1})
		x.absorb()
	}
	return true
}

// Unlisted takes the news that a directory was not written, or may not have been.
func (x *Index) Unlisted() { x.newCopies = true }

// deletion is the state of deleting records, in one request at a time.
type deletion struct {
	low     int64 // of the last successful commit
	done    int64 // everything below is deleted
	running bool
}

// Committed takes a commit that succeeded, with the low offset that it says.
func (x *Index) Committed(low int64) { x.deletion.low = max(x.deletion.low, low) }

// Delete returns the offset below which records are to be deleted now; the answer goes to
// Deleted. A restart knows them as finished by the commit and by the journal: else it would
// count them as lost.
func (x *Index) Delete() (below int64, ok bool) {
	below = x.deletion.low
	if x.facts != nil {
		below = min(below, x.facts.Low())
	}
	if x.deletion.running || below <= x.deletion.done {
		return 0, false
	}
	x.deletion.running = true
	return below, true
}

// Deleted takes the answer to a deletion.
func (x *Index) Deleted(below int64, err error) {
	x.deletion.running = false
	if err == nil {
		x.deletion.done = max(x.deletion.done, below)
	}
}
