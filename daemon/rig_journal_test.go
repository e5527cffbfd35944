package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"layover/journal/facts"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// journalSums is what happened to the journal.
type journalSums struct {
	facts, snapshots, strange int // records that the rig has read
	deletions                 int // answered
	begun                     int // assignments whose commit names the journal
	complaints, harms, silent int
	calm                      int // deliveries that had to be said, and were looked for
}

func (s *journalSums) note(value []byte) {
	rec, err := facts.Read(value)
	switch {
	case err != nil:
		s.strange++
	case rec.Kind == facts.Fact:
		s.facts++
	case rec.Kind == facts.LastPart:
		s.snapshots++
	}
}

func (s *journalSums) add(o *journalSums) {
	s.facts += o.facts
	s.snapshots += o.snapshots
	s.strange += o.strange
	s.deletions += o.deletions
	s.begun += o.begun
	s.complaints += o.complaints
	s.harms += o.harms
	s.silent += o.silent
	s.calm += o.calm
}

func (s *journalSums) String() string {
	return fmt.Sprintf("journal: %d facts, %d snapshots, %d strange records; %d deletions; %d assignments begun from it, %d incomplete; harmed %d times, %d requests not answered; %d deliveries of calm times looked for",
		s.facts, s.snapshots, s.strange, s.deletions, s.begun, s.complaints, s.harms, s.silent, s.calm)
}

// awayFrom are the errors with which a journal that is away refuses, by kind of request.
var awayFrom = map[kmsg.Key][]*kerr.Error{
	kmsg.Produce:       {kerr.NotEnoughReplicas, kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.RequestTimedOut},
	kmsg.Fetch:         {kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.OffsetNotAvailable},
	kmsg.ListOffsets:   {kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.OffsetNotAvailable},
	kmsg.DeleteRecords: {kerr.NotLeaderForPartition, kerr.RequestTimedOut},
}

// chooseJournalFault chooses something that happens to the journal.
func (p *plan) chooseJournalFault(dice *rand.Rand, at, length time.Duration) {
	n, share := dice.Uint32(), dice.Float64()
	c := dice.IntN(10)
	if !p.harm {
		c = dice.IntN(4)
	}
	switch {
	case c == 0:
		p.at(at, func(r *rig) { r.silence(journalTopic, length) })
	case c < 3:
		p.at(at, func(r *rig) { r.refuse(journalTopic, n, length) })
	case c < 4:
		p.at(at, func(r *rig) { r.garbleJournal(n) })
	case c < 6:
		p.at(at, func(r *rig) { r.deleteJournal() })
		if dice.IntN(2) == 0 {
			p.at(at+min(length, 5*time.Second), func(r *rig) { r.createJournal() })
		}
	case c < 9:
		p.at(at, func(r *rig) { r.truncateJournal(n, []float64{1, 1, share}[n%3]) })
	default:
		p.at(at, func(r *rig) { r.expireJournal(length) })
	}
}

// createJournal makes the journal as an operator may have, unless it is there.
func (r *rig) createJournal() {
	configs := map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}
	if r.plan.journalBytes > 0 {
		configs["max.message.bytes"] = fmt.Sprint(r.plan.journalBytes)
	}
	partitions := max(len(r.ends(ingress)), 1)
	if err := r.Broker.CreateTopic(journalTopic, int32(partitions), configs); err == nil {
		r.note("the journal is made, with %d partitions and %v", partitions, configs)
	}
}

// silence lets nothing that is about the records of a topic come to a broker: the journal's, or
// the copies'.
func (r *rig) silence(name string, for_ time.Duration) {
	topic := r.Broker.TopicInfo(name)
	if topic == nil {
		return
	}
	r.note("%s does not answer for %v", name, for_)
	r.trouble(for_)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silentUntil, r.silentID = time.Now().Add(for_), topic.TopicID
}

// refuse refuses all that is about the records of a topic: the journal's, or the copies'.
func (r *rig) refuse(name string, which uint32, for_ time.Duration) {
	r.note("%s refuses everything for %v", name, for_)
	r.trouble(for_)
	for key, errs := range awayFrom {
		f := &window{key: key, effect: refused, err: errs[which%uint32(len(errs))], slot: everybody}
		f.fault = r.Refuse(key, kfake.Fault{Topic: name, Err: f.err,
			When: func(q kmsg.Request) bool { return !isOurs(q) && r.chance(1) }})
		r.mu.Lock()
		r.windows = append(r.windows, f)
		r.mu.Unlock()
		time.AfterFunc(for_, func() { r.shut(f) })
	}
}

// garbleJournal appends what no daemon would: something strange, a damaged record, and
// one that was there before.
func (r *rig) garbleJournal(which uint32) {
	infos := r.Broker.PartitionInfos(journalTopic)
	if len(infos) == 0 {
		return
	}
	p := infos[which%uint32(len(infos))]
	values := [][]byte{[]byte("not of a journal"), nil}
	if p.HighWatermark > p.LogStartOffset {
		l := &journalLog{topic: r.Broker.TopicInfo(journalTopic).TopicID, next: p.LogStartOffset + int64(which)%(p.HighWatermark-p.LogStartOffset)}
		if got, err := r.fetchJournal(l, p); err == nil {
			again := got[0].Value
			damaged := append([]byte(nil), again...)
			if len(damaged) > 0 {
				damaged[len(damaged)-1] ^= 1
			}
			values = append(values, again, damaged, again)
		}
	}
	r.note("%d records that no daemon wrote are appended to partition %d of the journal", len(values), p.Partition)
	r.garbled.Store(true)
	r.trouble(0)
	r.busy.Go(func() { // ended by its context at the latest
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		for _, v := range values {
			r.Client.ProduceSync(ctx, &kgo.Record{Topic: journalTopic, Partition: p.Partition, Value: v}) // or not: the journal may go meanwhile
		}
		r.Client.PurgeTopicsFromClient(journalTopic)
	})
}

// deleteJournal deletes the journal, which the daemons make again.
func (r *rig) deleteJournal() {
	defer r.harm()()
	r.note("the journal is deleted: %v", r.Broker.DeleteTopic(journalTopic))
}

// truncateJournal deletes a share of what a partition of the journal holds.
func (r *rig) truncateJournal(which uint32, share float64) {
	infos := r.Broker.PartitionInfos(journalTopic)
	if len(infos) == 0 {
		return
	}
	p := infos[which%uint32(len(infos))]
	to := p.LogStartOffset + int64(share*float64(p.HighWatermark-p.LogStartOffset))
	defer r.harm()()
	r.note("partition %d of the journal is deleted from %d to %d of %d: %v", p.Partition, p.LogStartOffset, to, p.HighWatermark,
		r.Broker.DeleteRecords(journalTopic, p.Partition, to))
}

// expireJournal gives the journal a retention for a while, and has brokers delete by it.
func (r *rig) expireJournal(for_ time.Duration) {
	end := r.harm()
	r.busy.Go(func() { // ends by itself: faults do
		defer end()
		r.note("the journal has a retention of a second: %v", r.retain("1000"))
		r.Broker.ApplyRetention()
		time.Sleep(for_)
		r.Broker.ApplyRetention()
		err := r.retain("-1")
		for err != nil && r.Broker.TopicInfo(journalTopic) != nil {
			time.Sleep(time.Second)
			err = r.retain("-1")
		}
		r.note("the journal keeps all again: %v", err)
	})
}

// retain sets the journal's retention in milliseconds.
func (r *rig) retain(ms string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err := r.Admin().AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &ms}}, journalTopic)
	return err
}
