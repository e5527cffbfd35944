package producer

import "sync"

// told is the least limit of a batch that a client was told of each topic. A client asks when it first sees a
// partition, and keeps to the answer.
type told struct {
	limit func(topic string) int32
	mu    sync.Mutex // guards least
	least map[string]int32
}

// tell returns the limit of a topic, for the client.
func (t *told) tell(topic string) int32 {
	limit := t.limit(topic)
	t.mu.Lock()
	defer t.mu.Unlock()
	if least, ok := t.least[topic]; !ok || limit < least {
		t.least[topic] = limit
	}
	return limit
}

// Together returns how many bytes a batch of several records may take: the limit of the topic, or what the client keeps
// to where that was less.
func (p *Producer) Together(topic string) int32 {
	limit := p.told.limit(topic)
	p.told.mu.Lock()
	defer p.told.mu.Unlock()
	if least, ok := p.told.least[topic]; ok {
		limit = min(limit, least)
	}
	return limit
}
