package consumer

import (
	"context"
	"sync"
	"time"
)

// A poll for each record that is written costs as much as delivering it. Where all that was read
// lately waits for long, the poll loop rests between two polls, so that records come together. One
// that waits as long is not delivered any later for it; the first that does not is, by up to two rests.
const (
	// leastWait is how long a record has to wait at least, when it is read, that gives no haste.
	leastWait = time.Second
	// restShare is the part of the shortest wait that a rest is, and longestRest the most.
	restShare   = 20
	longestRest = 100 * time.Millisecond
	// hasty is how long there is none after a record that is due sooner, a pause, and the start. For
	// as long, and twice that at most, the shortest wait is remembered.
	hasty = 10 * time.Second
	// restBelow is the bytes of a poll from which there is none, as more may be there already.
	restBelow = 64 << 10
)

// haste is whether the poll loop rests between polls, and for how long. Any goroutine may tell it
// of waits.
type haste struct {
	hurry chan struct{} // ends a rest; capacity 1

	mu       sync.Mutex
	hurried  time.Time        // when it was last told of a short wait
	shortest [2]time.Duration // of the others, in this span of time and in the one before; 0: there was none
	since    time.Time        // begin of this span
}

func newHaste(now time.Time) *haste {
	return &haste{hurry: make(chan struct{}, 1), hurried: now, since: now}
}

// waits takes note of how long a record waits that was read.
func (h *haste) waits(now time.Time, wait time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if wait >= leastWait {
		h.turn(now)
		if s := &h.shortest[0]; *s == 0 || wait < *s {
			*s = wait
		}
		return
	}
	h.hurried = now
	select {
	case h.hurry <- struct{}{}:
	default:
	}
}

// turn begins the next span where this one is over.
func (h *haste) turn(now time.Time) {
	switch age := now.Sub(h.since); {
	case age >= 2*hasty:
		h.shortest, h.since = [2]time.Duration{}, now
	case age >= hasty:
		h.shortest, h.since = [2]time.Duration{0, h.shortest[0]}, h.since.Add(hasty)
	}
}

// rests returns how long to wait behind a poll of that many bytes. Where nothing was read lately,
// nothing is known of what comes.
func (h *haste) rests(now time.Time, bytes int64) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turn(now)
	if bytes == 0 || bytes >= restBelow || now.Sub(h.hurried) < hasty {
		return 0
	}
	shortest := h.shortest[0]
	if was := h.shortest[1]; shortest == 0 || was > 0 && was < shortest {
		shortest = was
	}
	return min(shortest/restShare, longestRest)
}

// Waits says after how long the first of some records is due that were read.
func (c *Consumer) Waits(first time.Duration) { c.haste.waits(time.Now(), first) }

// rest waits behind a poll of that many bytes, until the context ends or a record is read that
// does not wait for long.
func (c *Consumer) rest(ctx context.Context, bytes int64) {
	select {
	case <-c.haste.hurry: // of an earlier poll
	default:
	}
	d := c.haste.rests(time.Now(), bytes)
	if d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.haste.hurry:
	case <-ctx.Done():
	}
}
