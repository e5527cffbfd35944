package send

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/verify/kafkatest"
)

// startKafka starts a broker with the topic delayed and returns its environment.
func startKafka(t *testing.T, partitions int32) (*kafkatest.Cluster, []string) {
	t.Helper()
	cluster := kafkatest.Start(t, 1, kfake.SeedTopics(partitions, "delayed"))
	return cluster, []string{"KAFKA_BROKERS=" + cluster.Addr(), "LAYOVER_INGRESS_TOPICS=delayed,other"}
}

// written reads the topic delayed, by the id that send prints.
func written(cluster *kafkatest.Cluster) map[string]*kgo.Record {
	cluster.Helper()
	records := make(map[string]*kgo.Record)
	for _, r := range cluster.Records("delayed") {
		records[fmt.Sprintf("%s-%d-%d", r.Topic, r.Partition, r.Offset)] = r
	}
	return records
}

var printed = regexp.MustCompile(`^(delayed-\d+-\d+) due (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$`)

// parsePrinted returns the ids and due times of all lines, in their order.
func parsePrinted(t *testing.T, stdout string) (ids []string, due []time.Time) {
	t.Helper()
	for line := range strings.Lines(stdout) {
		m := printed.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("printed %q", line)
		}
		at, err := time.Parse(time.RFC3339, m[2])
		if err != nil {
			t.Fatal(err)
		}
		ids, due = append(ids, m[1]), append(due, at)
	}
	return ids, due
}

func TestSendWritesWhatItIsTold(t *testing.T) {
	cluster, environ := startKafka(t, 3)
	before := time.Now().Truncate(time.Millisecond)
	got := clitest.Call{Environ: environ, Args: []string{
		"--header", "trace=a=b", "hello", "--delay", "1m30s", "--key", "k", "--header", "trace=", "--to", "orders",
	}}.Do(t, Command)
	after := time.Now()
	if got.Code != process.ExitOK || got.Stderr != "" {
		t.Fatalf("got %+v", got)
	}
	ids, due := parsePrinted(t, got.Stdout)
	r := written(cluster)[ids[0]]
	if r == nil || len(ids) != 1 {
		t.Fatalf("printed %q, which is not there", got.Stdout)
	}
	if string(r.Value) != "hello" || string(r.Key) != "k" {
		t.Errorf("key %q value %q", r.Key, r.Value)
	}
	want := []kgo.RecordHeader{
		{Key: "trace", Value: []byte("a=b")}, {Key: "trace", Value: []byte("")},
		{Key: "x-delay", Value: []byte("1m30s")}, {Key: "x-deliver-to", Value: []byte("orders")},
	}
	if !reflect.DeepEqual(r.Headers, want) {
		t.Errorf("headers %q, want %q", r.Headers, want)
	}
	if r.Timestamp.Before(before) || r.Timestamp.After(after) || !due[0].Equal(r.Timestamp.Add(90*time.Second)) {
		t.Errorf("timestamp %v, due %v", r.Timestamp, due[0])
	}
}

// TestWhoseClockDueIsByIsSaid where the topic stamps records: the client does not tell the broker's timestamp, from
// which Layover counts.
func TestWhoseClockDueIsByIsSaid(t *testing.T) {
	const note = "note: topic \"delayed\" stamps records itself (LogAppendTime): due is by this machine's clock, and Layover counts from the broker's\n"
	for stamps, kind := range map[string]string{note: "LogAppendTime", "": "CreateTime"} {
		cluster := kafkatest.Start(t, 1)
		cluster.CreateTopic("delayed", 1, map[string]string{"message.timestamp.type": kind})
		environ := []string{"KAFKA_BROKERS=" + cluster.Addr(), "LAYOVER_INGRESS_TOPICS=delayed"}
		for wait, want := range map[string]string{"--delay 1m": stamps, "--delay auto": stamps, "--at 0": ""} {
			got := clitest.Call{Environ: environ, Args: append(strings.Fields(wait), "hello")}.Do(t, Command)
			if got.Code != process.ExitOK || got.Stderr != want {
				t.Errorf("%s, %s: %+v", kind, wait, got)
			}
		}
		cluster.Refuse(kmsg.DescribeConfigs, kfake.Fault{Err: kerr.TopicAuthorizationFailed})
		if got := (clitest.Call{Environ: environ, Args: []string{"--delay", "1m", "hello"}}).Do(t, Command); got.Code != process.ExitOK || got.Stderr != "" {
			t.Errorf("%s, which is not told: %+v", kind, got)
		}
	}
}

