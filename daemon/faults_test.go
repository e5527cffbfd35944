package daemon

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"layover/consumer"
	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestAnAppendWhoseAnswerIsATimeoutIsNotDoubled(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: egress, Err: kerr.RequestTimedOut, Count: 3})
		w.sendMany(0, 0, 100, delays(time.Second, 100))
		w.Until(time.Minute, "all are delivered", func() bool { return w.count(egress) >= 100 })
		time.Sleep(5 * time.Second)
		w.exactly(egress, 0, 100, 0)
		in.stop()
		w.committed(0, 100)
	})
}

func TestRevokedAndAssignedToSelfDeliversOnce(t *testing.T) {
	inBubble(t, func(w *fixture) {
		one := w.start()
		one.ready()
		w.sendMany(0, 0, 300, delays(2*time.Minute, 300))
		w.sendMany(1, 0, 300, delays(2*time.Minute, 300))
		for range 5 {
			time.Sleep(10 * time.Second)
			two := w.start()
			time.Sleep(4 * time.Second)
			two.stop()
		}
		w.Until(3*time.Minute, "all are delivered", func() bool { return w.count(egress) >= 600 })
		time.Sleep(5 * time.Second)
		w.notEarly(w.Records(egress))
		w.exactly(egress, 0, 300, 0)
		w.exactly(egress, 1, 300, 0)
		one.stop()
		w.committed(0, 300)
		w.committed(1, 300)
	})
}

func TestAMovedCoordinatorCostsNothing(t *testing.T) {
	inBubble(t, func(w *fixture) {
		for i := range 2 {
			if _, _, err := w.Broker.AddNode(int32(i+1), 9093+i); err != nil {
				t.Fatal(err)
			}
		}
		in := w.start()
		in.ready()
		w.sendMany(0, 0, 600, delays(time.Minute, 600))
		for range 12 {
			time.Sleep(5 * time.Second)
			w.Broker.RehashCoordinators()
			w.Broker.ShufflePartitionLeaders()
		}
		w.Until(2*time.Minute, "all are delivered", func() bool { return w.count(egress) >= 600 })
		time.Sleep(5 * time.Second)
		w.exactly(egress, 0, 600, 0)
		in.stop()
		w.committed(0, 600)
	})
}

func TestOneTargetGoneLeavesTheOtherAlone(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.CreateTopic("other", 2, nil)
		in := w.start("LAYOVER_TARGETS_ALLOWED=other")
		in.ready()
		send := func(first int) {
			w.sendMany(0, first, 100, func(i int) []kgo.RecordHeader {
				if i%2 == 0 {
					return []kgo.RecordHeader{header("x-deliver-to", "other")}
				}
				return nil
			})
		}
		send(0)
		w.arrives("other", 50, 10*time.Second)
		w.DeleteTopic("other")
		send(100)
		w.Until(5*time.Second, "the other target goes on", func() bool { return w.count(egress) == 100 })
		time.Sleep(time.Minute)
		w.CreateTopic("other", 1, nil)
		w.Until(10*time.Second, "the target made again gets what was held", func() bool { return w.count("other") == 50 })
		time.Sleep(2 * time.Second)
		in.stop()
		w.committed(0, 200)
	})
}

func TestALogStartAboveTheCommittedOffsetIsSaidAndGoneOver(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.losesForty()
		w.Until(2*time.Hour, "what is left is delivered", func() bool { return w.count(egress) == 60 })
		time.Sleep(2 * time.Second)
		if _, body := in.get("/metrics"); !strings.Contains(body, "layover_lost_to_retention_records_total 40") {
			t.Error("the loss is not counted")
		}
		if !strings.Contains(in.logs.String(), "deleted before they were delivered") {
			t.Error("the loss is not said")
		}
		in.stop()
		w.committed(0, 100)
	})
}

func TestWhatIsInMemoryIsDeliveredThoughItsLogIsDeleted(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.sendMany(0, 0, 100, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-delay", "1m")} })
		time.Sleep(3 * time.Second)
		w.DeleteRecords(ingress, 0, 100)
		w.sendMany(0, 100, 10, func(int) []kgo.RecordHeader { return nil })
		w.Until(2*time.Minute, "all are delivered", func() bool { return w.count(egress) == 110 })
		time.Sleep(2 * time.Second)
		in.stop()
		w.committed(0, 110)
	})
}

