package daemon

import (
	"bytes"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/klauspost/compress/zstd"
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
		got := w.Records(egress)
		if len(got) != 1 || string(got[0].Key) != "large" || len(got[0].Value) != 10<<20 {
			t.Fatalf("%d records are delivered, want the large one", len(got))
		}
		if late := got[0].Timestamp.Sub(due); late < 0 || late > time.Second {
			t.Errorf("it is %v late", late)
		}
		in.stop()
	})
}

// otherZstd packs as other clients do: its window is 2 MiB, and kgo's 64 KiB.
type otherZstd struct{ *zstd.Encoder }

func (z otherZstd) Compress(_ *bytes.Buffer, src []byte, _ ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	return z.EncodeAll(src, nil), kgo.CodecZstd
}

// TestARecordOfAnotherClientsZstdIsMovedAndDelivered: a value of 2 MB that repeats itself at a distance of 200 KiB is a
// batch of 205 KB. All topics have Kafka's default of max.message.bytes.
func TestARecordOfAnotherClientsZstdIsMovedAndDelivered(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=64Mi")
		in.ready()
		time.Sleep(5 * time.Second)
		z, err := zstd.NewWriter(nil, zstd.WithWindowSize(2<<20), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		client := w.NewClient(kgo.WithCompressor(otherZstd{z}), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(8<<20), kgo.BrokerMaxWriteBytes(30<<20))
		value := bytes.Repeat(dense(0, 1, 200<<10, "")[0].Value, 10)
		for _, delay := range []string{"10s", "2h"} {
			if err := client.ProduceSync(w.Context(), &kgo.Record{Topic: ingress, Value: value, Timestamp: time.Now(), Headers: []kgo.RecordHeader{header("x-delay", delay)}}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour + 30*time.Minute)
		moved, _, _, _ := in.runsCount()
		time.Sleep(time.Hour)
		if n := len(w.Records(egress)); n != 2 || moved != 1 {
			t.Errorf("%d are delivered, %d of them moved, want 2 and 1; %d are dead letters", n, moved, len(w.Records(dlq)))
		}
		in.stop()
	})
}
