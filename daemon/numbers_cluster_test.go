package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"layover/cluster/doctor"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// well is what is told of an instance with nothing sick.
func well() expected {
	e := expected{".sick[#]": 0, ".state": "ready", ".ready_text": "ready", ".degraded": false}
	for _, kind := range []string{"kafka", "group", "ingress_topic", "partition", "dead_letter", "names", "target", "journal"} {
		e[m("sick", "kind", kind)], e[m("sick_since_timestamp_seconds", "kind", kind)] = 0, 0
	}
	return e
}

// TestNumbersOfABrokerThatIsAway: nobody knows what is parked then.
func TestNumbersOfABrokerThatIsAway(t *testing.T) {
	numbered(t, func(w *fixture, k *truth, settings []string) {
		in := w.start(settings...)
		in.ready()
		n := w.beside(in)
		began := in.daemon.started
		for range 2 {
			there := expected{".kafka.answering": true, ".kafka.error": "", "layover_kafka_connected": 1, ".parked.records": 0, ".parked.due": 0, ".overdue": 0,
				".group.joined": true, ".group.lease_valid": true, ".due_within[60].records": 0, "layover_assigned_partitions": 3, ".assignments[#]": 3, ".group.error": ""}
			n.some("all is well", of(well(), there, expected{".kafka.since": around(began)}))
			in.wire.sever()
			gone := time.Now()
			time.Sleep(time.Minute)
			n.some("nobody answers", of(sick(ailment{"kafka", "", "unreachable", nil, gone, has("No broker has answered")}), expected{
				".kafka.answering": false, ".kafka.since": around(gone), ".kafka.error": has("cable"), "layover_kafka_connected": 0, ".parked.records": nil, ".parked.due": nil, ".overdue": nil,
				".group.joined": false, ".group.lease_valid": false, ".due_within[60].records": nil, "layover_assigned_partitions": 0, ".assignments[#]": 0,
			}))
			in.wire.mend()
			began = time.Now()
			time.Sleep(time.Minute)
		}
		n.some("all is well", of(well(), expected{".kafka.since": around(began), ".kafka.answering": true}))
		n.done("away")
		in.stop()
	})
}

// TestNumbersOfAnIngressTopicThatIsGone, beside one that is there.
func TestNumbersOfAnIngressTopicThatIsGone(t *testing.T) {
	numbered(t, func(w *fixture, k *truth, settings []string) {
		w.withoutFetchSessions()
		w.dial = slow(w.dial, time.Millisecond)
		in := w.start(settings...)
		in.ready()
		n := w.beside(in)
		usable := func(second_ int) expected {
			return expected{m("ingress_usable", "topic", ingress): 1, m("ingress_usable", "topic", second): second_}
		}
		faults := expected{".kafka.missing_topics[#]": 0, ".kafka.topic_faults[#]": 0, ".kafka.missing_topics[0]": gone, ".kafka.topic_faults[0]": gone}
		warned := expected{".kafka.warnings." + second: has("retention.ms=259200000 is less than LAYOVER_MAX_DELAY")}
		for range 2 {
			time.Sleep(5 * time.Second)
			n.some("all is there", of(well(), usable(1), faults, warned))
			w.DeleteTopic(second)
			deleted := time.Now()
			time.Sleep(10 * time.Second)
			n.some("one is gone", of(usable(0), missing(second), sick(ailment{"ingress_topic", second, "missing", nil, deleted, has("The ingress topic second does not exist")}),
				expected{".kafka.warnings." + second: gone}))
			w.CreateTopic(second, 1, map[string]string{"retention.ms": "259200000"})
			time.Sleep(time.Minute)
		}
		n.some("all is there", of(well(), usable(1), faults, warned))
		n.done("ingress")
		in.stop()
	})
}

// TestNumbersOfCertificates of two settings: one ends soon, one late, one becomes wrong.
func TestNumbersOfCertificates(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(w *fixture) {
		file := filepath.Join(dir, "ca.pem")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		soon, late := w.Authority(5*24*time.Hour), w.Authority(90*24*time.Hour)
		made := time.Now()
		write(soon)
		in := w.start("KAFKA_TLS_CA_FILE="+file, "KAFKA_TLS_INSECURE_SKIP_VERIFY=true", "KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=u", "KAFKA_SASL_PASSWORD=p")
		in.wire.sever()
		n := w.beside(in)
		set := expected{".connection.tls": true, ".connection.insecure_skip_verify": true, ".connection.mechanism": "PLAIN", ".connection.certificates[#]": 1,
			".connection.certificates[KAFKA_TLS_CA].variable": "KAFKA_TLS_CA", ".connection.certificates[KAFKA_TLS_CA].subject": "CN=authority"}
		ends := func(d time.Duration, problem any, failed, warnings int) expected {
			end := made.Add(d)
			return of(set, expected{".connection.certificates[KAFKA_TLS_CA].not_after": end, ".connection.certificates[KAFKA_TLS_CA].expires_in_seconds": secondsUntil(end),
				".connection.certificates[KAFKA_TLS_CA].problem": problem, ".connection.warnings[#]": warnings, ".connection.warnings[0]": has("KAFKA_TLS_INSECURE_SKIP_VERIFY"),
				m("certificate_expiry_timestamp_seconds", "variable", "KAFKA_TLS_CA"): end, m("certificate_reload_failed", "variable", "KAFKA_TLS_CA"): failed})
		}
		for range 2 {
			write(soon)
			time.Sleep(30 * time.Second)
			n.some("it ends soon", ends(5*24*time.Hour, "", 0, 2))
			write(soon + late)
			time.Sleep(30 * time.Second)
			n.some("the last of two ends late", ends(90*24*time.Hour, "", 0, 1))
			write("no PEM")
			time.Sleep(30 * time.Second)
			n.some("the file is wrong", ends(90*24*time.Hour, has("is neither PEM"), 1, 2))
			write(soon)
			time.Sleep(30 * time.Second)
			n.some("the file is right", ends(5*24*time.Hour, "", 0, 2))
		}
		n.done("certificates")
		in.kill()
	})
}

