package journal

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/cluster/needs"
	"layover/journal/facts"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	ingress = "delayed"
	name    = "delayed.journal"
)

// fixture is one bubble: virtual time, a virtual network, two brokers, a journal.
type fixture struct {
	*kafkatest.Cluster
	cfg  Config
	j    *Journal
	logs kafkatest.Log

	mu      sync.Mutex
	changes []State
	dead    map[string]bool // addresses that nobody answers at
	stop    func()
}

// inBubble runs f with brokers that have an ingress topic of three partitions, and with
// a journal that does not run yet.
func inBubble(t *testing.T, f func(w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{Cluster: kafkatest.StartVirtual(t, 2, kfake.SeedTopics(3, ingress)), dead: make(map[string]bool)}
		w.Client = w.kafka()
		w.cfg = Config{
			Group: "layover", Ingress: []string{ingress}, Name: func(s string) string { return s + ".journal" }, Auto: true, Client: w.Client,
			Options: w.options,
			Produce: func(r *kgo.Record, done func(*kgo.Record, error)) { w.Client.Produce(context.Background(), r, done) },
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
			if t.Failed() {
				t.Logf("log:\n%s", w.logs.String())
			}
		}()
		f(w)
	})
}

func (w *fixture) options() []kgo.Opt {
	return append(w.Options(), kgo.Dialer(w.dial), kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }))
}

func (w *fixture) kafka(opts ...kgo.Opt) *kgo.Client {
	w.Helper()
	return w.NewClient(append(append(w.options(), kgo.ProducerBatchCompression(kgo.NoCompression())), opts...)...)
}

// dial connects, but to a dead broker, from which nothing is heard for 8 s.
func (w *fixture) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	w.mu.Lock()
	dead := w.dead[addr]
	w.mu.Unlock()
	if dead {
		ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
		defer cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return w.Net.DialContext(ctx, network, addr)
}

// run starts the keeper.
func (w *fixture) run() {
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
func (w *fixture) last() State {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.changes) == 0 {
		return State{}
	}
	return w.changes[len(w.changes)-1]
}

func (w *fixture) changed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.changes)
}

// said counts the lines of the log with all of the parts.
func (w *fixture) said(parts ...string) int { return len(w.logs.Lines(parts...)) }

// sayOnce fails the test unless one line of the log has all of the parts.
func (w *fixture) sayOnce(parts ...string) {
	w.Helper()
	if n := w.said(parts...); n != 1 {
		w.Errorf("%d lines with %q, want 1", n, parts)
	}
}

// makeJournal makes the journal topic as the keeper would.
func (w *fixture) makeJournal(partitions int32) offsets.TopicID {
	w.Helper()
	configs := make(map[string]string)
	for _, c := range needs.JournalConfig() {
		configs[c.Name] = c.Value
	}
	return w.CreateTopic(name, partitions, configs)
}

// append appends values to a partition of the journal and returns the last offset.
func (w *fixture) append(partition int32, values ...[]byte) (last int64) {
	w.Helper()
	for _, v := range values {
		last = w.Produce(&kgo.Record{Topic: name, Partition: partition, Value: v})
	}
	return last
}

// assignment is a partition with a ledger whose records go through the journal.
type assignment struct {
	w      *fixture
	tp     offsets.TopicPartition
	id     facts.Identity
	window *offsets.Window
	ledger *facts.Writer
	topic  offsets.TopicID
}

func (w *fixture) assignment(partition int32, topic offsets.TopicID) *assignment {
	e := &assignment{w: w, tp: offsets.TopicPartition{Topic: ingress, Partition: partition}, window: offsets.NewWindow(0), topic: topic}
	e.id = facts.Identity{Identity: offsets.Identity{ClusterID: "c", TopicID: offsets.TopicID{7}, Partition: partition}, Group: "layover", Incarnation: 99}
	e.ledger = facts.NewWriter(e.id, uint64(partition)+1, facts.Restored{}, e.window)
	e.ledger.Use(topic, 1<<20)
	return e
}

// finish finishes every third offset below a bound, so that metadata cannot hold them.
func (e *assignment) finish(from, to int64) {
	for o := from; o < to; o += 3 {
		if e.window.Finish(o) {
			e.ledger.Note(o, o+1)
		}
	}
}

// values cuts records without writing them.
func (e *assignment) values() (out []facts.Write) {
	e.ledger.Encode(256, 256, 0, offsets.RunsState{}) // enters the journal
	out = e.ledger.Cut(nil, 5, true, time.Now().UnixMilli())
	for e.ledger.WantsPart() {
		out = e.ledger.CutPart(out, 5)
	}
	return out
}

// write writes until nothing is left to write, through a journal that runs.
func (e *assignment) write() {
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
func (e *assignment) store() {
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

// ask asks as the next assignment would, from what a commit of this one says.
func (e *assignment) ask() facts.Ask {
	e.w.Helper()
	enc, _ := e.ledger.Encode(256, 256, 0, offsets.RunsState{})
	w, ext, err := offsets.DecodeAll(enc.Metadata, e.id.Identity, e.window.Low())
	if err != nil {
		e.w.Fatal(err)
	}
	return facts.Ask{TopicPartition: e.tp, ID: e.id, Window: w, LeaderEpoch: 5, LogEnd: 1 << 40, Committed: ext.Journal,
		EndOf: func(context.Context, int32) (int64, error) { return 1 << 40, nil }}
}

// blank asks without any commit: whatever the journal has is found.
func (e *assignment) blank() facts.Ask {
	a := e.ask()
	a.Window, a.Committed, a.LeaderEpoch = offsets.NewWindow(0), offsets.JournalRange{}, -1
	return a
}

// same fails the test unless a window is the assignment's.
func (e *assignment) same(got *offsets.Window) {
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
