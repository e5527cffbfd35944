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
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/journal"
	"layover/journal/facts"
	"layover/offsets"
	"layover/verify/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ingress = "delayed"
	group   = "layover-delayed"
	name    = ingress + "." + group
)

// fixture is brokers with an ingress topic of three partitions and its journal topic.
type fixture struct {
	*kafkatest.Cluster
	environ []string
	epoch   int32 // leader epoch of all partitions
	clock   time.Time
}

func newFixture(t *testing.T, opts ...kfake.Opt) *fixture {
	t.Helper()
	w := &fixture{Cluster: kafkatest.Start(t, 2, append(opts, kfake.ClusterID("c"), kfake.SeedTopics(3, ingress, name))...), clock: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	w.environ = []string{
		"KAFKA_BROKERS=" + w.Addr(), "LAYOVER_INGRESS_TOPICS=" + ingress, "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_ON_INVALID=drop", // the last two are of skip
	}
	w.Client = w.NewClient(kgo.ProducerLinger(10 * time.Millisecond)) // for batches of several records
	w.epoch = w.Broker.PartitionInfo(ingress, 0).Epoch
	return w
}

// result is the verb's exit code and output.
type result struct {
	code           int
	stdout, stderr string
}

// do runs the verb journal with more variables and the words of a command line.
func (w *fixture) do(line string, variables ...string) result {
	w.Helper()
	return w.verb(Journal, line, variables...)
}

func (w *fixture) verb(verb func(*process.Process) *cobra.Command, line string, variables ...string) result {
	w.Helper()
	var stdout, stderr bytes.Buffer
	code := clitest.Run(w.Context(), &process.Process{
		Args: strings.Fields(line), Environ: append(w.environ[:len(w.environ):len(w.environ)], variables...), Stdout: &stdout, Stderr: &stderr,
	}, verb)
	return result{code, stdout.String(), strings.ReplaceAll(stderr.String(), w.Addr(), "broker")}
}

// is fails the test unless a call went well and printed that.
func (w *fixture) is(got result, want string) {
	w.Helper()
	want = strings.TrimPrefix(want, "\n")
	if got.code != process.ExitOK || got.stderr != "" || got.stdout != want {
		w.Errorf("exit code %d, stderr %q, stdout:\n%s\nwant:\n%s", got.code, got.stderr, got.stdout, want)
	}
}

// fails fails the test unless a call failed at run time with that on stderr.
func (w *fixture) fails(got result, wantStderr string) {
	w.Helper()
	if got.code != process.ExitRuntime || got.stderr != wantStderr {
		w.Errorf("exit code %d, stderr:\n%s\nwant:\n%s\nstdout:\n%s", got.code, got.stderr, wantStderr, got.stdout)
	}
}

// append appends records of the ingress topic or of the journal, a second apart, and
// returns the last offset.
func (w *fixture) append(topic string, partition int32, values ...[]byte) (last int64) {
	w.Helper()
	for _, v := range values {
		w.clock = w.clock.Add(time.Second)
		last = w.Produce(&kgo.Record{Topic: topic, Partition: partition, Value: v, Timestamp: w.clock})
	}
	return last
}

// fill appends n records to a partition of the ingress topic.
func (w *fixture) fill(partition int32, n int) {
	w.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: ingress, Partition: partition}
	}
	w.Produce(records...)
}

// truncate makes the ingress log of a partition as it is after an unclean election. The
// log's last leader epoch ends where the log does now, and up to n more offsets are of a
// later epoch.
func (w *fixture) truncate(partition int32, n int) {
	w.Helper()
	if err := w.Broker.MoveTopicPartition(ingress, partition, 1-w.Broker.LeaderFor(ingress, partition)); err != nil {
		w.Fatal(err)
	}
	if w.Broker.PartitionInfo(ingress, partition).Epoch == w.epoch {
		w.Fatal("the leader epoch is the same")
	}
	w.fill(partition, n)
}

// commit commits an offset for the group, while it has no members.
func (w *fixture) commit(partition int32, at int64, epoch int32, metadata string) {
	w.Helper()
	w.Commit(group, kadm.Offset{Topic: ingress, Partition: partition, At: at, LeaderEpoch: epoch, Metadata: metadata})
}