// TestNumbersOfAConnectionThatIsRefused: by the login.
func TestNumbersOfAConnectionThatIsRefused(t *testing.T) {
	inGuardedBubble(t, allRights(), func(w *fixture) {
		in := w.start(login()...)
		in.ready()
		n := w.beside(in)
		none := expected{".connection.refused[#]": 0, "layover_connection_refused_brokers": 0, ".connection.tls": false, ".connection.mechanism": "SCRAM-SHA-512"}
		for _, reason := range []string{"tls", "credentials", "protocol"} {
			none[m("connection_refused_total", "reason", reason)] = 0
		}
		total := m("connection_refused_total", "reason", "login")
		var asked atomic.Int64
		refusals := judge{"as many as there were", func(v any) bool { return v == float64(asked.Load()) }}
		for range 2 {
			n.some("the connection is taken", of(none, well(), expected{total: refusals}))
			refused := time.Now()
			no := w.Refuse(kmsg.SASLAuthenticate, kfake.Fault{Err: kerr.SaslAuthenticationFailed, When: func(r kmsg.Request) bool {
				scram := bytes.HasPrefix(r.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes, []byte("n,,")) // the test's own client logs in otherwise
				if scram {
					asked.Add(1)
				}
				return scram
			}})
			in.wire.sever()
			in.wire.mend()
			time.Sleep(90 * time.Second)
			at := ".connection.refused[localhost:9092]."
			n.some("the connection is refused", of(sick(ailment{"kafka", "", "refused", nil, refused, has("The broker localhost:9092 refuses the connection")}), expected{
				".connection.refused[#]": 1, "layover_connection_refused_brokers": 1, at + "broker": "localhost:9092", at + "reason": "login", at + "look_at": has("KAFKA_SASL_PASSWORD"),
				at + "message": has("SASL_AUTHENTICATION_FAILED"), at + "since": around(refused), total: refusals,
			}))
			no.Remove()
			time.Sleep(2 * time.Minute)
		}
		n.some("the connection is taken", of(none, well(), expected{total: refusals}))
		time.Sleep(time.Minute)
		n.some("nothing happens", of(none, well(), expected{total: refusals}))
		n.done("refused")
		in.stop()
	})
}

// TestNumbersOfFindings: two checks find something, one of which is mended, and comes again.
func TestNumbersOfFindings(t *testing.T) {
	inBubble(t, func(w *fixture) {
		in := w.start(checks("warn"))
		in.ready()
		n := w.beside(in)
		found := func(all ...string) expected {
			e := expected{".findings[#]": len(all) / 2, "layover_preflight_checked_timestamp_seconds": by(time.Now().Add(2*time.Second), 10*time.Minute), ".checked_at": by(time.Now().Add(2*time.Second), 10*time.Minute)}
			for _, id := range doctor.IDs() {
				e[m("preflight_findings", "id", id, "status", "warn")], e[m("preflight_findings", "id", id, "status", "fail")] = 0, 0
			}
			for i := 0; i < len(all); i += 2 {
				id, status := all[i], all[i+1]
				at := ".findings[" + id + "]."
				e[m("preflight_findings", "id", id, "status", status)] = 1
				e[at+"id"], e[at+"status"], e[at+"found"], e[at+"why"], e[at+"fix"] = id, status, has(ingress), has(" "), has("kafka-configs.sh")
				e[at+"since"] = by(time.Now(), 30*time.Minute)
			}
			return e
		}
		{
			time.Sleep(time.Minute)
			n.some("nothing is found", found())
			w.shorten()
			w.alter(ingress, "max.message.bytes", "4000000")
			time.Sleep(12 * time.Minute)
			n.some("two checks find something", found("retention", "fail", "message-size", "warn"))
			w.alter(ingress, "retention.ms", "-1")
			time.Sleep(12 * time.Minute)
			n.some("one is mended", found("message-size", "warn"))
			w.alter(ingress, "max.message.bytes", "1000012")
		}
		time.Sleep(12 * time.Minute)
		n.some("nothing is found", found())
		n.done("findings")
		in.stop()
	})
}
