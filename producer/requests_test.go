package producer

import (
	"crypto/rand"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestARequestIsNoLargerThanBrokersTake, however much goes to partitions of one broker at a time: than 16 MiB, or than
// one record. A broker closes the connection where one is larger, and the client would send the same again without end.
func TestARequestIsNoLargerThanBrokersTake(t *testing.T) {
	const bound = 16 << 20
	for name, c := range map[string]struct {
		partitions, each int
		alone            bool
		zeros, takes     int // takes is what the broker takes in one request
	}{
		"in batches": {12, 10 << 20, false, 0, bound}, "small ones in batches": {60, 900_000, false, 0, bound},
		"alone": {12, 10 << 20, true, 0, bound}, "small ones alone": {60, 900_000, true, 0, bound},
		"alone, too large for it by little":           {2, bound - 1000, true, 0, bound},
		"alone, a little smaller":                     {2, bound - 60<<10, true, 0, bound},
		"alone, larger":                               {2, 51 << 20, true, 0, 52 << 20},
		"alone, no smaller than 100 MiB until packed": {2, 101 << 20, true, 50 << 20, 52 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			value := make([]byte, c.each)
			rand.Read(value[c.zeros:])
			inBubble(t, 100, func(w *fixture) {
				large := int32(c.each + 1<<20)
				p, err := New(Config{MaxBuffered: 100, Options: func(string) []kgo.Opt { return w.Options() }, MaxBatchBytes: func(string) int32 { return large }})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				w.CreateTopic("wide", int32(c.partitions), map[string]string{"max.message.bytes": "60000000"})
				w.Broker.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
					w.Broker.KeepControl()
					size := 0
					for _, topic := range r.(*kmsg.ProduceRequest).Topics {
						for _, p := range topic.Partitions {
							size += len(p.Records)
						}
					}
					if size > c.takes {
						return nil, errors.New("the request is too large"), true
					}
					return nil, nil, false
				})
				delivered := make(chan error, c.partitions)
				for i := range int32(c.partitions) {
					p.Deliver(&kgo.Record{Topic: "wide", Partition: i, Value: value}, c.alone, func(_ *kgo.Record, err error) { delivered <- err })
				}
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if n := len(delivered); n != c.partitions {
					t.Errorf("%d of %d are answered", n, c.partitions)
				}
				for range len(delivered) {
					if err := <-delivered; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestTwoRecordsOfManyHeadersGoInRequestsOfTheirOwn: the lengths of headers count as they are, or a record that takes less
// than half of what its client sends at a time would count as one that takes more.
func TestTwoRecordsOfManyHeadersGoInRequestsOfTheirOwn(t *testing.T) {
	const count, each = 40_000, 410
	bytes := make([]byte, count*each)
	rand.Read(bytes)
	headers := make([]kgo.RecordHeader, count)
	for i := range headers {
		headers[i] = kgo.RecordHeader{Key: "h", Value: bytes[i*each:][:each]}
	}
	inBubble(t, 100, func(w *fixture) {
		p, err := New(Config{MaxBuffered: 100, Options: func(string) []kgo.Opt { return w.Options() }, MaxBatchBytes: func(string) int32 { return 60_000_000 }})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		w.CreateTopic("wide", 2, map[string]string{"max.message.bytes": "60000000"})
		w.Answer(kmsg.Produce, func(r kmsg.Request) kmsg.Response {
			size := 0
			for _, topic := range r.(*kmsg.ProduceRequest).Topics {
				for _, p := range topic.Partitions {
					size += len(p.Records)
				}
			}
			if size > mostRequest {
				t.Errorf("a request of %d bytes", size)
			}
			return nil
		})
		delivered := make(chan error, 2)
		for i := range int32(2) {
			p.Deliver(&kgo.Record{Topic: "wide", Partition: i, Headers: headers}, true, func(_ *kgo.Record, err error) { delivered <- err })
		}
		for range 2 {
			if err := <-delivered; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestABatchThatIsFullGoesToANewLeader: the client has not produced to that broker yet, and counts more bytes for a batch
// until then. One that is over the bound of a request would never go, and the client would not rest.
func TestABatchThatIsFullGoesToANewLeader(t *testing.T) {
	const most = 1 << 16
	w := kafkatest.Start(t, 2)
	w.CreateTopic("wide", 1, map[string]string{"max.message.bytes": "60000000"})
	p, err := New(Config{
		MaxBuffered: most, MaxBatchBytes: func(string) int32 { return 60_000_000 },
		Options: func(string) []kgo.Opt { return append(w.Options(), kgo.ProducerLinger(time.Second)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var delivered atomic.Int32
	deliver := func(n int, value []byte) {
		for range n {
			p.Deliver(&kgo.Record{Topic: "wide", Value: value}, false, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
				delivered.Add(1)
			})
		}
	}
	for size, n := range map[int]int{1000: 20_000, 230: most} { // more than one batch, and as much as there is room for
		from := w.Broker.LeaderFor("wide", 0)
		deliver(1, nil)
		w.Until(20*time.Second, "the client knows the leader", func() bool { return delivered.Swap(0) == 1 })
		if err := w.Broker.MoveTopicPartition("wide", 0, 1-from); err != nil {
			t.Fatal(err)
		}
		deliver(n, make([]byte, size))
		w.Until(20*time.Second, "all are delivered", func() bool { return delivered.Load() == int32(n) })
		delivered.Store(0)
	}
}

// TestARecordOfAnySizeHasAClient: what compresses well is far larger before than brokers take in one request.
func TestARecordOfAnySizeHasAClient(t *testing.T) {
	inBubble(t, 100, func(w *fixture) {
		for _, size := range []int{mostRequest - besideRecord - 64, mostRequest, 101 << 20} {
			if err := w.deliver(&kgo.Record{Topic: "ready", Value: make([]byte, size)}, true); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		if got := w.made(); !slices.Equal(got, []string{"", "-large", "-large-31", "-large-126"}) {
			t.Errorf("clients %q", got)
		}
	})
}
