package daemon

import (
	"context"
	"fmt"
	"layover/offsets"
	"layover/verify/kafkatest"
	"layover/verify/long"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A fetch was out when backpressure paused reading, and it brings a bomb. The client
// strips the paused topic, error included, and keeps the cursor fatal.
func TestABatchTooLargeToReadThatComesWithThePauseIsDeadLettered(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start(narrow)
		in.ready()
		silent := w.silence(dlq)
		w.send(1, "bad", header("x-delay", "soon"))
		for deadline := time.Now().Add(time.Minute); in.pausedFor() != "dead_letter"; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("reading is not paused")
			}
		}
		cl := w.bomber(kgo.ProducerLinger(0))
		w.bombBy(cl, 0, 1)
		cl.Close()
		w.send(0, "behind")
		time.Sleep(5 * time.Second)
		silent.Remove()
		w.Until(time.Minute, "reading goes on", func() bool { return in.pausedFor() == "" })
		w.send(1, "beside")
		w.Until(10*time.Second, "what stands beside is delivered", func() bool { return w.values(egress)["beside"] == 1 })
		time.Sleep(10 * time.Minute)
		if w.values(egress)["behind"] != 1 {
			_, body := in.get("/status")
			t.Errorf("what stands behind the bomb is not delivered after 10 minutes; delivered %v, %d letters\n%s", w.values(egress), w.count(dlq), body)
			code, text := in.get("/readyz")
			t.Logf("/readyz %d %s", code, text)
		}
		in.kill()
	})
}

func TestBatchesTooLargeToReadOnTwoPartitionsHoldUpNeither(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		const n = 12
		for i := range n {
			w.bomb(0, 2)
			w.send(0, fmt.Sprintf("zero %d", i))
			w.bomb(1, 2)
			w.send(1, fmt.Sprintf("one %d", i))
		}
		in := w.start(narrow)
		time.Sleep(10 * time.Minute)
		if got := len(w.values(egress)); got != 2*n {
			code, text := in.get("/readyz")
			t.Errorf("delivered %d of %d after 10 minutes, %d letters of %d; /readyz %d %s; sick %v", got, 2*n, w.count(dlq), 2*n, code, text, in.status()["sick"])
			for _, a := range in.status()["assignments"].([]any) {
				t.Logf("%v", a)
			}
		}
		in.kill()
	})
}

// slowBatches has each batch of partition 0 take as long as a large one takes to be
// decompressed: 300 ms are some 150 MiB.
type slowBatches struct{}

func (slowBatches) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, partition int32, m kgo.FetchBatchMetrics) {
	if partition == 0 && m.CompressedBytes > 5000 {
		time.Sleep(300 * time.Millisecond)
	}
}

// A bomb of one partition is being decompressed when the jump over another's is carried
// out. SetOffsets throws the answer away, error included, and keeps the cursor fatal.
func TestABatchTooLargeToReadThatIsReadDuringAJumpIsDeadLettered(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.startOver(w.dial, slowBatches{}, narrow)
		in.ready()
		zero, one := w.bomber(kgo.ProducerLinger(0)), w.bomber(kgo.ProducerLinger(0))
		defer zero.Close()
		defer one.Close()
		w.bombBy(zero, 1, 1) // a first jump
		time.Sleep(50 * time.Millisecond)
		w.bombBy(one, 1, 1)
		time.Sleep(50 * time.Millisecond)
		w.bombBy(zero, 0, 1)
		w.send(0, "behind")
		w.send(1, "beside")
		time.Sleep(10 * time.Minute)
		if got := w.values(egress); got["behind"] != 1 || got["beside"] != 1 {
			t.Errorf("delivered %v, %d letters after 10 minutes; sick %v", got, w.count(dlq), in.status()["sick"])
		}
		in.kill()
	})
}

