package producer

import (
	"fmt"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// mostRequest is the most that a client sends in one request, before compression, but for one record that takes more.
	// Brokers take 100 MiB by their default of socket.request.max.bytes, and some take less. A request that is larger is
	// never answered, and sent again without end.
	mostRequest = 16 << 20
	// mostBatch is the most that a client joins in one batch, before compression. To a broker that it has not produced
	// to it counts 31 bytes more for each record, of a former format. A batch that was made for the partition's former
	// leader would be over mostRequest then, and never sent. It is so much less that MaxBuffered may be 1 << 16.
	mostBatch = mostRequest - 2<<20
	// besideRecord is more than a request takes beside its one record, with a topic's name and the client's id.
	besideRecord = 64 << 10
	// largestBatch is the limit of a client that leaves the judgement to the broker: kgo's upper bound for one batch.
	largestBatch = 1<<30 - 4096
)

// single is a record that gets a batch of its own.
type single struct {
	client *kgo.Client
	record *kgo.Record
	done   func(*kgo.Record, error)
}

// at returns the partition that it goes to.
func (s *single) at() offsets.TopicPartition {
	return offsets.TopicPartition{Topic: s.record.Topic, Partition: s.record.Partition}
}

// deliverAlone sends a record once no other that is alone is in flight to its partition: a client has no bound for
// the records of a batch, and would join them.
func (p *Producer) deliverAlone(r *kgo.Record, done func(*kgo.Record, error)) {
	client, err := p.largeClient(r)
	s := single{client, r, done}
	switch {
	case err != nil:
		done(r, err)
	case p.takesTurn(s):
		p.sendAlone(s)
	}
}

// turn is that of a partition: the size of the record in flight, as of sizeOf, and those that wait for its answer.
type turn struct {
	least, most int
	queue       []single
}

// takesTurn reports whether a record may be sent now. Else it waits.
func (p *Producer) takesTurn(s single) bool {
	at := s.at()
	p.mu.Lock()
	defer p.mu.Unlock()
	t, busy := p.waiting[at]
	if !busy {
		t.least, t.most = sizeOf(s.record)
	} else {
		t.queue = append(t.queue, s)
	}
	p.waiting[at] = t
	return !busy
}

// sendAlone sends a record, and those that wait behind it after its answer: from there on the record is its caller's.
func (p *Producer) sendAlone(s single) {
	at := s.at()
	p.produce(s.client, s.record, func(r *kgo.Record, err error) {
		s.done(r, err)
		if next, ok := p.nextAlone(at); ok {
			p.sendAlone(next) // a closed client answers, too
		}
	})
}

// nextAlone takes the record whose turn comes after one that was answered.
func (p *Producer) nextAlone(at offsets.TopicPartition) (next single, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.waiting[at]
	if len(t.queue) == 0 {
		delete(p.waiting, at)
		return single{}, false
	}
	next, t.queue[0] = t.queue[0], single{}
	t.queue = t.queue[1:]
	t.least, t.most = sizeOf(next.record)
	p.waiting[at] = t
	return next, true
}

// largeClient makes the client for a record that is sent alone when it is first needed. A client bounds a request as it
// bounds a batch, and fills it with records of several partitions. What needs a larger bound than mostRequest has a
// client whose records all take more than half of it: no two go in one request.
func (p *Producer) largeClient(r *kgo.Record) (*kgo.Client, error) {
	_, size := sizeOf(r)
	suffix, most := "-large", mostRequest
	for most < size+besideRecord && most < largestBatch {
		most = min(2*(most-2*besideRecord), largestBatch)
		suffix = fmt.Sprint("-large-", most>>20)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return nil, kgo.ErrClientClosed
	}
	if p.large[suffix] == nil {
		large, err := newClient(p.cfg, suffix, kgo.BrokerMaxWriteBytes(int32(most)), kgo.ProducerBatchMaxBytes(int32(most)), kgo.WithHooks(&stalePurger{producer: p}), kgo.WithCompressor(packing{p}))
		if err != nil {
			return nil, err
		}
		p.large[suffix] = large
	}
	return p.large[suffix], nil
}

// sizeOf returns how many bytes a record takes in a batch before compression, at least and at most.
func sizeOf(r *kgo.Record) (least, most int) {
	least = len(r.Key) + len(r.Value)
	for i := range r.Headers {
		h := &r.Headers[i]
		least += kbin.VarintLen(int32(len(h.Key))) + len(h.Key) + kbin.VarintLen(int32(len(h.Value))) + len(h.Value)
	}
	return least, least + 64
}
