package lane

import (
	"sync"
	"time"

	"layover/purgatory"
)

// CatchUp is the rate at which late records go on. All lanes of a process share one. Its
// lock is a leaf: a core asks for one instant at a time, and for late records alone.
type CatchUp struct {
	began time.Time // where its monotonic clock begins

	mu   sync.Mutex
	rate *purgatory.CatchUp
}

// NewCatchUp returns the rate of so many late records a second for each target; nil for 0,
// which is no rate.
func NewCatchUp(rate int) *CatchUp {
	if rate == 0 {
		return nil
	}
	return &CatchUp{began: time.Now(), rate: purgatory.NewCatchUp(rate)}
}

// pacer is the rate as one core asks it, whose monotonic clock begins elsewhere.
type pacer struct {
	shared   *CatchUp
	behindMs int64
}

func (c *CatchUp) of(began time.Time) purgatory.Pacer {
	return pacer{shared: c, behindMs: began.Sub(c.began).Milliseconds()}
}

// Admit implements purgatory.Pacer.
func (p pacer) Admit(label string, monotonicMs, withinMs int64) (waitMs int64, ok bool) {
	p.shared.mu.Lock()
	defer p.shared.mu.Unlock()
	return p.shared.rate.Admit(label, p.behindMs+monotonicMs, withinMs)
}

// Waiting implements purgatory.Pacer.
func (p pacer) Waiting(label string, more int) {
	p.shared.mu.Lock()
	defer p.shared.mu.Unlock()
	p.shared.rate.Waiting(label, more)
}
