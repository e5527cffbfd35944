package producer

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// staleTopic is a topic that a client knows by the id of a deleted one.
type staleTopic struct {
	client *kgo.Client
	topic  string
}

// toldWithin is more than the time in which a client has told of all that failed together.
const toldWithin = 10 * time.Second

// purges is how many purges of a producer had ended when it gave a record to a client. It is that record's context.
type purges struct {
	context.Context
	count int
}

// stalePurger makes a client purge a topic that was deleted and made again. It does so
// when a record fails with the id of the old one, and never otherwise. After a purge the
// client counts its batches from 0 again. Under the same producer epoch a broker that
// knows such batches would acknowledge the next one and not write it. A client that has
// failed has either written nothing to the new topic, or has a new epoch.
//
// It may have written by the time that it tells of the failure: many records fail together,
// and it tells of one after the other. So a record counts that was given to it after the
// last purge of its topic.
type stalePurger struct {
	producer *Producer
	client   *kgo.Client
}

// OnNewClient implements kgo.HookNewClient.
func (f *stalePurger) OnNewClient(c *kgo.Client) { f.client = c }

// OnProduceRecordUnbuffered implements kgo.HookProduceRecordUnbuffered.
func (f *stalePurger) OnProduceRecordUnbuffered(r *kgo.Record, err error) {
	if err != nil && isStale(err) {
		f.producer.forget(staleTopic{f.client, r.Topic}, r.Context.(*purges))
	}
}

// forget purges a topic, once for all records that were given to the client before that ended.
// Records that are buffered for it fail.
func (p *Producer) forget(s staleTopic, given *purges) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() || p.stale[s] || given.count < p.purged[s] {
		return
	}
	p.stale[s] = true
	p.purging.Add(1)
	go func() { // ends by itself, or with the client: purging waits for a metadata update at most
		defer p.purging.Done()
		s.client.PurgeTopicsFromClient(s.topic)
		n := p.forgotten(s)
		timer := time.NewTimer(toldWithin)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.client.Context().Done():
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.purged[s] == n {
			delete(p.purged, s)
		}
	}()
}

// forgotten ends the purge of a topic, and returns how many have ended.
func (p *Producer) forgotten(s staleTopic) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = p.ended.Load().count + 1
	delete(p.stale, s)
	p.purged[s] = n
	p.ended.Store(&purges{context.Background(), n})
	return n
}
