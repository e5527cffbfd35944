package purgatory

import (
	"maps"
	"slices"

	"layover/journal/facts"
)

// Keys of the counters; labels come from configured names only.
type (
	TopicOutcome struct {
		Topic   string
		Outcome Outcome
	}
	TopicReason struct{ Topic, Reason string }
	TopicTarget struct{ Topic, Target string }
	TargetKind  struct{ Target, Kind string }
	TopicResult struct{ Topic, Result string }
)

// recentLateness is how many deliveries the quantiles of Stats look back on.
const recentLateness = 1024

// Stats counts since the core was made. Invariant (conservation): all Consumed + Loaded =
// Delivered + DeadLettered + Dropped + Unfinished + HandedOver + Skipped + Moved + parked
// + gathered + due + in flight + Referred. TestEveryRecordReadIsAccountedFor checks it.
type Stats struct {
	Consumed      map[TopicOutcome]int64
	Invalid       map[TopicReason]int64
	Delivered     map[TopicTarget]int64
	DeadLettered  map[TopicReason]int64
	Dropped       map[string]int64
	Ambiguous     map[string]int64 // by ingress topic: both an instant and a delay were asked for
	Future        map[string]int64 // by ingress topic: timestamps more than FutureSlackMs ahead of the clock
	ProduceErrors map[TargetKind]int64
	Ended         map[TopicResult]int64 // records that leave nothing elsewhere: cancelled, replaced, expired
	Cancels       map[TopicResult]int64 // cancelled, too_late, miss
	Events        map[string]int64      // acknowledged, given_up
	BarrierOpened map[string]int64      // by reason: paused, halted, stopped, idle

	Late      map[string]*Histogram // by target, LatenessBounds: acknowledged minus due, or minus written where that was later
	Requested map[string]*Histogram // by ingress topic, DelayBounds: due minus the record's timestamp
	Attempts  map[string]*Histogram // by ingress topic, AttemptBounds: the attempt that a record waits for
	TickLag   Histogram             // LatenessBounds: how late the wheel's clock was moved for due records
	Produced  Histogram             // LatenessBounds: from giving a record to the producer to its answer
	Committed Histogram             // LatenessBounds: from sending a commit to its answer, for each partition

	Parked            int64  // in the wheel now
	Gathered          int64  // out of the wheel and on their way to the runs topic now
	Moved             int64  // to the runs topic: their copies were acknowledged
	Cleaned           int64  // of Moved, copies that were moved once more
	Loaded            int64  // copies read from the runs topic to be delivered
	EventsWaiting     int64  // events due or in flight now
	Referred          int64  // records of batches whose letter is due or in flight, beyond one for each letter
	HandedOver        int64  // parked, due or in flight when their assignment ended
	Unfinished        int64  // given up by a halted partition: read again after a restart
	LostFromRuns      int64  // offsets gone from the runs topic, each of which may have been a copy
	LostToRetention   int64  // offsets gone from the log before they were read, and those of HandedOver whose topic was made again
	Losses            []Loss // LostFromRuns and LostToRetention, by topic
	Jumped            int64  // finished offsets that were not read again
	Restored          int64  // records read that were in the log when their partition was assigned
	Commits           int64  // partitions committed
	CommitErrors      int64
	MetadataOverflows int64 // commits whose metadata had no room for the whole set
	LastDeliveryMs    int64
	LastCommitMs      int64
	Journal           facts.Stats // of assignments that are over; in a Snapshot, of all

	consumed  tally[TopicOutcome] // of Consumed
	delivered tally[TopicTarget]  // of Delivered
	recent    [recentLateness]int32
	recentLen int
	recentAt  int
	errors    []TargetError
	letters   letters
	missed    Missed
}

// tally counts one key of a map until another one comes. Most records are like the one before, and
// looking each up takes longer than counting it. The map has what was counted once pour was called.
type tally[K comparable] struct {
	key K
	n   int64
}

func (t *tally[K]) count(m map[K]int64, key K, n int64) {
	if key != t.key {
		t.pour(m)
		t.key = key
	}
	t.n += n
}

