package daemon

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// narrow makes a batch take at most 8 MiB decompressed.
const narrow = "LAYOVER_MAX_PARKED_BYTES=16Mi"

// bomb produces one batch of n records of zeros that takes more than narrow allows, and
// returns its first offset.
func (w *fixture) bomb(partition int32, n int) int64 {
	w.Helper()
	cl := w.bomber()
	defer cl.Close()
	return w.bombBy(cl, partition, n)
}

// bomber is a client that makes a batch of what it is given, whatever its size.
func (w *fixture) bomber(opts ...kgo.Opt) *kgo.Client {
	return w.NewClient(append([]kgo.Opt{
		kgo.ProducerBatchMaxBytes(100 << 20), kgo.BrokerMaxWriteBytes(110 << 20), kgo.ProducerBatchCompression(kgo.GzipCompression()), kgo.ProducerLinger(time.Second),
	}, opts...)...)
}

func (w *fixture) bombBy(cl *kgo.Client, partition int32, n int) int64 {
	w.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: ingress, Partition: partition, Value: make([]byte, 10<<20/n), Headers: []kgo.RecordHeader{header("x-delay", "1s")}}
	}
	if err := cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		w.Fatal(err)
	}
	if last := records[n-1].Offset; last-records[0].Offset != int64(n)-1 {
		w.Fatalf("%d records are at %d to %d", n, records[0].Offset, last)
	}
	return records[0].Offset
}

// letters returns what stands in the dead-letter topic, each as its error headers.
func (w *fixture) letters() (out []string) {
	w.Helper()
	for _, r := range w.Records(dlq) {
		if r.Key != nil || r.Value != nil || len(r.Headers) != 9 {
			w.Errorf("a letter by reference has key %q, value of %d bytes, headers %v", r.Key, len(r.Value), r.Headers)
		}
		e := func(name string) string { return get(r, "layover.errors."+name) }
		out = append(out, fmt.Sprintf("%s %s/%s@%s-%s of %s", e("reason"), e("topic"), e("partition"), e("offset"), e("last_offset"), e("records")))
		if !strings.Contains(e("message"), "8388608") || e("group") != "layover-"+ingress || e("timestamp") == "" {
			w.Errorf("the letter's headers are %v", r.Headers)
		}
	}
	return out
}

// lettersAre fails the test unless the letters are these.
func (w *fixture) lettersAre(want ...string) {
	w.Helper()
	if got := w.letters(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.Errorf("letters:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// metrics fails the test unless the instance's metrics have such lines.
func (in *instance) metrics(lines ...string) {
	in.w.Helper()
	_, body := in.get("/metrics")
	for _, line := range lines {
		if !strings.Contains(body, "\n"+line+"\n") {
			in.w.Errorf("no metric %s", line)
		}
	}
	if at := in.status()["counters"]; at != nil && at.(map[string]any)["unaccounted"] != nil && at.(map[string]any)["unaccounted"].(float64) != 0 {
		in.w.Errorf("the counters do not add up: %v", at)
	}
}

func TestABatchTooLargeToReadIsDeadLetteredByReference(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start(narrow)
		in.ready()
		w.send(0, "before", header("x-delay", "10s"))
		w.bomb(0, 5)
		w.send(0, "behind")
		w.send(1, "beside")
		sent := time.Now()
		w.Until(5*time.Second, "what stands behind the batch is delivered", func() bool { got := w.values(egress); return got["behind"] == 1 && got["beside"] == 1 })
		if took := time.Since(sent); took > 2*time.Second {
			t.Errorf("what stands behind the batch was delivered after %v", took)
		}
		time.Sleep(time.Minute)
		w.lettersAre("too_large_to_read delayed/0@1-5 of 5")
		in.metrics(
			`layover_ingress_records_total{outcome="invalid",topic="delayed"} 5`,
			`layover_invalid_records_total{reason="too_large_to_read",topic="delayed"} 5`,
			`layover_dead_lettered_records_total{reason="too_large_to_read",topic="delayed"} 5`,
			`layover_ingress_records_total{outcome="passed",topic="delayed"} 2`)
		in.stop()
		w.committed(0, 7)
		in = w.start(narrow)
		in.ready()
		w.send(0, "later")
		w.Until(10*time.Second, "the restarted instance delivers", func() bool { return w.values(egress)["later"] == 1 })
		if got := w.values(egress); len(got) != 4 || got["before"] != 1 || got["behind"] != 1 || w.count(dlq) != 1 {
			t.Errorf("delivered %v, %d letters", got, w.count(dlq))
		}
		in.stop()
		w.committed(0, 8)
	})
}

// TestBatchesTooLargeToReadOneAfterTheOtherHoldUpNobodyBeside: each is a jump, which makes
// the client drop what it has fetched.
func TestBatchesTooLargeToReadOneAfterTheOtherHoldUpNobodyBeside(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		const n = 12
		var want []string
		codecs := []kgo.CompressionCodec{kgo.GzipCompression(), kgo.Lz4Compression(), kgo.SnappyCompression(), kgo.ZstdCompression()}
		for i := range n {
			cl := w.bomber(kgo.ProducerBatchCompression(codecs[i%len(codecs)]))
			w.bombBy(cl, 0, 2)
			cl.Close()
			w.send(0, fmt.Sprintf("between %d", i))
			want = append(want, fmt.Sprintf("too_large_to_read delayed/0@%d-%d of 2", 3*i, 3*i+1))
		}
		in := w.start(narrow)
		in.ready()
		for i := range 20 {
			w.send(1, fmt.Sprintf("beside %d", i), header("x-delay", "1s"))
			time.Sleep(500 * time.Millisecond)
		}
		time.Sleep(20 * time.Second)
		w.lettersAre(want...)
		if got := w.values(egress); len(got) != n+20 {
			t.Errorf("delivered %v", got)
		}
		for _, r := range w.Records(egress) {
			due, err := time.Parse(time.RFC3339, get(r, "layover-due"))
			if late := r.Timestamp.Sub(due); strings.HasPrefix(string(r.Value), "beside") && (err != nil || late > time.Second) {
				t.Errorf("%s is %v late", r.Value, late)
			}
		}
		in.metrics(fmt.Sprintf(`layover_dead_lettered_records_total{reason="too_large_to_read",topic="delayed"} %d`, 2*n))
		in.stop()
		w.committed(0, 3*n)
	})
}

