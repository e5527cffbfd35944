package integration

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// noise returns bytes that no codec makes smaller.
func noise(n int) []byte {
	b := make([]byte, n)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(b)
	return b
}

func TestWhateverIngressTookFitsThrough(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	out := f.collect(f.egress)
	dead := f.collect(f.deadLetters)
	// Kafka's default of max.message.bytes is 1,048,588, and it is about the batch as
	// it is stored.
	producer := f.largeProducer()

	cases := map[string]struct {
		value []byte
		bare  bool // delivered without our headers, which make it too large
	}{
		"1,048,000 bytes of noise":                    {noise(1_048_000), false},
		"so large that our headers do not fit":        {noise(1_048_450), true},
		"5 MB of zeros":                               {make([]byte, 5_000_000), false},
		"a small one, which nothing may stand before": {[]byte("small"), false},
	}
	for name, c := range cases {
		f.produceWith(producer, &kgo.Record{Key: []byte(name), Value: c.value, Headers: []kgo.RecordHeader{header("x-delay", "2s")}})
	}
	f.layover()
	out.await(len(cases), 45*time.Second)
	for _, a := range out.all() {
		c := cases[string(a.Key)]
		if !bytes.Equal(a.Value, c.value) {
			t.Errorf("%s: %d bytes came, want %d", a.Key, len(a.Value), len(c.value))
		}
		if _, stamped := lookup(t, a.Record, "layover-id"); stamped == c.bare {
			t.Errorf("%s: with our headers: %v", a.Key, stamped)
		}
	}
	for _, a := range dead.all() {
		reason, _ := lookup(t, a.Record, "layover.errors.reason")
		t.Errorf("%s: dead-lettered as %s", a.Key, reason)
	}
	f.reachesEnd(10 * time.Second)
}

// largeProducer returns a client that leaves it to the broker to refuse a record
// for its size. The client compresses as well as Kafka's codecs can.
func (f *fixture) largeProducer() *kgo.Client {
	return f.kafka(kgo.ProducerBatchMaxBytes(64<<20), kgo.BrokerMaxWriteBytes(128<<20),
		kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.NoCompression()))
}

// With another codec than the best the batch is 2 MB, which is too large.
func TestAValueThatOnlyTheBestCodecMakesSmallEnoughIsDelivered(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	out, dead := f.collect(f.egress), f.collect(f.deadLetters)
	const size = 40_000_000
	f.produceWith(f.largeProducer(), &kgo.Record{Key: []byte("zeros"), Value: make([]byte, size), Headers: []kgo.RecordHeader{header("x-delay", "1s")}})
	f.layover("LAYOVER_MAX_PARKED_BYTES=512Mi") // an eighth of it is for one batch
	eventually(t, 30*time.Second, "the record comes out somewhere", func() bool {
		a, _ := out.count()
		b, _ := dead.count()
		return a+b > 0
	})
	for _, a := range dead.all() {
		reason, _ := lookup(t, a.Record, "layover.errors.reason")
		t.Errorf("dead-lettered as %s, with %d bytes of %d", reason, len(a.Value), size)
	}
	for _, a := range out.all() {
		if len(a.Value) != size {
			t.Errorf("delivered with %d bytes of %d", len(a.Value), size)
		}
	}
}

func TestARecordTooLargeForItsTargetIsDeadLettered(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	small := f.egress + ".small"
	f.createTopic(small, 1, map[string]string{"max.message.bytes": "2000"})
	f.layover("LAYOVER_TARGETS_ALLOWED=" + small)
	out, dead := f.collect(small), f.collect(f.deadLetters)
	to := []kgo.RecordHeader{header("x-delay", "500ms"), header("x-deliver-to", small)}
	f.produce(
		&kgo.Record{Key: []byte("before"), Value: []byte("fits"), Headers: to},
		&kgo.Record{Key: []byte("large"), Value: noise(5000), Headers: to},
		&kgo.Record{Key: []byte("after"), Value: []byte("fits"), Headers: to},
	)
	out.await(2, 20*time.Second)
	dead.await(1, 20*time.Second)
	r := dead.all()[0].Record
	if reason, _ := lookup(t, r, "layover.errors.reason"); reason != "too_large" || string(r.Key) != "large" || len(r.Value) != 5000 {
		t.Errorf("dead letter %s with %d bytes and reason %s", r.Key, len(r.Value), reason)
	}
	f.reachesEnd(10 * time.Second)
}
