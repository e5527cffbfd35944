package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/cluster"
	"layover/cluster/batches"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

const topic = "log"

// fixture is one bubble: virtual time, two brokers, a topic of three partitions that the
// first of them leads.
type fixture struct {
	*kafkatest.Cluster
	reader *kgo.Client
}

func inBubble(t *testing.T, f func(w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{Cluster: kafkatest.StartVirtual(t, 2, kfake.SeedTopics(3, topic))}
		for p := range int32(3) {
			if err := w.Broker.MoveTopicPartition(topic, p, 0); err != nil {
				t.Fatal(err)
			}
		}
		w.Client = w.NewClient(kgo.ProducerBatchCompression(kgo.NoCompression()))
		w.reader = w.reading()
		f(w)
	})
}

// reading makes a client that reads.
func (w *fixture) reading(opts ...kgo.Opt) *kgo.Client {
	w.Helper()
	cl, err := NewClient(append(w.Options(), opts...))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(cl.Close)
	return cl
}

func at(p int32) offsets.TopicPartition { return offsets.TopicPartition{Topic: topic, Partition: p} }

// want asks for a partition from an offset on.
func (w *fixture) want(p int32, from int64) Want {
	return Want{At: at(p), ID: w.Broker.TopicInfo(topic).TopicID, From: from}
}

var roomy = Limits{Answer: 8 << 20, Partition: 1 << 20, Batch: 1 << 20}

// fetch asks the leader.
func (w *fixture) fetch(limits Limits, wants ...Want) map[offsets.TopicPartition]Fetched {
	w.Helper()
	got := Fetch(context.Background(), w.reader, w.Broker.LeaderFor(topic, 0), wants, limits)
	if len(got) != len(wants) {
		w.Fatalf("%d answers to %d questions", len(got), len(wants))
	}
	for _, wanted := range wants {
		if g := got[wanted.At]; g.From != wanted.From || g.Next < g.From {
			w.Errorf("%+v, wanted from %d", g, wanted.From)
		}
	}
	return got
}

func offsetsOf(records []*kgo.Record) (out []int64) {
	for _, r := range records {
		out = append(out, r.Offset)
	}
	return out
}

// produce appends each value in a batch of its own.
func (w *fixture) produce(partition int32, values ...string) {
	w.Helper()
	for _, v := range values {
		w.Produce(&kgo.Record{Topic: topic, Partition: partition, Value: []byte(v)})
	}
}

// batch is a whole batch of one record, compressed with gzip.
func batch(value []byte) []byte {
	r := kmsg.Record{Value: value, Key: nil}
	r.Length = int32(len(r.AppendTo(nil)) - 1) // the length itself is one byte, as 0
	raw := r.AppendTo(nil)
	packed, codec := gzipped(raw)
	return kafkatest.Batch(func(b *kmsg.RecordBatch) {
		b.Attributes, b.LastOffsetDelta, b.NumRecords, b.Records = int16(codec), 0, 1, packed
	})
}

func gzipped(b []byte) ([]byte, kgo.CompressionCodecType) {
	c, _ := kgo.DefaultCompressor(kgo.GzipCompression())
	return c.Compress(new(bytes.Buffer), b)
}

// TestAFetchLooksIntoNoBatchBehindWhatIsWanted: one that begins below the end is read as a whole.
func TestAFetchLooksIntoNoBatchBehindWhatIsWanted(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.produce(0, "a", "b", "c", "d")
		var three []*kgo.Record // one batch
		for range 3 {
			three = append(three, &kgo.Record{Topic: topic, Partition: 1, Value: []byte("v")})
		}
		w.Client.ProduceSync(context.Background(), three...)
		w.produce(1, "x")
		for _, c := range []struct {
			partition int32
			from, to  int64
			offsets   []int64
			next      int64
		}{
			{0, 0, 2, []int64{0, 1}, 2}, {0, 1, 3, []int64{1, 2}, 3}, {0, 1, 9, []int64{1, 2, 3}, 4}, {0, 3, 4, []int64{3}, 4},
			{1, 0, 2, []int64{0, 1, 2}, 3}, {1, 1, 3, []int64{1, 2}, 3}, {1, 1, 4, []int64{1, 2, 3}, 4}, {1, 0, 0, []int64{0, 1, 2, 3}, 4},
		} {
			want := w.want(c.partition, c.from)
			want.To = c.to
			if g := w.fetch(roomy, want)[want.At]; g.Err != nil || !slices.Equal(offsetsOf(g.Records), c.offsets) || g.Next != c.next {
				t.Errorf("%d from %d to %d: %v, next %d, %v, want %v and %d", c.partition, c.from, c.to, offsetsOf(g.Records), g.Next, g.Err, c.offsets, c.next)
			}
		}
	})
}

