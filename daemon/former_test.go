package daemon

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// formerLeader has a former leader of partition 0 of ingress answer for its bounds, until over is called. It was cut
// off from the controller, and has not heard of the election. Its log ends at end, and it leads in epoch 0. It refuses
// who says that he knows of a later epoch (KIP-320), unless metadata came from it as well.
func (w *fixture) formerLeader(end int64, told bool) (over func()) {
	var healed atomic.Bool
	w.Answer(kmsg.ListOffsets, func(r kmsg.Request) kmsg.Response {
		req := r.(*kmsg.ListOffsetsRequest)
		if healed.Load() || len(req.Topics) != 1 || req.Topics[0].Topic != ingress || len(req.Topics[0].Partitions) != 1 || req.Topics[0].Partitions[0].Partition != 0 {
			return nil
		}
		asked := req.Topics[0].Partitions[0]
		answer := kmsg.NewListOffsetsResponseTopicPartition()
		answer.LeaderEpoch, answer.Offset = 0, 0
		switch {
		case !told && asked.CurrentLeaderEpoch > 0:
			answer.ErrorCode = kerr.UnknownLeaderEpoch.Code
		case asked.Timestamp == -1:
			answer.Offset = end
		}
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic, topic.Partitions = ingress, append(topic.Partitions, answer)
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		resp.Topics = append(resp.Topics, topic)
		return resp
	})
	return func() { healed.Store(true) }
}

// aFormerLeader plays a test with a former leader that answers, whether or not metadata names it.
func aFormerLeader(t *testing.T, play func(w *fixture, told bool)) {
	for name, told := range map[string]bool{"metadata names its successor": false, "metadata names it": true} {
		t.Run(name, func(t *testing.T) { inBubble(t, func(w *fixture) { play(w, told) }) })
	}
}

// readInTwoEpochs delivers what is due of n records of the first leader epoch of partition 0 and of more of the second,
// and stops. The first record has headers of its own.
func (w *fixture) readInTwoEpochs(n, more int, first ...kgo.RecordHeader) {
	w.Helper()
	if _, _, err := w.Broker.AddNode(1, 9093); err != nil {
		w.Fatal(err)
	}
	for p := range int32(2) {
		if err := w.Broker.MoveTopicPartition(ingress, p, 0); err != nil {
			w.Fatal(err)
		}
	}
	in := w.start()
	in.ready()
	w.send(0, "first", first...)
	w.sendMany(0, 0, n-1, func(int) []kgo.RecordHeader { return nil })
	w.arrives(egress, n-1, time.Minute)
	if err := w.Broker.MoveTopicPartition(ingress, 0, 1); err != nil {
		w.Fatal(err)
	}
	w.sendMany(0, n, more, func(int) []kgo.RecordHeader { return nil })
	w.arrives(egress, n-1+more, time.Minute)
	time.Sleep(3 * time.Second)
	in.stop()
	if epoch := w.commitOf(0).LeaderEpoch; epoch < 1 {
		w.Fatalf("leader epoch %d committed", epoch)
	}
}

// TestAFormerLeaderForgetsNothingThatIsFinished: its log ends below, and the commit is of a later leader epoch.
func TestAFormerLeaderForgetsNothingThatIsFinished(t *testing.T) {
	aFormerLeader(t, func(w *fixture, told bool) {
		w.readInTwoEpochs(10, 20, header("x-delay", "1h"))
		over := w.formerLeader(10, told)
		in := w.start()
		time.Sleep(5 * time.Second)
		over()
		time.Sleep(time.Minute)
		if n := w.count(egress); n != 29 {
			w.Errorf("%d records are delivered, want 29: the commit of a graceful stop says that they are finished", n)
		}
		in.stop()
	})
}

// TestAFormerLeaderStopsNoPartition: its log ends below the low offset. While nobody else answers the partition waits,
// and its state says why.
func TestAFormerLeaderStopsNoPartition(t *testing.T) {
	aFormerLeader(t, func(w *fixture, told bool) {
		w.readInTwoEpochs(10, 20)
		over := w.formerLeader(10, told)
		in := w.start()
		time.Sleep(5 * time.Minute)
		if _, body := in.get("/readyz"); !strings.Contains(body, ingress+"/0") || strings.Contains(body, "truncated") {
			w.Errorf("with a former leader: %s", body)
		}
		over()
		w.send(0, "next")
		time.Sleep(time.Minute)
		if n := w.values(egress)["next"]; n != 1 {
			_, body := in.get("/readyz")
			w.Errorf("a record behind the former leader's time came %d times; %s", n, body)
		}
		in.stop()
	})
}

// TestAFormerLeaderOpensNoBarrier: a cancel was written in time, behind where its log ends.
func TestAFormerLeaderOpensNoBarrier(t *testing.T) {
	aFormerLeader(t, func(w *fixture, told bool) {
		w.readInTwoEpochs(10, 20, header("x-delay", "5m"), header("x-delay-id", "one"))
		filler := make([]byte, 100_000)
		for range 400 {
			w.Produce(&kgo.Record{Topic: ingress, Key: []byte("f"), Value: filler, Headers: []kgo.RecordHeader{header("x-delay", "1h")}, Timestamp: time.Now()})
		}
		w.send(0, "cancel", header("x-delay-id", "one"), header("x-delay-cancel", "true"))
		time.Sleep(6 * time.Minute) // nothing runs when it is due
		w.dial = slow(w.dial, 50*time.Millisecond)
		time.AfterFunc(5*time.Second, w.formerLeader(10, told))
		in := w.start()
		in.ready()
		time.Sleep(30 * time.Second)
		if n := w.values(egress)["first"]; n != 0 {
			w.Errorf("a record that was cancelled in time was delivered %d times", n)
		}
		in.stop()
	})
}

// TestAFormerLeaderIsNotBelievedWhileItIsRead: the client comes to it in the middle of reading, and stands above the end
// of its log.
func TestAFormerLeaderIsNotBelievedWhileItIsRead(t *testing.T) {
	aFormerLeader(t, func(w *fixture, told bool) {
		w.readInTwoEpochs(10, 20)
		in := w.start()
		in.ready()
		over := w.formerLeader(10, told)
		refused := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: kerr.OffsetOutOfRange})
		w.send(0, "behind the end of the former leader's log")
		time.Sleep(5 * time.Second)
		refused.Remove()
		over()
		time.Sleep(time.Minute)
		if n := w.count(egress); n != 31 {
			w.Errorf("%d records are delivered, want 31; sick: %v", n, in.status()["sick"])
		}
		in.stop()
	})
}
