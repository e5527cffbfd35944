package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"layover/verify"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ill is one way to fall sick, with how likely it is, in percent, that it happens once more.
type ill struct {
	name   string
	chance int
	what   thing // that is sick of it
	shows  bool  // every instance says so
	// spoil begins it. Which is 0 or 1, for what has two forms.
	spoil func(b *beside, which int) (mend func())
}

// spell is a time in which a thing is sick.
type spell struct {
	period // to is zero as long as it lasts
	ill    *ill
	mend   func()
}

// refusing refuses requests about a topic, or some partitions of it.
func (b *beside) refusing(err *kerr.Error, topic string, partitions []int32, keys ...kmsg.Key) (mend func()) {
	var faults []kfake.Fault
	for _, key := range keys {
		faults = append(faults, kfake.Fault{Keys: []kmsg.Key{key}, Topic: topic, Partitions: partitions, Err: err, Count: -1})
	}
	return b.Broker.Fault(faults...).Remove
}

func ills() []ill {
	only := func(p int32) []int32 { return []int32{p} }
	refused := func(err *kerr.Error, topic string, partitions []int32, keys ...kmsg.Key) func(*beside, int) func() {
		return func(b *beside, _ int) func() { return b.refusing(err, topic, partitions, keys...) }
	}
	silentOrFails := func(topic string, partitions []int32) func(*beside, int) func() { // the client sends again without end, or says what the broker did
		return func(b *beside, which int) func() {
			return b.refusing([]*kerr.Error{kerr.NotEnoughReplicas, kerr.UnknownServerError}[which], topic, partitions, kmsg.Produce)
		}
	}
	return []ill{
		{name: "an ingress topic deleted", chance: 40, what: whole(second), shows: true, spoil: func(b *beside, _ int) func() {
			b.deletes(second)
			return func() { b.remakes(second) }
		}},
		{name: "an ingress topic forbidden", chance: 40, what: whole(second), shows: true, spoil: refused(kerr.TopicAuthorizationFailed, second, nil,
			kmsg.Metadata, kmsg.ListOffsets, kmsg.OffsetFetch, kmsg.OffsetCommit, kmsg.Fetch, kmsg.OffsetForLeaderEpoch)},
		{name: "an ingress partition without a leader", chance: 50, what: thing{ingress, sickPartition}, spoil: refused(kerr.LeaderNotAvailable, ingress, only(sickPartition),
			kmsg.Metadata, kmsg.ListOffsets, kmsg.Fetch, kmsg.OffsetForLeaderEpoch, kmsg.Produce)},
		{name: "an ingress partition whose leader takes nothing", chance: 30, what: thing{ingress, sickPartition}, spoil: refused(kerr.KafkaStorageError, ingress, only(sickPartition),
			kmsg.ListOffsets, kmsg.Fetch, kmsg.OffsetForLeaderEpoch, kmsg.Produce)},
		{name: "a refused offset", chance: 40, what: thing{ingress, sickPartition}, spoil: refused(kerr.TopicAuthorizationFailed, ingress, only(sickPartition), kmsg.OffsetFetch)},
		{name: "a journal out of reach", chance: 40, what: thing{ingress, sickPartition}, spoil: refused(kerr.LeaderNotAvailable, journalTopic, only(sickPartition),
			kmsg.ListOffsets, kmsg.Fetch, kmsg.OffsetForLeaderEpoch, kmsg.Produce)},
		{name: "a missing target", chance: 50, what: whole(absent), shows: true, spoil: refused(kerr.UnknownTopicOrPartition, absent, nil, kmsg.Metadata, kmsg.Produce)},
		{name: "a forbidden target", chance: 50, what: whole(locked), spoil: func(b *beside, which int) func() {
			return b.refusing(kerr.TopicAuthorizationFailed, locked, nil, []kmsg.Key{kmsg.Produce, kmsg.Metadata}[:1+which]...)
		}},
		{name: "a silent target", chance: 50, what: whole(mute), spoil: refused(kerr.NotEnoughReplicas, mute, nil, kmsg.Produce)},
		{name: "a full target", chance: 50, what: whole(full), spoil: refused(kerr.KafkaStorageError, full, nil, kmsg.Produce)},
		{name: "a partition of a target that takes nothing", chance: 90, what: thing{lame, 0}, spoil: silentOrFails(lame, only(0))},
		{name: "a forbidden target with a silent partition", chance: 90, what: whole(lame), spoil: refused(kerr.TopicAuthorizationFailed, lame, nil, kmsg.Produce)},
		{name: "a partition of the egress topic that takes nothing", chance: 60, what: thing{egress, silentOfEgress}, spoil: silentOrFails(egress, only(silentOfEgress))},
		{name: "the dead-letter topic", chance: 25, what: whole(dlq), spoil: func(b *beside, which int) func() {
			return b.refusing([]*kerr.Error{kerr.NotEnoughReplicas, kerr.TopicAuthorizationFailed}[which], dlq, nil, kmsg.Produce)
		}},
	}
}

