package consumer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pollAtMost ends a poll without records, so that the loop shows that it moves, and
// carries jumps out.
const pollAtMost = time.Second

// poll is the poll that goes on, which others may end early.
type poll struct {
	mu    sync.Mutex
	end   context.CancelFunc // of the poll that goes on, or is over
	beat  atomic.Pointer[time.Time]
	turns atomic.Int64
}

// begin returns the context of the next poll, and the function that ends it.
func (p *poll) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	now := time.Now()
	p.beat.Store(&now)
	p.turns.Add(1)
	ctx, end := context.WithTimeout(ctx, pollAtMost)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = end
	return ctx, end
}

// interrupt makes the poll loop turn, if it is polling.
func (p *poll) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end != nil {
		p.end()
	}
}

// last returns when the poll loop last turned.
func (p *poll) last() time.Time {
	if t := p.beat.Load(); t != nil {
		return *t
	}
	return time.Now()
}
