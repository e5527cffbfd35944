package daemon

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"layover/config"
	"layover/producer"
	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// sendTo writes a record to a partition of a topic.
func (w *fixture) sendTo(topic string, partition int32, value string, headers ...kgo.RecordHeader) {
	w.Helper()
	w.Produce(&kgo.Record{Topic: topic, Partition: partition, Key: []byte("key"), Value: []byte(value), Headers: headers})
}

func (w *fixture) createTopics(partitions int32, names ...string) {
	w.Helper()
	for _, name := range names {
		w.CreateTopic(name, partitions, nil)
	}
}

// A header wins over the topic's delay and target, those win over the defaults of all.
func TestEachIngressTopicHasItsDelayAndItsTarget(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "retry.30s", "retry.5m", "slow", "other")
		in := w.start("LAYOVER_INGRESS_TOPICS=retry.30s,retry.5m,delayed", "LAYOVER_TOPIC_TARGETS=retry.30s=other,retry.5m=slow",
			"LAYOVER_TOPIC_DELAYS=retry.30s=30s,retry.5m=5m", "LAYOVER_DEFAULT_DELAY=1m")
		in.ready()
		w.sendTo("retry.30s", 0, "30s to other")
		w.sendTo("retry.5m", 0, "5m to slow")
		w.sendTo("retry.5m", 0, "2s to slow", header("x-delay", "2s"))
		w.sendTo("retry.5m", 0, "5m to other", header("x-deliver-to", "other"))
		w.sendTo(ingress, 0, "1m to ready")
		began := time.Now()
		for _, want := range []struct {
			topic, value string
			count        int
			at           time.Duration
		}{
			{"slow", "2s to slow", 1, 2 * time.Second},
			{"other", "30s to other", 1, 30 * time.Second},
			{egress, "1m to ready", 1, time.Minute},
			{"slow", "5m to slow", 2, 5 * time.Minute},
			{"other", "5m to other", 2, 5 * time.Minute},
		} {
			time.Sleep(time.Until(began.Add(want.at - 100*time.Millisecond)))
			if n := w.count(want.topic); n >= want.count && want.topic != "other" || n > want.count {
				t.Errorf("%s: %d records before %v", want.value, n, want.at)
			}
			all := w.arrives(want.topic, want.count, time.Second)
			if got := string(all[want.count-1].Value); got != want.value {
				t.Errorf("%s has %q, want %q", want.topic, got, want.value)
			}
		}
		in.stop()
	})
}

func TestRecordsMayKeepTheNumberOfTheirPartition(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_PARTITION=same")
		in.ready()
		for p := range int32(2) { // the same key in both
			w.sendTo(ingress, p, fmt.Sprint(p), header("x-delay", "1s"))
		}
		for _, r := range w.arrives(egress, 2, 5*time.Second) {
			if fmt.Sprint(r.Partition) != string(r.Value) {
				t.Errorf("a record of partition %s is in %d", r.Value, r.Partition)
			}
		}
		in.stop()
	})
}

func TestATargetWithTooFewPartitionsHoldsItsRecordsUntilItHasThem(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "narrow")
		in := w.start("LAYOVER_PARTITION=same", "LAYOVER_EGRESS_TOPIC=narrow")
		in.ready()
		w.sendTo(ingress, 0, "a", header("x-delay", "1s"))
		w.sendTo(ingress, 1, "b", header("x-delay", "1s"))
		time.Sleep(10 * time.Second)
		if n := w.count("narrow"); n != 0 {
			t.Errorf("%d records in a topic that has too few partitions", n)
		}
		const why = "narrow has 1 partitions and delayed has 2: with LAYOVER_PARTITION=same"
		if _, status := in.get("/status"); strings.Count(status, why) < 2 || !strings.Contains(status, `"state": "mismatched"`) {
			t.Errorf("status does not say so where topics and where held targets are listed: %s", status)
		}
		if !strings.Contains(in.logs.String(), why) {
			t.Errorf("log: %s", in.logs)
		}
		if _, err := w.Admin().UpdatePartitions(context.Background(), 2, "narrow"); err != nil {
			t.Fatal(err)
		}
		for _, r := range w.arrives("narrow", 2, 10*time.Second) {
			if want := map[string]int32{"a": 0, "b": 1}[string(r.Value)]; r.Partition != want {
				t.Errorf("%s is in partition %d", r.Value, r.Partition)
			}
		}
		if _, status := in.get("/status"); strings.Contains(status, why) {
			t.Errorf("status still complains: %s", status)
		}
		in.stop()
	})
}

// What has too few partitions for one ingress topic may have enough for another.
func TestARecordThatATargetHasNoPartitionForHoldsNoneOfAnotherTopic(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "small", "small-out")
		in := w.start("LAYOVER_INGRESS_TOPICS=delayed,small", "LAYOVER_PARTITION=same", "LAYOVER_TOPIC_TARGETS=small=small-out", "LAYOVER_TARGET_PATIENCE=1m")
		in.ready()
		if _, body := in.get("/readyz"); body != "ready\n" || strings.Contains(in.logs.String(), "records are held") {
			t.Errorf("nothing is wrong, and it says %q: %s", body, in.logs)
		}
		w.sendTo(ingress, 1, "misled", header("x-deliver-to", "small-out"), header("x-delay", "1s"))
		for i := range 5 {
			w.sendTo("small", 0, fmt.Sprint(i), header("x-delay", "1s"))
		}
		w.arrives("small-out", 5, 5*time.Second)
		time.Sleep(2 * time.Minute)
		dead := w.arrives(dlq, 1, time.Second)
		if n := w.count("small-out"); n != 5 || string(dead[0].Value) != "misled" || get(dead[0], "layover.errors.reason") != "target_unavailable" {
			t.Errorf("%d delivered; dead letter %q: %s", n, dead[0].Value, get(dead[0], "layover.errors.reason"))
		}
		in.stop()
	})
}

