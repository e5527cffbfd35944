package daemon

import (
	"fmt"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestAPauseEndsWhereALaneHasWhatCanBeMoved: records with an id fill the lane of partition 0 for a day; that of
// partition 1 has records that are due in 20 h. "where reading pauses for memory, for whatever can be moved".
func TestAPauseEndsWhereALaneHasWhatCanBeMoved(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=16Mi", "LAYOVER_LANES=2")
		in.ready()
		time.Sleep(5 * time.Second)
		client := w.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		n := 0
		send := func(partition int32, count int, id bool, delay string) {
			for range count {
				n++
				r := &kgo.Record{Topic: ingress, Partition: partition, Value: make([]byte, 1000), Timestamp: time.Now(), Headers: []kgo.RecordHeader{header("x-delay", delay)}}
				if id {
					r.Headers = append(r.Headers, header("x-delay-id", fmt.Sprint(n)))
				}
				client.Produce(w.Context(), r, nil)
			}
			if err := client.Flush(w.Context()); err != nil {
				w.Fatal(err)
			}
		}
		used := func() int64 { return in.daemon.Sample().Memory.Used }
		limit := in.daemon.Sample().Memory.PauseAt * 8 / 7
		for used() < limit*70/100 { // with an id
			send(0, 100, true, "24h")
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		for i := 0; i < 400 && len(in.daemon.Sample().Pauses) == 0; i++ {
			send(1, 50, false, "20h")
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(30 * time.Second)
		send(1, 1, false, "1m") // reading has to go on for it
		paused := 0
		for range 1200 {
			time.Sleep(time.Second)
			if len(in.daemon.Sample().Pauses) > 0 {
				paused++
			}
		}
		if paused > 120 {
			w.Errorf("reading pauses for %d s of 20 min, and a lane has records that can be moved", paused)
		}
		in.kill()
	})
}
