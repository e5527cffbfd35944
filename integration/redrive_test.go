package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// redrive is one `layover dlq redrive --execute` that runs.
type redrive struct {
	f              *fixture
	cmd            *exec.Cmd
	stdout, stderr *buffer
	ended          chan error
}

// redrives starts one.
func (f *fixture) redrives(args ...string) *redrive {
	f.Helper()
	r := &redrive{f: f, stdout: new(buffer), stderr: new(buffer), ended: make(chan error, 1)}
	r.cmd = exec.Command(need(f.T, shared.binary), append([]string{"dlq", "redrive", "--execute"}, args...)...)
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = environ(f.settings()...), r.stdout, r.stderr
	if err := r.cmd.Start(); err != nil {
		f.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }() // ends with the process
	f.Cleanup(func() {
		if f.Failed() {
			f.Logf("redrive %q:\n%s%s", args, r.stdout.String(), r.stderr.String())
		}
		r.cmd.Process.Kill()
	})
	return r
}

// end waits for the exit code; it is -1 for one that was killed.
func (r *redrive) end() int {
	r.f.Helper()
	select {
	case err := <-r.ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		if err != nil {
			r.f.Fatal(err)
		}
		return 0
	case <-time.After(90 * time.Second):
		r.f.Fatal("redrive does not end")
		return 0
	}
}

func (r *redrive) signal(s os.Signal) {
	r.f.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.f.Fatal(err)
	}
}

var goOn = regexp.MustCompile(`--offsets (\S+)\n`)

// left is the last --offsets of an output.
func (r *redrive) left(out *buffer) string {
	r.f.Helper()
	all := goOn.FindAllStringSubmatch(out.String(), -1)
	if len(all) == 0 {
		r.f.Fatalf("no --offsets in\n%s%s", r.stdout.String(), r.stderr.String())
	}
	return all[len(all)-1][1]
}

// entered is the number of records in the ingress topic.
func (f *fixture) entered() (n int64) {
	f.Helper()
	ends, err := f.ends(f.ingress)
	if err != nil {
		return -1 // asked again
	}
	for _, end := range ends {
		n += end
	}
	return n
}

// TestTenThousandDeadLettersAreRedrivenThoughItIsKilled: by Ctrl-C, by kill -9, and each
// time gone on with what it printed last. None is missing, and none came twice but those
// that were written between its last line and the kill.
func TestTenThousandDeadLettersAreRedrivenThoughItIsKilled(t *testing.T) {
	long(t)
	t.Parallel()
	const letters, rate = 10_000, 500 // a second; progress is said every 10 s
	need(t, shared.binary)
	f := emptyFixture(t, need(t, shared.broker))
	f.createTopic(f.ingress, 4, nil)
	f.createTopic(f.egress, 4, nil)
	f.createTopic(f.deadLetters, 3, nil)
	f.layover("LAYOVER_MAX_DELAY=1h")
	dead, delivered := f.collect(f.deadLetters), f.collect(f.egress)
	var records []*kgo.Record
	for i := range letters {
		records = append(records, &kgo.Record{Key: fmt.Append(nil, "key-", i), Value: fmt.Append(nil, "value-", i), Headers: []kgo.RecordHeader{header("x-delay", "2h"), header("n", fmt.Sprint(i))}})
	}
	f.produce(records...)
	dead.await(letters, time.Minute)
	f.endWithMarkers(f.deadLetters, 3)

	first := f.redrives("--delay", "1s", "--rate", fmt.Sprint(rate))
	eventually(t, 30*time.Second, "a part of it is written", func() bool { return f.entered() > letters+2000 })
	first.signal(os.Interrupt)
	if code := first.end(); code != 130 || !strings.HasSuffix(first.stderr.String(), "layover dlq: stopped\n") {
		t.Fatalf("code %d\n%s%s", code, first.stdout.String(), first.stderr.String())
	}
	at := f.entered()
	second := f.redrives("--delay", "1s", "--rate", fmt.Sprint(rate), "--offsets", first.left(first.stdout))
	eventually(t, 60*time.Second, "it says how to go on", func() bool { return strings.Contains(second.stderr.String(), "so far; not done: --offsets ") })
	second.signal(syscall.SIGKILL)
	if code := second.end(); code != -1 {
		t.Fatalf("code %d", code)
	}
	killed := f.entered() - at
	third := f.redrives("--delay", "1s", "--rate", "20000", "--offsets", second.left(second.stderr))
	if code := third.end(); code != 0 || !strings.Contains(third.stdout.String(), "All of it is done.") {
		t.Fatalf("code %d\n%s%s", code, third.stdout.String(), third.stderr.String())
	}
	again := f.entered() - letters - letters
	t.Logf("%d by Ctrl-C, %d by kill -9, %d twice", at-letters, killed, again)
	if at-letters < 2000 || killed < rate || again < 0 || again > 10*rate {
		t.Errorf("%d by Ctrl-C, %d by kill -9, %d twice", at-letters, killed, again)
	}
	eventually(t, time.Minute, "all of it is delivered", func() bool {
		all, _ := delivered.count()
		return int64(all) >= letters+again
	})
	delivered.settle()
	f.hasEach(delivered, records, again)
}

