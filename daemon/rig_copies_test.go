package daemon

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"layover/journal/runs"
	"layover/verify"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// copySeen is one copy that an instance sent to the runs topic.
type copySeen struct {
	batch batch
	index int64 // within the batch
	by    *party
	sent  time.Time // first
	moved time.Time // by the clock of its instance
	source
}

// noteCopies notes the copies in a produce request that were not sent before. What else a
// topic holds is looked at once. Callers hold mu.
func (r *rig) noteCopies(p *party, x *exchange) {
	for _, t := range x.request.(*kmsg.ProduceRequest).Topics {
		for _, part := range t.Partitions {
			if r.plain[t.TopicID] || len(part.Records) < endOfBatchHeader {
				continue
			}
			b := batchOf(t.TopicID, &part)
			if r.copied[b.batch] {
				continue
			}
			r.copied[b.batch] = true
			all, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Partition: part.Partition}, &kmsg.FetchResponseTopicPartition{
				Partition: part.Partition, HighWatermark: b.n, LastStableOffset: b.n, RecordBatches: part.Records,
			}, outside, nil)
			id := runs.Identity{Owner: runs.OwnerOf(clusterID, group, ingress), Partition: part.Partition}
			for i, k := range all.Records {
				if c, own, err := runs.ReadCopy(id, k.Key, k.Value, k.Headers); err == nil {
					r.copies = append(r.copies, copySeen{b.batch, int64(i), p, x.sent, k.Timestamp, source{idOf(own), part.Partition, c.Offset}})
				} else if _, err := runs.ReadDirectory(id, k.Key, k.Value, k.Headers); err != nil { // one stands beside copies
					r.plain[t.TopicID] = true
				}
			}
		}
	}
}

// idOf returns the ledger's id among the headers of a record.
func idOf(headers []kgo.RecordHeader) string {
	i := slices.IndexFunc(headers, func(h kgo.RecordHeader) bool { return h.Key == verify.IDHeader })
	if i < 0 {
		return ""
	}
	return string(headers[i].Value)
}

// arrived returns a copy as an arrival in the runs topic. It is false for one of which no
// broker ever said that it had it. Callers hold mu.
func (r *rig) arrived(c *copySeen) (a arrival, ok bool) {
	s, ok := r.sent[c.batch]
	if !ok {
		return a, false
	}
	a = arrival{topic: s.at.topic, offered: c.sent}
	if at, ok := r.machines[c.by.slot].offered(c.moved, c.sent); ok { // perhaps in an assignment that was over when it was sent
		a.offered = at
	}
	a.Partition, a.Offset = s.at.partition, s.at.offset+c.index
	a.Headers = []verify.Header{text(verify.IDHeader, c.id), text("layover-id", fmt.Sprintf("%s-%d-%d", ingress, c.partition, c.offset))}
	return a, true
}

// allowCopies tells the ledger which records may come more than once because they were copied.
// Not everybody who came later knew that the copy of such a record had finished its source. The
// source is the record or an earlier copy. Callers hold mu.
func (r *rig) allowCopies() {
	seen := make(map[source]bool)
	for i := range r.copies {
		c := &r.copies[i]
		r.sum.copies++
		a, ok := r.arrived(c)
		if again := seen[c.source]; !ok || !r.settled(&a, c.source) || again && !r.settledAsCopy(&a, c.source) {
			r.ledger.MayRepeat(c.id, 1)
		}
		seen[c.source] = true
	}
}

// firstCopies returns when each record was first sent to the runs topic. Callers hold mu.
func (r *rig) firstCopies() map[source]time.Time {
	first := make(map[source]time.Time)
	for i := range r.copies {
		if c := &r.copies[i]; first[c.source].IsZero() || c.sent.Before(first[c.source]) {
			first[c.source] = c.sent
		}
	}
	return first
}

// settledAsCopy says whether everybody who came after a delivery knew that it had finished a
// copy. Only the journal says that, so it is surely so where much was written since and nothing
// kept it from being read. Callers hold mu.
func (r *rig) settledAsCopy(a *arrival, o source) bool {
	const commits = 6
	m := r.delivery(a)
	in := m.assignment(o.partition, a.offered)
	if in == nil || m.heard.IsZero() {
		return false
	}
	by := in.taken(m.heard, commits)
	return !by.IsZero() && r.calm(m.heard.Add(-recovery), by) && r.lastHarm.Before(m.heard)
}

// copiesThere returns the copies that a broker had. Callers hold mu.
func (r *rig) copiesThere() (out []arrival) {
	for i := range r.copies {
		if a, ok := r.arrived(&r.copies[i]); ok {
			out = append(out, a)
		}
	}
	return out
}

// chooseCopyFaults has the runs topic silent, or refusing, up to three times. What it would lose
// is lost, so nothing takes records from it here.
func (p *plan) chooseCopyFaults() {
	dice := rand.New(rand.NewPCG(p.seed, 0x72756e73))
	for range dice.IntN(4) {
		at := time.Duration(dice.Int64N(int64(p.healAt)))
		length, which := time.Duration(1+dice.IntN(120))*time.Second, dice.Uint32()
		if dice.IntN(2) == 0 {
			p.at(at, func(r *rig) { r.silence(runsTopic, length) })
		} else {
			p.at(at, func(r *rig) { r.refuse(runsTopic, which, length) })
		}
	}
}

// historyOf tells of the copies of a record, of its deliveries and its events, for whoever looks into a
// fault.
func (r *rig) historyOf(id string, all []arrival, said []saidEvent) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for i := range r.copies {
		if c := &r.copies[i]; c.id == id {
			fmt.Fprintf(&b, "copy of %s, offset %d of partition %d, moved at %v by its clock, sent at %v by %s", id, c.offset, c.partition, c.moved.Sub(r.begun), c.sent.Sub(r.begun), slotName(c.by.slot))
			if a, ok := r.arrived(c); ok {
				m := r.delivery(&a)
				fmt.Fprintf(&b, ", at %d since %v, heard at %v; settled %t, as a copy %t", a.Offset, m.applied.Sub(r.begun), m.heard.Sub(r.begun), r.settled(&a, c.source), r.settledAsCopy(&a, c.source))
			}
			b.WriteByte('\n')
		}
	}
	for i := range all {
		if origin(all[i].Record).id != id {
			continue
		}
		fmt.Fprintf(&b, "%s was offered to %s at %v", id, all[i].Topic, all[i].offered.Sub(r.begun))
		if m := r.delivery(&all[i]); m != nil {
			fmt.Fprintf(&b, " by %s, there since %v, heard at %v", slotName(m.by.slot), m.applied.Sub(r.begun), m.heard.Sub(r.begun))
		}
		b.WriteByte('\n')
	}
	for i := range said {
		e := &said[i]
		finishes, _ := e.about()
		for _, o := range finishes {
			if o.id = r.ids.names[source{partition: o.partition, offset: o.offset}]; o.id == id {
				m := r.delivery(&e.arrival)
				fmt.Fprintf(&b, "%s, offset %d of partition %d, has an event of %v: %s; settled %t\n", id, o.offset, o.partition, e.offered.Sub(r.begun), e.Value, r.settled(&e.arrival, o))
				if m != nil {
					fmt.Fprintf(&b, "by %s, there since %v, heard at %v\n", slotName(m.by.slot), m.applied.Sub(r.begun), m.heard.Sub(r.begun))
				}
			}
		}
	}
	return b.String()
}
