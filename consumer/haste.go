package consumer

import (
	"context"
	"sync/atomic"
	"time"

	"layover/cluster"
)

// A poll for each record that is written costs as much as delivering it. Where nothing that was
// read lately is due within leastWait, the poll loop rests between two polls, so that records come
// together. One that waits for longer is not delivered any later for it; the first of others is, by
// up to two rests.
const (
	// leastWait is how long a record has to wait at least, when it is read, that gives no haste.
	leastWait = time.Second
	// rest is the pause behind a poll.
	rest = 25 * time.Millisecond
	// hasty is how long there is none after a record that is due sooner, and after the start.
	hasty = 10 * time.Second
	// restBelow is the bytes of a poll from which there is none, as more may be there already.
	restBelow = 64 << 10
)

// haste is whether the poll loop rests between polls. Any goroutine may hurry it.
type haste struct {
	began   time.Time
	hurried atomic.Int64 // since it began, when it was last told to hurry
}

func newHaste() *haste { return &haste{began: time.Now()} }

// hurry notes that a record is due soon.
func (h *haste) hurry() { h.hurried.Store(int64(time.Since(h.began))) }

// rests returns how long to wait behind a poll of that many bytes.
func (h *haste) rests(bytes int64) time.Duration {
	if bytes == 0 || bytes >= restBelow || time.Since(h.began)-time.Duration(h.hurried.Load()) < hasty {
		return 0
	}
	return rest
}

// Waits says after how long the first of some records is due that were read.
func (c *Consumer) Waits(first time.Duration) {
	if first < leastWait {
		c.haste.hurry()
	}
}

// rest waits behind a poll of that many bytes, until the context ends.
func (c *Consumer) rest(ctx context.Context, bytes int64) {
	if d := c.haste.rests(bytes); d > 0 {
		cluster.Pause(ctx, d)
	}
}
