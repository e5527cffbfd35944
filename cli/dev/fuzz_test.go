package dev

import (
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"layover/config"
)

// FuzzTheUsersEnvironmentNeverReachesAnotherKafka composes the daemon's
// environment of any of the user's, which ends its entries at zero bytes.
func FuzzTheUsersEnvironmentNeverReachesAnotherKafka(f *testing.F) {
	for _, text := range []string{
		"", "KAFKA_BROKERS=kafka:9092", "kafka_brokers=kafka:9092", "KAFKA_SASL_PASSWORD=x\x00LAYOVER_EGRESS_TOPIC=orders", "LAYOVER_DLQ_TOPIC=\x00LAYOVER_MAX_DELAY=3d",
		"LAYOVER_HTTP_ADDR=:1\x00LAYOVER_HTTP_ADDR= ", "layover_ingress_topics=x", "LAYOVER_TARGETS_ALLOWED=*", "=C:=C:\\", "LAYOVER_GROUP_ID", "LAYOVER_LANES=x", "LAYOVER_ON_INVALID=halt", "HOME=/",
		"LAYOVER_TOPIC_TARGETS=delayed=x\x00LAYOVER_TOPIC_DELAYS=orders=1s", "LAYOVER_EGRESS_TOPIC_FILE=/none", "KAFKA_BROKERS_FILE=/none", "LAYOVER_HTTP_ADDR_FILE=/none",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		environ := strings.Split(text, "\x00")
		composed, ignored := compose(environ, "127.0.0.1:1")
		for _, name := range ignored {
			if !slices.ContainsFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
				t.Fatalf("%q: ignored %q, which is not there", environ, name)
			}
		}
		cfg, _, err := config.Load(composed)
		if err != nil {
			return // the user's own mistake in a setting that applies
		}
		if !slices.Equal(cfg.Kafka.Brokers, []string{"127.0.0.1:1"}) || !slices.Equal(cfg.IngressTopics, []string{"delayed"}) ||
			cfg.EgressTopic != "ready" || cfg.DLQTopic != "dead-letters" {
			t.Fatalf("%q: got %+v", environ, cfg)
		}
	})
}

// FuzzCommandLineOfDev parses any arguments, which end at zero bytes.
func FuzzCommandLineOfDev(f *testing.F) {
	for _, line := range []string{"", "--addr\x00:0", "--addr=host:65535\x00--data-dir\x00d", "--addr\x00[::1]:9092", "--addr\x00host:65536", "--addr\x00x", "--addr\x00h:+1", "--help", "x", "--", "--data-dir", "--empty\x00--ingress=retry", "--empty\x00--data-dir=d", "--ingress\x00ready"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := slices.DeleteFunc(strings.Split(line, "\x00"), func(arg string) bool { return arg == "" })
		cmd := new(cobra.Command)
		got := addFlags(cmd)
		if cmd.ParseFlags(args) != nil || got.check() != nil {
			return
		}
		if got.empty && got.dataDir != "" || slices.Contains(got.ingress, "ready") {
			t.Fatalf("%q: got %+v", args, got)
		}
		_, port, err := net.SplitHostPort(got.addr)
		if n, err2 := strconv.Atoi(port); err != nil || err2 != nil || n < 0 || n > 65535 {
			t.Fatalf("%q: address %q", args, got.addr)
		}
	})
}
