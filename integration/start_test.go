package integration

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestConfigurationErrorsAreReportedAtOnceWithExitCode2(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		says     []string
	}{
		"nothing set":            {nil, []string{"KAFKA_BROKERS", "LAYOVER_INGRESS_TOPICS", "LAYOVER_EGRESS_TOPIC", "LAYOVER_DLQ_TOPIC"}},
		"several wrong":          {minimal("LAYOVER_MAX_DELAY=5", "LAYOVER_LANES=many"), []string{"LAYOVER_MAX_DELAY", "LAYOVER_LANES"}},
		"a login without itself": {minimal("KAFKA_SASL_MECHANISM=SCRAM-SHA-512"), []string{"KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD"}},
		"a name of Java's":       {minimal("KAFKA_SSL_TRUSTSTORE_LOCATION=/ca.jks"), []string{"KAFKA_SSL_TRUSTSTORE_LOCATION", "did you mean KAFKA_TLS_CA"}},
		"a loop":                 {minimal("LAYOVER_EGRESS_TOPIC=delayed"), []string{"LAYOVER_EGRESS_TOPIC"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := launch(t, c.settings...)
			if code := p.wait(10 * time.Second); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
			for _, word := range c.says {
				if !strings.Contains(p.log(), word) {
					t.Errorf("does not say %s:\n%s", word, p.log())
				}
			}
		})
	}
}

func TestATakenHTTPPortIsExitCode1NamingTheSetting(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p := launch(t, minimal("LAYOVER_HTTP_ADDR="+taken.Addr().String())...)
	if code := p.wait(10 * time.Second); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(p.log(), "LAYOVER_HTTP_ADDR") {
		t.Errorf("does not name LAYOVER_HTTP_ADDR:\n%s", p.log())
	}
}

func TestOfTwoProcessesWithOneInstanceIDOneExits1AndSaysSo(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 2)
	id := "LAYOVER_GROUP_INSTANCE_ID=" + f.group + "-0"
	first := f.layover(id)
	second := start(t, f.settings(id)...)
	ended, stays := first, second
	select {
	case <-first.exited:
	case <-second.exited:
		ended, stays = second, first
	case <-time.After(45 * time.Second):
		t.Fatal("both processes go on")
	}
	if ended.code != 1 {
		t.Errorf("exit code %d, want 1", ended.code)
	}
	if !strings.Contains(ended.log(), "FENCED_INSTANCE_ID") {
		t.Errorf("does not say FENCED_INSTANCE_ID:\n%s", ended.log())
	}
	out := f.collect(f.egress)
	l := f.newLedger()
	f.produce(l.delayed("a", time.Second), l.delayed("b", time.Second))
	out.await(2, 30*time.Second)
	l.judge(out.all(), 0)
	stays.terminate()
}

func TestTooShortARetentionIsWarnedAboutInStatusAndLog(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	short, large, compacted := f.ingress+".short", f.ingress+".large", f.ingress+".compacted"
	f.createTopic(short, 1, map[string]string{"retention.ms": "3600000"})
	f.createTopic(large, 1, map[string]string{"retention.bytes": "1000000000"})
	f.createTopic(compacted, 1, map[string]string{"cleanup.policy": "compact"})
	p := f.layover("LAYOVER_INGRESS_TOPICS=" + strings.Join([]string{f.ingress, short, large, compacted}, ","))
	want := map[string]string{short: "retention.ms", large: "retention.bytes", compacted: "cleanup.policy"}
	eventually(t, 20*time.Second, "three warnings in /status", func() bool { return len(p.status().Kafka.Warnings) >= len(want) })
	warnings := p.status().Kafka.Warnings
	for topic, setting := range want {
		if !strings.Contains(warnings[topic], setting) {
			t.Errorf("the warning of %s does not name %s: %q", topic, setting, warnings[topic])
		}
		eventually(t, 20*time.Second, "a line of the log that names "+topic+" and "+setting, func() bool {
			for line := range strings.Lines(p.log()) {
				if strings.Contains(line, `"preflight `) && strings.Contains(line, topic) && strings.Contains(line, setting) {
					return true
				}
			}
			return false
		})
	}
	// Kafka's default retention of a week is more than the six hours that are needed.
	if text := warnings[f.ingress]; text != "" {
		t.Errorf("a topic with Kafka's defaults is warned about: %s", text)
	}
}

// command runs a verb that ends by itself.
func command(t *testing.T, settings []string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, need(t, shared.binary), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ(settings...), strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestWhatSendWritesIsDelivered(t *testing.T) {
	t.Parallel()
	f := onSharedBroker(t, 1)
	p := f.layover()
	out := f.collect(f.egress)
	settings := []string{"KAFKA_BROKERS=" + f.broker.addr, "LAYOVER_INGRESS_TOPICS=" + f.ingress}
	began := time.Now()
	code, stdout, stderr := command(t, settings, "", "send", "--delay", "1s", "--key", "one", "--header", "a=b", "hello")
	if code != 0 || !strings.Contains(stdout, f.ingress+"-0-0") {
		t.Errorf("send: exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := command(t, settings, "l1\nl2\n", "send", "--delay", "1s", "-"); code != 0 || !strings.Contains(stdout, f.ingress+"-0-2") {
		t.Errorf("send from stdin: exit code %d\n%s%s", code, stdout, stderr)
	}
	eventually(t, 20*time.Second, "three records", func() bool { all, _ := out.count(); return all == 3 })
	for _, a := range out.all() {
		if a.received.Before(began.Add(time.Second)) {
			t.Errorf("%q came %v after it was sent", a.Value, a.received.Sub(began))
		}
		if id, _ := lookup(t, a.Record, "layover-id"); id == f.ingress+"-0-0" {
			checkSent(t, a.Record)
		}
	}
	if code, stdout, stderr := command(t, []string{"LAYOVER_HTTP_ADDR=" + p.http}, "", "health", "--ready"); code != 0 {
		t.Errorf("health --ready: exit code %d\n%s%s", code, stdout, stderr)
	}
	p.terminate()
	if code, _, _ := command(t, []string{"LAYOVER_HTTP_ADDR=" + p.http}, "", "health"); code != 1 {
		t.Errorf("health without a process: exit code %d, want 1", code)
	}
}

func checkSent(t *testing.T, r *kgo.Record) {
	if a, _ := lookup(t, r, "a"); string(r.Key) != "one" || string(r.Value) != "hello" || a != "b" {
		t.Errorf("key %q, value %q, headers %q", r.Key, r.Value, r.Headers)
	}
}
