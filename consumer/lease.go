package consumer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// lease is how long the group certainly still counts on this member: from the
// sending of the last heartbeat that was answered, or of the last commit that was
// accepted, for the session timeout less a margin. With only the coordinator out
// of reach, kgo noticed the end of a membership up to 15 s after the broker had
// ended it; until then it would go on delivering what another member delivers.
type lease struct {
	length time.Duration
	last   atomic.Pointer[time.Time]
}

// renew starts the lease anew from an instant, unless a later one is known.
func (l *lease) renew(at time.Time) {
	for {
		old := l.last.Load()
		if old != nil && old.After(at) && time.Since(*old) >= 0 {
			return
		}
		if l.last.CompareAndSwap(old, &at) {
			return
		}
	}
}

// valid compares by both clocks: the monotonic one stands still while a machine is
// suspended, the wall clock does not.
func (l *lease) valid(now time.Time) bool {
	last := l.last.Load()
	if last == nil {
		return false
	}
	return now.Sub(*last) < l.length && now.Round(0).Sub(last.Round(0)) < l.length
}

// OnBrokerE2E implements kgo.HookBrokerE2E. A heartbeat that was answered at all
// was answered by a coordinator that knows what to do with this member: where it
// does not, kgo ends the tenures.
func (l *lease) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e kgo.BrokerE2E) {
	if e.WriteErr != nil || e.ReadErr != nil {
		return
	}
	switch kmsg.Key(key) {
	case kmsg.Heartbeat, kmsg.SyncGroup:
		l.renew(time.Now().Add(-e.DurationE2E()))
	}
}

// budget bounds the bytes that were handed over and not consumed yet.
type budget struct {
	mu    sync.Mutex
	limit int64
	used  int64
	freed chan struct{} // capacity 1
}

func newBudget(limit int64) *budget { return &budget{limit: limit, freed: make(chan struct{}, 1)} }

// take counts bytes that were handed over, and waits while more than the limit is
// out. It returns false when the context ended first.
func (b *budget) take(ctx context.Context, bytes int64) bool {
	b.mu.Lock()
	b.used += bytes
	over := b.used > b.limit
	b.mu.Unlock()
	for over {
		select {
		case <-ctx.Done():
			return false
		case <-b.freed:
		}
		b.mu.Lock()
		over = b.used > b.limit
		b.mu.Unlock()
	}
	return true
}

func (b *budget) give(bytes int64) {
	b.mu.Lock()
	b.used -= bytes
	b.mu.Unlock()
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

func (b *budget) taken() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
