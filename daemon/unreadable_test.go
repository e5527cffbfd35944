package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestABatchThatCannotBeReadStopsItsPartitionAlone(t *testing.T) {
	inBubble(t, func(w *world) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=16Mi") // so a batch may decompress to 64 MiB
		in.ready()
		w.send(0, "before", header("x-delay", "10s"))
		large := w.kafka(kgo.ProducerBatchMaxBytes(100<<20), kgo.BrokerMaxWriteBytes(110<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))
		defer large.Close()
		bomb := &kgo.Record{Topic: ingress, Value: make([]byte, 80<<20)}
		if err := large.ProduceSync(context.Background(), bomb).FirstErr(); err != nil {
			t.Fatal(err)
		}
		w.send(0, "behind")
		w.send(1, "beside")
		time.Sleep(time.Minute)
		if got := w.values(egress); got["before"] != 1 || got["beside"] != 1 || got["behind"] != 0 {
			t.Errorf("delivered %v", got)
		}
		if _, body := in.get("/status"); !strings.Contains(body, "cannot be read") || !strings.Contains(body, "offset 1") {
			t.Errorf("status does not say what stopped: %s", body)
		}
		if _, body := in.get("/metrics"); !strings.Contains(body, `layover_partition_stopped_offset{partition="0",topic="delayed"} 1`) {
			t.Error("no metric says at which offset")
		}
		in.stop()
		w.committed(0, 1)
	})
}
