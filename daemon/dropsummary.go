package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"layover/purgatory"
)

// saySummary is how often dropped records and dead letters are summed up in the log.
const saySummary = 30 * time.Second

// mostCauses is how many ingress topics and reasons one line of the summary names: with
// many ingress topics it would be of any length.
const mostCauses = 10

// dropSummary sums up in the log the records that did not get to their targets. It logs one
// line a kind for all that were in 30 s. One line for each record would be a flood when a
// target fails. Its methods may be called from any goroutine.
type dropSummary struct {
	log    *slog.Logger
	counts func() (dropped, dead map[purgatory.TopicReason]int64) // since the start

	mu            sync.Mutex
	lookedAt      time.Time
	dropped, dead map[purgatory.TopicReason]int64 // as of the last look
}

// run looks every 30 s until the context ends. What came since then is for whoever ends
// it to say: the counts may still grow then.
func (s *dropSummary) run(ctx context.Context, turns *atomic.Int64) {
	every(ctx, saySummary, turns, s.say)
}

// say logs what was lost since it was called before.
func (s *dropSummary) say(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dropped, dead := s.counts() // under the lock, or an older count could come behind a newer one
	within := now.Sub(s.lookedAt).Round(time.Millisecond).String()
	if records, by := since(s.dropped, dropped); records > 0 {
		s.log.Warn("records dropped, as LAYOVER_ON_INVALID says", "records", records, "within", within, "by", by)
	}
	if records, by := since(s.dead, dead); records > 0 {
		s.log.Warn("records went to the dead-letter topic", "records", records, "within", within, "by", by)
	}
	s.lookedAt, s.dropped, s.dead = now, dropped, dead
}

// since returns how many records there are more than before, and of which ingress topic
// and reason. It names these causes, and if there are too many to name them all, those
// with the most.
func since(before, now map[purgatory.TopicReason]int64) (records int64, by string) {
	type cause struct {
		name string
		n    int64
	}
	var causes []cause
	for key, n := range now {
		if n -= before[key]; n <= 0 {
			continue
		}
		records += n
		name := key.Topic
		if key.Reason != "" {
			name += "/" + key.Reason
		}
		causes = append(causes, cause{name, n})
	}
	slices.SortFunc(causes, func(a, b cause) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.name, b.name)) })
	var others int64
	for len(causes) > mostCauses {
		others += causes[len(causes)-1].n
		causes = causes[:len(causes)-1]
	}
	slices.SortFunc(causes, func(a, b cause) int { return cmp.Compare(a.name, b.name) })
	parts := make([]string, len(causes))
	for i, c := range causes {
		parts[i] = fmt.Sprintf("%s=%d", c.name, c.n)
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("others=%d", others))
	}
	return records, strings.Join(parts, ",")
}

// lost returns how many records all lanes dropped and dead-lettered since the start. Why
// one was dropped is not counted by reason.
func (d *Daemon) lost() (dropped, dead map[purgatory.TopicReason]int64) {
	dropped, dead = make(map[purgatory.TopicReason]int64), make(map[purgatory.TopicReason]int64)
	for _, l := range d.lanes {
		s := l.Snapshot()
		for topic, n := range s.Dropped {
			dropped[purgatory.TopicReason{Topic: topic}] += n
		}
		for key, n := range s.DeadLettered {
			dead[key] += n
		}
	}
	return dropped, dead
}
