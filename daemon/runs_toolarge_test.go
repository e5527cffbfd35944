package daemon

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// large makes records of a partition that no compression makes smaller.
func large(partition int32, n, size int, delay string) (records []*kgo.Record) {
	dice := rand.New(rand.NewPCG(1, uint64(partition)))
	for range n {
		value := make([]byte, size)
		for j := range value {
			value[j] = byte(dice.Uint32())
		}
		records = append(records, &kgo.Record{Topic: ingress, Partition: partition, Value: value, Timestamp: time.Now(), Headers: []kgo.RecordHeader{header("x-delay", delay)}})
	}
	return records
}

// TestRecordsThatAreTooLargeAreNoRunsTopicThatTakesNothing: max.message.bytes was raised on the ingress topic alone.
// Large records of partition 0 stay in memory; all others are moved, in this minute, too.
func TestRecordsThatAreTooLargeAreNoRunsTopicThatTakesNothing(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_LANES=1")
		in.ready()
		time.Sleep(5 * time.Second) // in which the runs topic is made
		w.alter(ingress, "max.message.bytes", "3000000")
		client := w.NewClient(kgo.ProducerBatchMaxBytes(3<<20), kgo.BrokerMaxWriteBytes(30<<20), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		send := func(records []*kgo.Record) {
			for _, r := range records {
				if err := client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
					w.Fatal(err)
				}
			}
		}
		send(large(0, 14, 2<<20, "20h"))
		time.Sleep(3 * time.Second)
		said := make(map[string]int)
		before, _, _, _ := in.runsCount()
		for i := range 1200 {
			if i%10 == 0 {
				send(large(1, 40, 64<<10, "15h"))
			}
			time.Sleep(time.Second)
			s := in.status()
			topic := s["runs"].(map[string]any)["topics"].([]any)[0].(map[string]any)
			for _, one := range in.sick() {
				said["sick: "+one]++
			}
			if topic["usable"] != true {
				said[fmt.Sprint("usable ", topic["usable"], ", reason ", topic["reason"])]++
			}
			if len(in.daemon.Sample().Pauses) > 0 {
				said["paused"]++
			}
		}
		moved, _, _, _ := in.runsCount()
		for what := range said {
			if what != "paused" {
				w.Errorf("%d others are moved within 20 min, and for %d s of it /status says %s", moved-before, said[what], what)
			}
		}
		in.kill()
	})
}

// TestALargeRecordThatCompressesIsMovedBesideOneThatDoesNot: max.message.bytes was raised on the ingress topic
// alone.
func TestALargeRecordThatCompressesIsMovedBesideOneThatDoesNot(t *testing.T) {
	for name, beside := range map[string]bool{"alone": false, "beside one that is refused": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start("LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_LANES=1")
				in.ready()
				time.Sleep(5 * time.Second) // in which the runs topic is made
				w.alter(ingress, "max.message.bytes", "3000000")
				client := w.NewClient(kgo.ProducerBatchMaxBytes(3<<20), kgo.BrokerMaxWriteBytes(30<<20), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.SnappyCompression()))
				send := func(records ...*kgo.Record) {
					for _, r := range records {
						if err := client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
							w.Fatal(err)
						}
					}
				}
				compresses := func(n int) (records []*kgo.Record) {
					for range n {
						records = append(records, &kgo.Record{Topic: ingress, Value: make([]byte, 1500<<10), Timestamp: time.Now(), Headers: []kgo.RecordHeader{header("x-delay", "15h")}})
					}
					return records
				}
				if beside {
					send(large(0, 1, 1200<<10, "20h")...)
				}
				send(compresses(20)...)
				time.Sleep(10 * time.Second)
				send(compresses(40)...)
				paused := 0
				for range 500 {
					time.Sleep(time.Second)
					if len(in.daemon.Sample().Pauses) > 0 {
						paused++
					}
				}
				moved, _, _, _ := in.runsCount()
				if s := in.daemon.Sample(); paused > 20 {
					w.Errorf("reading was paused for %d s of 500, with %d moved of 60 records that the runs topic takes; %d bytes used of %d", paused, moved, s.Memory.Used, s.Memory.PauseAt)
				}
				in.kill()
			})
		})
	}
}