// plain is a whole batch of one record at an offset. What is given is its records, and how they are compressed.
func plain(offset int64, records []byte, codec int16) []byte {
	return kafkatest.Batch(func(b *kmsg.RecordBatch) {
		b.Attributes, b.FirstOffset, b.LastOffsetDelta, b.NumRecords, b.Records = codec, offset, 0, 1, records
	})
}

// one is the records of a batch of one.
func one(size int) []byte {
	r := kmsg.Record{Value: bytes.Repeat([]byte("v"), size)}
	r.Length = int32(len(r.AppendTo(nil)) - 1) // the length itself is one byte, as 0
	return r.AppendTo(nil)
}

// TestWhereNothingIsLeftOfWhatIsWantedAFetchGoesOn: the batches there were removed.
func TestWhereNothingIsLeftOfWhatIsWantedAFetchGoesOn(t *testing.T) {
	const to = 5
	for name, c := range map[string]struct {
		first   int64
		cut     int // bytes that are missing of it
		records int
		next    int64
	}{
		"the next batch begins behind it": {first: 7, records: 1, next: 8},
		"it begins there":                 {first: 5, records: 1, next: 6},
		"it begins below":                 {first: 4, records: 1, next: 5},
		"it is there in part":             {first: 7, cut: 3},
		"nothing but where it begins":     {first: 7, cut: 1 << 10},
	} {
		all := plain(c.first, one(1), 0)
		p := kmsg.NewFetchResponseTopicPartition()
		p.RecordBatches = all[:max(len(all)-c.cut, 10)]
		got := process(at(0), 0, to, &p, batches.NewDecompressor(1<<20, false))
		if got.Err != nil || len(got.Records) != c.records || got.Next != c.next {
			t.Errorf("%s: %d records, next %d, %v, want %d and %d", name, len(got.Records), got.Next, got.Err, c.records, c.next)
		}
		two := append(slices.Clone(all), all...)
		if n := len(below(two, to)); n < len(all) || (n == len(all)) != (c.first >= to) {
			t.Errorf("%s twice: %d bytes of two batches of %d", name, n, len(all))
		}
		two[16] = 1 // version 1 says the last offset of a compressed batch
		if n := len(below(two, to)); n != len(two) {
			t.Errorf("%s: %d bytes of %d in an older format", name, n, len(two))
		}
	}
}

// TestNothingIsPassedThatWasNotRead: the second of three batches cannot be, and the third is behind what is wanted.
func TestNothingIsPassedThatWasNotRead(t *testing.T) {
	big, codec := gzipped(one(600))
	huge, _ := gzipped(one(5000))
	for name, c := range map[string]struct {
		second   []byte
		together bool
	}{
		"it has no room": {big, true}, "it is too large": {huge, false}, "it is damaged": {[]byte("nonsense"), false},
	} {
		all := slices.Concat(plain(0, big, int16(codec)), plain(1, c.second, int16(codec)), plain(2, big, int16(codec)))
		for _, to := range []int64{0, 2} {
			p := kmsg.NewFetchResponseTopicPartition()
			p.RecordBatches = slices.Clone(all)
			got := process(at(0), 0, to, &p, batches.NewDecompressor(1000, c.together))
			if got.Next != 1 || !slices.Equal(offsetsOf(got.Records), []int64{0}) {
				t.Errorf("%s, to %d: %v, next %d, %v", name, to, offsetsOf(got.Records), got.Next, got.Err)
			}
		}
	}
}