func (t *tally[K]) pour(m map[K]int64) {
	if t.n != 0 {
		m[t.key] += t.n
		t.n = 0
	}
}

// TargetError is the last error of a target.
type TargetError struct{ Target, Detail string }

func newStats() Stats {
	return Stats{
		Consumed: make(map[TopicOutcome]int64), Invalid: make(map[TopicReason]int64),
		Delivered: make(map[TopicTarget]int64), DeadLettered: make(map[TopicReason]int64),
		Dropped: make(map[string]int64), Ambiguous: make(map[string]int64), ProduceErrors: make(map[TargetKind]int64),
		Ended: make(map[TopicResult]int64), Cancels: make(map[TopicResult]int64), Events: make(map[string]int64), BarrierOpened: make(map[string]int64),
		Future: make(map[string]int64), Late: make(map[string]*Histogram), Requested: make(map[string]*Histogram), Attempts: make(map[string]*Histogram),
	}
}

func kindOf(c Class) string {
	if c == TooLarge || c == Rejected {
		return "fatal"
	}
	return "retriable"
}

// taken counts a record that its target, or the dead-letter topic, took.
func (s *Stats) taken(e *entry, dead bool, h *header, nowMs int64) {
	if dead {
		s.DeadLettered[TopicReason{e.from.Topic, e.failure.reason}] += e.records()
		s.letters.note(e, h.offset, nowMs)
	} else {
		s.delivered.count(s.Delivered, TopicTarget{e.from.Topic, e.target.label}, 1)
		// An instant from before the record was written is its producer's affair.
		s.late(e.target, nowMs-max(h.deadlineMs, h.timestampMs))
	}
	s.LastDeliveryMs = nowMs
}

// late counts one delivery's lateness.
func (s *Stats) late(t *target, ms int64) {
	ms = max(ms, 0) // a record due at once may carry a timestamp ahead of our clock
	if t.late == nil {
		t.late = histogramIn(s.Late, t.label)
	}
	t.late.observe(&LatenessBounds, ms)
	s.recent[s.recentAt] = int32(min(ms, 1<<31-1))
	s.recentAt = (s.recentAt + 1) % recentLateness
	s.recentLen = min(s.recentLen+1, recentLateness)
}

// NoteError keeps an error for Snapshot that has no target, under its subject.
func (c *Core) NoteError(about, detail string) { c.stats.noteError(about, detail) }

// noteError keeps the last few distinct errors, newest last.
func (s *Stats) noteError(target, detail string) {
	e := TargetError{target, detail}
	for _, old := range s.errors {
		if old == e {
			return
		}
	}
	if len(s.errors) == 8 {
		s.errors = append(s.errors[:0], s.errors[1:]...)
	}
	s.errors = append(s.errors, e)
}

// pour completes the maps.
func (s *Stats) pour() {
	s.consumed.pour(s.Consumed)
	s.delivered.pour(s.Delivered)
}

// clone returns a copy that shares nothing with the core.
func (s *Stats) clone() Stats {
	s.pour()
	out := *s
	out.Consumed, out.Invalid = maps.Clone(s.Consumed), maps.Clone(s.Invalid)
	out.Delivered, out.DeadLettered = maps.Clone(s.Delivered), maps.Clone(s.DeadLettered)
	out.Dropped, out.ProduceErrors = maps.Clone(s.Dropped), maps.Clone(s.ProduceErrors)
	out.Ended, out.Cancels = maps.Clone(s.Ended), maps.Clone(s.Cancels)
	out.Events, out.BarrierOpened = maps.Clone(s.Events), maps.Clone(s.BarrierOpened)
	out.Ambiguous = maps.Clone(s.Ambiguous)
	out.Future = maps.Clone(s.Future)
	out.Late, out.Requested = cloneHistograms(s.Late), cloneHistograms(s.Requested)
	out.Attempts = cloneHistograms(s.Attempts)
	out.Losses = slices.Clone(s.Losses)
	out.errors = append([]TargetError(nil), s.errors...)
	return out
}