func TestABatchTooLargeToReadOfAnAbortedTransactionIsGoneOver(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start(narrow)
		in.ready()
		cl := w.bomber(kgo.TransactionalID("bomber"))
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		w.bombBy(cl, 0, 3)
		if err := cl.EndTransaction(context.Background(), kgo.TryAbort); err != nil {
			t.Fatal(err)
		}
		cl.Close()
		w.send(0, "behind")
		w.Until(10*time.Second, "what stands behind the batch is delivered", func() bool { return w.values(egress)["behind"] == 1 })
		time.Sleep(10 * time.Second)
		w.lettersAre()
		in.metrics(`layover_ingress_records_total{outcome="invalid",topic="delayed"} 0`)
		in.stop()
		w.committed(0, 5) // with the marker
	})
}

func TestABatchTooLargeToReadIsDroppedAndCounted(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start(narrow, "LAYOVER_ON_INVALID=drop")
		in.ready()
		w.bomb(0, 4)
		w.send(0, "behind")
		w.Until(10*time.Second, "what stands behind the batch is delivered", func() bool { return w.values(egress)["behind"] == 1 })
		w.lettersAre()
		in.metrics(
			`layover_dropped_records_total{topic="delayed"} 4`,
			`layover_invalid_records_total{reason="too_large_to_read",topic="delayed"} 4`)
		in.stop()
		w.committed(0, 5)
	})
}

func TestABatchTooLargeToReadStopsItsPartitionAloneWhereThePolicySaysSo(t *testing.T) {
	for _, policy := range []string{"halt", "deliver"} {
		t.Run(policy, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start(narrow, "LAYOVER_ON_INVALID="+policy)
				in.ready()
				w.send(0, "before", header("x-delay", "10s"))
				w.bomb(0, 2)
				w.send(0, "behind")
				w.send(1, "beside")
				time.Sleep(time.Minute)
				if got := w.values(egress); got["before"] != 1 || got["beside"] != 1 || got["behind"] != 0 {
					t.Errorf("delivered %v", got)
				}
				_, body := in.get("/status")
				for _, said := range []string{"too_large_to_read", "offset 1", "layover skip delayed/0@1", "LAYOVER_MAX_PARKED_BYTES"} {
					if !strings.Contains(body, said) || strings.Contains(body, "SetOffsets") {
						t.Errorf("status does not say %q: %s", said, body)
					}
				}
				in.metrics(`layover_partition_stopped_offset{partition="0",topic="delayed"} 1`)
				if logs := in.logs.String(); !strings.Contains(logs, "layover skip delayed/0@1") || strings.Contains(logs, "SetOffsets") {
					t.Errorf("the log does not say the way on:\n%s", logs)
				}
				in.stop()
				w.committed(0, 1)
				w.lettersAre()

				in = w.start(narrow) // with dlq: the way on that a restart is
				in.ready()
				w.Until(10*time.Second, "what stands behind the batch is delivered", func() bool { return w.values(egress)["behind"] == 1 })
				w.lettersAre("too_large_to_read delayed/0@1-2 of 2")
				in.stop()
			})
		})
	}
}

