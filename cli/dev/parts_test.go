package dev

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/process"
	"layover/config"
	"layover/delay"
)

func TestTheUsersSettingsApplyButForKafka(t *testing.T) {
	environ, ignored := compose([]string{
		"KAFKA_BROKERS=kafka:9092", "KAFKA_SASL_PASSWORD=secret", "LAYOVER_EGRESS_TOPIC=orders", "LAYOVER_DLQ_TOPIC=",
		"LAYOVER_MAX_DELAY=3d", "LAYOVER_HTTP_ADDR=", "HOME=/home/me", "SERVICE_BINDING_ROOT=/bindings", "AWS_REGION=eu-west-1",
	}, "127.0.0.1:9092")
	if want := []string{"KAFKA_BROKERS", "KAFKA_SASL_PASSWORD", "LAYOVER_EGRESS_TOPIC", "SERVICE_BINDING_ROOT"}; !reflect.DeepEqual(ignored, want) {
		t.Errorf("ignored %q, want %q", ignored, want)
	}
	cfg, warnings, err := config.Load(environ)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if cfg.Kafka.Brokers[0] != "127.0.0.1:9092" || cfg.EgressTopic != "ready" || cfg.DLQTopic != "dead-letters" ||
		cfg.MaxDelay != 72*time.Hour || cfg.HTTPAddr != "127.0.0.1:9846" {
		t.Errorf("got %+v", cfg)
	}
}

func TestWhatTheUserHasInFilesAppliesAsWell(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p := process.Process{
		EnvFiles: []string{write(".env", "LAYOVER_HTTP_ADDR_FILE="+write("addr", ":1234\n")+"\nLAYOVER_MAX_DELAY=3d\nLAYOVER_LOG_LEVEL=info\n")},
		Environ: []string{"KAFKA_CLIENT_ID=me", "LAYOVER_EGRESS_TOPIC_FILE=/none", "LAYOVER_TOPIC_TARGETS=orders=x",
			"LAYOVER_TOPIC_DELAYS_FILE=/none", "LAYOVER_LOG_LEVEL="},
	}
	if err := p.ReadEnvFiles(); err != nil {
		t.Fatal(err)
	}
	environ, ignored := compose(p.Environ, "127.0.0.1:9092")
	want := []string{"KAFKA_CLIENT_ID", "LAYOVER_EGRESS_TOPIC_FILE", "LAYOVER_TOPIC_TARGETS", "LAYOVER_TOPIC_DELAYS_FILE"}
	if !reflect.DeepEqual(ignored, want) {
		t.Errorf("ignored %q, want %q", ignored, want)
	}
	cfg, warnings, err := config.Load(environ)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if cfg.HTTPAddr != ":1234" || cfg.MaxDelay != 72*time.Hour || cfg.EgressTopic != "ready" || cfg.LogLevel != slog.LevelWarn || cfg.Kafka.ClientID != "layover" {
		t.Errorf("got %+v", cfg)
	}
	if err := (&process.Process{EnvFiles: []string{write("bad", "x")}}).ReadEnvFiles(); err == nil || !strings.Contains(err.Error(), "bad:1: ") {
		t.Errorf("a bad line: %v", err)
	}
}

func TestTheCommandIsTheOneThatWasTyped(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 4)
	for arg0, want := range map[string]string{
		"layover":                                 "layover",
		"./layover":                               "./layover",
		"/opt/my programs/layover":                `"/opt/my programs/layover"`,
		"/tmp/go-build316890246/b001/exe/main":    "go run .",
		"/home/me/.cache/go-build/01/x-d/main":    "go run .",
		"/var/cache/other/01/" + hash + "-d/main": "go run .",
	} {
		if got := command(arg0); got != want {
			t.Errorf("%s: got %s, want %s", arg0, got, want)
		}
	}
}

func TestEveryAddressIsAdvertisedAsThisMachine(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "127.0.0.1:0"} {
		l, err := listen(addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Addr().String(); !strings.HasPrefix(got, "127.0.0.1:") || strings.HasSuffix(got, ":0") {
			t.Errorf("%s is advertised as %s", addr, got)
		}
		l.Close()
	}
}

func TestLatenessIsFromDueUntilRead(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 30, 250_900_000, time.UTC)
	record := &kgo.Record{Value: []byte(strings.Repeat("ä", 40)), Headers: []kgo.RecordHeader{
		{Key: "layover-id", Value: []byte("delayed-0-17")}, {Key: "layover-due", Value: []byte("2026-01-01T12:00:30.000Z")},
	}}
	var b strings.Builder
	newArrival(record, now, now).print(&b)
	newArrival(&kgo.Record{Value: []byte("a\nb"), Headers: []kgo.RecordHeader{{Key: "trace"}}}, now, now).print(&b)
	want := "  delayed-0-17  due 12:00:30.000  lateness 250 ms  \"" + strings.Repeat("ä", 30) + "\"...\n" +
		"  \"a\\nb\"  (not delivered by Layover: it has none of its headers)\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// TestARecordIsShownWithWhatItsHeadersSay: LAYOVER_ADDED_HEADERS may leave out each of them.
func TestARecordIsShownWithWhatItsHeadersSay(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 30, 250_000_000, time.UTC)
	rules := delay.Rules{}
	for added, want := range map[delay.Added]string{
		delay.AddAll:               "  delayed-0-17  due 12:00:30.000  lateness 250 ms  \"v\"\n",
		delay.AddID:                "  delayed-0-17  \"v\"\n",
		delay.AddDue:               "  due 12:00:30.000  lateness 250 ms  \"v\"\n",
		delay.AddOriginalTimestamp: "  \"v\"\n",
		0:                          "  \"v\"\n",
		delay.AddDue | delay.AddOriginalTimestamp: "  due 12:00:30.000  lateness 250 ms  \"v\"\n",
	} {
		rules.LeaveOut = delay.AddAll &^ added
		var b strings.Builder
		newArrival(&kgo.Record{Value: []byte("v"), Headers: rules.AppendDelivered(nil, nil,
			delay.Origin{Topic: "delayed", Offset: 17, TimestampMs: now.UnixMilli()}, now.UnixMilli()-250, delay.Whole, nil)}, now, now).print(&b)
		if b.String() != want {
			t.Errorf("with %s it is %q, want %q", added, &b, want)
		}
	}
}

func TestTheStartSaysWhatLeftOutHeadersWouldHaveShown(t *testing.T) {
	for added, want := range map[delay.Added]string{
		delay.AddAll:                "",
		0:                           "  note    with LAYOVER_ADDED_HEADERS=none dev cannot show ids, lateness, which records were due while it was stopped\n",
		delay.AddID:                 "  note    with LAYOVER_ADDED_HEADERS=id dev cannot show lateness, which records were due while it was stopped\n",
		delay.AddID | delay.AddDue:  "  note    with LAYOVER_ADDED_HEADERS=id,due dev cannot show which records were due while it was stopped\n",
		delay.AddAll &^ delay.AddID: "  note    with LAYOVER_ADDED_HEADERS=due,original-timestamp dev cannot show ids\n",
	} {
		var b strings.Builder
		printStart(&b, "localhost:9092", []string{"delayed"}, "/data", "http://x", nil, added)
		if _, note, _ := strings.Cut(b.String(), "/metrics\n"); note != want {
			t.Errorf("with %s it says %q, want %q", added, note, want)
		}
	}
}