func TestSendAtAnInstant(t *testing.T) {
	cluster, environ := startKafka(t, 1)
	got := clitest.Call{Environ: environ, Args: []string{"--at", "2031-05-06T09:08:09.5+02:00", ""}}.Do(t, Command)
	if got.Code != process.ExitOK || got.Stdout != "delayed-0-0 due 2031-05-06T07:08:09.500Z\n" {
		t.Fatalf("got %+v", got)
	}
	r := written(cluster)["delayed-0-0"]
	if r.Key != nil || r.Value == nil || len(r.Value) > 0 || len(r.Headers) != 1 || r.Headers[0].Key != "x-deliver-at" {
		t.Errorf("key %v value %v headers %q", r.Key, r.Value, r.Headers)
	}
}

func TestLinesAreRecordsInTheirOrder(t *testing.T) {
	const n = 25_000 // more than may be under way at a time
	cluster, environ := startKafka(t, 3)
	var in bytes.Buffer
	for i := range n {
		if i%10 != 3 {
			fmt.Fprintf(&in, "line %d", i)
		}
		if i < n-1 { // the last needs no end
			in.WriteByte('\n')
		}
	}
	got := clitest.Call{Environ: environ, Args: []string{"--delay", "1h", "-"}, Stdin: &in}.Do(t, Command)
	if got.Code != process.ExitOK || got.Stderr != "" {
		t.Fatalf("code %d, stderr %q", got.Code, got.Stderr)
	}
	ids, due := parsePrinted(t, got.Stdout)
	if len(ids) != n {
		t.Fatalf("%d printed, want %d", len(ids), n)
	}
	records := written(cluster)
	for i, id := range ids {
		want := "line " + strconv.Itoa(i)
		if i%10 == 3 {
			want = ""
		}
		r := records[id]
		if r == nil || string(r.Value) != want || r.Value == nil || !due[i].Equal(r.Timestamp.Add(time.Hour)) {
			t.Fatalf("%s, due %v: %+v, want %q", id, due[i], r, want)
		}
	}
}

// A line is written and printed when it comes, not when stdin ends.
func TestALineDoesNotWaitForTheNext(t *testing.T) {
	_, environ := startKafka(t, 1)
	in, lines := io.Pipe()
	out, stdout := io.Pipe()
	code := make(chan int, 1)
	go func() { // ended by the end of lines
		code <- clitest.Run(t.Context(), &process.Process{Args: []string{"--delay", "1h", "-"}, Environ: environ,
			Stdin: in, Stdout: stdout, Stderr: io.Discard}, Command)
		stdout.Close()
	}()
	answers := bufio.NewScanner(out)
	for i := range 3 {
		fmt.Fprintln(lines, i)
		if !answers.Scan() || !strings.HasPrefix(answers.Text(), fmt.Sprintf("delayed-0-%d due ", i)) {
			t.Fatalf("line %d: printed %q", i, answers.Text())
		}
	}
	lines.Close()
	if answers.Scan() || <-code != process.ExitOK {
		t.Errorf("at the end: printed %q", answers.Text())
	}
}

func TestNoLinesAreNoRecords(t *testing.T) {
	_, environ := startKafka(t, 1)
	if got := (clitest.Call{Environ: environ, Args: []string{"--delay", "1h", "-"}}).Do(t, Command); got != (clitest.Result{Code: process.ExitOK}) {
		t.Errorf("got %+v", got)
	}
}

// The limit is the topic's, not the client library's: above Kafka's default
// a line goes through, and one that is too long names itself.
func TestTheTopicSaysHowLongALineMayBe(t *testing.T) {
	cluster, environ := startKafka(t, 1)
	limit := "3000000"
	_, err := cluster.Admin().AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: &limit}}, "delayed")
	if err != nil {
		t.Fatal(err)
	}
	in := "short\n" + strings.Repeat("x", 2_900_000) + "\n" + strings.Repeat("y", 3_000_001) + "\nnever\n"
	got := clitest.Call{Environ: environ, Args: []string{"-", "--delay", "1h"}, Stdin: strings.NewReader(in)}.Do(t, Command)
	ids, _ := parsePrinted(t, got.Stdout)
	if got.Code != process.ExitRuntime || len(ids) != 2 || !strings.Contains(got.Stderr, "line 3: longer than the 3000000 bytes") {
		t.Errorf("code %d, %d printed, stderr %q", got.Code, len(ids), got.Stderr)
	}
	if n := len(written(cluster)); n != 2 {
		t.Errorf("%d written", n)
	}
}

