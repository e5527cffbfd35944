package daemon

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// notGreen fails the test where for minutes less than n records are delivered, and neither /readyz nor status says why.
func (in *instance) notGreen(n int) {
	in.w.Helper()
	var states []string
	for range 5 {
		time.Sleep(time.Minute)
		code, body := in.get("/readyz")
		s := in.status()
		if in.w.count(egress) >= n {
			return
		}
		states = append(states, fmt.Sprintf("%d %q %v sick %v", code, body, s["state"], s["sick"]))
		if code != http.StatusOK || body != "ready\n" || fmt.Sprint(s["sick"]) != "[]" {
			return
		}
	}
	in.w.Errorf("%d of %d delivered, and all is green: %s", in.w.count(egress), n, states[len(states)-1])
}

// TestAPartitionWhoseFetchesFailIsSaid, whichever error it is. The client says nothing of most.
func TestAPartitionWhoseFetchesFailIsSaid(t *testing.T) {
	long.Only(t)
	for _, why := range []*kerr.Error{
		kerr.KafkaStorageError, kerr.NotLeaderForPartition, kerr.OffsetNotAvailable, kerr.ReplicaNotAvailable, kerr.UnknownLeaderEpoch,
		kerr.UnknownServerError, kerr.CorruptMessage,
	} {
		t.Run(why.Message, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.dial = slow(w.dial, 10*time.Millisecond)
				in := w.start()
				in.ready()
				fetches := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: why})
				time.Sleep(2 * time.Second)
				w.sendMany(0, 0, 100, func(int) []kgo.RecordHeader { return nil })
				in.notGreen(100)
				fetches.Remove()
				w.arrives(egress, 100, time.Minute)
				in.stop()
			})
		})
	}
}

// TestABatchThatCannotBeLookedAtIsSaid: one takes too much decompressed, and its leader does not tell its header.
func TestABatchThatCannotBeLookedAtIsSaid(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start(narrow)
		in.ready()
		refused := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: kerr.KafkaStorageError, When: func(r kmsg.Request) bool {
			f, ok := r.(*kmsg.FetchRequest)
			return ok && f.SessionEpoch == -1 && f.MinBytes == 1 && len(f.Topics) == 1 && len(f.Topics[0].Partitions) == 1 && f.Topics[0].Partitions[0].PartitionMaxBytes == 1
		}})
		w.bomb(0, 2)
		w.send(0, "behind")
		w.send(1, "beside")
		in.notGreen(2)
		refused.Remove()
		w.Until(time.Minute, "what stands behind is delivered", func() bool { return w.values(egress)["behind"] == 1 })
		in.stop()
	})
}

// TestALogWhoseBoundsAreNotToldIsSaid: the read position is deleted, and nobody says where the log begins.
func TestALogWhoseBoundsAreNotToldIsSaid(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		bounds := w.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: kerr.LeaderNotAvailable})
		deleted := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: kerr.OffsetOutOfRange})
		time.Sleep(2 * time.Second)
		w.sendMany(0, 0, 100, func(int) []kgo.RecordHeader { return nil })
		w.DeleteRecords(ingress, 0, 40)
		deleted.Remove() // from here on the broker says so by itself
		in.notGreen(60)
		bounds.Remove()
		w.arrives(egress, 60, time.Minute)
		in.stop()
	})
}

// TestALeaderThatIsOutOfReachIsSaid: the other broker is well, and has all but one ingress partition. Brokers among
// themselves, and the producers of ingress, reach the leader.
func TestALeaderThatIsOutOfReachIsSaid(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.anotherBroker()
		coordinator := w.Broker.CoordinatorFor("layover-" + ingress)
		for topic, partitions := range map[string]int32{ingress: 2, egress: 2, dlq: 1} {
			for p := range partitions {
				if err := w.Broker.MoveTopicPartition(topic, p, coordinator); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Broker.MoveTopicPartition(ingress, 0, 1-coordinator); err != nil {
			t.Fatal(err)
		}
		h := &hole{net: w.Net}
		w.dial = h.dial
		in := w.start("LAYOVER_JOURNAL=off")
		in.ready()
		time.Sleep(10 * time.Second)
		h.silence(fmt.Sprintf(":%d", 9092+(1-coordinator)))
		time.Sleep(time.Minute)
		w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return nil })
		w.sendMany(1, 0, 10, func(int) []kgo.RecordHeader { return nil })
		time.Sleep(2 * time.Minute) // whatever has to be noticed first
		green, looks := 0, 60
		for range looks {
			time.Sleep(5 * time.Second)
			if _, body := in.get("/readyz"); body == "ready\n" && w.count(egress) < 20 {
				green++
			}
		}
		if green > 0 {
			t.Errorf("%d of 20 delivered; of %d looks in five minutes %d are green; sick %v", w.count(egress), looks, green, in.at("sick"))
		}
		h.silence("")
		w.arrives(egress, 20, 2*time.Minute)
		in.stop()
	})
}

