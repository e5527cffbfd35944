package purgatory

import (
	"slices"

	"layover/journal/facts"
	"layover/offsets"
)

// Snapshot is a copy of a core's state as it is seen from outside.
type Snapshot struct {
	Stats
	Bytes      int64
	ChunkBytes int64 // of Bytes, the chunks of parked records
	LiveBytes  int64 // of ChunkBytes, the records that are still needed
	NamedBytes int64 // of LiveBytes, those with an id that are not held: they are never moved to runs
	Parked     int
	Due        int // due and waiting, for a target or for membership
	InFlight   int
	NextDueMs  int64 // 0: nothing parked
	Partitions []PartitionView
	Held       []HeldView
	// HeldRest counts the held targets that are not in Held, by label: of those that a
	// glob allows Held has mostViews.
	HeldRest map[string]HeldCount
	// GivenUp counts records by the name of their target, for at most mostViews names. The
	// targets are not held any more, because patience made all of those records dead
	// letters, and the targets took none since.
	GivenUp map[string]int64
	// ReadingPaused says why reading has to pause. The dead-letter topic fails, or
	// a target's share or patience is used up and there is no dead-letter topic.
	ReadingPaused []Pause
	RecentMs      []int32  // lateness of recent deliveries, in no order
	Letters       []Letter // the last dead letters, the latest first
	Missed        Missed
	CatchingUp    []CatchingUp // in no order
	IDs           int          // records that a command would find
	IDBytes       int64        // of Bytes, what finding them takes
	Barred        int          // of Due, those that wait until their partition is read
	Waiting       int          // cancels that wait for the answer to their record
	Outlook       Outlook      // the owner's to fill in, as often as it can be afforded
	Errors        []TargetError
	Pace          RunsPace // the owner's to fill in
}

// Pause is a reason for which reading pauses, and the target it is about.
type Pause struct {
	Reason, Target string
	Label          string // the target's name, or the glob that allowed it
}

// PartitionView is the state of one assigned partition.
type PartitionView struct {
	offsets.TopicPartition
	Epoch     uint64
	Low       int64
	Next      int64 // first offset not yet read
	StableEnd int64 // when it was assigned
	Committed int64 // of the last successful commit; Low of the assignment before one
	Metadata  int   // bytes of that commit's metadata, 0 before one
	// OldestNeededMs is a timestamp. None of the records that are read and not
	// finished is older. 0: none is needed, or it is not known.
	OldestNeededMs int64
	FurthestMs     int64 // latest deadline of those that wait for one; 0: none does
	Parked         int
	Due            int
	InFlight       int
	Moving         int   // copies in flight to the runs topic
	Finished       int64 // finished offsets above the low offset
	Confirmed      bool
	Halted         string // why the policy for invalid records stopped its reading, "" if it did not
	HaltedAt       int64
	HaltedCopied   bool // by a record that was read from its runs topic
	// Uncommitted counts offsets finished since the last successful commit, BeyondPrefix
	// those that its metadata had no room for. Journalled counts those of both that are in
	// the journal. The rest, with the records in flight, may come again after a crash.
	Uncommitted  int64
	BeyondPrefix int64
	Journalled   int64
	Facts        facts.Status
}

// HeldView is the state of a target that is held.
type HeldView struct {
	Target, Label string
	Verdict       Verdict
	Detail        string
	Records       int
	Bytes         int64
	SinceMs       int64
	// PatienceLeftMs is until the patience of the record that has waited longest is used
	// up, at least 0. It stands still while no broker answers.
	PatienceLeftMs int64
	// GivenUp counts the records that patience or share made dead letters since the target,
	// or the partition that has stopped answering, was last usable.
	GivenUp int64
	// Partitions are those of the target that have stopped answering, or fail, by number; none: the target
	// as a whole is held. With Rejecting it is so as well, and its records are not told apart by partition.
	Partitions []HeldPartition
}

// HeldPartition is the state of one such partition, in the words of a HeldView.
type HeldPartition struct {
	No             int32
	Detail         string
	Records        int
	SinceMs        int64
	PatienceLeftMs int64
	GivenUp        int64
}

// Snapshot returns a copy of the core's state; its cost grows with the number of
// partitions, targets, counters and chunks, not with that of records.
func (c *Core) Snapshot() Snapshot {
	s := Snapshot{
		Stats: c.stats.clone(), Bytes: c.Bytes(), ChunkBytes: c.store.bytes, LiveBytes: c.store.used, NamedBytes: c.store.usedBy(idClass), Parked: c.parking.wheel.Len(), InFlight: c.out.flights.count,
		ReadingPaused: c.out.pauses(), RecentMs: slices.Clone(c.stats.recent[:c.stats.recentLen]),
		Errors: slices.Clone(c.stats.errors), NextDueMs: c.parking.soonest(c.now.WallMs),
		Letters: c.stats.letters.last(), Missed: c.stats.missed, CatchingUp: c.parking.catching.views(),
		IDs: c.commands.index.table.Len(), IDBytes: c.commands.index.bytes(), Waiting: c.commands.cancels,
	}
	s.Partitions = make([]PartitionView, 0, len(c.parts.byTopic))
	for p := range c.parts.here() {
		said := p.Facts.Status()
		s.Journal.Add(said.Stats)
		v := PartitionView{
			TopicPartition: p.TopicPartition, Epoch: p.Epoch, Low: p.Window.Low(), Next: p.next,
			StableEnd: p.StableEnd, Committed: p.commit.low, Parked: p.parked, Due: p.src.due, InFlight: p.src.inFlight,
			Finished: p.Window.Above(), Confirmed: p.src.confirmed, Metadata: p.commit.metadata, OldestNeededMs: p.oldestNeededMs(), FurthestMs: p.furthestMs,
			Uncommitted: p.finished - p.commit.finishedSaid, BeyondPrefix: p.commit.left,
			Journalled: p.journalled(said), Facts: said, Moving: p.src.moving,
		}
		if x := p.moved.index; x != nil {
			v.Uncommitted += x.Open()
		} else {
			v.Uncommitted += p.moved.open
		}
		if p.halted != nil && !p.halted.Truncated && !p.halted.Unreadable {
			v.Halted, v.HaltedAt, v.HaltedCopied = p.halted.Reason, p.halted.Offset, p.halted.Copied
		}
		s.Due += p.src.due
		s.Barred += p.src.behind.count
		s.Partitions = append(s.Partitions, v)
	}
	s.Held, s.HeldRest = c.out.holds.views()
	s.GivenUp = c.out.dir.givenUp()
	return s
}

// mostViews is how many held targets that globs allow a Snapshot describes. Their number
// is up to who writes headers, and a snapshot is taken fifty times a second.
const mostViews = 100

// HeldCount sums up held targets.
type HeldCount struct {
	Targets, Records int
	Bytes            int64
}

// givenUp returns what GivenUp of a Snapshot is.
func (d *directory) givenUp() (out map[string]int64) {
	for _, t := range d.list {
		if t == nil || t.givenUp == 0 || t.hold.held || t.stalled > 0 || len(out) >= mostViews {
			continue
		}
		if out == nil {
			out = make(map[string]int64)
		}
		out[t.name] += t.givenUp
	}
	return out
}
