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
	Parked     int
	Due        int // due and waiting, for a target or for membership
	InFlight   int
	NextDueMs  int64 // 0: nothing parked
	Partitions []PartitionView
	Held       []HeldView
	// HeldRest counts the held targets that are not in Held, by label: of those that a
	// glob allows Held has mostViews.
	HeldRest map[string]HeldCount
	// GivenUp counts by name the records of targets that are not held any more, because
	// patience made all of them dead letters, and that took none since; at most mostViews.
	GivenUp map[string]int64
	// ReadingPaused says why reading has to pause: the dead-letter topic fails, or
	// a target's share or patience is used up and there is no dead-letter topic.
	ReadingPaused []Pause
	RecentMs      []int32  // lateness of recent deliveries, in no order
	Letters       []Letter // the last dead letters, the latest first
	Missed        Missed
	IDs           int     // records that a command would find
	IDBytes       int64   // of Bytes, what finding them takes
	Barred        int     // of Due, those that wait until their partition is read
	Waiting       int     // cancels that wait for the answer to their record
	Outlook       Outlook // the owner's to fill in, as often as it can be afforded
	Errors        []TargetError
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
	// OldestNeededMs is a timestamp that none of the records is older than which are
	// read and not finished; 0: none is needed, or it is not known.
	OldestNeededMs int64
	FurthestMs     int64 // latest deadline of those that wait for one; 0: none does
	Parked         int
	Due            int
	InFlight       int
	Finished       int64 // finished offsets above the low offset
	Confirmed      bool
	Halted         string // why the policy for invalid records stopped its reading, "" if it did not
	HaltedAt       int64
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
	// Partitions are those of the target that have stopped answering; none: the target
	// as a whole is held.
	Partitions []int32
}

// Snapshot returns a copy of the core's state; its cost grows with the number of
// partitions, targets and counters, not with that of records.
func (c *Core) Snapshot() Snapshot {
	s := Snapshot{
		Stats: c.stats.clone(), Bytes: c.Bytes(), ChunkBytes: c.store.bytes, LiveBytes: c.store.used, Parked: c.parking.wheel.Len(), InFlight: c.out.flights.count,
		ReadingPaused: c.out.pauses(), RecentMs: slices.Clone(c.stats.recent[:c.stats.recentLen]),
		Errors: slices.Clone(c.stats.errors), NextDueMs: c.parking.soonest(c.now.WallMs),
		Letters: c.stats.letters.last(), Missed: c.stats.missed,
		IDs: c.commands.index.table.Len(), IDBytes: c.commands.index.bytes(), Waiting: c.commands.cancels,
	}
	s.Partitions = make([]PartitionView, 0, len(c.byTopic))
	for _, p := range c.parts {
		if p == nil || p.src.gone {
			continue
		}
		said := p.Facts.Status()
		s.Journal.Add(said.Stats)
		v := PartitionView{
			TopicPartition: p.TopicPartition, Epoch: p.Epoch, Low: p.Window.Low(), Next: p.next,
			StableEnd: p.StableEnd, Committed: p.commit.low, Parked: p.parked, Due: p.src.due, InFlight: p.src.inFlight,
			Finished: p.Window.Above(), Confirmed: p.src.confirmed, Metadata: p.commit.metadata, OldestNeededMs: p.oldestNeededMs(), FurthestMs: p.furthestMs,
			Uncommitted: p.finished - p.commit.finishedSaid, BeyondPrefix: p.commit.left,
			Journalled: p.journalled(said), Facts: said,
		}
		if p.halted != nil && !p.halted.Truncated && !p.halted.Unreadable {
			v.Halted, v.HaltedAt = p.halted.Reason, p.halted.Offset
		}
		s.Due += p.src.due
		s.Barred += p.src.behind.count
		s.Partitions = append(s.Partitions, v)
	}
	s.Held, s.HeldRest = c.out.heldViews()
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

// heldViews returns the targets that hold records, and counts by label those beyond mostViews.
func (o *outbox) heldViews() (views []HeldView, rest map[string]HeldCount) {
	globbed := 0
	for _, t := range o.dir.list {
		if t == nil || !t.hold.held && t.stalled == 0 {
			continue
		}
		n, bytes := t.held()
		if t.label != t.name {
			globbed++
		}
		if t.label == t.name || globbed <= mostViews {
			views = append(views, o.view(t, n, bytes))
			continue
		}
		if rest == nil {
			rest = make(map[string]HeldCount)
		}
		sum := rest[t.label]
		rest[t.label] = HeldCount{sum.Targets + 1, sum.Records + n, sum.Bytes + bytes}
	}
	return views, rest
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

// view is the state of a target that holds records.
func (o *outbox) view(t *target, records int, bytes int64) HeldView {
	v := HeldView{Target: t.name, Label: t.label, Verdict: t.hold.verdict, Detail: t.hold.detail, Records: records, Bytes: bytes, SinceMs: t.hold.sinceMs,
		PatienceLeftMs: o.cfg.Patience.Milliseconds(), GivenUp: t.givenUp}
	if t.hold.held {
		v.PatienceLeftMs = o.patienceLeftMs(&t.queue)
		return v
	}
	v.Verdict = Unreachable
	for _, d := range t.dests {
		if !d.stalled {
			continue
		}
		v.PatienceLeftMs = min(v.PatienceLeftMs, o.patienceLeftMs(&d.overflow))
		if v.Partitions = append(v.Partitions, d.no); v.SinceMs == 0 || d.stalledMs < v.SinceMs {
			v.SinceMs, v.Detail = d.stalledMs, d.silentFor()
		}
	}
	return v
}

// patienceLeftMs returns how long the first record of a queue of held ones may still wait.
func (o *outbox) patienceLeftMs(q *queue) int64 {
	patienceMs := o.cfg.Patience.Milliseconds()
	if q.count == 0 {
		return patienceMs
	}
	return max(patienceMs-(o.now.AnsweredMs-q.front().since), 0)
}
