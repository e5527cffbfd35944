package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// login has an instance log in as guarded brokers want it.
func login() []string {
	return []string{"KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=" + kafkatest.User, "KAFKA_SASL_PASSWORD=" + kafkatest.Password}
}

// refused checks the answers of an instance whose login is refused.
func (in *instance) refused(readyz string) {
	in.w.Helper()
	if _, body := in.get("/readyz"); !strings.HasPrefix(body, readyz) || !strings.Contains(body, "localhost:9092 refuses the connection, look at KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD: ") {
		in.w.Errorf("/readyz: %s", body)
	}
	if sick := in.sick(); len(sick) != 1 || sick[0] != "kafka  refused" {
		in.w.Errorf("sick: %q", sick)
	}
	status := in.status()
	if err := status["kafka"].(map[string]any)["error"].(string); !strings.Contains(err, "look at KAFKA_SASL_USERNAME") {
		in.w.Errorf("the error of Kafka is %q", err)
	}
	all := status["connection"].(map[string]any)["refused"].([]any)
	if len(all) != 1 || all[0].(map[string]any)["reason"] != "login" || all[0].(map[string]any)["broker"] != "localhost:9092" {
		in.w.Errorf("refused: %v", all)
	}
	in.metrics(`layover_connection_refused_brokers 1`)
	if in.metric(`layover_connection_refused_total{reason="login"}`) == 0 {
		in.w.Error("no refusal is counted")
	}
}

// onlyOneLine checks that the log names the outage once in 30 s, and nothing else of it.
func (in *instance) onlyOneLine(log string, refusedFor time.Duration) {
	in.w.Helper()
	lines := linesWith(log, "Kafka refuses the connection")
	for _, line := range lines {
		if !strings.Contains(line, `broker=localhost:9092 look_at="KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD" reason=login`) {
			in.w.Errorf("a line does not name the settings: %s", line)
		}
	}
	if most := int(refusedFor/(30*time.Second)) + 1; len(lines) > most || len(lines) < most/2 {
		in.w.Errorf("%d lines in %v, want one in 30 s", len(lines), refusedFor)
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=WARN") && !slices.Contains(lines, strings.TrimSpace(line)) && !strings.Contains(line, "partitions lost") {
			in.w.Errorf("and beside it %s", line)
		}
	}
}

func TestAConnectionThatIsRefusedFromTheStartIsOneFinding(t *testing.T) {
	inGuardedBubble(t, allRights(), func(w *fixture) {
		no := w.Refuse(kmsg.SASLAuthenticate, kfake.Fault{Err: kerr.SaslAuthenticationFailed})
		in := w.start(login()...)
		time.Sleep(5 * time.Minute)
		in.refused("not ready: ")
		no.Remove()
		w.Until(35*time.Second, "it is tried again", func() bool { return len(linesWith(in.logs.String(), "Kafka takes the connection")) > 0 })
		if code, body := in.get("/readyz"); code != 503 {
			t.Errorf("ready before anything is read: %s", body)
		}
		in.ready()
		time.Sleep(time.Minute)
		in.onlyOneLine(in.logs.String(), 5*time.Minute)
		in.metrics("layover_connection_refused_brokers 0")
		in.stop()
	})
}

func TestAConnectionThatIsRefusedLaterIsOneFindingAndNothingIsLost(t *testing.T) {
	inGuardedBubble(t, allRights(), func(w *fixture) {
		in := w.start(login()...)
		in.ready()
		w.send(0, "parked", header("x-delay", "1m"))
		time.Sleep(5 * time.Second)
		before := len(in.logs.String())
		no := w.Refuse(kmsg.SASLAuthenticate, kfake.Fault{Err: kerr.SaslAuthenticationFailed})
		in.wire.sever()
		in.wire.mend()
		time.Sleep(3 * time.Minute)
		in.refused("degraded: ")
		no.Remove()
		w.arrives(egress, 1, 40*time.Second)
		time.Sleep(time.Minute)
		in.onlyOneLine(in.logs.String()[before:], 3*time.Minute)
		in.stop()
	})
}

func TestCertificatesAreShownWithTheirEndsAndWhatIsWrongWithThem(t *testing.T) {
	long.Only(t)
	dir := t.TempDir()
	inBubble(t, func(w *fixture) {
		file := filepath.Join(dir, "ca.pem")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(w.Authority(13*24*time.Hour + time.Hour))
		in := w.start("KAFKA_TLS_CA_FILE="+file, "KAFKA_TLS_INSECURE_SKIP_VERIFY=true")
		time.Sleep(time.Second)
		in.metrics(`layover_certificate_reload_failed{variable="KAFKA_TLS_CA"} 0`)
		write("no PEM")
		time.Sleep(30 * time.Second)
		in.metrics(`layover_certificate_reload_failed{variable="KAFKA_TLS_CA"} 1`)
		connection := in.status()["connection"].(map[string]any)
		ca := connection["certificates"].([]any)[0].(map[string]any)
		if ca["variable"] != "KAFKA_TLS_CA" || ca["subject"] != "CN=authority" || ca["expires_in_seconds"].(float64) < 13*86400 || ca["problem"] == "" {
			t.Errorf("certificate: %v", ca)
		}
		warnings := fmt.Sprint(connection["warnings"])
		for _, want := range []string{"KAFKA_TLS_INSECURE_SKIP_VERIFY", "KAFKA_TLS_CA is neither PEM", "ends in 13 days"} {
			if !strings.Contains(warnings, want) {
				t.Errorf("no %q in the warnings %s", want, warnings)
			}
		}
		in.kill()
	})
}
