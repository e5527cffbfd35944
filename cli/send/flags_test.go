package send

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/delay"
)

var someKafka = []string{"KAFKA_BROKERS=kafka:9092", "LAYOVER_INGRESS_TOPICS=first,second"}

// parse reads a command line without a verb in front.
func parse(p *process.Process) (*options, error) {
	cmd := new(cobra.Command)
	f := newFlags(cmd, p)
	if err := cmd.ParseFlags(p.Args); err != nil {
		return nil, err
	}
	return f.options(p, f.Args())
}

func TestWrongUsageOfSend(t *testing.T) {
	tests := map[string]struct {
		args    string // split at spaces; ~ is an empty one
		environ []string
		stderr  string
	}{
		"no value":               {"--delay 5s", someKafka, "a value is missing"},
		"two values":             {"--delay 5s a b", someKafka, "one value"},
		"neither delay nor at":   {"v", someKafka, "--delay or --at is missing"},
		"delay and at":           {"v --delay 5s --at 2030-01-01T00:00:00Z", someKafka, "--delay and --at are two deadlines: give one"},
		"bad delay":              {"v --delay soon", someKafka, `--delay "soon"`},
		"empty delay":            {"v --delay ~", someKafka, "--delay"},
		"at without a zone":      {"v --at 2030-01-01T00:00:00", someKafka, "--at"},
		"at in seconds":          {"v --at 1893456000", someKafka, "looks like seconds"},
		"empty at":               {"v --at ~", someKafka, "--at"},
		"empty target":           {"v --delay 5s --to ~", someKafka, "--to"},
		"bad target":             {"v --delay 5s --to a/b", someKafka, `--to "a/b"`},
		"internal target":        {"v --delay 5s --to __x", someKafka, "internal"},
		"header without a value": {"v --delay 5s --header n", someKafka, "NAME=VALUE"},
		"header without a name":  {"v --delay 5s --header =v", someKafka, "NAME=VALUE"},
		"our own header":         {"v --header X-Delay=5", someKafka, "--delay"},
		"our own header of ids":  {"v --delay 5s --header X-Delay-Id=a", someKafka, "--id"},
		"our own header of ends": {"v --delay 5s --header X-Expire-At=0", someKafka, "--expire-at"},
		"a cancel by hand":       {"v --delay 5s --header X-Delay-Cancel=true", someKafka, `--header "X-Delay-Cancel=true": this header is written by layover cancel: use that`},
		"a copy by hand":         {"v --delay 5s --header Layover-Cancel-Of=a/2", someKafka, "layover cancel"},
		"a preset's header":      {"v --delay 5s --header Scheduler-Epoch=1", append([]string{"LAYOVER_HEADERS=etf1"}, someKafka...), `--header "Scheduler-Epoch=1": this header is a control header by LAYOVER_HEADERS or LAYOVER_HEADER_MAP here: use --delay, --at`},
		"a preset's expiry":      {"v --delay 5s --header ce_expirytime=1", append([]string{"LAYOVER_HEADERS=cloudevents"}, someKafka...), "LAYOVER_HEADERS"},
		"a mapped header":        {"v --delay 5s --header x-run-at=1", append([]string{"LAYOVER_HEADER_MAP=X-Run-At=epoch_s"}, someKafka...), "LAYOVER_HEADER_MAP"},
		"empty id":               {"v --delay 5s --id ~", someKafka, `--id "": no value; want 1 to 256 bytes`},
		"an id with a tab":       {"v --delay 5s --id a\tb", someKafka, `--id "a\x09b": a control character in it`},
		"an id of lines":         {"- --delay 5s --id a", someKafka, "--id names one record: with - each line would replace the one before"},
		"bad expiry":             {"v --delay 5s --expire-at soon", someKafka, `--expire-at "soon": want RFC 3339 with a zone`},
		"empty expiry":           {"v --delay 5s --expire-at ~", someKafka, "--expire-at"},
		"an id without a wait":   {"v --id a", someKafka, "--delay or --at is missing"},
		"unknown flag":           {"v --delay 5s --wait", someKafka, "-wait"},
		"a value like a flag":    {"--delay 5s -5", someKafka, "-5"},
		"no brokers":             {"v --delay 5s --topic t", nil, "KAFKA_BROKERS"},
		"no topic":               {"v --delay 5s --brokers b:1", nil, "LAYOVER_INGRESS_TOPICS"},
		"bad brokers":            {"v --delay 5s --brokers b --topic t", nil, "--brokers"},
		"bad topic":              {"v --delay 5s --brokers b:1 --topic a/b", nil, "--topic"},
		"two topics":             {"v --delay 5s --brokers b:1 --topic a,b", nil, "one topic"},
		"bad variable":           {"v --delay 5s", []string{"KAFKA_BROKERS=b", "LAYOVER_INGRESS_TOPICS=t"}, "KAFKA_BROKERS"},
		"login asked for":        {"v --delay 5s", append([]string{"KAFKA_SASL_USERNAME=me"}, someKafka...), "KAFKA_SASL_USERNAME"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			args := strings.Split(test.args, " ")
			for i, arg := range args {
				args[i] = strings.ReplaceAll(arg, "~", "")
			}
			got := clitest.Call{Args: args, Environ: test.environ}.Do(t, Command)
			if got.Code != process.ExitUsage || got.Stdout != "" || !strings.Contains(got.Stderr, test.stderr) {
				t.Errorf("got %+v, want %q", got, test.stderr)
			}
		})
	}
}