// TestAFetchReadsFromAnOffsetOn also within a batch, and by name of brokers from before
// topics had ids.
func TestAFetchReadsFromAnOffsetOn(t *testing.T) {
	for what, opts := range map[string][]kgo.Opt{"now": nil, "by name": {kgo.MaxVersions(kversion.V2_7_0())}} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.reader = w.reading(opts...)
				w.produce(0, "a", "b", "c", "d")
				w.produce(2, "x")
				var three []*kgo.Record // one batch
				for range 3 {
					three = append(three, &kgo.Record{Topic: topic, Partition: 1, Value: []byte("v")})
				}
				w.Client.ProduceSync(context.Background(), three...)
				got := w.fetch(roomy, w.want(0, 2), w.want(1, 1), w.want(2, 0))
				for p, want := range map[int32][]int64{0: {2, 3}, 1: {1, 2}, 2: {0}} {
					if g := got[at(p)]; g.Err != nil || !slices.Equal(offsetsOf(g.Records), want) || g.Next != want[len(want)-1]+1 {
						t.Errorf("partition %d: %v, next %d, %v", p, offsetsOf(g.Records), g.Next, g.Err)
					}
				}
				if g := got[at(0)]; string(g.Records[0].Value) != "c" || g.Records[0].Topic != topic {
					t.Errorf("%+v", g.Records[0])
				}
				began := time.Now()
				if g := w.fetch(roomy, w.want(0, 4))[at(0)]; g.Err != nil || g.Next != 4 || len(g.Records) > 0 {
					t.Errorf("at the end: %+v", g)
				}
				if took := time.Since(began); took > 2*fetchWait {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

// TestAFetchAsksForPartitionsOfSeveralTopics in one request, each with its own records.
func TestAFetchAsksForPartitionsOfSeveralTopics(t *testing.T) {
	inBubble(t, func(w *fixture) {
		const other = "another"
		id := w.CreateTopic(other, 2, nil)
		for p := range int32(2) {
			if err := w.Broker.MoveTopicPartition(other, p, 0); err != nil {
				t.Fatal(err)
			}
			w.produce(p, fmt.Sprint(topic, p))
			w.Produce(&kgo.Record{Topic: other, Partition: p, Value: fmt.Append(nil, other, p)})
		}
		var wants []Want
		for p := range int32(2) {
			wants = append(wants, w.want(p, 0), Want{At: offsets.TopicPartition{Topic: other, Partition: p}, ID: id})
		}
		asked := w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Count: -1, Observe: true})
		for tp, g := range w.fetch(roomy, wants...) {
			if g.Err != nil || len(g.Records) != 1 || string(g.Records[0].Value) != fmt.Sprint(tp.Topic, tp.Partition) || g.Records[0].Topic != tp.Topic || g.Records[0].Partition != tp.Partition {
				t.Errorf("%v: %+v", tp, g)
			}
		}
		if n := asked.Hits(); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

// TestAFetchTellsWhereToGoOnBehindMarkersAndAbortedRecords.
func TestAFetchTellsWhereToGoOnBehindMarkersAndAbortedRecords(t *testing.T) {
	inBubble(t, func(w *fixture) {
		writer := w.NewClient(kgo.TransactionalID("tx"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		defer writer.Close()
		ctx := context.Background()
		for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} { // offsets 0 and 2, markers at 1 and 3
			if err := kafkatest.Transaction(ctx, writer, &kgo.Record{Topic: topic, Value: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			if err := writer.EndTransaction(ctx, end); err != nil {
				t.Fatal(err)
			}
		}
		if g := w.fetch(roomy, w.want(0, 0))[at(0)]; g.Err != nil || g.Next != 4 || !slices.Equal(offsetsOf(g.Records), []int64{0}) {
			t.Errorf("%v, next %d, %v", offsetsOf(g.Records), g.Next, g.Err)
		}
		if err := kafkatest.Transaction(ctx, writer, &kgo.Record{Topic: topic, Value: []byte("open")}); err != nil {
			t.Fatal(err)
		}
		if g := w.fetch(roomy, w.want(0, 4))[at(0)]; g.Err != nil || g.Next != 4 || len(g.Records) > 0 {
			t.Errorf("of a transaction that is open: %+v", g)
		}
		writer.EndTransaction(ctx, kgo.TryAbort)
	})
}

// TestErrorsOfAFetchAreOfTheirPartitions, with the right that is missing.
func TestErrorsOfAFetchAreOfTheirPartitions(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.produce(0, "a")
		w.produce(1, "b")
		for err, text := range map[*kerr.Error]string{kerr.NotLeaderForPartition: "", kerr.TopicAuthorizationFailed: "allow Read on topic " + topic, kerr.OffsetOutOfRange: ""} {
			sick := w.Refuse(kmsg.Fetch, kfake.Fault{Topic: topic, Partitions: []int32{1}, Err: err})
			got := w.fetch(roomy, w.want(0, 0), w.want(1, 0))
			if g := got[at(0)]; g.Err != nil || len(g.Records) != 1 {
				t.Errorf("%v: the other: %+v", err, g)
			}
			if g := got[at(1)]; !errors.Is(g.Err, err) || errors.Is(g.Err, ErrUnreadable) || g.Next != 0 || !strings.Contains(g.Err.Error(), text) {
				t.Errorf("%v: %+v", err, g)
			}
			sick.Remove()
		}
		got := Fetch(context.Background(), w.reader, 1, []Want{w.want(0, 0)}, roomy)[at(0)] // that broker does not lead it
		if !errors.Is(got.Err, kerr.NotLeaderForPartition) {
			t.Errorf("%+v", got)
		}
		w.Answer(kmsg.Fetch, func(r kmsg.Request) kmsg.Response {
			resp := r.ResponseKind().(*kmsg.FetchResponse)
			resp.ErrorCode = kerr.FetchSessionIDNotFound.Code
			return resp
		})
		if g := w.fetch(roomy, w.want(0, 3))[at(0)]; !errors.Is(g.Err, kerr.FetchSessionIDNotFound) || g.Next != 3 || g.Err.Error() != fmt.Sprintf("reading at 3: %v", kerr.FetchSessionIDNotFound) {
			t.Errorf("an error of all: %+v", g)
		}
	})
}

// TestAnAnswerWithoutAPartitionIsNoAnswerAboutIt, also one about a partition that nobody
// asked for.
func TestAnAnswerWithoutAPartitionIsNoAnswerAboutIt(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.Answer(kmsg.Fetch, func(r kmsg.Request) kmsg.Response {
			resp := r.ResponseKind().(*kmsg.FetchResponse)
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition = 2
			t := kmsg.NewFetchResponseTopic()
			t.TopicID, t.Partitions = w.Broker.TopicInfo(topic).TopicID, append(t.Partitions, p)
			resp.Topics = append(resp.Topics, t)
			return resp
		})
		if g := w.fetch(roomy, w.want(0, 3))[at(0)]; !errors.Is(g.Err, cluster.ErrNoAnswer) || g.Next != 3 {
			t.Errorf("%+v", g)
		}
	})
}

// TestAFetchEnds within ten seconds where a broker hangs, at once with its context, and with
// an error where there is no broker.
func TestAFetchEnds(t *testing.T) {
	inBubble(t, func(w *fixture) {
		id := w.want(0, 0)
		w.fetch(roomy, id)
		w.Answer(kmsg.Fetch, func(kmsg.Request) kmsg.Response {
			w.Broker.SleepControl(func() { time.Sleep(time.Minute) })
			return nil
		})
		began := time.Now()
		if g := Fetch(context.Background(), w.reader, 0, []Want{id}, roomy)[at(0)]; g.Err == nil {
			t.Errorf("%+v", g)
		}
		if took := time.Since(began); took < fetchTimeout || took > fetchTimeout+2*discoverTimeout {
			t.Errorf("took %v", took)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		began = time.Now()
		if g := Fetch(ctx, w.reader, 0, []Want{id}, roomy)[at(0)]; g.Err == nil {
			t.Errorf("%+v", g)
		}
		if took := time.Since(began); took > time.Second+100*time.Millisecond {
			t.Errorf("took %v", took)
		}
		time.Sleep(3 * time.Minute) // until the broker has got up
		lonely := w.reading(kgo.SeedBrokers("nowhere:1"))
		began = time.Now()
		if g := Fetch(context.Background(), lonely, 0, []Want{id}, roomy)[at(0)]; g.Err == nil || !strings.Contains(g.Err.Error(), "metadata") {
			t.Errorf("%+v", g)
		}
		if took := time.Since(began); took > discoverTimeout+100*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// TestOptionsThatNoClientTakesAreAnError.
func TestOptionsThatNoClientTakesAreAnError(t *testing.T) {
	if cl, err := NewClient([]kgo.Opt{kgo.SeedBrokers()}); err == nil || cl != nil {
		t.Errorf("%v, %v", cl, err)
	}
}
