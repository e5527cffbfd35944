package daemon

import (
	"testing"
	"time"

	"layover/verify/long"
)

// TestRunsAreReadAfterTheirTopicWasMadeAgain: copies were read before it was, so its former id is known
// from then.
func TestRunsAreReadAfterTheirTopicWasMadeAgain(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		time.Sleep(5 * time.Second)
		due := w.far(0, 6000, 1000, func(i int) time.Duration { return 2*time.Hour + time.Duration(i)*time.Millisecond })
		time.Sleep(2*time.Hour + time.Minute)
		w.arrived(due, 0)
		if _, loaded, _, _ := in.runsCount(); loaded == 0 {
			t.Fatal("nothing was read from runs")
		}
		w.DeleteTopic(runsTopic)
		time.Sleep(time.Minute) // it is made again
		for key, at := range w.far(6000, 6000, 1000, func(i int) time.Duration { return 2*time.Hour + time.Duration(i)*time.Millisecond }) {
			due[key] = at
		}
		time.Sleep(2*time.Hour + time.Minute)
		late := w.arrived(due, 0)
		moved, loaded, lost, waiting := in.runsCount()
		if late > time.Second || lost > 0 || waiting > 0 || moved != loaded {
			t.Errorf("moved %d, loaded %d, lost %d, waiting %d, the latest %v late", moved, loaded, lost, waiting, late)
		}
		in.stop()
	})
}