func TestWhatIsOddAboutAConnectionIsSaidOnStderr(t *testing.T) {
	args := []string{"v", "--delay", "5s", "--brokers", "127.0.0.1:1", "--topic", "t"}
	for _, test := range []struct {
		environ []string
		stderr  string
		code    int
	}{
		{[]string{"KAFKA_BOOTSTRAP_SERVERS=hunter2"}, "warning: KAFKA_BOOTSTRAP_SERVERS is ignored: KAFKA_BROKERS is set\n", process.ExitRuntime},
		{[]string{"KAFKA_TLS_INSECURE_SKIP_VERIFY=true"}, "warning: KAFKA_TLS_INSECURE_SKIP_VERIFY is true", process.ExitRuntime},
		{[]string{"SASL_JAAS_CONFIG=hunter2"}, "did you mean KAFKA_SASL_PASSWORD?", process.ExitUsage},
		{[]string{"KAFKA_SECURITY_PROTOCOL=SASL_SSL", "KAFKA_SASL_PASSWORD=hunter2"}, "KAFKA_SASL_MECHANISM: is missing", process.ExitUsage},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // no broker is asked
		var out bytes.Buffer
		code := clitest.Run(ctx, &process.Process{Args: args, Environ: test.environ, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}, Command)
		if code != test.code || !strings.Contains(out.String(), test.stderr) || strings.Contains(out.String(), "hunter2") {
			t.Errorf("%q: code %d, %q, want %d and %q", test.environ, code, &out, test.code, test.stderr)
		}
	}
}

// TestAMappedHeaderIsRefusedAlsoWhereAnEnvFileMapsIt: it is the file that Layover reads.
func TestAMappedHeaderIsRefusedAlsoWhereAnEnvFileMapsIt(t *testing.T) {
	cluster, environ := startKafka(t, 1)
	env := clitest.EnvFile(t, "LAYOVER_HEADER_MAP=defer=epoch_ms\n")
	for verb, got := range map[string]clitest.Result{
		"send":   clitest.Call{Environ: environ, Args: []string{"--env-file", env, "--delay", "5s", "--header", "defer=soon", "v"}}.Do(t, Command),
		"cancel": clitest.Call{Environ: environ, Args: []string{"--env-file", env, "--header", "defer=soon", "order-17"}}.Do(t, Cancel),
	} {
		if got.Code != process.ExitUsage || !strings.Contains(got.Stderr, `--header "defer=soon": this header is a control header by LAYOVER_HEADERS or LAYOVER_HEADER_MAP here`) {
			t.Errorf("%s: %+v", verb, got)
		}
	}
	if n := len(written(cluster)); n != 0 {
		t.Errorf("%d records were written", n)
	}
}

