package producer

import (
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// single is a record that gets a batch of its own.
type single struct {
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
	s := single{r, done}
	client, err := p.largeClient()
	switch {
	case err != nil:
		done(r, err)
	case p.takesTurn(s):
		p.sendAlone(client, s)
	}
}

// takesTurn reports whether a record may be sent now. Else it waits.
func (p *Producer) takesTurn(s single) bool {
	at := s.at()
	p.mu.Lock()
	defer p.mu.Unlock()
	queue, busy := p.waiting[at]
	if busy {
		queue = append(queue, s)
	}
	p.waiting[at] = queue
	return !busy
}

// sendAlone sends a record, and those that wait behind it after its answer: from there on the record is its caller's.
func (p *Producer) sendAlone(client *kgo.Client, s single) {
	at := s.at()
	p.produce(client, s.record, func(r *kgo.Record, err error) {
		s.done(r, err)
		if next, ok := p.nextAlone(at); ok {
			p.sendAlone(client, next) // a closed client answers, too
		}
	})
}

// nextAlone takes the record whose turn comes after one that was answered.
func (p *Producer) nextAlone(at offsets.TopicPartition) (next single, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	queue := p.waiting[at]
	if len(queue) == 0 {
		delete(p.waiting, at)
		return single{}, false
	}
	next, queue[0] = queue[0], single{}
	p.waiting[at] = queue[1:]
	return next, true
}

// largeClient makes the client for records of any size when it is first needed.
func (p *Producer) largeClient() (*kgo.Client, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return nil, kgo.ErrClientClosed
	}
	if p.large == nil {
		large, err := newClient(p.cfg, "-large", kgo.ProducerBatchMaxBytes(largestBatch), kgo.WithHooks(&stalePurger{producer: p}), kgo.WithCompressor(packing{p}))
		if err != nil {
			return nil, err
		}
		p.large = large
	}
	return p.large, nil
}
