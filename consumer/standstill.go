package consumer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"layover/cluster"
	"layover/cluster/batches"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Bounds on a standstill.
const (
	// standsFor is how long a partition stands still before anybody looks for the cause. A
	// broker's restart and a rebalance are over by then.
	standsFor = 20 * time.Second
	// standsLooks is how many looks in a row find a cause before it is said: one may meet an election.
	standsLooks  = 2
	standsAtOnce = 32 // partitions whose batches one look asks for, one after the other
	standsHops   = 3  // batches without a record to read that are gone over
	// standsTurn is how long a partition may wait for its turn beside others of its leader that have much to read.
	standsTurn = 5 * time.Minute
)

// standstill is that a partition is not read, while reading goes on. The client tries most errors of fetches again
// without a word, so nothing but the read position shows them. It holds for one read position.
type standstill struct {
	next  int64     // read position that the rest is of
	from  int64     // nothing before is to be read
	since time.Time // records were seen unread there, or the log's end was not told; zero: neither
	// stood is for how long that has been so while reading went on, since the last look for the cause. seen is up to when
	// that was added up: nothing is added for the time up to a look at which reading did not go on.
	stood time.Duration
	seen  time.Time
	why   string // what the last look has found
	looks int    // looks in a row that have found something, up to now
}

// suspects are the assignments that have stood still for standsFor.
type suspects struct {
	silent []offsets.Assignment // whose leader does not tell where the log ends
	behind []offsets.Assignment // of which it tells that committed records are unread
}

// askStanding looks for partitions that stand still, and for the cause. ends and stable are what leaders just told.
func (c *Consumer) askStanding(ctx context.Context, ends, stable map[offsets.TopicPartition]int64) {
	resumed, reading := c.fetching.readingSince()
	now := time.Now()
	if now.Sub(c.poll.last()) > endsEvery { // nobody takes what the client has fetched
		reading = false
	}
	s := c.table.standing(ends, stable, resumed, reading, now)
	if len(s.silent)+len(s.behind) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endsTimeout)
	defer cancel()
	led := cluster.Locate(ctx, c.client, c.table.parts())
	if !anyTold(led) { // that is said otherwise, and nothing more is known of these
		return
	}
	for _, a := range s.silent {
		c.table.found(a, led, fmt.Sprintf("its leader, broker %d, does not tell where the log ends", led[a.TopicPartition].Leader), true, time.Now())
	}
	for _, a := range s.behind[:min(len(s.behind), standsAtOnce)] {
		if ctx.Err() != nil { // another broker took all the time: the next look begins with others
			return
		}
		at := led[a.TopicPartition]
		why, certain := "", false
		if at.Err == nil {
			why, certain = c.lookAt(ctx, a, at.Leader)
		}
		c.table.found(a, led, why, certain, time.Now())
	}
}

// anyTold says whether a broker has answered.
func anyTold(led cluster.Located) bool {
	for _, at := range led {
		if at.ClusterID != "" {
			return true
		}
	}
	return false
}

// lookAt asks for the batch that an assignment's reader stands before. It returns why that is not read, or "" where
// there is none to read. certain says that the broker refuses it; else the client may be about to read it.
func (c *Consumer) lookAt(ctx context.Context, a offsets.Assignment, leader int32) (why string, certain bool) {
	next, from := c.table.standsAt(a)
	for range standsHops {
		found, err := batches.At(ctx, c.cfg.Asking, a.TopicPartition, from)
		switch {
		case errors.Is(err, batches.ErrNone):
			return "", false
		case is[*kerr.Error](err):
			return fmt.Sprintf("broker %d refuses a fetch at offset %d: %v", leader, from, allow(err, "", a.Topic)), true
		case err != nil:
			return fmt.Sprintf("broker %d does not answer a fetch at offset %d: %v", leader, from, err), false
		case !found.IsBehind(a.TopicPartition, next, c.faults.maxDecompress):
			return fmt.Sprintf("broker %d has a batch at offset %d, and the client gets nothing", leader, found.First), false
		}
		from = found.Last + 1
		c.table.while(a, func(o *owned) { o.stands.from = from })
	}
	return "", false
}

