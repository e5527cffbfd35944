package daemon

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestCopiesForAMissingTargetDoNotKeepOthersInRuns: what is held for the one takes all that reading runs may
// take, and the others come on time.
func TestCopiesForAMissingTargetDoNotKeepOthersInRuns(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi", "LAYOVER_TARGETS_ALLOWED=absent", "LAYOVER_TARGET_PATIENCE=12h")
		in.ready()
		time.Sleep(5 * time.Second)
		now := time.Now()
		for i := range 5000 {
			due := now.Add(2*time.Hour + time.Duration(i)*time.Millisecond).UnixMilli()
			w.Client.Produce(w.Context(), &kgo.Record{Topic: ingress, Partition: int32(i % 2), Value: make([]byte, 1000), Timestamp: now,
				Headers: []kgo.RecordHeader{header("x-deliver-at", fmt.Sprint(due)), header("x-deliver-to", "absent")}}, nil)
		}
		due := make(map[string]time.Time)
		for i := range 1000 {
			at := now.Add(2*time.Hour + 10*time.Minute + time.Duration(i)*time.Millisecond).Truncate(time.Millisecond)
			due[strconv.Itoa(i)] = at
			w.Client.Produce(w.Context(), &kgo.Record{Topic: ingress, Partition: int32(i % 2), Key: strconv.AppendInt(nil, int64(i), 10), Value: make([]byte, 1000), Timestamp: now,
				Headers: []kgo.RecordHeader{header("x-deliver-at", fmt.Sprint(at.UnixMilli()))}}, nil)
		}
		if err := w.Client.Flush(w.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Minute)
		if moved, _, _, _ := in.runsCount(); moved < 5000 {
			t.Errorf("%d records were moved, want nearly all 6000", moved)
		}
		time.Sleep(100 * time.Minute)
		moved, loaded, lost, waiting := in.runsCount()
		late := w.arrived(due, 0)
		// A visit that finds no room is tried again after a second.
		if s := in.daemon.Sample(); late > 3*time.Second/2 || s.Memory.Used > s.Memory.Limit {
			t.Errorf("moved %d, loaded %d, lost %d, waiting %d, dead-lettered %d; the latest %v late; memory %+v", moved, loaded, lost, waiting, w.count(dlq), late, s.Memory)
		}
		in.stop()
	})
}
