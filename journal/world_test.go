package journal

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	ingress = "delayed"
	name    = "delayed.journal"
)

// world is one bubble: virtual time, a virtual network, two brokers, a journal.
type world struct {
	*testing.T
	net    *kfake.VirtualNetwork
	broker *kfake.Cluster
	client *kgo.Client
	cfg    Config
	j      *Journal
	logs   lockedBuffer

	mu      sync.Mutex
	changes []State
	dead    map[string]bool // addresses that nobody answers at
	stop    func()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// inBubble runs f with brokers that have an ingress topic of three partitions, and with
// a journal that does not run yet.
func inBubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, net: &kfake.VirtualNetwork{}, dead: make(map[string]bool)}
		var err error
		w.broker, err = kfake.NewCluster(kfake.NumBrokers(2), kfake.Ports(9092, 9093), kfake.ListenFn(w.net.Listen), kfake.SeedTopics(3, ingress))
		if err != nil {
			t.Fatal(err)
		}
		w.client = w.kafka()
		w.cfg = Config{
			Group: "layover", Ingress: []string{ingress}, Name: func(s string) string { return s + ".journal" }, Auto: true, Client: w.client,
			Options: w.options,
			Produce: func(r *kgo.Record, done func(*kgo.Record, error)) { w.client.Produce(context.Background(), r, done) },
			Changed: func(topic string, s State) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.changes = append(w.changes, s)
			},
			Log: slog.New(slog.NewTextHandler(&w.logs, nil)),
		}
		w.j = New(w.cfg)
		defer func() {
			if w.stop != nil {
				w.stop()
			}
			w.j.Wait()
			w.client.Close()
			w.broker.Close()
			if t.Failed() {
				t.Logf("log:\n%s", w.logs.String())
			}
		}()
		f(w)
	})
}

func (w *world) options() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.Dialer(w.dial), kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond })}
}

// dial connects, but to a dead broker, from which nothing is heard for 8 s.
func (w *world) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	dead := w.dead[addr]
	w.mu.Unlock()
	if dead {
		ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
		defer cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return w.net.DialContext(ctx, network, addr)
}

func (w *world) kafka(opts ...kgo.Opt) *kgo.Client {
	w.Helper()
	c, err := kgo.NewClient(append(append(w.options(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchCompression(kgo.NoCompression())), opts...)...)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// run starts the keeper.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.j.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		<-ended
		w.stop = nil
	}
}

// last returns what was passed on last.
func (w *world) last() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.changes) == 0 {
		return State{}
	}
	return w.changes[len(w.changes)-1]
}

func (w *world) changed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.changes)
}

// until waits in virtual time until a condition holds.
func (w *world) until(within time.Duration, what string, cond func() bool) {
	w.Helper()
	for deadline := time.Now().Add(within); !cond(); {
		if time.Now().After(deadline) {
			w.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// said counts the lines of the log with all of the parts.
func (w *world) said(parts ...string) (n int) {
	for line := range strings.Lines(w.logs.String()) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			n++
		}
	}
	return n
}

// sayOnce fails the test unless one line of the log has all of the parts.
func (w *world) sayOnce(parts ...string) {
	w.Helper()
	if n := w.said(parts...); n != 1 {
		w.Errorf("%d lines with %q, want 1", n, parts)
	}
}

// makeJournal makes the journal topic as the keeper would.
func (w *world) makeJournal(partitions int32) offsets.TopicID {
	w.Helper()
	configs := make(map[string]string)
	for _, c := range wantedConfig {
		configs[c.name] = c.value
	}
	if err := w.broker.CreateTopic(name, partitions, configs); err != nil {
		w.Fatal(err)
	}
	return w.broker.TopicInfo(name).TopicID
}

// append appends values to a partition of the journal and returns the last offset.
func (w *world) append(partition int32, values ...[]byte) (last int64) {
	w.Helper()
	for _, v := range values {
		r := &kgo.Record{Topic: name, Partition: partition, Value: v}
		if err := w.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			w.Fatal(err)
		}
		last = r.Offset
	}
	return last
}

