package daemon

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// party is a client at the rig's lines: one life of an instance, or the shaky sender.
type party struct {
	rig     *rig
	slot    int
	killed  atomic.Bool
	logs    *kafkatest.Log // of the instance
	counted func()         // ends reading its counts

	// Under rig.mu:
	assignments map[int32][]*assignment // by ingress partition, in order
	isolated    bool                    // off the network
	since       time.Time               // when counting of requests began
	asked       map[kmsg.Key]int        // requests since then
	pulse       pulse
	turning     turning
}

// A loop without a pause would keep virtual time from passing. So behind so many
// requests of a kind in so long each further one takes a usual time. A loop that lasts
// is a fault.
const (
	freely     = 500
	usualTime  = time.Millisecond
	busyLoop   = 5000
	busyWithin = 10 * time.Second
)

// assignment is the time from which a party reads a partition, as far as a broker can see
// it. It begins with the fetch of the committed offset.
type assignment struct {
	asked      time.Time // the coordinator told the committed offset
	begun      time.Time
	commits    []commitSeen // that the coordinator took, in order
	complained bool         // its journal was incomplete
}

type commitSeen struct {
	sent    time.Time
	content string
}

// logPlace is a place in a topic that no topic of the same name shares.
type logPlace struct {
	topic     [16]byte
	partition int32
	offset    int64
}

// batch names a batch that a producer may send several times.
type batch struct {
	topic     [16]byte
	partition int32
	id        [14]byte // producer id, epoch and first sequence number
}

// span is where a batch lies.
type span struct {
	at logPlace // of its first record
	n  int64
}

// made is what is known about a record that a party produced.
type made struct {
	by      *party
	applied time.Time // the broker had it
	heard   time.Time // the party knew, and did not send it again; zero: it never did
}

// onRequest is called for every request before a broker has it.
func (r *rig) onRequest(p *party, x *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.slot != shakySender {
		r.sum.kinds[x.key.Int16()]++
		r.judgeHeat(p, x)
		p.things(x)
	}
	x.fate = r.fateOf(p, x)
	r.pace(p, x)
	r.noteAlive(x)
	if x.key == kmsg.Produce { // what is sent again was not taken for done, whatever was answered
		for _, b := range batchesOf(x) {
			r.hear(r.sent[b.batch], time.Time{})
		}
		if p.slot != shakySender {
			r.noteCopies(p, x)
		}
	}
}

// hear notes that a party knows of its batch, or with no time that it does not. Callers
// hold mu.
func (r *rig) hear(s span, at time.Time) {
	for i := range s.n {
		r.made[logPlace{s.at.topic, s.at.partition, s.at.offset + i}].heard = at
	}
}

// pace finds loops without a pause. Callers hold mu.
func (r *rig) pace(p *party, x *exchange) {
	if p.asked == nil || x.sent.Sub(p.since) > busyWithin {
		p.since, p.asked = x.sent, make(map[kmsg.Key]int)
	}
	p.asked[x.key]++
	if p.asked[x.key] > freely {
		x.fate.before += usualTime
	}
	if x.key == kmsg.Fetch && slices.ContainsFunc(r.windows, (*window).excusesFetching) {
		return
	}
	if p.asked[x.key] == busyLoop {
		r.faults = append(r.faults, fmt.Sprintf("%s sent %s %d times since %v without a pause, at %v, the last %+v",
			slotName(p.slot), kmsg.NameForKey(x.key.Int16()), busyLoop, p.since.Sub(r.begun), x.sent.Sub(r.begun), x.request))
	}
}

// excusesFetching says whether a client may fetch without a pause. Until a client knows
// the leader again it asks the old one as often as it can. The metadata that names the
// leader may be refused, or stand behind an answer that is slow. A broker that fences the
// leader epoch which it names to everybody has no other.
func (f *window) excusesFetching() bool {
	return f.key == kmsg.Metadata || f.effect == slowed || f.key == kmsg.Fetch && f.err == kerr.FencedLeaderEpoch
}

// onAnswer is called for every answer when the broker gives it.
func (r *rig) onAnswer(p *party, x *exchange) {
	if p.slot == shakySender || x.request == nil {
		return
	}
	switch x.key {
	case kmsg.Produce:
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, b := range batchesOf(x) {
			s, applied := b.where(x)
			if !applied {
				r.renumber(b.batch, x)
				continue
			}
			r.sent[b.batch] = s
			for i := range s.n {
				at := logPlace{s.at.topic, s.at.partition, s.at.offset + i}
				if r.made[at] == nil {
					r.made[at] = &made{by: p, applied: x.answered}
				}
			}
		}
	case kmsg.OffsetCommit:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.noteCommit(p, x)
		select {
		case r.look <- struct{}{}:
		default:
		}
	}
}

