package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// stream writes records with short random delays at a steady rate until stopped.
type stream struct {
	f      *fixture
	ledger *ledger
	acked  atomic.Int64
	failed atomic.Pointer[error]
	stop   context.CancelFunc
	done   sync.WaitGroup
}

const streamBatch = 20 // records

func (f *fixture) stream(l *ledger, perSecond int, maxDelay time.Duration) *stream {
	ctx, cancel := context.WithCancel(f.Context())
	s := &stream{f: f, ledger: l, stop: cancel}
	s.done.Go(func() { s.run(ctx, time.Second*streamBatch/time.Duration(perSecond), maxDelay) }) // ends when the context does
	f.Cleanup(s.finish)
	return s
}

func (s *stream) run(ctx context.Context, every time.Duration, maxDelay time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	random := rand.New(rand.NewPCG(3, 4))
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for i := range streamBatch {
			r := s.ledger.delayed(fmt.Sprintf("stream-%d-%d", n, i), time.Duration(random.Int64N(maxDelay.Milliseconds()))*time.Millisecond)
			r.Topic = s.f.ingress
			s.f.client.Produce(context.Background(), r, func(_ *kgo.Record, err error) {
				if err != nil {
					s.failed.Store(&err)
				}
				s.acked.Add(1)
			})
		}
	}
}

// finish stops the stream and waits until everything is acknowledged.
func (s *stream) finish() {
	s.f.Helper()
	s.stop()
	s.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.f.client.Flush(ctx); err != nil {
		s.f.Errorf("stream: %v", err)
	}
	if err := s.failed.Load(); err != nil {
		s.f.Errorf("stream: %v", *err)
	}
}

// owns waits until an instance has read its share, of at least one partition.
func (p *process) owns(atLeast int, within time.Duration) {
	p.t.Helper()
	eventually(p.t, within, fmt.Sprintf("%d partitions assigned", atLeast), func() bool {
		loaded := 0
		for _, a := range p.status().Assignments {
			if a.Loaded {
				loaded++
			}
		}
		return loaded >= atLeast
	})
}

func TestInstancesThatComeAndGoWhileRecordsFlow(t *testing.T) {
	long(t)
	const (
		perSecond  = 1_000
		partitions = 4
		// Of one kill: see the burst.
		bound = 2*perSecond + 1000*partitions
	)
	f := onSharedBroker(t, partitions)
	l := f.newLedger()
	out := f.collect(f.egress)
	first := f.layover()
	s := f.stream(l, perSecond, 4*time.Second)
	out.await(1_000, 30*time.Second)

	// One joins: partitions are handed over while their records are parked.
	second := f.layover()
	second.owns(1, 30*time.Second)
	all, _ := out.count()
	out.await(all+2_000, 30*time.Second)

	// One is told to stop.
	first.terminate()
	second.owns(partitions, 30*time.Second)
	all, again := out.count()
	out.await(all+2_000, 30*time.Second)
	if again != 0 {
		t.Errorf("%d came again although nobody was killed", again)
	}

	// Another joins, and one is killed.
	third := f.layover()
	third.owns(1, 30*time.Second)
	all, _ = out.count()
	out.await(all+2_000, 30*time.Second)
	_, again = out.count()
	second.kill()
	third.owns(partitions, 30*time.Second)
	all, _ = out.count()
	out.await(all+2_000, 30*time.Second)

	s.finish()
	out.await(l.Len(), 30*time.Second)
	f.reachesEnd(10 * time.Second)
	third.terminate()
	out.settle()
	if again != 0 {
		t.Errorf("%d came again before anybody was killed", again)
	}
	l.judge(out.all(), bound)
}
