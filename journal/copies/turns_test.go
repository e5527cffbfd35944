package copies

import (
	"context"
	"sync"
	"testing"
	"time"

	"layover/cluster"
	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestASilentBrokerKeepsNoOtherFromBeingRead: the visits of its partitions end after ten seconds each, and begin
// again after one.
func TestASilentBrokerKeepsNoOtherFromBeingRead(t *testing.T) {
	const parts = 12
	for what, from := range map[string]int64{"what is due": 0, "which log it is": 3} {
		t.Run(what, func(t *testing.T) {
			inBubbleOf(t, 2, parts, func(w *stack) {
				for p := range int32(parts) {
					if err := w.Broker.MoveTopicPartition(topic, p, min(p, 1)); err != nil {
						t.Fatal(err)
					}
				}
				w.fill(3)
				ctx, cancel := context.WithCancel(context.Background())
				for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets} {
					w.Answer(key, func(kmsg.Request) kmsg.Response {
						if w.Broker.CurrentNode() == 1 {
							w.Broker.SleepControl(func() { <-ctx.Done() })
						}
						return nil
					})
				}
				var silent sync.WaitGroup
				for p := range int32(parts - 1) {
					silent.Go(func() {
						for ctx.Err() == nil {
							w.turn(p+1, from)
							cluster.Pause(ctx, time.Second)
						}
					})
				}
				time.Sleep(15 * time.Second)
				for range 5 {
					began := time.Now()
					a := w.turn(0, 0)
					if took := time.Since(began); a.Err != nil || a.Until != 3 || took > time.Second {
						t.Errorf("a partition that answers is read up to %d after %v: %v", a.Until, took, a.Err)
					}
					time.Sleep(10 * time.Second)
				}
				cancel()
				silent.Wait()
				time.Sleep(30 * time.Second)
				if a := w.turn(1, 0); a.Err != nil {
					t.Errorf("once the broker answers: %v", a.Err)
				}
			})
		})
	}
}

// TestASlowBrokerKeepsNoOtherFromBeingRead: it answers each fetch after three seconds, as one whose disk is slow. Much is
// due in its partitions, so that each visit is followed by the next.
func TestASlowBrokerKeepsNoOtherFromBeingRead(t *testing.T) {
	const parts = 12
	inBubbleOf(t, 2, parts, func(w *stack) {
		for p := range int32(parts) {
			if err := w.Broker.MoveTopicPartition(topic, p, min(p, 1)); err != nil {
				t.Fatal(err)
			}
		}
		w.fill(3)
		for p := int32(1); p < parts; p++ {
			for i := range 3 {
				r := w.copied("g", int64(100+i), []byte("far"))
				r.Partition = p
				w.Produce(r)
			}
		}
		w.Answer(kmsg.Fetch, func(kmsg.Request) kmsg.Response {
			if w.Broker.CurrentNode() == 1 {
				w.Broker.SleepControl(func() { time.Sleep(3 * time.Second) })
			}
			return nil
		})
		ctx, cancel := context.WithCancel(context.Background())
		var slow sync.WaitGroup
		for p := int32(1); p < parts; p++ {
			slow.Go(func() {
				for ctx.Err() == nil {
					if a := w.turn(p, 0); a.Err != nil {
						t.Errorf("partition %d is not read: %v", p, a.Err)
					}
				}
			})
		}
		time.Sleep(15 * time.Second)
		for range 5 {
			began := time.Now()
			a := w.turn(0, 0)
			if took := time.Since(began); a.Err != nil || a.Until != 3 || took > time.Second {
				t.Errorf("a partition whose broker answers at once is read up to %d after %v, of which it waited %v for its turn: %v", a.Until, took, a.Waited, a.Err)
			}
			time.Sleep(10 * time.Second)
		}
		cancel()
		slow.Wait()
	})
}

// turn visits three offsets of a partition, or none.
func (w *stack) turn(partition int32, from int64) (a purgatory.Visited) {
	done := make(chan struct{})
	v := purgatory.Visit{Assignment: offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: ingress, Partition: partition}, Epoch: 1}, From: from, To: 3}
	w.copies.Visit(v, w.topic(), func(answer purgatory.Visited, _ []*kgo.Record) {
		a = answer
		close(done)
	})
	<-done
	return a
}

// TestASilentBrokerKeepsNoOtherFromBeingBegunWith: they are asked for together.
func TestASilentBrokerKeepsNoOtherFromBeingBegunWith(t *testing.T) {
	inBubbleOf(t, 2, 2, func(w *stack) {
		for p := range int32(2) {
			if err := w.Broker.MoveTopicPartition(topic, p, p); err != nil {
				t.Fatal(err)
			}
		}
		w.fill(3)
		over, cancel := context.WithCancel(context.Background())
		w.Answer(kmsg.ListOffsets, func(kmsg.Request) kmsg.Response {
			if w.Broker.CurrentNode() == 1 {
				w.Broker.SleepControl(func() { <-over.Done() })
			}
			return nil
		})
		began := time.Now()
		var all sync.WaitGroup
		for p := range int32(2) {
			all.Add(1)
			info := w.Broker.PartitionInfo(topic, p)
			said := offsets.RunsState{TopicID: w.topic(), Known: info.HighWatermark, LeaderEpoch: info.Epoch, Holds: true}
			ask := far.Ask{Assignment: offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: ingress, Partition: p}, Epoch: 1}, Said: said}
			w.copies.Open(context.Background(), ask, func(o *far.Opening) {
				defer all.Done()
				if took := time.Since(began); o == nil || p == 0 && took > 5*time.Second {
					t.Errorf("partition %d is begun with after %v: %+v", p, took, o)
				}
			})
		}
		time.Sleep(time.Minute)
		cancel()
		all.Wait()
	})
}