// begins lets a thing fall sick, unless it is already, and returns what heals it.
func (b *beside) begins(i *ill, which int, for_ time.Duration) (end func(*beside)) {
	if last := b.ails(i.what); last != nil {
		return func(*beside) {}
	}
	b.note("%s for %v", i.name, for_)
	s := &spell{period: period{from: time.Now()}, ill: i}
	s.mend = i.spoil(b, which)
	b.sick[i.what] = append(b.sick[i.what], s)
	b.sum.ill(i.name)
	return func(b *beside) { b.heal(s) }
}

// ails returns the spell in which a thing is sick now, nil for none.
func (b *beside) ails(x thing) *spell {
	if all := b.sick[x]; len(all) > 0 && all[len(all)-1].to.IsZero() {
		return all[len(all)-1]
	}
	return nil
}

func (b *beside) heal(s *spell) {
	if s.to.IsZero() {
		s.mend()
		s.to = time.Now()
		b.note("over: %s", s.ill.name)
	}
}

func (b *beside) healAll() {
	for _, all := range b.sick {
		for _, s := range all {
			b.heal(s)
		}
	}
}

// spells are the times in which a thing was sick.
func (b *beside) spells(x thing) (out []period) {
	for _, s := range b.sick[x] {
		p := s.period
		if p.to.IsZero() {
			p.to = time.Now()
		}
		out = append(out, p)
	}
	return out
}

// overlaps says whether a thing was sick at some time in a period.
func (b *beside) overlaps(x thing, in period) bool {
	return slices.ContainsFunc(b.spells(x), func(p period) bool { return p.from.Before(in.to) && in.from.Before(p.to) })
}

// shows returns what is sick for longest of what every instance must know, and since when.
func (b *beside) shows() (what thing, since time.Time) {
	since = time.Now()
	for x := range b.sick {
		if s := b.ails(x); s != nil && s.ill.shows && s.from.Before(since) {
			what, since = x, s.from
		}
	}
	return what, since
}

// deletes deletes a topic, with what was sent to it.
func (b *beside) deletes(topic string) {
	b.mu.Lock()
	for _, w := range b.sent {
		w.gone = w.gone || w.from.topic == topic
	}
	b.mu.Unlock()
	b.ledger.Deleted(topic)
	if err := b.Broker.DeleteTopic(topic); err != nil {
		b.fault("deleting %s: %v", topic, err)
	}
}

// remakes makes a topic that was deleted. What was sent meanwhile may have failed.
func (b *beside) remakes(topic string) {
	b.shaky.PurgeTopicsFromClient(topic)
	if err := b.Broker.CreateTopic(topic, 2, nil); err != nil {
		b.fault("making %s: %v", topic, err)
	}
}

// flood has a wide target fall silent, and sends it more than its share.
func (b *beside) flood(target string) {
	b.begins(&ill{name: target, what: whole(target), spoil: func(b *beside, _ int) func() {
		return b.refusing(kerr.NotEnoughReplicas, target, nil, kmsg.Produce)
	}}, 0, besidePatience)
	for i := range wideEach {
		id := fmt.Sprint(target, "/", i)
		s := verify.Sent{ID: id, To: target, Dead: []string{"target_unavailable"}, Record: verify.Record{
			Topic: ingress, Partition: 1, Key: []byte(id), Value: []byte(id), Timestamp: time.Now(),
			Headers: []verify.Header{text("x-deliver-to", target), text(verify.IDHeader, id)}}}
		b.ledger.Enter(s)
		b.Client.Produce(context.Background(), kafkatest.Entered(s.Record), func(k *kgo.Record, err error) {
			if err == nil {
				b.ledger.Acked(id, k.Partition, k.Offset)
			}
		})
	}
}

// sendUnreadable sends a batch that is larger than any may be, once it is decompressed.
// Its partition is sick for good: Layover may stop it, or go over the batch.
func (b *beside) sendUnreadable() {
	x := thing{ingress, unreadable}
	b.note("a batch of %v cannot be read", x)
	b.sick[x] = append(b.sick[x], &spell{period: period{from: time.Now()}, ill: &ill{name: "a batch that cannot be read"}, mend: func() {}})
	large := b.NewClient(kgo.ProducerBatchMaxBytes(100<<20), kgo.BrokerMaxWriteBytes(110<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))
	defer large.Close()
	if err := large.ProduceSync(context.Background(), &kgo.Record{Topic: ingress, Partition: unreadable, Value: make([]byte, 80<<20)}).FirstErr(); err != nil {
		b.fault("sending a large batch: %v", err)
	}
}

// overdue returns the first of some periods that something which takes up to five seconds
// from a time on runs into.
func overdue(at time.Time, periods []period) (found period, is bool) {
	all := slices.Clone(periods)
	slices.SortFunc(all, func(a, b period) int { return cmp.Compare(a.from.UnixNano(), b.from.UnixNano()) })
	for _, p := range all {
		if p.from.Before(at.Add(promised)) && p.to.After(at) {
			return p, true
		}
	}
	return period{}, false
}
