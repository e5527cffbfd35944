package copies

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ingress = "orders"
	topic   = "orders.runs"
)

// stack is one bubble: virtual time, a broker on disk, a runs topic of one partition, and Copies of a
// group "g".
type stack struct {
	*kafkatest.Cluster
	copies *Copies
	notes  *notes
	logs   kafkatest.Log

	mu    sync.Mutex
	alone []bool // of what was produced
}

// notes is a journal: it has the finished copies that it is told of.
type notes struct {
	mu       sync.Mutex
	finished []int64
	asked    int
	asking   func() // called before an answer; nil: nothing is
}

func (n *notes) Restore(_ context.Context, asks []facts.Ask, done func(int, facts.Answer)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	if n.asking != nil {
		n.asking()
	}
	for i := range asks {
		for _, o := range n.finished {
			asks[i].Window.Finish(o)
		}
		done(i, facts.Answer{})
	}
}

func inBubble(t *testing.T, f func(w *stack)) {
	t.Helper()
	inBubbleOf(t, 1, 1, f)
}

// inBubbleOf has more brokers and partitions.
func inBubbleOf(t *testing.T, brokers int, parts int32, f func(w *stack)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &stack{Cluster: kafkatest.StartVirtualOnDisk(t, brokers, kfake.SeedTopics(parts, ingress), kfake.SeedTopics(parts, topic)), notes: &notes{}}
		w.Client = w.client()
		var err error
		w.copies, err = New(Config{
			Group: "g", Name: func(ingress string) string { return ingress + ".runs" }, Journal: w.notes, Client: w.Client, Options: w.Options,
			Produce: func(r *kgo.Record, alone bool, done func(*kgo.Record, error)) {
				w.mu.Lock()
				w.alone = append(w.alone, alone)
				w.mu.Unlock()
				w.Client.Produce(context.Background(), r, done)
			},
			Batch: func(string) int { return 32 << 20 }, Together: func(string) int { return BatchBytes }, Visits: 2, Log: slog.New(slog.NewTextHandler(&w.logs, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer w.copies.Close()
		f(w)
	})
}

// client returns one that knows nothing of a topic that was deleted.
func (w *stack) client() *kgo.Client {
	return w.NewClient(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(8<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
}

func part() offsets.TopicPartition { return offsets.TopicPartition{Topic: ingress} }

func (w *stack) topic() offsets.TopicID { return w.Broker.TopicInfo(topic).TopicID }

// id names the partition of a group.
func (w *stack) id(group string) runs.Identity {
	w.Helper()
	meta, err := w.Admin().BrokerMetadata(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	return runs.Identity{Owner: runs.OwnerOf(meta.Cluster, group, ingress)}
}

// copied is the copy of a record that stood at an offset of ingress and waits for ten hours. Its
// origin is five hours old.
func (w *stack) copied(group string, offset int64, value []byte) *kgo.Record {
	w.Helper()
	c := runs.Copy{
		Origin:     runs.Origin{Offset: offset, LeaderEpoch: -1, TimestampMs: time.Now().Add(-5 * time.Hour).UnixMilli()},
		DeadlineMs: time.Now().Add(5 * time.Hour).UnixMilli(), Writer: 5, Run: 1,
	}
	own := []kgo.RecordHeader{{Key: "trace", Value: []byte("t")}, {Key: "x-delay", Value: []byte("10h")}}
	headers, _ := runs.AppendCopy(own, nil, w.id(group), &c, []byte("key"), value)
	return &kgo.Record{Topic: topic, Key: []byte("key"), Value: value, Headers: headers, Timestamp: time.Now()}
}

// visit reads offsets of the topic with an id.
func (w *stack) visit(id offsets.TopicID, from, to int64) (a purgatory.Visited, records []*kgo.Record) {
	return w.visitOf(id, purgatory.Visit{From: from, To: to})
}

func (w *stack) visitOf(id offsets.TopicID, v purgatory.Visit) (a purgatory.Visited, records []*kgo.Record) {
	done := make(chan struct{})
	v.Assignment = offsets.Assignment{TopicPartition: part(), Epoch: 1}
	w.copies.Visit(v, id, func(answer purgatory.Visited, found []*kgo.Record) {
		a, records = answer, found
		close(done)
	})
	<-done
	return a, records
}

// open asks what is known of the partition.
func (w *stack) open(ask far.Ask) *far.Opening {
	ask.Assignment = offsets.Assignment{TopicPartition: part(), Epoch: 1}
	found := make(chan *far.Opening, 1)
	w.copies.Open(context.Background(), ask, func(o *far.Opening) { found <- o })
	return <-found
}

func found(a *purgatory.Visited) (out []int64) {
	for _, f := range a.Found {
		out = append(out, f.Offset)
	}
	return out
}

// fill writes n copies, each in a batch of its own.
func (w *stack) fill(n int) {
	w.Helper()
	for i := range n {
		w.Produce(w.copied("g", int64(100+i), fmt.Append(nil, i)))
	}
}

// has fails the test unless the answer has the copies at these offsets, and was read up to one.
func (w *stack) has(a *purgatory.Visited, until int64, at ...int64) {
	w.Helper()
	if got := found(a); a.Err != nil || a.Until != until || !slices.Equal(got, at) {
		w.Errorf("read up to %d: %v, %v; want up to %d: %v", a.Until, got, a.Err, until, at)
	}
}