func TestAbortedRecordsAndMarkersAreGoneOver(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		tx := w.NewClient(kgo.TransactionalID("tx"))
		defer tx.Close()
		for i := range 10 {
			value := fmt.Sprintf("%s-%d", []string{"committed", "aborted"}[i%2], i)
			if err := kafkatest.Transaction(context.Background(), tx, &kgo.Record{Topic: ingress, Value: []byte(value)}); err != nil {
				t.Fatal(err)
			}
			if err := tx.EndTransaction(context.Background(), kgo.TransactionEndTry(i%2 == 0)); err != nil {
				t.Fatal(err)
			}
		}
		w.arrives(egress, 5, 10*time.Second)
		w.Until(10*time.Second, "the offset reaches the end", func() bool { return w.commitOf(0).At == 20 })
		for value := range w.values(egress) {
			if strings.HasPrefix(value, "aborted") {
				t.Errorf("%s was delivered", value)
			}
		}
		in.stop()
		in = w.start()
		in.ready() // the last offset is a marker, and there is nothing to wait for
		in.stop()
	})
}

func TestASetThatDoesNotFitIsCommittedByItsPrefix(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		const n = 40_000
		random := rand.New(rand.NewPCG(1, 2))
		w.sendMany(0, 0, n, func(int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-delay", fmt.Sprint(random.IntN(600_000)))}
		})
		time.Sleep(5 * time.Minute)
		done := w.count(egress)
		held := in.status()["duplicates_after_a_kill"]
		in.kill()
		if !strings.Contains(fmt.Sprint(held), "beyond") {
			t.Errorf("status does not say what lies beyond the prefix: %v", held)
		}
		time.Sleep(time.Minute)
		in = w.start()
		time.Sleep(6 * time.Minute)
		w.notEarly(w.Records(egress))
		w.exactly(egress, 0, n, done)
		in.stop()
		w.committed(0, n)
	})
}

func TestABrokerThatTakesLessMetadataIsLearnedFrom(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.LimitMetadata(1000)
		in := w.start()
		in.ready()
		random := rand.New(rand.NewPCG(1, 2))
		w.sendMany(0, 0, 20_000, func(int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-delay", fmt.Sprint(random.IntN(60_000)))}
		})
		time.Sleep(30 * time.Second)
		if m := w.commitOf(0).Metadata; len(m) == 0 || len(m) > 1000 {
			t.Errorf("metadata of %d characters", len(m))
		}
		w.Until(2*time.Minute, "all are delivered", func() bool { return w.count(egress) == 20_000 })
		time.Sleep(2 * time.Second)
		in.stop()
		w.committed(0, 20_000)
	})
}

func TestTheMemoryBoundPausesReadingAndLosesNothing(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=4Mi")
		in.ready()
		const n, batch = 12_000, 1000
		value := strings.Repeat("v", 1000)
		for i := range n / batch {
			records := make([]*kgo.Record, batch)
			for j := range records {
				records[j] = &kgo.Record{Topic: ingress, Key: fmt.Append(nil, i*batch+j), Value: []byte(value), Timestamp: time.Now(), Headers: []kgo.RecordHeader{header("x-delay", "10m")}}
			}
			w.Produce(records...)
		}
		paused := false
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			s := in.daemon.Sample()
			if s.Memory.Used > s.Memory.Limit {
				t.Fatalf("%d bytes used, the bound is %d", s.Memory.Used, s.Memory.Limit)
			}
			paused = paused || len(s.Pauses) > 0
		}
		if !paused {
			t.Fatal("reading never paused")
		}
		if code, body := in.get("/readyz"); code != 200 {
			t.Errorf("readyz %d %s while reading is paused by a bound", code, body)
		}
		w.Until(2*time.Hour, "all are delivered", func() bool { return w.count(egress) == n })
		w.notEarly(w.Records(egress))
		time.Sleep(2 * time.Second)
		in.stop()
		w.committed(0, n)
		for message, want := range map[string]string{
			"reading pauses, what is parked goes on": " reason=bytes used=", "reading goes on": `msg="reading goes on" used=`,
		} {
			if lines := linesWith(in.logs.String(), message); len(lines) == 0 || !strings.Contains(lines[0], want) || !strings.Contains(lines[0], " limit=") {
				t.Errorf("no memory used in %q", lines)
			}
		}
	})
}