func TestFlagsWinOverVariables(t *testing.T) {
	tests := map[string]struct {
		args, environ []string
		broker, topic string
	}{
		"variables":       {nil, someKafka, "kafka:9092", "first"},
		"flags":           {[]string{"--brokers", "b:1", "--topic", "t"}, someKafka, "b:1", "t"},
		"flags alone":     {[]string{"--brokers", "b:1", "--topic", "t"}, nil, "b:1", "t"},
		"other nonsense":  {nil, append([]string{"LAYOVER_LANES=x", "LAYOVER_HTTP_ADDR=x"}, someKafka...), "kafka:9092", "first"},
		"a bad variable":  {[]string{"--brokers", "b:1", "--topic", "t"}, []string{"KAFKA_BROKERS=x", "LAYOVER_INGRESS_TOPICS=a/b"}, "b:1", "t"},
		"one of the both": {[]string{"--topic", "t"}, someKafka, "kafka:9092", "t"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := parse(&process.Process{Args: append([]string{"--delay", "1s", "v"}, test.args...), Environ: test.environ})
			if err != nil || len(o.kafka.Brokers) != 1 || o.kafka.Brokers[0] != test.broker || o.topic != test.topic {
				t.Errorf("got %+v, %v", o, err)
			}
		})
	}
}

// send prints the deadline that the server reads from the same record.
func TestDueIsWhatTheServerReads(t *testing.T) {
	targets, err := delay.NewTargets("ready", nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	auto, err := delay.ParseBackoff("7s..9m x3")
	if err != nil {
		t.Fatal(err)
	}
	rules := delay.Rules{MaxDelay: 3650 * 24 * time.Hour, Targets: targets, Backoff: auto}
	now := time.UnixMilli(1_772_370_000_123)
	for _, args := range [][]string{
		{"--delay", "0"}, {"--delay", "1500"}, {"--delay", "-5s"}, {"--delay", "100us"}, {"--delay", "1ms1ns"},
		{"--delay", "1500.0ms"}, {"--delay", "P1DT2H"}, {"--delay", "1w"}, {"--delay", "PT1.0001S"},
		{"--at", "2026-03-01T14:00:00.0001+01:00"}, {"--at", "1772370000001"}, {"--at", "0"},
		{"--delay", "auto"}, {"--delay", "1s..1h x2"}, {"--delay", "1m..1h x1.5 jitter=0% max=0"}, {"--delay", "auto", "--header", "x-delay-attempt=2"},
		{"--delay", "auto", "--header", "layover-due=2030-01-01T00:00:00.000Z"},
	} {
		o, err := parse(&process.Process{Args: append(args, "v"), Environ: append([]string{"LAYOVER_BACKOFF=7s..9m x3"}, someKafka...)})
		if err != nil {
			t.Fatal(err)
		}
		r := &kgo.Record{Topic: "first", Partition: 3, Offset: 17, Headers: o.headers, Timestamp: now}
		decision, invalid := rules.Parse(r, now.UnixMilli())
		if invalid != nil || decision.DeadlineMs != o.dueMs(r) {
			t.Errorf("%q: server %+v %v, printed %d", args, decision, invalid, o.dueMs(r))
		}
	}
}

// parseCancel reads a command line of cancel without a verb in front.
func parseCancel(p *process.Process) (*cancelOptions, error) {
	cmd := new(cobra.Command)
	f := newCancelFlags(cmd, p)
	if err := cmd.ParseFlags(p.Args); err != nil {
		return nil, err
	}
	return f.options(p, cmd.Flags().Args())
}