// fault makes the brokers answer requests of a kind about a topic with an error, until
// the returned function is called.
func (w *world) fault(key kmsg.Key, f kfake.Fault) (end func()) {
	f.Keys, f.Count = []kmsg.Key{key}, -1
	return w.broker.Fault(f).Remove
}

func (w *world) admin() *kadm.Client { return kadm.NewClient(w.client) }

// tenure is a partition with a ledger whose records go through the journal.
type tenure struct {
	w      *world
	tp     offsets.TopicPartition
	id     facts.Identity
	window *offsets.Window
	ledger *facts.Writer
	topic  offsets.TopicID
}

func (w *world) tenure(partition int32, topic offsets.TopicID) *tenure {
	e := &tenure{w: w, tp: offsets.TopicPartition{Topic: ingress, Partition: partition}, window: offsets.NewWindow(0), topic: topic}
	e.id = facts.Identity{Identity: offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{7}, Partition: partition}, Group: "layover", Incarnation: 99}
	e.ledger = facts.NewWriter(e.id, uint64(partition)+1, facts.Restored{}, e.window)
	e.ledger.Use(topic, 1<<20)
	return e
}

// finish finishes every third offset below a bound, so that metadata cannot hold them.
func (e *tenure) finish(from, to int64) {
	for o := from; o < to; o += 3 {
		if e.window.Finish(o) {
			e.ledger.Note(o, o+1)
		}
	}
}

// values cuts records without writing them.
func (e *tenure) values() (out []facts.Write) {
	e.ledger.Encode(256, 256) // enters the journal
	out = e.ledger.Cut(nil, 5, true, time.Now().UnixMilli())
	for e.ledger.WantsPart() {
		out = e.ledger.CutPart(out, 5)
	}
	return out
}

// write writes until nothing is left to write, through a journal that runs.
func (e *tenure) write() {
	e.w.Helper()
	for {
		cut := e.values()
		if len(cut) == 0 {
			return
		}
		done := make(chan facts.Result, len(cut))
		for _, c := range cut {
			e.w.j.Write(e.tp, c, func(r facts.Result) { done <- r })
		}
		for range cut {
			r := <-done
			if r.Err != nil {
				e.w.Fatal(r.Err)
			}
			e.ledger.Written(r, time.Now().UnixMilli())
		}
	}
}

// store writes what is to be written with nobody's help.
func (e *tenure) store() {
	e.w.Helper()
	for {
		cut := e.values()
		if len(cut) == 0 {
			return
		}
		for _, c := range cut {
			e.ledger.Written(facts.Result{Seq: c.Seq, Offset: e.w.append(e.tp.Partition, c.Value)}, time.Now().UnixMilli())
		}
	}
}

// ask asks as the next tenure would, from what a commit of this one says.
func (e *tenure) ask() facts.Ask {
	e.w.Helper()
	enc, _ := e.ledger.Encode(256, 256)
	w, ext, err := offsets.DecodeAll(enc.Metadata, e.id.Identity, e.window.Low())
	if err != nil {
		e.w.Fatal(err)
	}
	return facts.Ask{TopicPartition: e.tp, ID: e.id, Window: w, LeaderEpoch: 5, LogEnd: 1 << 40, Committed: ext.Journal,
		EndOf: func(context.Context, int32) (int64, error) { return 1 << 40, nil }}
}

// blank asks without any commit: whatever the journal has is found.
func (e *tenure) blank() facts.Ask {
	a := e.ask()
	a.Window, a.Committed, a.LeaderEpoch = offsets.NewWindow(0), offsets.Journal{}, -1
	return a
}

// same fails the test unless a window is the tenure's.
func (e *tenure) same(got *offsets.Window) {
	e.w.Helper()
	if err := differ(got, e.window); err != nil {
		e.w.Errorf("partition %d: %v", e.tp.Partition, err)
	}
}

func differ(got, want *offsets.Window) (err error) {
	if got.Low() != want.Low() || got.Above() != want.Above() {
		return fmt.Errorf("low %d and %d above, want low %d and %d above", got.Low(), got.Above(), want.Low(), want.Above())
	}
	want.Each(func(from, to int64) bool {
		for o := from; o < to; o++ {
			if !got.Finished(o) {
				err = fmt.Errorf("%d is not finished", o)
			}
		}
		return err == nil
	})
	return err
}
