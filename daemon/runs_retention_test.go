package daemon

import (
	"maps"
	"testing"
	"time"

	"layover/verify/long"
)

// TestShortRetentionIsKeptUpWith: an ingress topic keeps records for twenty minutes, and gets one a
// minute that is due hours later. Each is moved before it is a quarter of that old.
func TestShortRetentionIsKeptUpWith(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		const quarter = 5 * time.Minute
		minutes, delay := 30, 90*time.Minute
		if long.Whole() {
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

// expire deletes what the ingress topic keeps no longer, and returns how many records are gone by now.
func (w *fixture) expire() (gone int64) {
	w.Helper()
	w.Broker.ApplyRetention()
	for _, b := range w.bounds(ingress) {
		gone += b[0]
	}
	return gone
}

// TestShortRetentionIsKeptUpWithWithinTheHour: an ingress topic keeps records for twenty minutes. Those that
// are due in 40 are within the horizon of memory, and a process that dies finds them in runs.
func TestShortRetentionIsKeptUpWithWithinTheHour(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.alter(ingress, "retention.ms", "1200000")
		in := w.start()
		time.Sleep(5 * time.Second)
		due := w.far(0, 20, 10, func(i int) time.Duration { return 40*time.Minute + time.Duration(i)*time.Second })
		time.Sleep(15 * time.Minute)
		in.kill()
		time.Sleep(10 * time.Minute)
		if n := w.expire(); n != 20 {
			t.Fatalf("%d records are deleted, want all", n)
		}
		in = w.start()
		time.Sleep(20 * time.Minute)
		if late := w.arrived(due, 0); late > 50*time.Millisecond {
			t.Errorf("the latest is %v late", late)
		}
		in.stop()
	})
}

// TestOutagesThatAreShorterThanRetentionLoseNothing: the topic keeps a day. A process lives for four minutes
// between outages of twelve hours, and records are due at any time.
func TestOutagesThatAreShorterThanRetentionLoseNothing(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const outage = 12 * time.Hour
		w.alter(ingress, "retention.ms", "86400000")
		w.start().stop() // the group exists
		due := w.far(0, 120, 10, func(i int) time.Duration { return outage + 5*time.Minute + time.Duration(i)*time.Minute/2 })
		time.Sleep(outage)
		in := w.start()
		time.Sleep(4 * time.Minute)
		in.kill()
		if n := w.expire(); n > 0 {
			t.Fatalf("%d records are deleted by now, want none", n)
		}
		time.Sleep(outage)
		if n := w.expire(); n != 120 {
			t.Fatalf("%d records are deleted, want all", n)
		}
		in = w.start()
		time.Sleep(time.Minute)
		w.arrived(due, 0)
		in.stop()
	})
}
