package speed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/bench/broker"
	"layover/bench/process"
	"layover/cluster"
)

// pool has values that do not compress, without a random byte for each of theirs.
type pool struct {
	bytes  []byte
	size   int
	random *rand.Rand
}

// poolSize is far more than a codec's window.
const poolSize = 4 << 20

func newPool(size int) *pool {
	random := rand.New(rand.NewPCG(21, 22))
	p := &pool{bytes: make([]byte, poolSize), size: size, random: random}
	for i := range p.bytes {
		p.bytes[i] = byte(random.Uint32())
	}
	return p
}

// next is a value, which is not to be changed.
func (p *pool) next() []byte {
	at := p.random.IntN(len(p.bytes) - p.size + 1)
	return p.bytes[at : at+p.size]
}

// sender writes records that are to wait.
type sender struct {
	*scene
	client *kgo.Client
	values *pool
	failed broker.Failure
}

// newSender is a client of its own, as an application would have it.
func (s *scene) newSender(value int) (*sender, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(s.broker.Addrs...), kgo.DefaultProduceTopic(s.ingress), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(sendEvery),
	)
	if err != nil {
		return nil, err
	}
	return &sender{scene: s, client: client, values: newPool(value)}, nil
}

// sendEvery is how often the sender catches up with its rate.
const sendEvery = 5 * time.Millisecond

// send writes a record that is due at due, to a target.
func (s *sender) send(due time.Time, target string, wanted bool) {
	now := time.Now()
	value, dueMs := s.product.delay(now, due)
	if s.copies {
		dueMs = 0
	}
	e := entry{dueMs: dueMs, unwanted: !wanted, aside: target == s.other}
	r := &kgo.Record{Key: s.books.enter(e), Value: s.values.next(), Timestamp: now}
	r.Headers = append(r.Headers, kgo.RecordHeader{Key: s.product.DelayHeader, Value: []byte(value)})
	if s.product.TargetHeader != "" && (target != s.target || s.product.runs()) {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: s.product.TargetHeader, Value: []byte(target)})
	}
	s.client.Produce(context.Background(), r, s.failed.Note)
}

// flush returns when the broker has all.
func (s *sender) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, arriveWithin)
	defer cancel()
	if err := s.client.Flush(ctx); err != nil {
		return fmt.Errorf("sender: %w", err)
	}
	return s.failed.Get()
}

// flow writes perSecond records a second that are due after delay, until ctx ends, which is no error.
// What falls behind is caught up with.
func (s *sender) flow(ctx context.Context, perSecond int, delay time.Duration, wanted bool) error {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	began, sent := time.Now(), 0
	for ctx.Err() == nil && s.failed.Get() == nil {
		for want := int(time.Since(began).Seconds() * float64(perSecond)); sent < want; sent++ {
			s.send(time.Now().Add(delay), s.target, wanted)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return s.flush(context.WithoutCancel(ctx))
}

// flowing runs f while records flow.
func (s *sender) flowing(ctx context.Context, perSecond int, delay time.Duration, wanted bool, f func() error) error {
	sending, stop := context.WithCancel(ctx)
	sent := make(chan error, 1)
	go func() { sent <- s.flow(sending, perSecond, delay, wanted) }() // ended by stop
	err := f()
	stop()
	if errSent := <-sent; err == nil {
		err = errSent
	}
	return err
}

// watch reads the CPU of a process over a time; 0 of a process that is not ours.
func watch(ctx context.Context, c *process.Child, d time.Duration) (st process.Stretch, err error) {
	if st.From, err = ask(c); err != nil {
		return st, err
	}
	if err := cluster.Pause(ctx, d); err != nil {
		return st, err
	}
	st.To, err = ask(c)
	return st, err
}

// ask reads a process; one that is not ours says nothing.
func ask(c *process.Child) (process.Reading, error) {
	if c == nil {
		return process.Reading{At: time.Now()}, nil
	}
	return c.Ask(process.OrderRead)
}
