package producer

import (
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

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
