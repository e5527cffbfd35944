package journal

import (
	"context"
	"fmt"
	"maps"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sharing says whether another group uses a journal topic, too.
type sharing struct {
	id      offsets.TopicID // of the topic at the last look
	next    time.Time       // the next look
	refused string          // why it is not used, "" if it is
}

// shared looks every minute whether another group has records in a topic, where the
// topic's name does not tell groups apart. Each group would delete the other's records, so
// such a topic is not used.
func (j *Journal) shared(ctx context.Context) {
	if !j.cfg.Shared {
		return
	}
	now := time.Now()
	for _, t := range j.due(func(t *topic) bool {
		return t.state == usable && (t.sharing.id != t.id || !now.Before(t.sharing.next))
	}) {
		group, err := j.otherGroup(ctx, &t)
		if ctx.Err() != nil {
			return
		}
		j.mu.Lock()
		s := &j.topics[t.ingress].sharing
		was, seen := s.refused, s.id == t.id
		s.id, s.next, s.refused = t.id, now.Add(refusedRetry), ""
		switch {
		case err != nil && seen: // the last finding stands
			s.refused, s.next = was, now.Add(requestRetry)
		case err != nil:
			s.refused = fmt.Sprintf("whether another group has records in it is not known: %v", err)
			s.next = now.Add(requestRetry)
		case group != "":
			s.refused = fmt.Sprintf("group %q has records in it, and each group deletes the records that it does not need: put {group} into LAYOVER_JOURNAL_TOPIC, or give each group a name of its own", group)
		}
		if s.refused != "" && s.refused != was {
			j.cfg.Log.Error("journal topic is not used, and finished records that do not fit into commit metadata are delivered again after a restart", "topic", t.name, "err", s.refused)
		}
		j.mu.Unlock()
	}
}

// otherGroup returns another group that has records in a topic, "" if none has.
func (j *Journal) otherGroup(ctx context.Context, t *topic) (group string, err error) {
	ctx, cancel := context.WithTimeout(ctx, holdsWait)
	defer cancel()
	var parts []offsets.TopicPartition
	for p := range t.partitions {
		parts = append(parts, offsets.TopicPartition{Topic: t.name, Partition: p})
	}
	ends, failed := j.logBounds(ctx, parts)
	left, err := j.scanFirst(ctx, ends, func(_ offsets.TopicPartition, r *kgo.Record) bool {
		if rec, err := facts.Read(r.Value); err == nil && rec.Group != j.cfg.Group && group == "" {
			group = rec.Group
		}
		return group == ""
	})
	maps.Copy(failed, left)
	if group != "" || err != nil {
		return group, err
	}
	for _, why := range failed { // another group may have records in it
		return "", why
	}
	return "", nil
}
