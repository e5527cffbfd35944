package journal

import (
	"context"
	"time"

	"layover/offsets"
)

// Orphans are the partitions of a runs topic that its ingress topic does not have: it was deleted, or made again with
// fewer. No member is assigned those, so nobody begins with what waits there.
type Orphans struct {
	// Asked says that brokers have told how many partitions the ingress topic has, and what is in the others.
	Asked bool
	// Ingress is how many partitions the ingress topic has. 0: it does not exist, or may not be looked at.
	Ingress    int32
	Partitions []int32   // those with records, in order
	Records    int64     // in them. Copies that wait are at most so many.
	Since      time.Time // when the first record was found
}

// orphaned is what was found in a topic at the last look at its orphans.
type orphaned struct {
	Orphans
	id   offsets.TopicID // of the topic then
	all  int32           // its partitions then
	next time.Time       // the next look
}

// orphans returns the orphans of the topic. Without any nothing was to be asked.
func (t *kept) orphans() Orphans {
	switch {
	case !t.ingressTold || t.partitions == 0:
		return Orphans{}
	case t.partitions <= t.ingressHas:
		return Orphans{Asked: true, Ingress: t.ingressHas}
	case t.looksAnew():
		return Orphans{Ingress: t.ingressHas}
	}
	return t.orphaned.Orphans
}

// looksAnew reports whether the last look was at another topic, or at other partitions of it.
func (t *kept) looksAnew() bool {
	o := &t.orphaned
	return o.id != t.id || o.all != t.partitions || o.Ingress != t.ingressHas
}

// findOrphans looks every minute at topics with orphans, and at once at those that have got some.
func (k *keeper) findOrphans(ctx context.Context) {
	now := time.Now()
	due := k.due(func(t *kept) bool {
		some := t.kind.counted && t.ingressTold && t.partitions > t.ingressHas
		return some && (t.looksAnew() || !now.Before(t.orphaned.next))
	})
	var parts []offsets.TopicPartition
	for i := range due {
		parts = append(parts, due[i].parts()[due[i].ingressHas:]...)
	}
	if len(parts) == 0 {
		return
	}
	ends, failed := logBounds(ctx, k.client, parts)
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range due {
		k.find(due[i].kind, due[i].ingress).orphaned = due[i].foundOrphans(ends, failed, time.Now())
	}
}

// foundOrphans returns what a look has found. Where it failed the last finding stands, as a topic that was just made
// has leaders a moment later.
func (t *kept) foundOrphans(ends map[offsets.TopicPartition][2]int64, failed map[offsets.TopicPartition]error, now time.Time) orphaned {
	was := t.orphaned
	if t.looksAnew() {
		was = orphaned{Orphans: Orphans{Ingress: t.ingressHas}, id: t.id, all: t.partitions}
	}
	is := was
	is.next, is.Asked, is.Partitions, is.Records = now.Add(configureEvery), true, nil, 0
	for _, at := range t.parts()[t.ingressHas:] {
		b, ok := ends[at]
		if !ok || failed[at] != nil {
			was.next = now.Add(requestRetry)
			return was
		}
		if b[0] < b[1] {
			is.Partitions, is.Records = append(is.Partitions, at.Partition), is.Records+b[1]-b[0]
		}
	}
	switch {
	case is.Records == 0:
		is.Since = time.Time{}
	case is.Since.IsZero():
		is.Since = now
	}
	return is
}
