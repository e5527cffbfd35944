package daemon

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/cluster/doctor"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// checks is the setting of the preflight.
func checks(mode string) string { return "LAYOVER_PREFLIGHT=" + mode }

// shorten has the check retention fail.
func (w *fixture) shorten() { w.alter(ingress, "retention.ms", "1000000") }

// findings returns what /status has, each as id and status. Since and the rest have to be
// there.
func (in *instance) findings() (out []string) {
	in.w.Helper()
	for _, one := range in.status()["findings"].([]any) {
		f := one.(map[string]any)
		for _, name := range []string{"found", "why", "fix", "since"} {
			if text, _ := f[name].(string); text == "" {
				in.w.Errorf("%s of %v is missing", name, f)
			}
		}
		out = append(out, fmt.Sprintf("%s %s", f["id"], f["status"]))
	}
	return out
}

// finds waits until /status has those findings and no others, and looks whether page and
// metric say so.
func (in *instance) finds(within time.Duration, want ...string) {
	in.w.Helper()
	in.w.Until(within, fmt.Sprintf("the findings are %q", want), func() bool {
		return in.status()["checked_at"] != nil && slices.Equal(in.findings(), want)
	})
	_, page := in.get("/status?format=html")
	_, metrics := in.get("/metrics")
	for _, id := range doctor.IDs() {
		for _, status := range []string{"warn", "fail"} {
			found := slices.Contains(want, id+" "+status)
			if value := map[bool]string{true: "1", false: "0"}[found]; !strings.Contains(metrics, fmt.Sprintf("\nlayover_preflight_findings{id=%q,status=%q} %s\n", id, status, value)) {
				in.w.Errorf("the metric of %s %s is not %s", id, status, value)
			}
			if found && !strings.Contains(page, fmt.Sprintf(`>%s</th><td data-label="Result" class="whole"><b class="%s">%s</b>`, id, map[string]string{"warn": "warn", "fail": "bad"}[status], status)) {
				in.w.Errorf("the page does not have %s %s", id, status)
			}
		}
	}
	if strings.Contains(page, `id="findings"`) != (len(want) > 0) {
		in.w.Error("the page has a section without findings, or none with them")
	}
}

// alter sets a value of a topic's configuration.
func (w *fixture) alter(topic, name, value string) {
	w.Helper()
	done, err := w.Admin().AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, topic)
	if err == nil {
		err = done[0].Err
	}
	if err != nil {
		w.Fatal(err)
	}
}

// ends waits until the process has ended by itself and returns its error.
func (in *instance) ends(within time.Duration) error {
	in.w.Helper()
	select {
	case err := <-in.done:
		in.w.running = slices.DeleteFunc(in.w.running, func(o *instance) bool { return o == in })
		return err
	case <-time.After(within):
		in.w.Fatal("the process goes on")
		return nil
	}
}

func TestAHealthyStartFindsNothingAndSaysNothing(t *testing.T) {
	long.Only(t)
	for _, mode := range []string{"warn", "fail"} {
		t.Run(mode, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				in := w.start(checks(mode))
				in.ready()
				in.finds(time.Minute)
				w.send(0, "x", header("x-delay", "1s"))
				w.arrives(egress, 1, 10*time.Second)
				time.Sleep(time.Hour)
				if lines := in.logs.Lines("preflight"); len(lines) > 0 {
					t.Errorf("the log has %q", lines)
				}
				for line := range strings.Lines(in.logs.String()) {
					if !strings.Contains(line, "level=INFO") {
						t.Errorf("the log has %s", line)
					}
				}
				in.stop()
			})
		})
	}
}

// Nothing waits for the checks: they take half a minute here, as no name is resolved.
func TestFindingsDelayNeitherReadinessNorDeliveries(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.resolve = func(ctx context.Context, _ string) ([]string, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		in := w.start(checks("warn"))
		began := time.Now()
		in.ready()
		w.send(0, "x", header("x-delay", "1s"))
		w.arrives(egress, 1, 10*time.Second)
		if took := time.Since(began); took > 8*time.Second || in.status()["checked_at"] != nil {
			t.Errorf("ready and delivered after %v, checked at %v", took, in.status()["checked_at"])
		}
		in.stop()
	})
}