// TestAPartitionWhoseLeaderEpochIsNotToldIsSaidAndReadAfterAll: the client asks where the committed leader epoch ends
// before it fetches.
func TestAPartitionWhoseLeaderEpochIsNotToldIsSaidAndReadAfterAll(t *testing.T) {
	for _, why := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.UnknownLeaderEpoch, kerr.FencedLeaderEpoch, kerr.TopicAuthorizationFailed, kerr.UnknownServerError,
		kerr.KafkaStorageError, kerr.UnknownTopicOrPartition,
	} {
		t.Run(why.Message, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.dial = slow(w.dial, 5*time.Millisecond)
				in := w.start()
				in.ready()
				for p := range int32(2) {
					w.sendMany(p, 0, 10, func(int) []kgo.RecordHeader { return nil })
				}
				w.arrives(egress, 20, 10*time.Second)
				time.Sleep(3 * time.Second)
				in.stop()
				refused := w.Refuse(kmsg.OffsetForLeaderEpoch, kfake.Fault{Topic: ingress, Partitions: []int32{0}, Err: why})
				in = w.start()
				time.Sleep(20 * time.Second)
				w.sendMany(0, 10, 10, func(int) []kgo.RecordHeader { return nil })
				w.sendMany(1, 10, 10, func(int) []kgo.RecordHeader { return nil })
				time.Sleep(20 * time.Second)
				in.notGreen(40)
				refused.Remove()
				w.arrives(egress, 40, time.Minute)
				in.stop()
			})
		})
	}
}

// TestWhatStandsStillForAGoodReasonIsNotSaid: nothing is to be read, or it is over soon, or it is said otherwise.
func TestWhatStandsStillForAGoodReasonIsNotSaid(t *testing.T) {
	for name, test := range map[string]func(in *instance, h *hole){
		"nothing is written": func(*instance, *hole) { time.Sleep(5 * time.Minute) },
		"a broker is away for ten seconds": func(in *instance, h *hole) {
			h.silence(fmt.Sprintf(":%d", 9092+in.w.Broker.LeaderFor(ingress, 0)))
			in.w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return nil })
			time.Sleep(10 * time.Second)
			h.silence("")
		},
		"all are away for minutes": func(in *instance, _ *hole) {
			in.wire.sever()
			in.w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return nil })
			time.Sleep(3 * time.Minute)
			in.wire.mend()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.anotherBroker()
				h := &hole{net: w.Net}
				w.dial = h.dial
				in := w.start("LAYOVER_JOURNAL=off")
				in.ready()
				// The client asks for its producer id under a lock, on which virtual time would stand still in a silence.
				w.send(0, "first")
				w.arrives(egress, 1, 10*time.Second)
				time.Sleep(10 * time.Second)
				test(in, h)
				time.Sleep(2 * time.Minute)
				w.sendMany(0, 10, 10, func(int) []kgo.RecordHeader { return nil })
				time.Sleep(time.Minute)
				if lines := in.logs.Lines("fetch_failed"); len(lines) > 0 || w.count(egress) < 11 {
					t.Errorf("%d delivered; %v", w.count(egress), lines)
				}
				in.stop()
			})
		})
	}
}

// TestAnEndThatCompactionHasEmptiedIsNoStandstill: the read position never gets there, as no record does.
func TestAnEndThatCompactionHasEmptiedIsNoStandstill(t *testing.T) {
	for left := range uint32(3) {
		t.Run(fmt.Sprintf("%d records are left", left), func(t *testing.T) {
			behindCompacted(t, left, func(*fixture) {}, func(w *fixture) {
				in := w.start()
				time.Sleep(5 * time.Minute)
				if n := w.count(egress); n != int(left) || len(in.logs.Lines("fetch_failed")) > 0 || fmt.Sprint(in.status()["sick"]) != "[]" {
					t.Errorf("%d delivered; sick %v", n, in.status()["sick"])
				}
				in.stop()
			})
		})
	}
}

// TestAPartitionThatIsNotReadFromTheMiddleOfItsLastBatchIsSaid: the commit of a graceful stop stands within the last
// batch, and another member's client never fetches from there, as the leader epoch is not told.
func TestAPartitionThatIsNotReadFromTheMiddleOfItsLastBatchIsSaid(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.dial = slow(w.dial, 5*time.Millisecond)
		a := w.start()
		a.ready()
		for p := range int32(2) {
			cl := w.NewClient(kgo.ProducerLinger(time.Second))
			var ten []*kgo.Record
			for i := range 10 {
				r := &kgo.Record{Topic: ingress, Partition: p, Value: fmt.Append(nil, "v", p, i), Timestamp: time.Now()}
				if i >= 5 {
					r.Headers = append(r.Headers, header("x-delay", "2m"))
				}
				ten = append(ten, r)
			}
			if err := cl.ProduceSync(context.Background(), ten...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			cl.Close()
		}
		w.arrives(egress, 10, 10*time.Second)
		time.Sleep(3 * time.Second)
		b := w.start()
		b.ready()
		time.Sleep(20 * time.Second)
		refused := w.Refuse(kmsg.OffsetForLeaderEpoch, kfake.Fault{Topic: ingress, Err: kerr.UnknownLeaderEpoch})
		a.stop()
		time.Sleep(3 * time.Minute)
		b.notGreen(20)
		_, body := b.get("/readyz")
		t.Log(w.count(egress), b.at("sick"), body)
		refused.Remove()
		w.arrives(egress, 20, time.Minute)
		b.stop()
	})
}
