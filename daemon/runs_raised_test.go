package daemon

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestALargerCopyIsMovedOnceItsTopicTakesIt: max.message.bytes was raised on the runs topic, and the client goes by
// what it was.
func TestALargerCopyIsMovedOnceItsTopicTakesIt(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=4Mi", "LAYOVER_LANES=1")
		in.ready()
		time.Sleep(5 * time.Second) // in which the runs topic is made
		w.alter(runsTopic, "max.message.bytes", "20000")
		time.Sleep(5 * time.Minute)
		client := w.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		send := func(records []*kgo.Record) {
			if err := client.ProduceSync(w.Context(), records...).FirstErr(); err != nil {
				w.Fatal(err)
			}
		}
		send(large(0, 300, 10_000, "20h"))
		time.Sleep(5 * time.Minute)
		before, _, _, _ := in.runsCount()
		w.alter(runsTopic, "max.message.bytes", "1000000")
		time.Sleep(5 * time.Minute)
		send(large(0, 100, 30_000, "20h"))
		time.Sleep(30 * time.Minute)
		if after, _, _, _ := in.runsCount(); before == 0 || after-before < 50 {
			w.Errorf("%d records are moved before, and %d larger ones since", before, after-before)
		}
		in.kill()
	})
}
