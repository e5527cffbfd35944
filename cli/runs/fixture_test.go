package runs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/journal/copies"
	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory/far"
	"layover/verify/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ingress      = "delayed"
	group        = "layover-delayed"
	journalTopic = ingress + "." + group
	runsTopic    = journalTopic + ".runs"

	// secret is in every key, value and header of a copy, and in nothing that is printed.
	secret = "s3cr3t"
)

// farOff is a day in the far future, so that nothing is due within a week of any test.
var farOff = time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)

// fixture is brokers with an ingress topic of three partitions, its journal topic and its
// runs topic.
type fixture struct {
	*kafkatest.Cluster
	environ []string
}

func newFixture(t *testing.T, opts ...kfake.Opt) *fixture {
	t.Helper()
	w := &fixture{Cluster: kafkatest.Start(t, 2, append(opts, kfake.ClusterID("c"), kfake.SeedTopics(3, ingress, journalTopic, runsTopic))...)}
	w.environ = []string{"KAFKA_BROKERS=" + w.Addr(), "LAYOVER_INGRESS_TOPICS=" + ingress}
	w.Client = w.NewClient(kgo.ProducerLinger(5 * time.Millisecond)) // for batches of several records
	return w
}

// result is the verb's exit code and output.
type result struct {
	code           int
	stdout, stderr string
}

