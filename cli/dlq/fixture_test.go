package dlq

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/verify/kafkatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	graves  = "dead-letters"
	ingress = "delayed"
	group   = "layover-delayed"
)

// fixture is brokers with a dead-letter topic of two partitions and an ingress topic of
// three.
type fixture struct {
	*kafkatest.Cluster
	environ []string
	stderr  io.Writer // beside the result's; nil: none
	died    time.Time // of the next letter; each is a second later
	n       int       // letters so far
}

func newFixture(t *testing.T, opts ...kfake.Opt) *fixture {
	t.Helper()
	w := &fixture{
		Cluster: kafkatest.Start(t, 2, append(opts, kfake.SeedTopics(2, graves), kfake.SeedTopics(3, ingress))...),
		died:    time.Date(2026, 11, 22, 23, 59, 58, 0, time.UTC),
	}
	w.environ = []string{"KAFKA_BROKERS=" + w.Addr(), "LAYOVER_DLQ_TOPIC=" + graves, "LAYOVER_INGRESS_TOPICS=" + ingress, "LAYOVER_EGRESS_TOPIC=ready"}
	return w
}

// dead is a letter of the record at delayed/PARTITION@OFFSET. Key and value are its number,
// and headers its own ones.
func (w *fixture) dead(at, partition int32, reason string, headers ...kgo.RecordHeader) *kgo.Record {
	w.n++
	w.died = w.died.Add(time.Second)
	return &kgo.Record{
		Topic: graves, Partition: at, Key: fmt.Appendf(nil, "secret-key-%d", w.n), Value: fmt.Appendf(nil, "secret-value-%d", w.n),
		Headers: append(headers, pairs(
			"layover.errors.topic", ingress, "layover.errors.partition", fmt.Sprint(partition), "layover.errors.offset", fmt.Sprint(w.n),
			"layover.errors.group", group, "layover.errors.reason", reason, "layover.errors.message", fmt.Sprintf("message %d", w.n),
			"layover.errors.timestamp", w.died.Format("2006-01-02T15:04:05.000Z"))...),
	}
}

// fill writes letters of delayed, in turn to both partitions and of all three.
func (w *fixture) fill(n int) {
	w.Helper()
	var all []*kgo.Record
	for i := range n {
		all = append(all, w.dead(int32(i%2), int32(i%3), "target_unavailable"))
	}
	w.Produce(all...)
}

// do runs the verb with the words of a command line.
func (w *fixture) do(line string, more ...string) clitest.Result {
	w.Helper()
	return w.run(w.Context(), line, more...)
}

func (w *fixture) run(ctx context.Context, line string, more ...string) clitest.Result {
	w.Helper()
	var stdout, stderr bytes.Buffer
	p := &process.Process{Args: strings.Fields(line), Environ: append(slices.Clone(w.environ), more...), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}
	if w.stderr != nil {
		p.Stderr = io.MultiWriter(&stderr, w.stderr)
	}
	code := clitest.Run(ctx, p, Command)
	return clitest.Result{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

// fine runs a command line that has to end well.
func (w *fixture) fine(line string, more ...string) string {
	w.Helper()
	r := w.do(line, more...)
	if r.Code != process.ExitOK {
		w.Fatalf("%s: code %d\n%s%s", line, r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// object runs a command line that prints one object.
func (w *fixture) object(line string, more ...string) map[string]any {
	w.Helper()
	all := clitest.Objects(w.T, w.fine(line+" -o json", more...))
	if len(all) != 1 {
		w.Fatalf("%s: %d objects", line, len(all))
	}
	return all[0]
}

// sent counts the values in the ingress topic.
func (w *fixture) sent() map[string]int {
	w.Helper()
	got := make(map[string]int)
	for _, r := range w.Records(ingress) {
		got[string(r.Value)]++
	}
	return got
}

// hasOnce fails the test unless exactly these numbers of letters were sent again, each
// once.
func (w *fixture) hasOnce(numbers ...int) {
	w.Helper()
	want := make(map[string]int)
	for _, n := range numbers {
		want[fmt.Sprintf("secret-value-%d", n)] = 1
	}
	if got := w.sent(); fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("sent again %v\nwant       %v", got, want)
	}
}

// upTo are the numbers from 1 on.
func upTo(n int) (out []int) {
	for i := range n {
		out = append(out, i+1)
	}
	return out
}

// hook calls f at the first write, and keeps nothing.
type hook struct {
	f    func()
	done bool
	said strings.Builder
}

func (h *hook) Write(p []byte) (int, error) {
	if !h.done {
		h.done = true
		h.f()
	}
	return h.said.Write(p)
}