func TestAFindingIsSaidOnceAndGoesWhenItIsMended(t *testing.T) {
	long.WholeOnly(t)
	inBubble(t, func(w *fixture) {
		w.shorten()
		w.alter(ingress, "max.message.bytes", "4000000")
		in := w.start(checks("warn"))
		in.ready()
		in.finds(time.Minute, "retention fail", "message-size warn")
		time.Sleep(25 * time.Minute)
		for _, id := range []string{"retention", "message-size"} {
			lines := in.logs.Lines(`msg="preflight finding"`, "id="+id+" ")
			if len(lines) != 1 || !strings.Contains(lines[0], "found=") || !strings.Contains(lines[0], "kafka-configs.sh") {
				t.Errorf("the log has %q of %s", lines, id)
			}
		}
		if lines := in.logs.Lines("may delete records"); len(lines) > 0 {
			t.Errorf("the log says it a second time: %q", lines)
		}
		if warnings := in.status()["kafka"].(map[string]any)["warnings"].(map[string]any); warnings[ingress] == nil {
			t.Error("kafka.warnings does not have it")
		}
		_, page := in.get("/status?format=html")
		if n := strings.Count(page, "retention.ms=1000000 is less"); n != 1 {
			t.Errorf("the page says it %d times", n)
		}

		for _, topic := range []string{egress, dlq} {
			w.alter(topic, "max.message.bytes", "4000000")
		}
		in.finds(11*time.Minute, "retention fail")
		w.alter(ingress, "retention.ms", "-1")
		in.finds(2 * time.Minute) // the watcher has seen it
		for _, id := range []string{"retention", "message-size"} {
			if lines := in.logs.Lines(`msg="preflight finding is gone"`, "id="+id+" "); len(lines) != 1 {
				t.Errorf("the log has %q of %s", lines, id)
			}
		}
		in.stop()
	})
}

// TestAFindingStaysWhileNobodyCanBeAsked: an outage mends nothing.
func TestAFindingStaysWhileNobodyCanBeAsked(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.shorten()
		in := w.start(checks("warn"))
		in.ready()
		in.finds(time.Minute, "retention fail")
		since := in.status()["findings"].([]any)[0].(map[string]any)["since"]
		in.wire.sever()
		time.Sleep(25 * time.Minute)
		in.finds(time.Second, "retention fail")
		in.wire.mend()
		time.Sleep(12 * time.Minute)
		in.finds(time.Second, "retention fail")
		if again := in.status()["findings"].([]any)[0].(map[string]any)["since"]; again != since {
			t.Errorf("since %v, and before the outage %v", again, since)
		}
		if lines := in.logs.Lines("preflight finding"); len(lines) != 1 {
			t.Errorf("the log has %q", lines)
		}
		in.stop()
	})
}

// What is sick has lines of its own; as findings it has none, and is in /status all the same.
func TestWhatIsSickIsNotSaidAgainAsAFinding(t *testing.T) {
	long.WholeOnly(t)
	inBubble(t, func(w *fixture) {
		w.DeleteTopic(egress)
		in := w.start(checks("warn"))
		in.finds(time.Minute, "topics fail")
		time.Sleep(time.Minute)
		if lines := in.logs.Lines("preflight finding"); len(lines) > 0 {
			t.Errorf("the log has %q", lines)
		}
		if lines := in.logs.Lines("msg=sick"); len(lines) != 1 {
			t.Errorf("the log has %q", lines)
		}
		w.createTopics(2, egress)
		in.finds(11 * time.Minute)
		in.stop()
	})
}

// joins counts the requests of members that join the group.
func (w *fixture) joins() *atomic.Int32 {
	n := new(atomic.Int32)
	w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, When: func(kmsg.Request) bool {
		n.Add(1)
		return false
	}})
	return n
}

func TestAFailedCheckEndsTheStartBeforeTheGroupIsJoined(t *testing.T) {
	inBubble(t, func(w *fixture) {
		joins := w.joins()
		w.DeleteTopic(dlq)
		w.send(0, "x", header("x-delay", "0s"))
		w.shorten()
		in := w.start(checks("fail"))
		err := in.ends(time.Minute)
		if err == nil || !strings.Contains(err.Error(), "failed: topics, retention;") || !strings.Contains(err.Error(), "LAYOVER_PREFLIGHT=warn") {
			t.Errorf("ended with %v", err)
		}
		for id, parts := range map[string][]string{"topics": {dlq, "kafka-topics.sh"}, "retention": {"retention.ms=1000000", "kafka-configs.sh"}} {
			lines := in.logs.Lines("level=ERROR", `msg="preflight check failed"`, "id="+id+" ")
			if len(lines) != 1 || !strings.Contains(lines[0], parts[0]) || !strings.Contains(lines[0], parts[1]) {
				t.Errorf("the log has %q of %s", lines, id)
			}
		}
		if lines := in.logs.Lines("may delete records"); len(lines) > 0 {
			t.Errorf("the log says it a second time: %q", lines)
		}
		if n := joins.Load(); n != 0 || w.count(egress) != 0 {
			t.Errorf("%d joins, %d deliveries", n, w.count(egress))
		}
	})
}

