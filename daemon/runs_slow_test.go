package daemon

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dense makes records of a partition that no compression makes smaller.
func dense(partition int32, n, size int, delay string) (records []*kgo.Record) {
	random := rand.NewChaCha8([32]byte{byte(partition)})
	for range n {
		value := make([]byte, size)
		_, _ = random.Read(value)
		records = append(records, &kgo.Record{Topic: ingress, Partition: partition, Value: value, Timestamp: time.Now(), Headers: []kgo.RecordHeader{header("x-delay", delay)}})
	}
	return records
}

// onTwoBrokers runs f with partition 0 of all topics led by one broker, and partition 1 by another.
func onTwoBrokers(t *testing.T, f func(w *fixture, in *instance)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, 2, kfake.SeedTopics(2, ingress, egress), kfake.SeedTopics(1, dlq))
		in := w.start("LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_LANES=1")
		in.ready()
		time.Sleep(5 * time.Second) // in which the runs topic is made
		for p := range int32(2) {
			for _, topic := range []string{runsTopic, ingress} {
				if err := w.Broker.MoveTopicPartition(topic, p, p); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(5 * time.Second)
		f(w, in)
	})
}

// slowCopies has each request with copies of partitions up to one take so long.
func (w *fixture) slowCopies(last int32, takes time.Duration) {
	id := w.Broker.TopicInfo(runsTopic).TopicID
	w.Answer(kmsg.Produce, func(r kmsg.Request) kmsg.Response {
		for _, of := range r.(*kmsg.ProduceRequest).Topics {
			for _, p := range of.Partitions {
				if (of.Topic == runsTopic || of.TopicID == id) && p.Partition <= last {
					w.Broker.SleepControl(func() { time.Sleep(takes) })
					return nil
				}
			}
		}
		return nil
	})
}

// TestASlowPartitionOfTheRunsTopicKeepsNoOtherFromBeingMoved: its leader takes three seconds for a request. That is no
// silence. Records of 64 KiB are sent one by one.
func TestASlowPartitionOfTheRunsTopicKeepsNoOtherFromBeingMoved(t *testing.T) {
	onTwoBrokers(t, func(w *fixture, in *instance) {
		w.slowCopies(0, 3*time.Second)
		w.Produce(dense(0, 520, 64<<10, "20h")...)
		time.Sleep(5 * time.Second)
		w.Produce(dense(1, 500, 64<<10, "5h")...)
		paused := 0
		for range 600 {
			time.Sleep(time.Second)
			if len(in.daemon.Sample().Pauses) > 0 {
				paused++
			}
		}
		var moved [2]int64
		for _, l := range in.daemon.Sample().Lanes {
			for _, p := range l.Outlook.Runs.Partitions {
				moved[p.Partition] += p.Copies
			}
		}
		if moved[1] == 0 || paused > 300 {
			w.Errorf("%d records of partition 0 are moved in ten minutes, %d of partition 1, which is well; reading was paused for %d s", moved[0], moved[1], paused)
		}
		in.kill()
	})
}

// TestAStopWhileLargeRecordsAreMovedRepeatsNothing: brokers answer each request within 200 ms.
func TestAStopWhileLargeRecordsAreMovedRepeatsNothing(t *testing.T) {
	onTwoBrokers(t, func(w *fixture, in *instance) {
		w.slowCopies(1, 200*time.Millisecond)
		const each = 260
		began := time.Now()
		for p := range int32(2) {
			w.Produce(dense(p, each, 64<<10, "2h")...)
		}
		w.Until(time.Minute, "something is moved", func() bool { n, _, _, _ := in.runsCount(); return n > 20 })
		stops := time.Now()
		in.stop()
		if took := time.Since(stops); took > time.Second {
			t.Errorf("the stop took %v", took)
		}
		in = w.start("LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_LANES=1")
		time.Sleep(time.Until(began.Add(2*time.Hour + 5*time.Minute)))
		if n := len(w.Records(egress)); n != 2*each {
			t.Errorf("%d records are delivered, want %d", n, 2*each)
		}
		in.stop()
	})
}
