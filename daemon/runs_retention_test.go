package daemon

import (
	"maps"
	"testing"
	"time"
)

// TestShortRetentionIsKeptUpWith: an ingress topic keeps records for twenty minutes, and gets one a
// minute that is due hours later. Each is moved before it is a quarter of that old.
func TestShortRetentionIsKeptUpWith(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const quarter = 5 * time.Minute
		minutes, delay := 30, 90*time.Minute
		if long() {
			minutes, delay = 120, 5*time.Hour
		}
		w.alter(ingress, "retention.ms", "1200000")
		in := w.start()
		time.Sleep(5 * time.Second)
		due := make(map[string]time.Time)
		for i := range minutes {
			maps.Copy(due, w.far(i, 1, 10, func(int) time.Duration { return delay }))
			time.Sleep(time.Minute)
			moved, _, _, _ := in.runsCount()
			if stays := int64(i+1) - moved; stays > int64(quarter/time.Minute) {
				t.Fatalf("%d records are not moved when %d were sent, the oldest %d min ago", stays, i+1, stays)
			}
		}
		time.Sleep(quarter)
		in.kill()
		for p, b := range w.bounds(ingress) {
			w.DeleteRecords(ingress, p, b[1])
		}
		in = w.start()
		time.Sleep(delay + time.Hour)
		if late := w.arrived(due, 0); late > 50*time.Millisecond {
			t.Errorf("the latest is %v late", late)
		}
		in.stop()
	})
}
