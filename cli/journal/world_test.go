package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/journal"
	"layover/journal/facts"
	"layover/offsets"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ingress = "delayed"
	group   = "layover-delayed"
	name    = ingress + "." + group
)

// world is a broker with an ingress topic of three partitions and its journal topic.
type world struct {
	*testing.T
	broker  *kfake.Cluster
	client  *kgo.Client
	environ []string
	epoch   int32 // leader epoch of all partitions
	clock   time.Time
}

func newWorld(t *testing.T, opts ...kfake.Opt) *world {
	t.Helper()
	broker, err := kfake.NewCluster(append(opts, kfake.NumBrokers(2), kfake.ClusterID("c"), kfake.SeedTopics(3, ingress, name))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	w := &world{T: t, broker: broker, clock: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	w.environ = []string{
		"KAFKA_BROKERS=" + broker.ListenAddrs()[0], "LAYOVER_INGRESS_TOPICS=" + ingress, "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_ON_INVALID=drop",
	}
	w.client = w.kafka(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	w.epoch = broker.PartitionInfo(ingress, 0).Epoch
	return w
}

func (w *world) kafka(opts ...kgo.Opt) *kgo.Client {
	w.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(w.broker.ListenAddrs()...), kgo.DisableClientMetrics())...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.Close)
	return c
}

func (w *world) admin() *kadm.Client { return kadm.NewClient(w.client) }

// result is the verb's exit code and output.
type result struct {
	code           int
	stdout, stderr string
}

// do runs the verb journal with more variables and the words of a command line.
func (w *world) do(line string, variables ...string) result {
	w.Helper()
	return w.verb(Journal, line, variables...)
}

func (w *world) verb(verb func(*process.Process) *cobra.Command, line string, variables ...string) result {
	w.Helper()
	var stdout, stderr bytes.Buffer
	code := clitest.Run(w.Context(), &process.Process{
		Args: strings.Fields(line), Environ: append(w.environ[:len(w.environ):len(w.environ)], variables...), Stdout: &stdout, Stderr: &stderr,
	}, verb)
	return result{code, stdout.String(), strings.ReplaceAll(stderr.String(), w.broker.ListenAddrs()[0], "broker")}
}

// is fails the test unless a call went well and printed that.
func (w *world) is(got result, want string) {
	w.Helper()
	want = strings.TrimPrefix(want, "\n")
	if got.code != process.ExitOK || got.stderr != "" || got.stdout != want {
		w.Errorf("exit code %d, stderr %q, stdout:\n%s\nwant:\n%s", got.code, got.stderr, got.stdout, want)
	}
}

// fails fails the test unless a call failed at run time with that on stderr.
func (w *world) fails(got result, wantStderr string) {
	w.Helper()
	if got.code != process.ExitRuntime || got.stderr != wantStderr {
		w.Errorf("exit code %d, stderr:\n%s\nwant:\n%s\nstdout:\n%s", got.code, got.stderr, wantStderr, got.stdout)
	}
}

// append appends records of the ingress topic or of the journal, a second apart, and
// returns the last offset.
func (w *world) append(topic string, partition int32, values ...[]byte) (last int64) {
	w.Helper()
	for _, v := range values {
		w.clock = w.clock.Add(time.Second)
		r := &kgo.Record{Topic: topic, Partition: partition, Value: v, Timestamp: w.clock}
		if err := w.client.ProduceSync(w.Context(), r).FirstErr(); err != nil {
			w.Fatal(err)
		}
		last = r.Offset
	}
	return last
}

// fill appends n records to a partition of the ingress topic.
func (w *world) fill(partition int32, n int) {
	w.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: ingress, Partition: partition}
	}
	if err := w.client.ProduceSync(w.Context(), records...).FirstErr(); err != nil {
		w.Fatal(err)
	}
}

// truncate makes the ingress log of a partition as it is after an unclean election: its
// last leader epoch ends where it does now, and up to n more offsets are of a later one.
func (w *world) truncate(partition int32, n int) {
	w.Helper()
	if err := w.broker.MoveTopicPartition(ingress, partition, 1-w.broker.LeaderFor(ingress, partition)); err != nil {
		w.Fatal(err)
	}
	if w.broker.PartitionInfo(ingress, partition).Epoch == w.epoch {
		w.Fatal("the leader epoch is the same")
	}
	w.fill(partition, n)
}

// commit commits an offset for the group, while it has no members.
func (w *world) commit(partition int32, at int64, epoch int32, metadata string) {
	w.Helper()
	var all kadm.Offsets
	all.Add(kadm.Offset{Topic: ingress, Partition: partition, At: at, LeaderEpoch: epoch, Metadata: metadata})
	if err := w.admin().CommitAllOffsets(w.Context(), group, all); err != nil {
		w.Fatal(err)
	}
}

