package cluster

import (
	"context"
	"time"
)

// epoch is any instant of this process.
var epoch = time.Now()

// Turn returns the time until the next turn of a loop that turns at an interval, at most that interval.
// Loops of one interval turn together, so that an idle process wakes once for all of them, at another
// instant than other processes.
func Turn(interval time.Duration) time.Duration {
	since := time.Since(epoch) % interval
	if since < 0 { // epoch is outside of a bubble of virtual time
		since += interval
	}
	return interval - since
}

// Pause waits for d, or returns the context's error where that ends before.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
