package consumer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// lease is how long the group certainly still counts on this member. It runs from the
// sending of the last heartbeat of ours that was accepted, or of the last accepted commit, for
// the session timeout less a margin. With only the coordinator out of reach, kgo noticed the end
// of a membership up to 15 s late. Meanwhile two members would deliver the same records.
//
// A request counts from the instant before it was sent, by the wall clock, too. An answer that
// waited in a socket while the machine was suspended is as old as its request.
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

// age is how long ago the last proof was sent, or more than the lease where there is none.
func (l *lease) age(now time.Time) time.Duration {
	if !l.valid(now) {
		return l.length
	}
	return now.Sub(*l.last.Load())
}

// budget bounds the bytes that are handed over and not consumed yet.
type budget struct {
	mu    sync.Mutex
	limit int64
	used  int64
	freed chan struct{} // capacity 1
}

func newBudget(limit int64) *budget { return &budget{limit: limit, freed: make(chan struct{}, 1)} }

// take counts bytes that are about to be handed over. Whoever gets them may give them back
// at once, and nobody is to see less than is out.
func (b *budget) take(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += bytes
}

// wait waits while more than the limit is out. It returns false when the context ended
// first.
func (b *budget) wait(ctx context.Context) bool {
	for b.taken() > b.limit {
		select {
		case <-ctx.Done():
			return false
		case <-b.freed:
		}
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