// onHandOver is called for every answer before its client gets it, if it does.
func (r *rig) onHandOver(p *party, x *exchange) {
	if p.slot == shakySender || x.key != kmsg.OffsetFetch {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, g := range x.request.(*kmsg.OffsetFetchRequest).Groups {
		for _, t := range g.Topics {
			for _, n := range t.Partitions {
				if r.names[n] {
					r.sum.journal.begun++
				}
				if *rigLooks {
					r.timeline = append(r.timeline, fmt.Sprintf("%14v  an assignment of partition %d begins in instance %d", time.Since(r.begun), n, p.slot))
				}
				begins := &assignment{asked: x.answered, begun: time.Now()}
				p.assignments[n] = append(p.assignments[n], begins)
				r.assignments[n] = append(r.assignments[n], begins)
			}
		}
	}
}

// onHeard is called for every answer that its client has got.
func (r *rig) onHeard(p *party, x *exchange) {
	if p.slot == shakySender {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.things(x)
	if x.key != kmsg.Produce {
		return
	}
	for _, b := range batchesOf(x) {
		if s, applied := b.where(x); applied {
			r.hear(s, time.Now())
		}
	}
}

// sized is a batch with the number of its records.
type sized struct {
	batch
	n int64
}

// endOfBatchHeader is where the records of a batch begin.
const endOfBatchHeader = 61

// batchOf returns the batch of a partition in a produce request.
func batchOf(topic [16]byte, p *kmsg.ProduceRequestTopicPartition) sized {
	const id, records = 43, 57 // where a batch has them
	b := sized{batch{topic: topic, partition: p.Partition}, int64(binary.BigEndian.Uint32(p.Records[records:]))}
	copy(b.id[:], p.Records[id:records])
	return b
}

// batchesOf returns the batches of a produce request.
func batchesOf(x *exchange) (out []sized) {
	for _, t := range x.request.(*kmsg.ProduceRequest).Topics {
		for _, p := range t.Partitions {
			if len(p.Records) >= endOfBatchHeader { // the client leaves a batch empty that it has given up meanwhile
				out = append(out, batchOf(t.TopicID, &p))
			}
		}
	}
	return out
}

// where returns where a batch was appended, if the answer says that it was.
func (b sized) where(x *exchange) (s span, applied bool) {
	p := b.answer(x)
	if p == nil || p.ErrorCode != 0 {
		return span{}, false
	}
	return span{logPlace{b.topic, b.partition, p.BaseOffset}, b.n}, true
}

// answer returns what an answer says of a batch's partition, nil for nothing.
func (b batch) answer(x *exchange) *kmsg.ProduceResponseTopicPartition {
	for _, t := range x.response.(*kmsg.ProduceResponse).Topics {
		for i := range t.Partitions {
			if t.TopicID == b.topic && t.Partitions[i].Partition == b.partition {
				return &t.Partitions[i]
			}
		}
	}
	return nil
}

// renumber notes that a batch, and what its client sent behind it, goes again under another epoch: it was not taken for
// done, whatever was answered. A client that gives up records of one partition raises its epoch, and what is underway to
// others goes again under the old one. Kafka keeps an epoch for each partition, and knows these batches. kfake keeps one
// for each producer, and refuses them. Callers hold mu.
func (r *rig) renumber(b batch, x *exchange) {
	const epoch = 10 // the id of the producer and its epoch end there
	if p := b.answer(x); p == nil || p.ErrorCode != kerr.InvalidProducerEpoch.Code && p.ErrorCode != kerr.OutOfOrderSequenceNumber.Code {
		return
	}
	for sent, s := range r.sent {
		if sent.topic == b.topic && sent.partition == b.partition && bytes.Equal(sent.id[:epoch], b.id[:epoch]) && bytes.Compare(sent.id[epoch:], b.id[epoch:]) >= 0 {
			r.hear(s, time.Time{})
		}
	}
}

// noteCommit notes the partitions whose commit was taken. Callers hold mu.
func (r *rig) noteCommit(p *party, x *exchange) {
	taken := make(map[int32]bool)
	for _, t := range x.response.(*kmsg.OffsetCommitResponse).Topics {
		for _, c := range t.Partitions {
			taken[c.Partition] = c.ErrorCode == 0
			if c.ErrorCode == kerr.IllegalGeneration.Code {
				r.sum.fenced++
			}
		}
	}
	for _, t := range x.request.(*kmsg.OffsetCommitRequest).Topics {
		for _, c := range t.Partitions {
			if !taken[c.Partition] {
				continue
			}
			r.sum.commits++
			o := r.order(c.Partition)
			o.taken = append(o.taken, x.sent)
			if c.Metadata != nil {
				r.sum.longest = max(r.sum.longest, len(*c.Metadata))
			}
			at := logPlace{t.TopicID, c.Partition, 0}
			if known := r.passed[at]; len(known) == 0 || known[len(known)-1].low < c.Offset {
				r.passed[at] = append(known, passing{c.Offset, x.answered})
			}
			if ts := p.assignments[c.Partition]; len(ts) > 0 {
				now := ts[len(ts)-1]
				now.commits = append(now.commits, commitSeen{x.sent, fmt.Sprint(c.Offset, *c.Metadata)})
			}
		}
	}
}

// passing is when a committed low offset first was so high.
type passing struct {
	low int64
	at  time.Time
}

// shownOfAKind is how many faults of one kind are spelled out.
const shownOfAKind = 5

// fault notes that something happened which no fault excuses.
func (r *rig) fault(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.mu.Lock()
	r.kinds[format]++
	shown := r.kinds[format] <= shownOfAKind
	if shown {
		r.faults = append(r.faults, text)
	}
	r.mu.Unlock()
	if shown {
		r.note("FAULT: %s", text)
	}
}