// endWithMarkers leaves an aborted transaction at the end of each partition.
func (f *fixture) endWithMarkers(topic string, partitions int32) {
	f.Helper()
	cl := f.kafka(kgo.TransactionalID(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := cl.BeginTransaction(); err != nil {
		f.Fatal(err)
	}
	for n := range partitions {
		if err := cl.ProduceSync(f.Context(), &kgo.Record{Topic: topic, Partition: n, Value: []byte("aborted")}).FirstErr(); err != nil {
			f.Fatal(err)
		}
	}
	if err := cl.EndTransaction(f.Context(), kgo.TryAbort); err != nil {
		f.Fatal(err)
	}
}

// hasEach fails the test unless each record was delivered with its own bytes, and with the
// place of one letter. It also fails unless so many came again.
func (f *fixture) hasEach(c *collector, records []*kgo.Record, again int64) {
	f.Helper()
	values, letters := make(map[string]string), make(map[string]int)
	for _, a := range c.all() {
		values[string(a.Key)] = string(a.Value)
		place, _ := lookup(f.T, a.Record, "layover-redriven")
		letters[place]++
		if n, _ := lookup(f.T, a.Record, "n"); "key-"+n != string(a.Key) {
			f.Fatalf("%s has header n=%s", a.Key, n)
		}
	}
	for _, r := range records {
		if values[string(r.Key)] != string(r.Value) {
			f.Errorf("%s was delivered with %q", r.Key, values[string(r.Key)])
		}
	}
	if n := len(c.all()); len(letters) != len(records) || int64(n-len(records)) != again {
		f.Errorf("%d deliveries of %d letters, %d of them again, want %d", n, len(letters), n-len(records), again)
	}
}

// redrivesWithItsOwnRights takes all rights away but those that redrive is said to need. It
// names each that is missing.
func (g *guarded) redrivesWithItsOwnRights() {
	g.Helper()
	const kafkaACLs = "kafka-acls.sh --bootstrap-server localhost:9092 "
	for _, resource := range []string{"--topic delayed", "--topic ready", "--topic dead-letters", "--topic delayed.layover-delayed", "--group layover-delayed"} {
		g.acls(kafkaACLs + "--remove --force " + resource)
	}
	redrive := func() (code int, out string) {
		cmd := exec.CommandContext(g.Context(), need(g.T, shared.binary), "dlq", "redrive", "--execute")
		cmd.Env = environ("KAFKA_BROKERS="+g.broker.addr, "LAYOVER_DLQ_TOPIC=dead-letters", "LAYOVER_INGRESS_TOPICS=delayed")
		said, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(said)
	}
	text, err := os.ReadFile("../docs/dead-letters.md")
	if err != nil {
		g.Fatal(err)
	}
	_, rights, _ := bytes.Cut(text, []byte("\n## Rights\n"))
	commands := regexp.MustCompile(`(?m)^    (kafka-acls.sh .*\\\n.*)$`).FindAllSubmatch(rights, -1)
	if len(commands) != 2 {
		g.Fatalf("%d commands in the document", len(commands))
	}
	for i, missing := range []string{"; allow Describe on topic dead-letters", "; allow Describe on topic delayed"} {
		eventually(g.T, 30*time.Second, "redrive says "+missing, func() bool {
			code, out := redrive()
			return code == 1 && strings.Contains(out, missing)
		})
		g.acls(strings.NewReplacer("kafka:9092", "localhost:9092", "User:operator", "User:layover").Replace(string(commands[i][1])))
	}
	eventually(g.T, 30*time.Second, "redrive has the rights that it needs", func() bool {
		code, out := redrive()
		return code == 0 && strings.Contains(out, " 1 written\n")
	})
	g.acls(kafkaACLs + "--remove --force --allow-principal User:layover --topic delayed --operation Write")
	eventually(g.T, 30*time.Second, "redrive names the right to write", func() bool {
		code, out := redrive()
		return code == 1 && strings.Contains(out, "; allow Write on topic delayed") && strings.Contains(out, "To go on, the same command with --offsets ")
	})
}
