package producer

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"runtime"
	"testing"
	"time"

	"layover/verify/kafkatest"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// libzstd packs as other clients do: its level 3 has a window of 2 MiB.
type libzstd struct{ *zstd.Encoder }

func newLibzstd(t *testing.T) libzstd {
	t.Helper()
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(2<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return libzstd{z}
}

func (z libzstd) Compress(_ *bytes.Buffer, src []byte, _ ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	return z.EncodeAll(src, nil), kgo.CodecZstd
}

// repeating is a value that repeats itself at a distance of 200 KiB, such as a document with an image that comes more
// than once.
func repeating(size int) []byte {
	part := make([]byte, 200<<10)
	_, _ = rand.Read(part)
	return bytes.Repeat(part, size/len(part)+1)[:size]
}

// rows are a text of many short rows.
func rows(size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `{"id":%d,"name":"customer %d","amount":%d.%02d}`, i*7919, i*31%1000, i*i%9973, i%100)
	}
	return b.Bytes()[:size]
}

// TestARecordThatFittedIntoIngressFitsAgain, where another client packed it.
func TestARecordThatFittedIntoIngressFitsAgain(t *testing.T) {
	w := &fixture{Cluster: kafkatest.Start(t, 1, kfake.SeedTopics(3, "ready"))}
	client := w.NewClient(kgo.WithCompressor(newLibzstd(t)), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(8<<20), kgo.BrokerMaxWriteBytes(30<<20))
	value := repeating(2 << 20)
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "ready", Value: value}).FirstErr(); err != nil {
		t.Fatalf("the topic does not take it of another client: %v", err)
	}
	var err error
	w.Producer, err = New(Config{
		Compression: []kgo.CompressionCodec{kgo.NoCompression()}, MaxBatchBytes: func(string) int32 { return 1_000_000 }, MaxBuffered: 10,
		Options: func(string) []kgo.Opt { return w.Options() },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	answer := make(chan error, 1)
	w.Deliver(&kgo.Record{Topic: "ready", Value: value}, true, func(_ *kgo.Record, err error) { answer <- err })
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

// TestARecordIsPackedUntilItFits: by the quick way, by a window that reaches over it, and by the best level.
func TestARecordIsPackedUntilItFits(t *testing.T) {
	size := func(src []byte, opts ...zstd.EOption) int {
		z, err := zstd.NewWriter(nil, opts...)
		if err != nil {
			t.Fatal(err)
		}
		return len(z.EncodeAll(src, nil))
	}
	far, text := repeating(2<<20), rows(512<<10)
	best := size(text, zstd.WithWindowSize(512<<10), zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	for name, c := range map[string]struct {
		src        []byte
		room       int64
		fits, want int // at most
	}{
		"quick":                    {text, bestTakes, len(text) / 4, len(text) / 4},
		"one that repeats itself":  {far, 0, 1 << 20, 210 << 10},
		"the best level":           {text, bestTakes, best + 10, best + 10},
		"nothing fits, the least":  {text, bestTakes, 1, best + 10},
		"nothing packs, no larger": {repeating(200 << 10), bestTakes, 1, 200<<10 + 100},
	} {
		out, codec := NewPacker(c.room).pack(new(bytes.Buffer), c.src, c.fits)
		if codec != kgo.CodecZstd || len(out) > c.want {
			t.Errorf("%s: codec %d, %d bytes, want %d at most", name, codec, len(out), c.want)
		}
		z, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := z.DecodeAll(out, nil); err != nil || !bytes.Equal(got, c.src) {
			t.Errorf("%s: %d bytes are unpacked of %d: %v", name, len(got), len(c.src), err)
		}
		z.Close()
	}
}

// TestPackingTakesNoMoreThanItsRoom: a container may have no more memory.
func TestPackingTakesNoMoreThanItsRoom(t *testing.T) {
	src := make([]byte, 8<<20)
	for room, most := range map[int64]uint64{0: 13 << 20, bestTakes - 1: 13 << 20, bestTakes: 13<<20 + bestTakes} {
		p := NewPacker(room)
		quick, _ := p.quick.Compress(new(bytes.Buffer), src)
		dst := bytes.NewBuffer(make([]byte, 0, 9<<20))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p.pack(dst, src, 1)
		runtime.ReadMemStats(&after)
		outputs, encoder := uint64(4*len(p.levels)*len(quick)), uint64(2<<20) // results that grow, and the quick encoder
		if got := after.TotalAlloc - before.TotalAlloc; got > most+outputs+encoder {
			t.Errorf("with room for %d bytes packing allocates %d, want %d and %d for results", room, got, most, outputs)
		}
	}
}

// TestBrokersWithoutZstdGetSnappy: those before 2.1.
func TestBrokersWithoutZstdGetSnappy(t *testing.T) {
	if _, codec := NewPacker(bestTakes).pack(new(bytes.Buffer), rows(1<<20), 1, kgo.CompressDisableZstd); codec != kgo.CodecSnappy {
		t.Errorf("codec %d", codec)
	}
}

// TestARecordIsPackedForItsOwnTopic: one of a topic that takes little has no answer, and others are packed as quickly as
// before. What takes more takes ten times as long, and of all records of a process one has it at a time.
func TestARecordIsPackedForItsOwnTopic(t *testing.T) {
	inBubble(t, 100, func(w *fixture) {
		w.CreateTopic("small", 1, nil)
		sizes := make(chan int, 10)
		w.Broker.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
			w.Broker.KeepControl()
			for _, topic := range r.(*kmsg.ProduceRequest).Topics {
				for _, p := range topic.Partitions {
					sizes <- len(p.Records)
				}
			}
			return nil, nil, false
		})
		p, err := New(Config{MaxBuffered: 100, Options: func(string) []kgo.Opt { return w.Options() }, MaxBatchBytes: func(topic string) int32 {
			if topic == "small" {
				return 2000
			}
			return 1 << 20
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		w.Producer = p
		value := rows(512 << 10)
		if err := w.deliver(&kgo.Record{Topic: "ready", Value: value}, true); err != nil {
			t.Fatal(err)
		}
		want := <-sizes
		w.Refuse(kmsg.Produce, kfake.Fault{Topic: "small", Err: kerr.NotEnoughReplicas})
		p.Deliver(&kgo.Record{Topic: "small", Value: value[:100<<10]}, true, func(*kgo.Record, error) {})
		time.Sleep(time.Second)
		for range len(sizes) {
			<-sizes
		}
		if err := w.deliver(&kgo.Record{Topic: "ready", Value: value}, true); err != nil {
			t.Fatal(err)
		}
		got := <-sizes
		for got < want/2 { // the other one is tried again
			got = <-sizes
		}
		if got != want {
			t.Errorf("%d bytes beside a record of a topic that takes less, want %d as without", got, want)
		}
	})
}