// A target that takes nothing keeps the loop awake, and nobody sends mail: what is told
// has to be of now all the same.
func TestStatusIsOfNowWhileATargetIsMissing(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_EGRESS_TOPIC=nowhere")
		in.ready()
		for i := range 11 {
			w.send(0, fmt.Sprint(i), header("x-delay", fmt.Sprintf("%ds", 10*i+1)))
		}
		time.Sleep(2 * time.Minute)
		if s := in.status(); s["overdue"] != 11.0 || s["next_due"] != nil {
			t.Errorf("overdue %v, next due %v; want all 11 overdue", s["overdue"], s["next_due"])
		}
		in.stop()
	})
}

func TestALogNamesNoTargetThatAHeaderNamed(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "team-a")
		in := w.start("LAYOVER_TARGETS_ALLOWED=team-*", "LAYOVER_PARTITION=same")
		in.ready()
		for _, team := range []string{"a", "SECRET", "OTHER"} {
			w.sendTo(ingress, 1, "x", header("x-deliver-to", "team-"+team), header("x-delay", "1s"))
		}
		time.Sleep(10 * time.Second)
		logs := in.logs.String()
		if held := strings.Count(logs, "msg=sick kind=target target=team-* "); held != 1 || strings.Contains(logs, "team-a") || strings.Contains(logs, "SECRET") || strings.Contains(logs, "OTHER") {
			t.Errorf("%d lines about held targets: %s", held, logs)
		}
		in.stop()
	})
}

// A record of another kind in a journal makes it useless to the process that keeps it.
func TestNoGlobLetsAProducerWriteIntoTheJournalOfAnotherProcess(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.createTopics(1, "orders.eu", "orders.layover-orders")
		in := w.start("LAYOVER_TARGETS_ALLOWED=orders.*")
		in.ready()
		w.send(0, "journal", header("x-deliver-to", "orders.layover-orders"))
		w.send(0, "target", header("x-deliver-to", "orders.eu"))
		w.arrives("orders.eu", 1, 10*time.Second)
		dead := w.arrives(dlq, 1, 10*time.Second)[0]
		if get(dead, "layover.errors.reason") != "target_not_allowed" || !strings.Contains(get(dead, "layover.errors.message"), "journal") {
			t.Errorf("dead letter says %v", dead.Headers)
		}
		if n := w.count("orders.layover-orders"); n != 0 {
			t.Errorf("%d records in the journal of another process", n)
		}
		in.stop()
	})
}

func TestDeliveredRecordsMayKeepTheirTimestamps(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start("LAYOVER_TIMESTAMP=original")
		in.ready()
		sent := time.Now().Truncate(time.Millisecond)
		w.sendTo(ingress, 0, "a", header("x-delay", "1h"))
		w.sendTo(ingress, 0, "b", header("x-delay", "tomorrow"))
		dead := w.arrives(dlq, 1, time.Minute)[0]
		time.Sleep(time.Hour)
		r := w.arrives(egress, 1, time.Minute)[0]
		if !r.Timestamp.Equal(sent) {
			t.Errorf("timestamp %v, want %v", r.Timestamp, sent)
		}
		if dead.Timestamp.Before(sent) {
			t.Errorf("dead letter of %v, want that of its death", dead.Timestamp)
		}
		in.stop()
	})
}

// Not in a bubble: there nothing may begin to decompress zstd.
func TestBatchesAreCompressedAsIsSet(t *testing.T) {
	k := kafkatest.Start(t, 1, kfake.SeedTopics(1, "snappy", "lz4", "zstd", "gzip", "none"))
	for name, want := range map[string]kgo.CompressionCodecType{
		"snappy": kgo.CodecSnappy, "lz4": kgo.CodecLz4, "zstd": kgo.CodecZstd, "gzip": kgo.CodecGzip, "none": kgo.CodecNone,
	} {
		t.Run(name, func(t *testing.T) {
			d := &Daemon{cfg: &config.Config{Compression: config.Compression(name)}}
			p, err := producer.New(producer.Config{
				Compression: d.compression(), MaxBatchBytes: func(string) int32 { return 1 << 20 }, MaxBuffered: 10,
				Options: func(string) []kgo.Opt { return k.Options() },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			failed := make(chan error, 1)
			p.Deliver(&kgo.Record{Topic: name, Value: bytes.Repeat([]byte("compress me "), 1000)}, false, func(_ *kgo.Record, err error) { failed <- err })
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
			records := k.Records(name)
			if len(records) != 1 || records[0].Attrs.CompressionType() != uint8(want) {
				t.Errorf("%d records, compression %v, want %d", len(records), records[0].Attrs.CompressionType(), want)
			}
		})
	}
}
