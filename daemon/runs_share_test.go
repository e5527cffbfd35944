package daemon

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestReadingIngressLeavesAnEighthForRuns: it pauses before that is used, also for records that cannot
// be moved.
func TestReadingIngressLeavesAnEighthForRuns(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=8Mi")
		in.ready()
		limit, n := in.daemon.backpressure.limit(), 0
		for in.pausedFor() == "" && n < 20_000 {
			records := make([]*kgo.Record, 100)
			for i := range records {
				records[i] = &kgo.Record{Topic: ingress, Partition: int32(i % 2), Value: make([]byte, 1000), Timestamp: time.Now(),
					Headers: []kgo.RecordHeader{header("x-delay", "5h"), header("x-delay-id", fmt.Sprint(n))}}
				n++
			}
			w.Produce(records...)
			time.Sleep(time.Second)
		}
		if used := in.daemon.Sample().Memory.Used; used < limit*13/16 || used > limit*15/16 {
			w.Errorf("reading pauses with %d bytes used of %d, want seven eighths: %q", used, limit, in.pausedFor())
		}
		in.stop()
	})
}