// committed returns the group's offset of a partition, nil for none.
func (w *world) committed(partition int32) *offsets.Committed {
	w.Helper()
	all, err := w.admin().FetchOffsets(w.Context(), group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		w.Fatal(err)
	}
	o, ok := all.Lookup(ingress, partition)
	if !ok || o.At < 0 {
		return nil
	}
	return &offsets.Committed{Offset: o.At, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
}

// records returns how many records a partition of the journal has.
func (w *world) records(partition int32) int64 {
	info := w.broker.PartitionInfo(name, partition)
	return info.HighWatermark - info.LogStartOffset
}

// join makes a member of the group, and returns the function that ends it.
func (w *world) join() (leave func()) {
	w.Helper()
	cl := w.kafka(kgo.ConsumerGroup(group), kgo.ConsumeTopics(ingress), kgo.DisableAutoCommit())
	if _, err := w.broker.WaitGroupStable(w.Context(), group, 1); err != nil {
		w.Fatal(err)
	}
	return cl.Close
}

// tenure is a partition with a ledger whose records stand in the journal.
type tenure struct {
	w      *world
	into   int32 // partition of the journal
	epoch  int32 // leader epoch that its records say
	id     facts.Identity
	window *offsets.Window
	ledger *facts.Writer
}

func (w *world) id(partition int32, incarnation uint64) facts.Identity {
	return facts.Identity{
		Identity: offsets.Identity{ClusterID: "c", TopicID: w.broker.TopicInfo(ingress).TopicID, Partition: partition},
		Group:    group, Incarnation: incarnation,
	}
}

func (w *world) tenure(partition int32, incarnation uint64) *tenure {
	return w.tenureOf(w.id(partition, incarnation))
}

func (w *world) tenureOf(id facts.Identity) *tenure {
	e := &tenure{w: w, into: id.Partition, epoch: w.epoch, id: id, window: offsets.NewWindow(0)}
	e.ledger = facts.NewWriter(id, uint64(id.Partition)+1, facts.Restored{}, e.window)
	e.ledger.Use(w.broker.TopicInfo(name).TopicID, 1<<20)
	return e
}

// finish finishes every third offset of a stretch and writes its facts. A
// metadata limit of 256 characters makes it go into the journal.
func (e *tenure) finish(from, to int64) *tenure {
	e.w.Helper()
	for o := from; o < to; o += 3 {
		if e.window.Finish(o) {
			e.ledger.Note(o, o+1)
		}
	}
	for now := int64(1); ; now++ {
		e.encode() // enters the journal
		cut := e.ledger.Cut(nil, e.epoch, true, now)
		for e.ledger.WantsPart() {
			cut = e.ledger.CutPart(cut, e.epoch)
		}
		if len(cut) == 0 {
			return e
		}
		for _, c := range cut {
			e.ledger.Written(facts.Result{Seq: c.Seq, Offset: e.w.append(name, e.into, c.Value)}, now)
		}
	}
}

func (e *tenure) encode() offsets.Encoded {
	enc, _ := e.ledger.Encode(256, 256)
	return enc
}

// commit commits as the tenure would.
func (e *tenure) commit() {
	e.w.Helper()
	e.w.commit(e.id.Partition, e.window.Low(), e.epoch, e.encode().Metadata)
}

// begin is restore, and fails the test unless nothing is missing.
func (w *world) begin(partition int32) (facts.Ask, facts.Answer) {
	w.Helper()
	ask, answer := w.restore(partition)
	if answer.Err != nil || answer.Complaint != nil || !answer.Restored.Whole {
		w.Errorf("partition %d: %v, %v", partition, answer.Err, answer.Complaint)
	}
	return ask, answer
}

// restore begins a partition as a restart does, from its commit and its journal.
func (w *world) restore(partition int32) (facts.Ask, facts.Answer) {
	w.Helper()
	was := w.committed(partition)
	if was == nil {
		w.Fatalf("partition %d has no offset", partition)
	}
	id, log := w.id(partition, 0), w.broker.PartitionInfo(ingress, partition)
	start, err := offsets.Resume(*was, id.Identity, offsets.Bounds{Start: log.LogStartOffset, End: log.HighWatermark})
	if err != nil || start.Foreign != nil {
		w.Fatalf("partition %d: %v, %v", partition, err, start.Foreign)
	}
	id.Incarnation = start.Incarnation
	ask := facts.Ask{
		TopicPartition: offsets.TopicPartition{Topic: ingress, Partition: partition}, ID: id, Window: start.Window, LeaderEpoch: start.LeaderEpoch,
		LogEnd: log.HighWatermark, Committed: start.Journal,
		EndOf: func(ctx context.Context, epoch int32) (int64, error) {
			var req kadm.OffsetForLeaderEpochRequest
			req.Add(ingress, partition, epoch)
			answers, err := w.admin().OffsetForLeaderEpoch(ctx, req)
			a := answers[ingress][partition]
			return a.EndOffset, errors.Join(err, a.Err) // a client may not know yet who leads
		},
	}
	j := journal.New(journal.Config{
		Group: group, Ingress: []string{ingress}, Name: func(string) string { return name }, Auto: true, Client: w.client,
		Options: func() []kgo.Opt { return []kgo.Opt{kgo.SeedBrokers(w.broker.ListenAddrs()...)} }, Log: slog.New(slog.DiscardHandler),
	})
	var answer facts.Answer
	j.Restore(w.Context(), []facts.Ask{ask}, func(_ int, a facts.Answer) { answer = a })
	return ask, answer
}

// same fails the test unless two windows are.
func (w *world) same(got, want *offsets.Window) {
	w.Helper()
	if runs(got) != runs(want) {
		w.Errorf("got %s\nwant %s", runs(got), runs(want))
	}
}

func runs(w *offsets.Window) string {
	s := fmt.Sprint(w.Low())
	w.Each(func(from, to int64) bool { s += fmt.Sprintf(" %d-%d", from, to); return true })
	return s
}

// fault makes the broker refuse requests of a kind, until the end of the test.
func (w *world) fault(key kmsg.Key, f kfake.Fault) *kfake.FaultHandle {
	f.Keys, f.Count = []kmsg.Key{key}, -1
	h := w.broker.Fault(f)
	w.Cleanup(h.Remove)
	return h
}

// newer is a record of a later format, as far as this release can read it.
var newer = append([]byte("LJ\x02\x02"), make([]byte, 56)...)