// committed returns the group's offset of a partition, nil for none.
func (w *fixture) committed(partition int32) *offsets.Committed {
	w.Helper()
	o, ok := w.Committed(group, ingress, partition)
	if !ok {
		return nil
	}
	return &offsets.Committed{Offset: o.At, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
}

// records returns how many records a partition of the journal has.
func (w *fixture) records(partition int32) int64 {
	info := w.Broker.PartitionInfo(name, partition)
	return info.HighWatermark - info.LogStartOffset
}

// join makes a member of the group, and returns the function that ends it.
func (w *fixture) join() (leave func()) {
	w.Helper()
	cl := w.NewClient(kgo.ConsumerGroup(group), kgo.ConsumeTopics(ingress), kgo.DisableAutoCommit())
	if _, err := w.Broker.WaitGroupStable(w.Context(), group, 1); err != nil {
		w.Fatal(err)
	}
	return cl.Close
}

// assignment is a partition with a ledger whose records stand in the journal.
type assignment struct {
	w      *fixture
	into   int32 // partition of the journal
	epoch  int32 // leader epoch that its records say
	id     facts.Identity
	window *offsets.Window
	ledger *facts.Writer
}

func (w *fixture) id(partition int32, incarnation uint64) facts.Identity {
	return facts.Identity{
		Identity: offsets.Identity{ClusterID: "c", TopicID: w.Broker.TopicInfo(ingress).TopicID, Partition: partition},
		Group:    group, Incarnation: incarnation,
	}
}

func (w *fixture) assignment(partition int32, incarnation uint64) *assignment {
	return w.assignmentOf(w.id(partition, incarnation))
}

func (w *fixture) assignmentOf(id facts.Identity) *assignment {
	e := &assignment{w: w, into: id.Partition, epoch: w.epoch, id: id, window: offsets.NewWindow(0)}
	e.ledger = facts.NewWriter(id, uint64(id.Partition)+1, facts.Restored{}, e.window)
	e.ledger.Use(w.Broker.TopicInfo(name).TopicID, 1<<20)
	return e
}

// finish finishes every third offset of a stretch and writes its facts. A
// metadata limit of 256 characters makes it go into the journal.
func (e *assignment) finish(from, to int64) *assignment {
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

func (e *assignment) encode() offsets.Encoded {
	enc, _ := e.ledger.Encode(256, 256, 0, offsets.RunsState{})
	return enc
}

// commit commits as the assignment would.
func (e *assignment) commit() {
	e.w.Helper()
	e.w.commit(e.id.Partition, e.window.Low(), e.epoch, e.encode().Metadata)
}

// begin is restore, and fails the test unless nothing is missing.
func (w *fixture) begin(partition int32) (facts.Ask, facts.Answer) {
	w.Helper()
	ask, answer := w.restore(partition)
	if answer.Err != nil || answer.Complaint != nil || !answer.Restored.Whole {
		w.Errorf("partition %d: %v, %v", partition, answer.Err, answer.Complaint)
	}
	return ask, answer
}

// restore begins a partition as a restart does, from its commit and its journal.
func (w *fixture) restore(partition int32) (facts.Ask, facts.Answer) {
	w.Helper()
	was := w.committed(partition)
	if was == nil {
		w.Fatalf("partition %d has no offset", partition)
	}
	id, log := w.id(partition, 0), w.Broker.PartitionInfo(ingress, partition)
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
			answers, err := w.Admin().OffsetForLeaderEpoch(ctx, req)
			a := answers[ingress][partition]
			return a.EndOffset, errors.Join(err, a.Err) // a client may not know yet who leads
		},
	}
	j := journal.New(journal.Config{
		Group: group, Ingress: []string{ingress}, Name: func(string) string { return name }, Auto: true, Client: w.Client,
		Options: w.Options, Log: slog.New(slog.DiscardHandler),
	})
	var answer facts.Answer
	j.Restore(w.Context(), []facts.Ask{ask}, func(_ int, a facts.Answer) { answer = a })
	return ask, answer
}

// same fails the test unless two windows are.
func (w *fixture) same(got, want *offsets.Window) {
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

// newer is a record of a later format, as far as this release can read it.
var newer = append([]byte("LJ\x02\x02"), make([]byte, 56)...)