// standing notes which partitions stand still, and returns those that have for standsFor, in no order. reading says
// whether everything is fetched, and resumed since when.
func (t *ownership) standing(ends, stable map[offsets.TopicPartition]int64, resumed time.Time, reading bool, now time.Time) (s suspects) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tp, o := range t.rows {
		_, told := ends[tp]
		committed, known := stable[tp]
		if !known {
			committed = o.end
		}
		if o.stands.next != o.next {
			o.stands = standstill{next: o.next, from: o.next}
		}
		switch {
		case !o.loaded || o.stopped() || told && committed <= o.stands.from:
			o.stands.clear()
		case !reading:
			o.stands.seen = now
		case !o.stands.hasStood(resumed, now):
		case !told:
			s.silent = append(s.silent, o.Assignment)
		case known:
			s.behind = append(s.behind, o.Assignment)
		}
	}
	return s
}

// parts returns all partitions that are assigned.
func (t *ownership) parts() (out []offsets.TopicPartition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for tp := range t.rows {
		out = append(out, tp)
	}
	return out
}

// standsAt returns where an assignment stands still, and the offset before which nothing is to be read.
func (t *ownership) standsAt(a offsets.Assignment) (next, from int64) {
	t.while(a, func(o *owned) { next, from = o.stands.next, o.stands.from })
	return next, from
}

// found notes what a look has found of an assignment that stands still. Where topic or leader are missing, that is said
// otherwise. A cause that is not certain counts where the client passes over the partition.
func (t *ownership) found(a offsets.Assignment, led cluster.Located, why string, certain bool, now time.Time) {
	t.while(a, func(o *owned) {
		switch at := led[a.TopicPartition]; {
		case o.stands.next != o.next:
		case at.Err != nil || why == "":
			o.stands.clear()
			o.stands.since = now
		case !certain && !t.passedOver(o, led, now):
			o.stands.why, o.stands.looks, o.stands.stood = "", 0, 0
		default:
			o.stands.why, o.stands.looks = why, min(o.stands.looks+1, standsLooks)
		}
	})
}

// passedOver says whether the client reads other partitions and leaves one out that stands still. The client asks a
// leader for all of them, and begins with another one each time. Where they have much to read, each waits for the
// answers about all others, for standsTurn at most. Callers hold mu.
func (t *ownership) passedOver(o *owned, led cluster.Located, now time.Time) bool {
	if now.Sub(o.stands.since) >= standsTurn {
		return true
	}
	reads, behind := false, false
	for tp, other := range t.rows {
		if at, ok := led[tp]; ok && at.Err == nil && at.Leader == led[o.TopicPartition].Leader && other != o {
			reads = reads || now.Sub(other.lastRead) < 2*endsEvery
			behind = behind || other.end > other.next
		}
	}
	return !reads || !behind
}

// hasStood says whether records have been unread at the position for standsFor, not counting the time in which reading
// was paused. It was resumed last at an instant.
func (s *standstill) hasStood(resumed, now time.Time) bool {
	if s.since.IsZero() {
		s.since = now
	}
	from := s.since
	for _, at := range []time.Time{resumed, s.seen} {
		if at.After(from) {
			from = at
		}
	}
	s.stood, s.seen = s.stood+now.Sub(from), now
	return s.stood >= standsFor
}

// clear notes that nothing is wrong. What was gone over stays.
func (s *standstill) clear() { *s = standstill{next: s.next, from: s.from} }

// said returns what is known of a standstill at a read position, "" where there is none.
func (s *standstill) said(next int64) string {
	if s.next != next || s.looks < standsLooks {
		return ""
	}
	return s.why
}
