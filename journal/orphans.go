package journal

import (
	"context"
	"time"

	"layover/cluster"
	"layover/offsets"
)

// Orphans are the partitions of a runs topic that its ingress topic does not have: it was deleted, or made again with
// fewer. No member is assigned those, so nobody begins with what waits there.
type Orphans struct {
	// Asked says that brokers have told how many partitions the ingress topic has, and what is in each of the others.
	Asked bool
	// Ingress is how many partitions the ingress topic has. 0: it does not exist, or may not be looked at.
	Ingress    int32
	Partitions []int32   // those with records, in order. Unless Asked, others may have some.
	Records    int64     // in them. Copies that wait are at most so many.
	Since      time.Time // when the first record was found
}

// orphaned is what was found in a topic at the last look at its orphans.
type orphaned struct {
	id      offsets.TopicID // of the topic then
	all     int32           // its partitions then
	ingress int32           // those of the ingress topic then
	records map[int32]int64 // of each orphan, as it was told last. One that nobody has told yet is not in it.
	since   time.Time       // when the first record was found
	next    time.Time       // the next look
}

// orphans returns the orphans of the topic. Without any nothing was to be asked.
func (t *kept) orphans() Orphans {
	if !t.ingressTold || t.partitions == 0 {
		return Orphans{}
	}
	found, o := t.lastFound(), Orphans{Asked: true, Ingress: t.ingressHas}
	for p := t.ingressHas; p < t.partitions; p++ {
		n, told := found.records[p]
		if o.Asked = o.Asked && told; n > 0 {
			o.Partitions, o.Records, o.Since = append(o.Partitions, p), o.Records+n, found.since
		}
	}
	return o
}

// lastFound returns what was found in this topic, and not in one of its name that is gone.
func (t *kept) lastFound() orphaned {
	if t.orphaned.id != t.id {
		return orphaned{}
	}
	return t.orphaned
}

// findOrphans looks every minute at topics with orphans, and at once at those that have got some.
func (k *keeper) findOrphans(ctx context.Context) {
	due := k.dueOrphans(time.Now())
	var parts []offsets.TopicPartition
	for i := range due {
		parts = append(parts, due[i].parts()[due[i].ingressHas:]...)
	}
	if len(parts) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, holdsWait)
	defer cancel()
	bounds := cluster.BoundsOf(ctx, k.client, parts)
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range due {
		k.find(due[i].kind, due[i].ingress).foundOrphans(bounds, time.Now())
	}
}

// dueOrphans returns the topics to look at now. What was found in one that has none any more is forgotten: its
// partitions were assigned, and what waited there may be delivered.
func (k *keeper) dueOrphans(now time.Time) (due []kept) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range k.topics {
		o := &t.orphaned
		switch {
		case !t.kind.counted || !t.ingressTold || t.partitions <= t.ingressHas:
			*o = orphaned{}
		case o.id != t.id || o.all != t.partitions || o.ingress != t.ingressHas || !now.Before(o.next):
			due = append(due, *t)
		}
	}
	return due
}

// foundOrphans takes what a look has found. Of a partition that nobody tells, what it told last stands: one of a topic
// that was just made has a leader a moment later. So none of them hides another. Callers hold the keeper's lock.
func (t *kept) foundOrphans(bounds cluster.Located, now time.Time) {
	was := t.lastFound()
	is := orphaned{id: t.id, all: t.partitions, ingress: t.ingressHas, records: make(map[int32]int64), next: now.Add(configureEvery)}
	for _, at := range t.parts()[t.ingressHas:] {
		b := bounds[at]
		n, told := b.End-b.Start, b.Err == nil
		if !told {
			is.next = now.Add(requestRetry)
			n, told = was.records[at.Partition]
		}
		if told {
			is.records[at.Partition] = n
		}
		if n > 0 {
			is.since = now
		}
	}
	if !was.since.IsZero() && !is.since.IsZero() {
		is.since = was.since
	}
	t.orphaned = is
}
