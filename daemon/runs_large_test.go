package daemon

import (
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestALargeRecordIsReadBackThatIngressHasUncompressed: a batch that is not compressed may be larger than what
// one may take decompressed, and its copy is compressed.
func TestALargeRecordIsReadBackThatIngressHasUncompressed(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.alter(ingress, "max.message.bytes", "20000000")
		in := w.start("LAYOVER_MAX_PARKED_BYTES=64Mi") // a compressed batch may take 8 MiB
		in.ready()
		time.Sleep(5 * time.Second)
		large := w.NewClient(kgo.ProducerBatchMaxBytes(20<<20), kgo.BrokerMaxWriteBytes(30<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		due := time.Now().Add(2 * time.Hour).Truncate(time.Millisecond)
		r := &kgo.Record{Topic: ingress, Key: []byte("large"), Value: make([]byte, 10<<20), Timestamp: due.Add(-2 * time.Hour), Headers: []kgo.RecordHeader{header("x-delay", "2h")}}
		if err := large.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if moved, _, _, _ := in.runsCount(); moved != 1 {
			t.Fatalf("%d records are moved, want the large one", moved)
		}
		time.Sleep(time.Until(due.Add(time.Minute)))
		got := w.all(egress)
		if len(got) != 1 || string(got[0].Key) != "large" || len(got[0].Value) != 10<<20 {
			t.Fatalf("%d records are delivered, want the large one", len(got))
		}
		if late := got[0].Timestamp.Sub(due); late < 0 || late > time.Second {
			t.Errorf("it is %v late", late)
		}
		in.stop()
	})
}
