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

// sharing says whether others have records in a topic, too.
type sharing struct {
	id      offsets.TopicID // of the topic at the last look
	looked  bool            // all of it was looked at since it was found
	next    time.Time       // the next look
	refused string          // why it is not used, "" if it is
	unsaid  bool            // refused is of a first look that failed
	// own has the starts of logs whose first record is known to be nobody else's, by
	// partition. It is replaced and never changed.
	own map[int32]int64
}

// look looks every minute whether others have records in the topics of a kind, where it
// looks. Each would delete the others' records, so such a topic is not used.
func (k *keeper) look(ctx context.Context, of *kind) {
	now := time.Now()
	due := k.due(func(t *kept) bool {
		return t.kind == of && of.look != nil && t.served() && (t.sharing.id != t.id || !now.Before(t.sharing.next))
	})
	if len(due) > 0 {
		of.look(ctx, k, due)
	}
}

// looked takes the finding of a look: why a topic is not used, "" for no reason, or why that
// is not known.
func (k *keeper) looked(at *kept, why string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, now := k.find(at.kind, at.ingress), time.Now()
	s := &t.sharing
	was, seen, again := s.refused, s.id == t.id, s.unsaid
	s.unsaid = false
	s.id, s.next, s.refused, s.own = t.id, now.Add(refusedRetry), why, at.sharing.own
	switch {
	case err != nil && seen: // the last finding stands
		s.refused, s.next = was, now.Add(requestRetry)
	case err != nil:
		s.refused = fmt.Sprintf("%s: %v", t.kind.says.othersAreUnknown, err)
		s.next, s.unsaid = now.Add(firstRetry), true // a topic that was just made has leaders a moment later
	default:
		s.looked = true
	}
	if s.refused != "" && (s.refused != was || again) && !s.unsaid {
		k.log.Error(t.kind.says.notUsed, "topic", t.name, "err", s.refused)
	}
}

// lookForGroups looks for another group that has records in a journal, one journal after the
// other.
func lookForGroups(own string) func(ctx context.Context, k *keeper, due []kept) {
	return func(ctx context.Context, k *keeper, due []kept) {
		for i := range due {
			group, err := k.otherGroup(ctx, &due[i], own)
			if ctx.Err() != nil {
				return
			}
			why := ""
			if group != "" {
				why, err = fmt.Sprintf("group %q has records in it, and each group deletes the records that it does not need: put {group} into LAYOVER_JOURNAL_TOPIC, or give each group a name of its own", group), nil
			}
			k.looked(&due[i], why, err)
		}
	}
}

// otherGroup returns another group that has records in a topic, "" if none has.
func (k *keeper) otherGroup(ctx context.Context, t *kept, own string) (group string, err error) {
	ctx, cancel := context.WithTimeout(ctx, holdsWait)
	defer cancel()
	ends, failed := logBounds(ctx, k.client, t.parts())
	left, err := scanFirst(ctx, k.options, ends, func(_ offsets.TopicPartition, r *kgo.Record) bool {
		if rec, err := facts.Read(r.Value); err == nil && rec.Group != own && group == "" {
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

// parts are the partitions of the topic.
func (t *kept) parts() (parts []offsets.TopicPartition) {
	for p := range t.partitions {
		parts = append(parts, offsets.TopicPartition{Topic: t.name, Partition: p})
	}
	return parts
}
