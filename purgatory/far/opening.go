package far

import (
	"context"

	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
)

// Ask asks what is known of an assignment's runs partition.
type Ask struct {
	offsets.Assignment                   // of the ingress partition
	Said               offsets.RunsState // of the commit
	// Left takes the place of commit and journal, where the log was truncated or made again
	// during the assignment. Given the topic's id, and where the log of LeftEpoch ends, it returns the
	// finished copies; nil where nobody waits any more. Nil: commit and journal count.
	Left      func(ctx context.Context, topic offsets.TopicID, end int64) *offsets.Window
	LeftEpoch int32
}

// Opening is what is known of a runs partition when an assignment begins with it. It is asked for
// in this order: leader epoch and commit, journal, bounds, directory. The leader epoch is asked
// for once more with the bounds: if it is another one, all is asked anew.
type Opening struct {
	Writer      uint64 // unique to this opening
	TopicID     offsets.TopicID
	LeaderEpoch int32 // of the log's end
	Log         offsets.Bounds

	Said    offsets.RunsState // of the commit; its zero value nothing
	SaidEnd int64             // where the log of its leader epoch ends

	Window *offsets.Window // begins as Finished returned it, and has what the journal says
	Facts  *facts.Writer   // of that window

	Directory    *runs.Directory // the one that Said names; nil: there is none, or it is not sound
	DirectoryEnd int64           // where the log of its leader epoch ends
}

// SaidOf returns what a commit says of the runs topic with an id, the zero value where it is
// about another one.
func SaidOf(said offsets.RunsState, topic offsets.TopicID) offsets.RunsState {
	if said.TopicID != topic {
		return offsets.RunsState{}
	}
	return said
}

// Finished returns what a commit calls finished, for the journal to add to. The log of the
// commit's leader epoch ends at end.
func Finished(said *offsets.RunsState, end int64) *offsets.Window {
	return offsets.NewWindow(min(said.Low, end))
}

// cut returns how many offsets above the low one, of those that the commit tells of, the log has no more. Others
// may stand there by now: what was sure is gone from the end of its leader epoch's log on.
func (o *Opening) cut() (lost int64) {
	s := &o.Said
	lost = max(s.Sure-max(s.Low, o.SaidEnd), 0)
	return lost + max(s.Known-max(s.Low, s.Sure, o.Log.End), 0)
}

// Open returns the index of an opening. lost is how many offsets are gone from the log that
// were neither finished nor read: each may have been a copy.
func Open(o *Opening) (x *Index, lost int64) {
	b := Beginning{Writer: o.Writer, Window: o.Window, Facts: o.Facts, LeaderEpoch: o.LeaderEpoch}
	if o.Said.TopicID == o.TopicID {
		b.Said = Said{Known: min(o.Said.Known, o.SaidEnd), DueMs: o.Said.DueMs}
		lost = o.cut()
	} else if o.Said.Holds { // it was deleted, and perhaps made again
		lost = max(o.Said.Known, o.Said.Sure) - o.Said.Low
	}
	o.Window.ClipAbove(o.Log.End)
	x = New(b)
	if d := o.Directory; d != nil && o.DirectoryEnd >= d.End {
		x.Adopt(d, o.Said.DirectoryEnd-1)
	}
	return x, lost + x.Log(o.Log)
}
