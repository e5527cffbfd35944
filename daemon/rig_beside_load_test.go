package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"layover/verify"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
)

// wanted is a record of the ledger, and where and when it has to come.
type wanted struct {
	value     string // and id
	from, to  thing  // partitions: of the ingress topic, and of the target or dead-letter topic
	due       time.Time
	acked     time.Time // zero: not, or not yet
	gone      bool      // its ingress topic was deleted since
	delivered []delivered
}

// unread says whether the record may stay behind a batch that cannot be read.
func (w *wanted) unread(p *besidePlan) bool { return p.bad && w.from == thing{ingress, unreadable} }

// healthy says whether nothing that the record needs ever falls sick: then it has to be
// on time whatever stands beside it.
func (w *wanted) healthy() bool {
	return w.from.topic == ingress && w.from.partition < sickPartition && w.to.topic == egress && w.to.partition != silentOfEgress
}

// load sends to every ingress partition every few seconds.
func (p *besidePlan) load(dice *rand.Rand, over time.Duration) {
	seed := dice.Uint64()
	for at := time.Second; at < over; at += time.Duration(500+dice.IntN(2500)) * time.Millisecond {
		seed := seed + uint64(at)
		p.at(at, func(b *beside) {
			dice := rand.New(rand.NewPCG(p.seed, seed))
			for n := range int32(besidePartitions) {
				b.post(dice, thing{ingress, n})
			}
			for n := range int32(2) {
				b.post(dice, thing{second, n})
			}
		})
	}
}

// post sends a few records to a partition, with delays from none to minutes.
func (b *beside) post(dice *rand.Rand, to thing) {
	if s := b.ails(whole(to.topic)); s != nil && b.Broker.TopicInfo(to.topic) == nil {
		return // it is deleted
	}
	c := b.Client
	if to.topic != ingress || to.partition >= sickPartition {
		c = b.shaky
	}
	for range 1 + dice.IntN(4) {
		b.postOne(c, dice, to)
	}
}

func (b *beside) postOne(c *kgo.Client, dice *rand.Rand, to thing) {
	now := time.Now().Truncate(time.Millisecond)
	b.mu.Lock()
	w := &wanted{value: fmt.Sprint("r", len(b.sent)), from: to, due: now}
	b.sent = append(b.sent, w)
	b.mu.Unlock()
	s := verify.Sent{ID: w.value, To: egress, Record: verify.Record{Topic: to.topic, Partition: to.partition, Key: fmt.Append(nil, "key-", dice.IntN(1000)), Value: []byte(w.value), Timestamp: now,
		Headers: []verify.Header{text(verify.IDHeader, w.value)}}}
	var delay time.Duration
	switch n := dice.IntN(100); {
	case n < 20:
	case n < 40:
		delay = time.Duration(1+dice.IntN(999)) * time.Millisecond
	case n < 80:
		delay = time.Duration(1+dice.IntN(59_000)) * time.Millisecond
	default:
		delay = time.Duration(60_000+dice.IntN(180_000)) * time.Millisecond
	}
	if dice.IntN(2) == 0 {
		s.To = sickTargets()[dice.IntN(len(sickTargets()))]
		s.Record.Headers = append(s.Record.Headers, text("x-deliver-to", s.To))
	}
	if s.To == lame && dice.IntN(3) > 0 { // most are for the partition that falls silent
		for partitionOf(s.Record.Key, lamePartitions) != 0 {
			s.Record.Key = fmt.Append(nil, "key-", dice.IntN(1000))
		}
	}
	target := s.To
	switch {
	case dice.IntN(40) == 0:
		target, s.To, s.Dead = dlq, "", []string{"malformed_delay"}
		s.Record.Headers = append(s.Record.Headers, text("x-delay", "soon"))
	case delay > 0:
		w.due = now.Add(delay)
		s.Due = w.due
		s.Record.Headers = append(s.Record.Headers, text("x-delay", fmt.Sprint(delay.Milliseconds())))
	}
	b.nameIt(dice, &s)
	w.to = thing{target, partitionOf(s.Record.Key, len(b.Broker.PartitionInfos(target)))}
	b.ledger.Enter(s)
	c.Produce(context.Background(), kafkatest.Entered(s.Record), func(k *kgo.Record, err error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if err != nil {
			return
		}
		w.acked = time.Now()
		if !w.unread(b.plan) {
			b.ledger.Acked(w.value, k.Partition, k.Offset)
		}
	})
}

// partitionOf returns where Kafka's clients send a key.
func partitionOf(key []byte, partitions int) int32 {
	return int32(kgo.StickyKeyPartitioner(nil).ForTopic("").Partition(&kgo.Record{Key: key}, partitions))
}

// lastDue is when the last record is due.
func (b *beside) lastDue() (last time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.sent {
		last = later(last, w.due)
	}
	return last
}
