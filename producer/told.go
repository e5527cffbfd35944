package producer

import "sync"

// Told is the least limit of a batch that a client was told of each topic. A client asks when it first sees a
// partition, and keeps to the answer. Any goroutine may call its methods.
type Told struct {
	limit func(topic string) int32
	mu    sync.Mutex // guards least
	least map[string]int32
}

// NewTold returns a Told of topics with these limits.
func NewTold(limit func(topic string) int32) *Told {
	return &Told{limit: limit, least: make(map[string]int32)}
}

// Tell returns the limit of a topic. It is to be Config.MaxBatchBytes.
func (t *Told) Tell(topic string) int32 {
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
func (t *Told) Together(topic string) int32 {
	limit := t.limit(topic)
	t.mu.Lock()
	defer t.mu.Unlock()
	if least, ok := t.least[topic]; ok {
		limit = min(limit, least)
	}
	return limit
}