// Records of 900 kB go to partitions of a target that are silent. Each gets stuck in its
// turn, and takes the lane's whole room in bytes for 2 s.
func TestLargeRecordsForASilentTargetHoldUpNoHealthyOne(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_MAX_PARKED_BYTES=64Mi", "LAYOVER_LANES=4", "LAYOVER_TARGETS_ALLOWED=sick", "LAYOVER_TARGET_PATIENCE=1h")
		in.ready()
		w.createTopics(40, "sick")
		w.silence("sick")
		value := strings.Repeat("x", 900_000)
		for i := range 40 {
			w.Produce(&kgo.Record{Topic: ingress, Key: fmt.Append(nil, i), Value: []byte(value), Headers: []kgo.RecordHeader{header("x-deliver-to", "sick")}})
		}
		sent := 0
		for range 900 { // 90 s
			w.send(0, fmt.Sprint("healthy ", sent), header("x-delay", "100ms"))
			sent++
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(30 * time.Second)
		records, worst := w.Records(egress), time.Duration(0)
		for _, r := range records {
			due, err := time.Parse(time.RFC3339, get(r, "layover-due"))
			if err != nil {
				t.Fatal(err)
			}
			worst = max(worst, r.Timestamp.Sub(due))
		}
		if len(records) != sent || worst > 5*time.Second {
			t.Errorf("%d of %d healthy records delivered, the worst %v late; paused for %q, memory %v; sick %v", len(records), sent, worst, in.pausedFor(), in.status()["parked"], in.status()["sick"])
		}
		in.kill()
	})
}

// A gzip batch without a byte in it fails with io.EOF, which counts as the network's. The
// partition is asked for again each second, and still is when skip has left the batch out.
func TestAnEmptyGzipBatchIsNoNetworkError(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start()
		in.ready()
		w.send(0, "parked", header("x-delay", "1h"))
		w.ProduceBatch(ingress, kafkatest.Batch(func(b *kmsg.RecordBatch) { b.Records = nil }))
		w.send(0, "behind")
		time.Sleep(5 * time.Minute)
		if _, body := in.get("/status"); !strings.Contains(body, "layover skip delayed/0@1") {
			t.Errorf("status does not say the way on; sick %v", in.status()["sick"])
		}
		in.stop()
		set := offsets.NewWindow(0) // what layover skip commits
		set.FinishRange(1, 4)
		w.commitSet(set)
		in = w.start()
		time.Sleep(5 * time.Minute)
		if got := w.values(egress); got["behind"] != 1 {
			t.Errorf("delivered %v, 5 minutes after the batch was left out; sick %v", got, in.status()["sick"])
		}
		in.stop()
	})
}

// live is the most that was reachable when a batch had been read.
type live struct{ most atomic.Uint64 }

func (l *live) OnFetchBatchRead(kgo.BrokerMetadata, string, int32, kgo.FetchBatchMetrics) {
	now := uint64(math.MaxUint64)
	for range 3 { // what is let go while one collection runs is gone with the next one
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		now = min(now, m.HeapAlloc)
	}
	l.most.Store(max(l.most.Load(), now))
}

// Batches just below the limit: one response has many of them, and all are there at once.
// While one is parked it is there twice: six, one, and its copy are the bound. The daemon
// itself is not part of it: it is there, and has decompressed, before the first look. What
// else it allocates meanwhile may be a MiB.
func TestBatchesJustBelowTheLimitStayWithinTheBound(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		cl := w.bomber(kgo.ProducerLinger(0))
		for range 24 {
			r := &kgo.Record{Topic: ingress, Value: make([]byte, 8<<20-1000), Headers: []kgo.RecordHeader{header("x-delay", "1h")}}
			if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		cl.Close()
		elected := w.withoutLeader(ingress, 0)
		w.bomb(1, 1)
		hook := &live{}
		in := w.startOver(w.dial, hook, "LAYOVER_MAX_PARKED_BYTES=64Mi")
		w.arrives(dlq, 1, time.Minute)
		hook.most.Store(0)
		hook.OnFetchBatchRead(kgo.BrokerMetadata{}, "", 0, kgo.FetchBatchMetrics{})
		before := hook.most.Load()
		elected()
		time.Sleep(time.Minute)
		if most := hook.most.Load(); most > before+65<<20 {
			t.Errorf("%d MiB are reachable above the %d MiB before, with a bound of 64 MiB", (most-before)>>20, before>>20)
		}
		in.kill()
	})
}

// The log begins within a bomb, as kafka-delete-records leaves it. The batch is asked for at
// its first offset, which is out of range, and nobody makes the client go on.
func TestALogThatBeginsWithinABatchTooLargeToReadGoesOn(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.bomb(0, 5)
		w.send(0, "behind")
		var to kadm.Offsets
		to.Add(kadm.Offset{Topic: ingress, At: 2})
		if _, err := w.Admin().DeleteRecords(context.Background(), to); err != nil {
			t.Fatal(err)
		}
		in := w.start(narrow)
		time.Sleep(10 * time.Minute)
		if w.values(egress)["behind"] != 1 {
			code, text := in.get("/readyz")
			t.Errorf("delivered %v, %d letters after 10 minutes; /readyz %d %s; sick %v; log start %d", w.values(egress), w.count(dlq), code, text, in.status()["sick"], w.Broker.PartitionInfo(ingress, 0).LogStartOffset)
		}
		in.stop()
	})
}