// do runs the verb with more variables and the words of a command line. It fails the test
// where any of a record's bytes are printed.
func (w *fixture) do(line string, variables ...string) result {
	w.Helper()
	var stdout, stderr bytes.Buffer
	code := clitest.Run(w.Context(), &process.Process{
		Args: strings.Fields(line), Environ: append(w.environ[:len(w.environ):len(w.environ)], variables...), Stdout: &stdout, Stderr: &stderr,
	}, Command)
	if all := stdout.String() + stderr.String(); strings.Contains(all, secret) || strings.Contains(all, fmt.Sprintf("%x", secret)) {
		w.Errorf("bytes of a record are printed:\n%s", all)
	}
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

// runsID returns the id of the runs topic.
func (w *fixture) runsID() offsets.TopicID { return w.Broker.TopicInfo(runsTopic).TopicID }

// id returns the identity of a partition for commits.
func (w *fixture) id(partition int32) offsets.Identity {
	return offsets.Identity{ClusterID: "c", TopicID: w.Broker.TopicInfo(ingress).TopicID, Partition: partition}
}

// commit commits for the group what it says of a partition's runs.
func (w *fixture) commit(partition int32, said offsets.RunsState) {
	w.Helper()
	ext := offsets.Extension{Incarnation: 0xa1, Runs: said}
	w.commitAs(partition, offsets.Encode(offsets.NewWindow(1), w.id(partition), ext, offsets.MaxMetadata).Metadata)
}

func (w *fixture) commitAs(partition int32, metadata string) {
	w.Helper()
	w.Commit(group, kadm.Offset{Topic: ingress, Partition: partition, At: 1, LeaderEpoch: 0, Metadata: metadata})
}

// said returns what the group's commit says of a partition's runs.
func (w *fixture) said(partition int32) offsets.RunsState {
	w.Helper()
	o, _ := w.Committed(group, ingress, partition)
	_, ext, err := offsets.DecodeAll(o.Metadata, w.id(partition), o.At)
	if err != nil {
		w.Fatal(err)
	}
	return ext.Runs
}

// member is a member of the group that has a partition, with its index of the runs.
type member struct {
	*fixture
	partition int32
	writer    uint64
	number    uint64 // of the next run
	index     *far.Index
	facts     *facts.Writer
}

// member begins with a partition whose runs topic is empty.
func (w *fixture) member(partition int32, writer uint64) *member {
	id := facts.Identity{Identity: offsets.Identity{ClusterID: "c", TopicID: w.runsID(), Partition: partition}, Group: group}
	window := offsets.NewWindow(0)
	m := &member{fixture: w, partition: partition, writer: writer, facts: facts.NewJournalOnly(id, writer, facts.Restored{}, window)}
	m.facts.Use(w.Broker.TopicInfo(journalTopic).TopicID, 1<<20)
	m.index = far.New(far.Beginning{Writer: writer, Window: window, Facts: m.facts})
	return m
}

func (m *member) id() runs.Identity {
	return runs.Identity{Owner: runs.OwnerOf("c", group, ingress), Partition: m.partition}
}

// copied returns a copy that is due at an instant, of the next record in ingress.
func (m *member) copied(id runs.Identity, due time.Time) *kgo.Record {
	c := runs.Copy{Origin: runs.Origin{TopicID: m.Broker.TopicInfo(ingress).TopicID, Offset: 7, LeaderEpoch: -1, TimestampMs: 1}, DeadlineMs: due.UnixMilli(), Writer: m.writer, Run: m.number}
	r := &kgo.Record{Topic: runsTopic, Partition: m.partition, Key: []byte(secret), Value: []byte(strings.Repeat(secret, 10))}
	r.Headers, _ = runs.AppendCopy([]kgo.RecordHeader{{Key: secret, Value: []byte(secret)}}, nil, id, &c, r.Key, r.Value)
	return r
}

// move writes a run of copies that are due at instants, which ascend.
func (m *member) move(due ...time.Time) *member {
	m.Helper()
	records := make([]*kgo.Record, len(due))
	for i, at := range due {
		records[i] = m.copied(m.id(), at)
	}
	m.Produce(records...)
	for _, r := range records {
		found, err := copies.Find(m.id(), r)
		if err != nil || !m.index.Acked(found) {
			m.Fatal(found, err)
		}
	}
	m.index.Seal()
	m.index.Answered()
	m.number++
	return m
}

// list writes a directory.
func (m *member) list() *member {
	m.Helper()
	d, err := m.index.Directory()
	if err != nil {
		m.Fatal(err)
	}
	value, err := runs.AppendDirectory(nil, m.id(), &d)
	if err != nil {
		m.Fatal(err)
	}
	m.index.Listed(m.index.LeaderEpoch(), m.Produce(&kgo.Record{Topic: runsTopic, Partition: m.partition, Value: value}))
	return m
}

// finish delivers copies, and writes that to the journal.
func (m *member) finish(offsets ...int64) *member {
	m.Helper()
	for _, o := range offsets {
		if !m.index.Finish(o) {
			m.Fatalf("%d is finished already", o)
		}
	}
	for now := int64(1); ; now++ {
		cut := m.facts.Cut(nil, 0, true, now)
		for m.facts.WantsPart() {
			cut = m.facts.CutPart(cut, 0)
		}
		if len(cut) == 0 {
			return m
		}
		for _, c := range cut {
			at := m.Produce(&kgo.Record{Topic: journalTopic, Partition: m.partition, Value: c.Value})
			m.facts.Written(facts.Result{Seq: c.Seq, Offset: at}, now)
		}
	}
}

// commit commits what is known now.
func (m *member) commit() *member {
	m.Helper()
	said := m.index.State()
	said.TopicID = m.runsID()
	m.fixture.commit(m.partition, said)
	m.index.Committed(said.Low)
	return m
}

// delete deletes the records that are finished.
func (m *member) delete() *member {
	m.Helper()
	below, ok := m.index.Delete()
	if !ok {
		m.Fatal("nothing is to be deleted")
	}
	m.DeleteRecords(runsTopic, m.partition, below)
	m.index.Deleted(below, nil)
	return m
}

// days returns instants so many days behind farOff.
func days(n ...int) (all []time.Time) {
	for _, day := range n {
		all = append(all, farOff.AddDate(0, 0, day))
	}
	return all
}

// readBy has a member read its runs topic up to the end.
func (w *fixture) readBy(m *member) {
	w.Helper()
	var found []far.Found
	for _, r := range w.Records(runsTopic) {
		if f, err := copies.Find(m.id(), r); r.Partition == m.partition && !errors.Is(err, runs.ErrNoCopy) && !errors.Is(err, runs.ErrDamaged) {
			found = append(found, f)
		}
	}
	m.index.Read(m.index.Known(), w.Broker.PartitionInfo(runsTopic, m.partition).HighWatermark, found, 0, 0, nil)
	m.index.Seal()
}

// sum makes the checksum of a copy right.
func sum(r *kgo.Record) {
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	own := r.Headers[len(r.Headers)-1].Value
	crc := crc32.New(castagnoli)
	number := func(n int) { binary.Write(crc, binary.BigEndian, uint32(n)) }
	field := func(b []byte) { number(len(b)); crc.Write(b) }
	crc.Write(own[:2])
	crc.Write(own[6:])
	field(r.Key)
	field(r.Value)
	number(len(r.Headers) - 1)
	for _, h := range r.Headers[:len(r.Headers)-1] {
		field([]byte(h.Key))
		field(h.Value)
	}
	binary.BigEndian.PutUint32(own[2:], crc.Sum32())
}
