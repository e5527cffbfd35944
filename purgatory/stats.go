package purgatory

import (
	"maps"

	"layover/facts"
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
)

// LatenessBounds are the upper bounds of the lateness histogram, in milliseconds.
var LatenessBounds = [...]int64{1, 2, 5, 10, 20, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000}

// Lateness is a histogram of acknowledged minus due, in milliseconds.
type Lateness struct {
	Buckets [len(LatenessBounds) + 1]uint64 // not cumulative; the last is above all bounds
	SumMs   int64
	Count   uint64
}

// recentLateness is how many deliveries the quantiles of Stats look back on.
const recentLateness = 1024

// Stats counts since the core was made. Invariant (conservation): all Consumed =
// Delivered + DeadLettered + Dropped + Unfinished + HandedOver + Skipped + parked
// + due + in flight; TestEveryRecordReadIsAccountedFor holds it.
type Stats struct {
	Consumed      map[TopicOutcome]int64
	Invalid       map[TopicReason]int64
	Delivered     map[TopicTarget]int64
	DeadLettered  map[TopicReason]int64
	Dropped       map[string]int64
	Ambiguous     map[string]int64 // by ingress topic: both an instant and a delay were asked for
	ProduceErrors map[TargetKind]int64
	Late          map[string]*Lateness

	Parked            int64 // in the wheel now
	HandedOver        int64 // parked, due or in flight when their partition went to somebody else
	Unfinished        int64 // given up by a halted partition: read again after a restart
	LostToRetention   int64 // offsets gone from the log before they were read
	Jumped            int64 // finished offsets that were not read again
	Commits           int64 // partitions committed
	CommitErrors      int64
	MetadataOverflows int64 // commits whose metadata did not hold the whole set
	LastDeliveryMs    int64
	Journal           facts.Stats // of tenures that are over; in a Snapshot, of all

	recent    [recentLateness]int32
	recentLen int
	recentAt  int
	errors    []TargetError
}

// TargetError is the last error of a target.
type TargetError struct{ Target, Detail string }

func newStats() Stats {
	return Stats{
		Consumed: make(map[TopicOutcome]int64), Invalid: make(map[TopicReason]int64),
		Delivered: make(map[TopicTarget]int64), DeadLettered: make(map[TopicReason]int64),
		Dropped: make(map[string]int64), Ambiguous: make(map[string]int64), ProduceErrors: make(map[TargetKind]int64),
		Late: make(map[string]*Lateness),
	}
}

func kindOf(c Class) string {
	if c == TooLarge || c == Rejected {
		return "fatal"
	}
	return "retriable"
}

// late counts one delivery's lateness.
func (s *Stats) late(label string, ms int64) {
	ms = max(ms, 0) // a record due at once may carry a timestamp ahead of our clock
	l := s.Late[label]
	if l == nil {
		l = new(Lateness)
		s.Late[label] = l
	}
	i := 0
	for i < len(LatenessBounds) && ms > LatenessBounds[i] {
		i++
	}
	l.Buckets[i]++
	l.Count++
	l.SumMs += ms
	s.recent[s.recentAt] = int32(min(ms, 1<<31-1))
	s.recentAt = (s.recentAt + 1) % recentLateness
	s.recentLen = min(s.recentLen+1, recentLateness)
}

// NoteError keeps an error that has no target for Snapshot, under what it is about.
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

// clone returns a copy that shares nothing with the core.
func (s *Stats) clone() Stats {
	out := *s
	out.Consumed, out.Invalid = maps.Clone(s.Consumed), maps.Clone(s.Invalid)
	out.Delivered, out.DeadLettered = maps.Clone(s.Delivered), maps.Clone(s.DeadLettered)
	out.Dropped, out.ProduceErrors = maps.Clone(s.Dropped), maps.Clone(s.ProduceErrors)
	out.Ambiguous = maps.Clone(s.Ambiguous)
	out.Late = make(map[string]*Lateness, len(s.Late))
	for k, v := range s.Late {
		l := *v
		out.Late[k] = &l
	}
	out.errors = append([]TargetError(nil), s.errors...)
	return out
}