func TestASecondProcessWithTheSameInstanceIDEndsOneOfThem(t *testing.T) {
	inBubble(t, func(w *fixture) {
		one := w.start("LAYOVER_GROUP_INSTANCE_ID=i-0")
		one.ready()
		two := w.start("LAYOVER_GROUP_INSTANCE_ID=i-0")
		select {
		case err := <-one.done:
			if !errors.Is(err, consumer.ErrFenced) || !strings.Contains(err.Error(), "FENCED_INSTANCE_ID") {
				t.Errorf("the fenced process ended with %v", err)
			}
			one.done <- nil
		case <-time.After(time.Minute):
			t.Error("both go on")
		}
		two.ready()
		two.stop()
	})
}

func TestPartitionsWithoutAnOffsetInAKnownGroupAreNotGuessedAt(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return nil })
		w.DeleteRecords(ingress, 0, 5)
		w.Commit("layover-"+ingress, kadm.Offset{Topic: ingress, Partition: 1, At: 0, LeaderEpoch: -1})
		in := w.start()
		in.ready()
		time.Sleep(10 * time.Second)
		if n := w.count(egress); n != 0 {
			t.Errorf("%d records delivered of a partition whose offset is gone", n)
		}
		if _, body := in.get("/status"); !strings.Contains(body, "expired or was deleted") {
			t.Errorf("status does not say why: %s", body)
		}
		in.stop()
	})
}

func TestTheStartOffsetIsChosenOnceAndCommittedBeforeTheFirstDelivery(t *testing.T) {
	for start, want := range map[string]int{"earliest": 3, "latest": 1, "none": 0} {
		t.Run(start, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.sendMany(0, 0, 2, func(int) []kgo.RecordHeader { return nil })
				in := w.start("LAYOVER_START_OFFSET=" + start)
				in.ready()
				w.sendMany(0, 2, 1, func(int) []kgo.RecordHeader { return nil })
				time.Sleep(10 * time.Second)
				if n := w.count(egress); n != want {
					t.Errorf("%d records delivered, want %d", n, want)
				}
				if at := w.commitOf(1).At; start != "none" && at != 0 {
					t.Errorf("the start of the other partition is not committed: %d", at)
				}
				in.stop()
			})
		})
	}
}

func TestIngressDeletedAndMadeAgainIsReadFromItsStart(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.sendMany(0, 0, 10, func(int) []kgo.RecordHeader { return nil })
		w.Until(time.Minute, "all are delivered", func() bool { return w.count(egress) == 10 })
		time.Sleep(2 * time.Second)
		w.DeleteTopic(ingress)
		time.Sleep(20 * time.Second)
		w.CreateTopic(ingress, 2, nil)
		w.Client.PurgeTopicsFromClient(ingress)
		w.sendMany(0, 10, 5, func(int) []kgo.RecordHeader { return nil })
		w.Until(10*time.Second, "the new topic's records are delivered", func() bool { return w.count(egress) == 15 })
		in.stop()
	})
}

func TestABatchLargerThanAThirdOfTheBoundStillGetsThrough(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=1Mi")
		in.ready()
		for i := range 20 {
			w.sendMany(0, i*40, 40, func(int) []kgo.RecordHeader {
				return []kgo.RecordHeader{header("x-delay", "5s"), header("filler", strings.Repeat("f", 20_000))}
			})
		}
		w.Until(10*time.Minute, "all are delivered", func() bool { return w.count(egress) == 800 })
		w.exactly(egress, 0, 800, 0)
		time.Sleep(2 * time.Second)
		in.stop()
		w.committed(0, 800)
	})
}