// TestABatchTooLargeToReadIsAskedForUntilSomebodyAnswers: what its header says is not
// guessed, and what stands beside it goes on.
func TestABatchTooLargeToReadIsAskedForUntilSomebodyAnswers(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start(narrow)
		in.ready()
		w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 20, When: func(r kmsg.Request) bool {
			return r.(*kmsg.FetchRequest).SessionEpoch == -1
		}})
		w.bomb(0, 2)
		w.send(0, "behind")
		time.Sleep(15 * time.Second)
		w.send(1, "beside")
		w.Until(time.Second, "what stands beside the batch is delivered", func() bool { return w.values(egress)["beside"] == 1 })
		w.lettersAre()
		w.Until(time.Minute, "what stands behind the batch is delivered", func() bool { return w.values(egress)["behind"] == 1 })
		w.lettersAre("too_large_to_read delayed/0@0-1 of 2")
		in.stop()
		w.committed(0, 3)
	})
}

// TestABatchThatCannotBeReadStopsItsPartitionAlone, until an operator has left it out: what
// the verb skip commits is gone over, though the client cannot.
func TestABatchThatCannotBeReadStopsItsPartitionAlone(t *testing.T) {
	long.Only(t)
	t.Parallel()
	good := kafkatest.Batch(func(*kmsg.RecordBatch) {})
	codec, sum := kafkatest.Batch(func(b *kmsg.RecordBatch) { b.Attributes = 7 }), bytes.Clone(good)
	sum[len(sum)-1] ^= 1
	for name, seen := range map[string][]byte{"its content": good, "its codec": codec, "its checksum": sum} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := w.Net.DialContext(ctx, network, addr)
					return kafkatest.Swapped{Conn: c, From: good[17:], To: seen[17:]}, err // the broker writes what is before
				}
				in := w.start()
				in.ready()
				w.send(0, "parked", header("x-delay", "1h"))
				w.send(0, "before", header("x-delay", "10s"))
				w.ProduceBatch(ingress, good)
				w.send(0, "behind")
				w.send(1, "beside")
				time.Sleep(time.Minute)
				if got := w.values(egress); got["before"] != 1 || got["beside"] != 1 || got["behind"] != 0 || w.count(dlq) != 0 {
					t.Errorf("delivered %v, %d letters", got, w.count(dlq))
				}
				if _, body := in.get("/status"); !strings.Contains(body, "cannot be read") || !strings.Contains(body, "offset 2") || !strings.Contains(body, "run: layover skip delayed/0@2.") {
					t.Errorf("status does not say what stopped: %s", body)
				}
				in.metrics(`layover_partition_stopped_offset{partition="0",topic="delayed"} 2`)
				if logs := in.logs.String(); strings.Count(logs, `command="layover skip delayed/0@2"`) != 1 {
					t.Errorf("the log does not say the way on:\n%s", logs)
				}
				in.stop()
				w.committed(0, 0)
				set := offsets.NewWindow(0)
				set.FinishRange(1, 5)
				w.commitSet(set)

				in = w.start()
				in.ready()
				w.Until(5*time.Second, "what stands behind the batch is delivered", func() bool { return w.values(egress)["behind"] == 1 })
				time.Sleep(time.Hour)
				if got := w.values(egress); got["parked"] != 1 || got["before"] != 1 || len(got) != 4 || w.count(dlq) != 0 {
					t.Errorf("delivered %v, %d letters", got, w.count(dlq))
				}
				in.stop()
				w.committed(0, 6)
			})
		})
	}
}

// commitSet commits what is finished of partition 0, as the verb skip does.
func (w *fixture) commitSet(set *offsets.Window) {
	w.Helper()
	was := w.commitOf(0)
	cluster, err := w.Admin().BrokerMetadata(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	id := offsets.Identity{ClusterID: cluster.Cluster, TopicID: w.Broker.TopicInfo(ingress).TopicID}
	_, ext, err := offsets.DecodeAll(was.Metadata, id, was.At)
	if err != nil {
		w.Fatal(err)
	}
	w.Commit("layover-"+ingress, kadm.Offset{Topic: ingress, At: set.Low(), LeaderEpoch: was.LeaderEpoch, Metadata: offsets.Encode(set, id, ext, offsets.MaxMetadata).Metadata})
}