func TestARefusedRecordEndsTheLines(t *testing.T) {
	cluster, environ := startKafka(t, 1)
	requests := 0
	cluster.Answer(kmsg.Produce, func(req kmsg.Request) kmsg.Response {
		requests++
		if requests == 1 {
			return nil
		}
		in := req.(*kmsg.ProduceRequest)
		resp := in.ResponseKind().(*kmsg.ProduceResponse)
		for _, topic := range in.Topics {
			t := kmsg.NewProduceResponseTopic()
			t.Topic, t.TopicID = topic.Topic, topic.TopicID
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = topic.Partitions[0].Partition, kerr.TopicAuthorizationFailed.Code
			t.Partitions = append(t.Partitions, p)
			resp.Topics = append(resp.Topics, t)
		}
		return resp
	})
	in, lines := io.Pipe()
	out, stdout := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() { // ended by the refusal, although lines stays open
		code <- clitest.Run(t.Context(), &process.Process{Args: []string{"--delay", "1h", "-"}, Environ: environ,
			Stdin: in, Stdout: stdout, Stderr: &stderr}, Command)
		stdout.Close()
	}()
	answers := bufio.NewScanner(out)
	fmt.Fprintln(lines, "taken")
	if !answers.Scan() {
		t.Fatal("the first line is not printed")
	}
	fmt.Fprintln(lines, "refused")
	if got := <-code; got != process.ExitRuntime || answers.Scan() {
		t.Errorf("code %d, printed %q", got, answers.Text())
	}
	if !strings.Contains(stderr.String(), "line 2: TOPIC_AUTHORIZATION_FAILED") {
		t.Errorf("stderr %q", stderr.String())
	}
	lines.Close()
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	_, environ := startKafka(t, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := l.Addr().String()
	l.Close()
	tests := map[string]struct {
		flags  []string
		stderr []string
	}{
		"topic":   {[]string{"--topic", "nope"}, []string{`"nope"`, "--topic", "LAYOVER_INGRESS_TOPICS"}},
		"brokers": {[]string{"--brokers", nobody}, []string{nobody, "refused", "--brokers", "KAFKA_BROKERS"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := clitest.Call{Environ: environ, Args: append(test.flags, "--delay", "1s", "v")}.Do(t, Command)
			if got.Code != process.ExitRuntime || got.Stdout != "" {
				t.Fatalf("got %+v", got)
			}
			for _, word := range test.stderr {
				if !strings.Contains(got.Stderr, word) {
					t.Errorf("stderr %q lacks %q", got.Stderr, word)
				}
			}
		})
	}
}

// toldEnd is a source that says when it is read to its end.
type toldEnd struct {
	io.Reader
	ended chan struct{} // closed at the end
	once  sync.Once
}

func (r *toldEnd) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err == io.EOF {
		r.once.Do(func() { close(r.ended) })
	}
	return n, err
}

// TestOfManyRefusedLinesTheFirstIsNamed: all were on their way when the first was refused.
func TestOfManyRefusedLinesTheFirstIsNamed(t *testing.T) {
	cluster, environ := startKafka(t, 1)
	in := &toldEnd{Reader: strings.NewReader(strings.Repeat("refused\n", 50)), ended: make(chan struct{})}
	cluster.Refuse(kmsg.Produce, kfake.Fault{Err: kerr.TopicAuthorizationFailed, When: func(kmsg.Request) bool {
		<-in.ended
		return true
	}})
	got := clitest.Call{Environ: environ, Args: []string{"--delay", "1h", "-"}, Stdin: in}.Do(t, Command)
	if got.Code != process.ExitRuntime || got.Stdout != "" || strings.Count(got.Stderr, "TOPIC_AUTHORIZATION_FAILED") != 1 || !strings.Contains(got.Stderr, "line 1: ") {
		t.Errorf("got %+v", got)
	}
}