func TestARefusedLoginEndsTheStart(t *testing.T) {
	inGuardedBubble(t, allRights(), func(w *fixture) {
		w.Refuse(kmsg.SASLAuthenticate, kfake.Fault{Err: kerr.SaslAuthenticationFailed})
		in := w.start(append(login(), checks("fail"))...)
		if err := in.ends(time.Minute); err == nil || !strings.Contains(err.Error(), "failed: login;") {
			t.Errorf("ended with %v", err)
		}
		if lines := in.logs.Lines("preflight check failed", "id=login", "KAFKA_SASL_PASSWORD"); len(lines) != 1 {
			t.Errorf("the log has %q", lines)
		}
	})
}

// TestABrokerThatClosesConnectionsIsGivenAMinute: it may be starting. Then it wants TLS.
func TestABrokerThatClosesConnectionsIsGivenAMinute(t *testing.T) {
	inBubble(t, func(w *fixture) {
		l, err := w.Net.Listen("tcp", "localhost:9999")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() { // ends with the listener
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				c.Read(make([]byte, 1<<16)) // the first request, or the write would be what fails
				c.Close()
			}
		}()
		w.seeds = []string{l.Addr().String()}
		began := time.Now()
		in := w.start(checks("fail"))
		err = in.ends(3 * time.Minute)
		if took := time.Since(began); err == nil || !strings.Contains(err.Error(), "failed: tls;") || took < time.Minute {
			t.Errorf("ended after %v with %v", took, err)
		}
	})
}

// TestAKafkaOutOfReachIsWaitedFor, and checked when it answers.
func TestAKafkaOutOfReachIsWaitedFor(t *testing.T) {
	for name, well := range map[string]bool{"all is well": true, "a check fails": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				var up atomic.Bool
				if !well {
					w.shorten()
				}
				dial, joins := w.dial, w.joins()
				w.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if !up.Load() {
						return nil, fmt.Errorf("nobody listens")
					}
					return dial(ctx, network, addr)
				}
				in := w.start(checks("fail"))
				time.Sleep(5 * time.Minute)
				if code, body := in.get("/readyz"); code != http.StatusOK || !strings.HasPrefix(body, "degraded: Kafka has not answered") {
					t.Errorf("/readyz: %d %s", code, body)
				}
				if code, body := in.get("/livez"); code != http.StatusOK {
					t.Errorf("/livez: %d %s", code, body)
				}
				if n := joins.Load(); n != 0 {
					t.Errorf("%d joins", n)
				}
				up.Store(true)
				if !well {
					if err := in.ends(2 * time.Minute); err == nil || !strings.Contains(err.Error(), "failed: retention;") {
						t.Errorf("ended with %v", err)
					}
					return
				}
				w.send(0, "x", header("x-delay", "1s"))
				w.arrives(egress, 1, 2*time.Minute)
				in.stop()
			})
		})
	}
}

func TestAStopBeforeTheChecksAreMadeIsAStop(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.dial = func(context.Context, string, string) (net.Conn, error) { return nil, fmt.Errorf("nobody listens") }
		in := w.start(checks("fail"))
		time.Sleep(time.Minute)
		began := time.Now()
		in.stop()
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestBehindTheStartAFailedCheckEndsNothing(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		in := w.start(checks("fail"))
		in.ready()
		in.finds(time.Minute)
		w.shorten()
		in.finds(11*time.Minute, "retention fail")
		w.send(0, "x", header("x-delay", "1s"))
		w.arrives(egress, 1, 10*time.Second)
		in.stop()
	})
}

func TestWithoutThePreflightNothingIsChecked(t *testing.T) {
	long.Only(t)
	inBubble(t, func(w *fixture) {
		w.shorten()
		in := w.start(checks("off"))
		in.ready()
		time.Sleep(25 * time.Minute)
		if status := in.status(); status["checked_at"] != nil || len(in.findings()) != 0 {
			t.Errorf("checked at %v: %v", status["checked_at"], status["findings"])
		}
		if lines := in.logs.Lines("may delete records"); len(lines) != 1 { // the watcher has its line
			t.Errorf("the log has %q", lines)
		}
		_, page := in.get("/status?format=html")
		if !strings.Contains(page, "1 ingress topic is configured badly.") {
			t.Error("the page does not say it")
		}
		in.stop()
	})
}
