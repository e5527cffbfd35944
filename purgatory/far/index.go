package far

import (
	"slices"

	"layover/journal/facts"
)

// Found is a copy that was read or acknowledged.
type Found struct {
	Offset      int64
	DeadlineMs  int64 // Unix milliseconds
	Bytes       int64
	Origin      int64 // offset of the record in ingress
	Writer, Run uint64
}

// Foreign is the Run of a found copy of another group or cluster: it is never due, whatever the release and the
// settings. Others that are never due have neither a run nor a writer: at the next beginning they may be.
const Foreign = 1

// span is the offsets from (included) to to (not included).
type span struct{ from, to int64 }

// Index is the state of one runs partition. It has one owner and no lock.
type Index struct {
	list

	writer uint64
	said   Said
	facts  *facts.Writer

	known   int64
	sure    int64  // what was read, or stood in a log of epoch or of one before, ends there
	until   int64  // end of the log that the assignment found: all below is read
	islands []span // acknowledged, at and above known: ascending
	epoch   int32  // highest leader epoch that was seen of the log

	directory int64 // offset of the last directory, -1 for none
	newCopies bool  // that the last directory does not list
	deletion  deletion
	merging   int64 // small runs below this offset are loaded, see Clean; 0: none are
	// early has the origins of own copies that were read before their answers came, by offset. None is below
	// heard.
	early map[int64]int64
	heard int64 // to no copy below is an answer owed

	doubts doubts
}

// finish notes that offsets are finished that are no copies in memory: of those it returns
// how many there were.
func (x *Index) finish(from, to int64) (n int64) {
	for at := x.taken.NextUnfinished(from); at < to; {
		end := x.untakenEnd(at, to)
		x.note(at, end)
		n += x.taken.FinishRange(at, end)
		at = x.taken.NextUnfinished(end)
	}
	return n
}

// note marks offsets as finished.
func (x *Index) note(from, to int64) {
	if x.window.FinishRange(from, to) > 0 && x.facts != nil {
		x.facts.Note(from, to)
	}
}

// Finish notes the outcome of a copy. False: it had one.
func (x *Index) Finish(offset int64) bool {
	if x.window.Finished(offset) {
		return false
	}
	x.note(offset, offset+1)
	x.taken.FinishRange(offset, offset+1)
	return true
}

// Low returns the lowest offset that is not finished: no copy below it counts.
func (x *Index) Low() int64 { return x.window.Low() }

// Known returns the known end.
func (x *Index) Known() int64 { return x.known }

// Acked takes the acknowledgement of a copy that this assignment has written. False: something
// else is known of that offset, so the log is another one than it was.
func (x *Index) Acked(f Found) bool {
	f.Writer = x.writer
	if f.Offset < x.known {
		origin, read := x.early[f.Offset]
		read = read && origin == f.Origin
		x.newCopies = x.newCopies || read
		delete(x.early, f.Offset)
		return read
	}
	i, there := x.island(f.Offset)
	if there {
		return false
	}
	x.newCopies = true
	x.doubts.replaced(f.Offset, &f)
	if f.Offset >= x.sure {
		x.doubts.acknowledged(Doubt{f.Offset, f.Origin, f.Writer})
	}
	x.grow(f)
	if i > 0 && x.islands[i-1].to == f.Offset {
		x.islands[i-1].to++
	} else {
		x.islands = slices.Insert(x.islands, i, span{f.Offset, f.Offset + 1})
	}
	x.absorb()
	return true
}

// AckedOf is Acked for a copy that was sent when LeaderEpoch was epoch. What was written before the present
// one began may be gone, so it is read as if it had not been heard of.
func (x *Index) AckedOf(epoch int32, f Found) bool {
	if _, there := x.island(f.Offset); epoch == x.epoch || there || f.Offset < x.known {
		return x.Acked(f)
	}
	f.Writer = x.writer
	x.doubts.replaced(f.Offset, &f)
	x.doubts.acknowledged(Doubt{f.Offset, f.Origin, x.writer})
	x.doubts.raise(f.Offset, x.window.Finished)
	x.until, x.newCopies = max(x.until, f.Offset+1), true
	return true
}

// Answered notes that no answer to a copy is owed: also to none that AckedOf has still to be read.
func (x *Index) Answered() {
	clear(x.early)
	x.heard = max(x.heard, x.End())
}

// island returns whether an offset was acknowledged, or the index of the first island behind it.
func (x *Index) island(offset int64) (i int, there bool) {
	i, _ = slices.BinarySearchFunc(x.islands, offset, func(s span, offset int64) int {
		if s.to <= offset {
			return -1
		}
		return 1
	})
	return i, i < len(x.islands) && x.islands[i].from <= offset
}

// absorb moves the known end over islands, and over what the journal calls finished.
func (x *Index) absorb() {
	x.known = max(x.known, x.window.Low())
	n := 0
	for n < len(x.islands) && x.islands[n].from <= x.known {
		x.known = max(x.known, x.islands[n].to)
		n++
	}
	x.islands = slices.Delete(x.islands, 0, n)
}

// Gap returns the offsets that have to be read before the known end can pass them: others
// wrote there. They end where own copies go on, or where the log ended at first.
func (x *Index) Gap() (from, to int64, ok bool) {
	switch {
	case len(x.islands) > 0:
		return x.known, x.islands[0].from, true
	case x.known < x.until:
		return x.known, x.until, true
	}
	return 0, 0, false
}

// Bytes returns the memory of the index.
func (x *Index) Bytes() int64 {
	b := x.window.Bytes() + x.taken.Bytes() + int64(cap(x.entries))*RunSize + int64(cap(x.islands))*16 + int64(len(x.early))*earlySize + x.doubts.bytes()
	for _, g := range x.growing {
		b += int64(cap(g.copies)) * placeSize
	}
	return b
}

// LogBytes estimates the bytes of the log from where it is not deleted on. It counts the log's
// offsets, by the average size of the copies of all runs.
func (x *Index) LogBytes() int64 {
	return x.bytesFrom(x.deletion.done)
}

// bytesFrom estimates the bytes of the log from an offset on.
func (x *Index) bytesFrom(offset int64) int64 {
	var count, bytes int64
	for i := range x.entries {
		count, bytes = count+x.entries[i].Count, bytes+x.entries[i].Bytes
	}
	for _, g := range x.growing {
		count, bytes = count+int64(len(g.copies)), bytes+g.bytes
	}
	if count == 0 {
		return 0
	}
	return int64(float64(x.top()-offset) * float64(bytes) / float64(count))
}
