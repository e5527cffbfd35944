package producer

import (
	"fmt"
	"maps"

	"github.com/twmb/franz-go/pkg/kgo"
)

// mostJoining is how many clients that join records a producer may have. All but the first are made for topics whose
// limit has changed. Beyond them a topic keeps the client that it has, and what that refuses goes alone.
const mostJoining = 4

// joining is a client that joins the records of a partition in batches. It asks for a topic's limit when it first sees
// a partition, and keeps to the answer. It would refuse what a raised limit takes, and send batches that are over a
// lowered one. So a topic whose limit has changed goes to another client.
type joining struct {
	*kgo.Client
	producer *Producer
	told     map[string]int32 // limits that it keeps to, by topic; guarded by Producer.mu
}

// newJoining makes such a client.
func (p *Producer) newJoining(suffix string) (j *joining, err error) {
	j = &joining{producer: p, told: make(map[string]int32)}
	j.Client, err = newClient(p.cfg, suffix, kgo.ProducerBatchCompression(p.cfg.Compression...), kgo.ProducerBatchMaxBytesFn(j.tell),
		kgo.WithHooks(&stalePurger{producer: p}, j))
	return j, err
}

// tell returns the limit that the client is to keep to for a topic, the same for all its partitions. The client asks
// again and again.
func (j *joining) tell(topic string) int32 {
	limit := j.producer.cfg.MaxBatchBytes(topic)
	if topic == "" {
		return min(limit, mostRequest) // asked for once, to check the configuration
	}
	j.producer.mu.Lock()
	defer j.producer.mu.Unlock()
	if told, ok := j.told[topic]; ok {
		return told
	}
	j.told[topic] = limit
	return limit
}

// OnProduceRecordUnbuffered implements kgo.HookProduceRecordUnbuffered.
func (j *joining) OnProduceRecordUnbuffered(r *kgo.Record, err error) {
	if err != nil && Classify(err) == TooLarge {
		j.producer.Together(r.Topic)
	}
}

// joins returns the client for a topic's records that are not alone.
func (p *Producer) joins(topic string) *joining {
	if j := (*p.moved.Load())[topic]; j != nil {
		return j
	}
	return p.first
}

// Together returns how many bytes a batch of several records may take, which is MaxBatchBytes from the next record on.
// Where that has changed since the topic's client was told, it gets another client. It is less where there is none.
func (p *Producer) Together(topic string) int32 {
	limit := p.cfg.MaxBatchBytes(topic)
	p.mu.Lock()
	defer p.mu.Unlock()
	told, ok := p.joins(topic).told[topic]
	if !ok || told == limit {
		return limit
	}
	to := p.keepsTo(topic, limit)
	if to == nil {
		return min(told, limit)
	}
	to.told[topic] = limit
	moved := maps.Clone(*p.moved.Load())
	moved[topic] = to
	p.moved.Store(&moved)
	return limit
}

// keepsTo returns a client that keeps to the limit of a topic, or has not been told of it; nil where there is none.
func (p *Producer) keepsTo(topic string, limit int32) *joining {
	for _, j := range p.joining {
		if told, ok := j.told[topic]; !ok || told == limit {
			return j
		}
	}
	if len(p.joining) == mostJoining || p.closed.Load() {
		return nil
	}
	j, err := p.newJoining(fmt.Sprint("-", len(p.joining)+1))
	if err != nil {
		return nil // what is refused goes alone
	}
	p.joining = append(p.joining, j)
	return j
}

// untell has a client ask for a topic's limit anew, before it purges the topic.
func (p *Producer) untell(s staleTopic) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.joining {
		if j.Client == s.client {
			delete(j.told, s.topic)
		}
	}
}
