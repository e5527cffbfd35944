package daemon

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// moveLeader gives a partition of ingress another leader, of two brokers. Its log loses nothing.
func (w *fixture) moveLeader(partition int32) {
	w.Helper()
	if err := w.Broker.MoveTopicPartition(ingress, partition, 1-w.Broker.LeaderFor(ingress, partition)); err != nil {
		w.Fatal(err)
	}
}

// anotherBroker adds a second broker.
func (w *fixture) anotherBroker() {
	w.Helper()
	if _, _, err := w.Broker.AddNode(1, 9093); err != nil {
		w.Fatal(err)
	}
}

// TestABatchTooLargeToReadOfAFormerLeaderTakesNothingBack: what is finished in front of it stays finished, though the
// partition has another leader by now.
func TestABatchTooLargeToReadOfAFormerLeaderTakesNothingBack(t *testing.T) {
	for _, moves := range []bool{false, true} {
		t.Run(fmt.Sprint("the leader moves: ", moves), func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.anotherBroker()
				in := w.start(narrow)
				in.ready()
				w.send(0, "first", header("x-delay", "1h"))
				w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return nil })
				w.bomb(0, 2)
				w.sendMany(0, 10, 20, func(int) []kgo.RecordHeader { return nil })
				w.arrives(egress, 30, time.Minute)
				time.Sleep(5 * time.Second)
				in.stop()
				if n := w.count(dlq); n != 1 {
					t.Fatalf("%d letters", n)
				}
				if moves {
					w.moveLeader(0)
				}
				in = w.start(narrow)
				in.ready()
				time.Sleep(time.Minute)
				if n, letters := w.count(egress), w.count(dlq); n != 30 || letters != 1 {
					t.Errorf("%d records and %d letters, want 30 and 1: a graceful stop repeats nothing", n, letters)
				}
				in.stop()
			})
		})
	}
}

// TestABatchTooLargeToReadOfAFormerLeaderStopsNothing: records of the former leader's epoch are read behind it.
func TestABatchTooLargeToReadOfAFormerLeaderStopsNothing(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.anotherBroker()
		w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return nil })
		w.bomb(0, 2)
		w.sendMany(0, 10, 10, func(int) []kgo.RecordHeader { return nil })
		w.moveLeader(0)
		in := w.start(narrow)
		time.Sleep(time.Minute)
		if n, letters := w.count(egress), w.count(dlq); n != 20 || letters != 1 {
			_, body := in.get("/readyz")
			t.Errorf("%d records and %d letters, want 20 and 1; %s", n, letters, body)
		}
		in.stop()
	})
}

// TestABatchThatHasBecomeTooLargeToReadIsNoTruncation: half of it was delivered before the bound was lowered, and its
// partition has had another leader since.
func TestABatchThatHasBecomeTooLargeToReadIsNoTruncation(t *testing.T) {
	for _, moves := range []bool{false, true} {
		t.Run(fmt.Sprint("the leader moves: ", moves), func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.anotherBroker()
				in := w.start()
				in.ready()
				cl := w.bomber()
				records := make([]*kgo.Record, 14)
				for i := range records {
					delay := "1h"
					if i < 7 {
						delay = "1s"
					}
					records[i] = &kgo.Record{Topic: ingress, Value: make([]byte, 800_000), Headers: []kgo.RecordHeader{header("x-delay", delay)}}
				}
				if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
					t.Fatal(err)
				}
				cl.Close()
				w.send(0, "behind", header("x-delay", "3m"))
				w.arrives(egress, 7, time.Minute)
				time.Sleep(5 * time.Second)
				in.stop()
				w.committed(0, 7)
				if moves {
					w.moveLeader(0)
				}
				in = w.start(narrow)
				time.Sleep(5 * time.Minute)
				if w.values(egress)["behind"] != 1 || w.count(dlq) != 1 {
					_, body := in.get("/readyz")
					t.Errorf("what stands behind the batch is not delivered, %d letters; %s", w.count(dlq), body)
				}
				in.kill()
			})
		})
	}
}