// Held: a bomb is the first that a partition has which begins late.
func TestABatchTooLargeToReadIsFirstInAPartitionThatBeginsLate(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.bomb(1, 2)
		w.bomb(1, 3)
		w.send(1, "behind")
		elected := w.withoutLeader(ingress, 1)
		in := w.start(narrow)
		time.Sleep(20 * time.Second)
		elected()
		w.Until(20*time.Second, "what stands behind is delivered", func() bool { return w.values(egress)["behind"] == 1 })
		w.lettersAre("too_large_to_read delayed/1@0-1 of 2", "too_large_to_read delayed/1@2-4 of 3")
		in.stop()
	})
}

// Held: the partition of a bomb is revoked while its header is asked for.
func TestAPartitionMayLeaveWhileItsBatchIsLookedAt(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start(narrow)
		in.ready()
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 10, When: func(r kmsg.Request) bool {
			return r.(*kmsg.FetchRequest).SessionEpoch == -1
		}})
		w.bomb(0, 2)
		w.bomb(1, 2)
		w.send(0, "zero")
		w.send(1, "one")
		time.Sleep(2 * time.Second)
		other := w.start(narrow)
		time.Sleep(time.Minute)
		if got := w.values(egress); got["zero"] != 1 || got["one"] != 1 {
			t.Errorf("delivered %v", got)
		}
		in.stop()
		other.stop()
	})
}

// One silent target has 20 partitions, and there are few or many records for it. A healthy one
// gets 300 records a second over a network with 10 ms a write.
func TestASilentTargetDoesNotSlowAHealthyOne(t *testing.T) {
	long.Only(t)
	for name, records := range map[string]int{"a few stuck": 100, "a quarter stuck": 25_000} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.createTopics(20, "sick")
				w.createTopics(1, "healthy")
				w.silence("sick")
				dial := w.dial
				w.dial = slow(dial, 10*time.Millisecond)
				in := w.start("LAYOVER_LANES=1", "LAYOVER_TARGETS_ALLOWED=sick,healthy", "LAYOVER_TARGET_PATIENCE=1h")
				in.ready()
				w.sendMany(1, 0, records, func(int) []kgo.RecordHeader { return []kgo.RecordHeader{header("x-deliver-to", "sick")} })
				time.Sleep(20 * time.Second)
				for i := range 600 { // a minute
					w.sendMany(0, 30*i, 30, func(int) []kgo.RecordHeader {
						return []kgo.RecordHeader{header("x-deliver-to", "healthy"), header("x-delay", "1s")}
					})
					time.Sleep(100 * time.Millisecond)
				}
				time.Sleep(5 * time.Second)
				if n := w.count("healthy"); n != 18_000 {
					t.Errorf("%d of 18000 healthy records delivered 5 s after the last; sick %d", n, len(in.status()["sick"].([]any)))
				}
				in.kill()
			})
		})
	}
}

// A topic that exists, named for the first time (or again after 10 minutes) behind many
// invented names whose records are all held.
func TestANameThatExistsFindsRoomBehindManyThatDoNot(t *testing.T) {
	long.Only(t)
	t.Parallel()
	inBubble(t, func(w *fixture) {
		invented := 15_000
		if long.Whole() {
			invented = 60_000
		}
		w.createTopics(1, "jobs.late")
		in := w.start("LAYOVER_TARGETS_ALLOWED=jobs.*", "LAYOVER_MAX_PARKED_BYTES=2Gi", "LAYOVER_TARGET_PATIENCE=15m")
		in.ready()
		w.sendMany(0, 0, invented, func(i int) []kgo.RecordHeader {
			return []kgo.RecordHeader{header("x-deliver-to", fmt.Sprintf("jobs.no-%05d", i))}
		})
		time.Sleep(30 * time.Second)
		began := time.Now()
		w.send(1, "late", header("x-deliver-to", "jobs.late"))
		for time.Since(began) < 20*time.Minute && w.count("jobs.late") == 0 && w.count(dlq) == 0 {
			time.Sleep(time.Second)
		}
		t.Logf("delivered %d after %v, %d dead letters", w.count("jobs.late"), time.Since(began), w.count(dlq))
		if w.count("jobs.late") == 0 || time.Since(began) > 5*time.Second {
			t.Error("a record of a topic that exists waits, or is dead-lettered, for names that do not")
		}
		in.kill()
	})
}
