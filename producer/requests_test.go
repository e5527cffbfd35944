package producer

import (
	"crypto/rand"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestARequestIsNoLargerThanBrokersTake, however much goes to partitions of one broker at a time. A broker closes the
// connection where one is larger, and the client would send the same again without end.
func TestARequestIsNoLargerThanBrokersTake(t *testing.T) {
	const usual = 100 << 20 // socket.request.max.bytes
	for name, c := range map[string]struct {
		partitions, each int
		alone            bool
	}{"in batches": {12, 10 << 20, false}, "alone": {12, 10 << 20, true}, "alone, no two of which go in one": {2, usual/2 + 1<<20, true}} {
		t.Run(name, func(t *testing.T) {
			value := make([]byte, c.each)
			rand.Read(value)
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
					if size > usual {
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

// TestARecordOfAnySizeHasAClient: what compresses well is far larger before than brokers take in one request.
func TestARecordOfAnySizeHasAClient(t *testing.T) {
	inBubble(t, 100, func(w *fixture) {
		for _, size := range []int{usualRequest - besideRecord - 64, usualRequest + 1<<20} {
			if err := w.deliver(&kgo.Record{Topic: "ready", Value: make([]byte, size)}, true); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
		}
		if got := w.made(); len(got) != 3 {
			t.Errorf("clients %q, want 3", got)
		}
	})
}
