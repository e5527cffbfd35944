package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"layover/config"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fixture is one bubble: virtual time, a virtual network, brokers, instances.
type fixture struct {
	*kafkatest.Cluster
	dial    dialer // of the instances
	resolve func(ctx context.Context, host string) ([]string, error)
	seeds   []string
	wall    func(time.Time) time.Time // of the next instance; nil: the bubble's
	nextHTT int
	running []*instance
}

const (
	ingress = "delayed"
	egress  = "ready"
	dlq     = "dead-letters"
)

// inBubble runs f with a broker that has the usual topics.
func inBubble(t *testing.T, f func(w *fixture), opts ...kfake.Opt) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(newFixture(t, 1, append(opts, kfake.SeedTopics(2, ingress), kfake.SeedTopics(2, egress), kfake.SeedTopics(1, dlq))...))
	})
}

func newFixture(t *testing.T, brokers int, opts ...kfake.Opt) *fixture {
	t.Helper()
	return fixtureOf(kafkatest.StartVirtual(t, brokers, opts...))
}

func fixtureOf(k *kafkatest.Cluster) *fixture {
	w := &fixture{Cluster: k, nextHTT: 20000}
	w.resolve = func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }
	w.dial, w.seeds = w.Net.DialContext, w.Broker.ListenAddrs()
	k.Cleanup(func() {
		for _, in := range w.running { // after a failure
			in.wire.sever()
			in.cancel()
			<-in.done
		}
	})
	return w
}

// instance is one running daemon.
type instance struct {
	w      *fixture
	daemon *Daemon
	wire   *wire
	http   string
	cancel context.CancelFunc
	done   chan error
	logs   *kafkatest.Log
}

// start runs a daemon with the usual settings and those given as NAME=value.
func (w *fixture) start(settings ...string) *instance {
	w.Helper()
	in := w.startOver(w.dial, nil, settings...)
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("log of the instance at %s:\n%s", in.http, in.logs.String())
		}
	})
	return in
}

// startOver starts a daemon whose connections a dialer makes; its Kafka clients have a
// hook where there is one.
func (w *fixture) startOver(dial dialer, hook kgo.Hook, settings ...string) *instance {
	w.Helper()
	w.nextHTT++
	env := []string{
		"KAFKA_BROKERS=" + strings.Join(w.seeds, ","), "LAYOVER_INGRESS_TOPICS=" + ingress, "LAYOVER_EGRESS_TOPIC=" + egress,
		"LAYOVER_DLQ_TOPIC=" + dlq, "LAYOVER_LANES=2", "LAYOVER_PREFLIGHT=off", fmt.Sprintf("LAYOVER_HTTP_ADDR=localhost:%d", w.nextHTT),
	}
	cfg, _, err := config.Load(append(env, settings...)) // the last of a name counts
	if err != nil {
		w.Fatal(err)
	}
	in := &instance{w: w, wire: &wire{next: dial}, http: cfg.HTTPAddr, done: make(chan error, 1), logs: &kafkatest.Log{}}
	level := slog.LevelInfo
	if os.Getenv("LAYOVER_TEST_DEBUG") != "" {
		level = slog.LevelDebug
	}
	var kafka []kgo.Opt
	if hook != nil {
		kafka = append(kafka, kgo.WithHooks(hook))
	}
	serves := make(chan struct{})
	in.daemon, err = New(cfg, Options{
		Version: "1.2.3", Revision: "abcdef",
		Log:     slog.New(slog.NewTextHandler(in.logs, &slog.HandlerOptions{Level: level})),
		Kafka:   kafka,
		Dial:    in.wire.dial,
		Resolve: w.resolve,
		Wall:    w.wall,
		Ready:   func(string) { close(serves) },
		Listen:  func(addr string) (net.Listener, error) { return w.Net.Listen("tcp", addr) },
	})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	in.cancel = cancel
	w.running = append(w.running, in)
	go func() { in.done <- in.daemon.Run(ctx) }()
	<-serves
	return in
}

// stop stops gracefully.
func (in *instance) stop() {
	in.w.Helper()
	in.cancel()
	in.w.running = slices.DeleteFunc(in.w.running, func(o *instance) bool { return o == in })
	if err := <-in.done; err != nil {
		in.w.Errorf("stopping: %v", err)
	}
	synctest.Wait()
}

// kill is what a killed process looks like to Kafka: it is silent from now on.
func (in *instance) kill() {
	in.w.Helper()
	in.wire.sever()
	in.cancel()
	in.w.running = slices.DeleteFunc(in.w.running, func(o *instance) bool { return o == in })
	<-in.done
	synctest.Wait()
}

// get asks the instance's HTTP server.
func (in *instance) get(path string) (int, string) {
	in.w.Helper()
	c := &http.Client{Transport: &http.Transport{DialContext: in.w.Net.DialContext, DisableKeepAlives: true}}
	defer c.CloseIdleConnections()
	resp, err := c.Get("http://" + in.http + path)
	if err != nil {
		in.w.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		in.w.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// status decodes /status.
func (in *instance) status() map[string]any {
	in.w.Helper()
	_, body := in.get("/status")
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		in.w.Fatalf("status %q: %v", body, err)
	}
	return v
}

// ready waits until /readyz says so.
func (in *instance) ready() {
	in.w.Helper()
	in.w.Until(time.Minute, "the instance is ready", func() bool {
		code, _ := in.get("/readyz")
		return code == http.StatusOK
	})
}

// header makes a record header.
func header(name, value string) kgo.RecordHeader {
	return kgo.RecordHeader{Key: name, Value: []byte(value)}
}

// send produces a record to ingress and returns its offset.
func (w *fixture) send(partition int32, value string, headers ...kgo.RecordHeader) int64 {
	w.Helper()
	return w.Produce(&kgo.Record{Topic: ingress, Partition: partition, Key: []byte("key-" + value), Value: []byte(value), Headers: headers, Timestamp: time.Now()})
}

// sendMany produces n records with values from first on and headers by number.
func (w *fixture) sendMany(partition int32, first, n int, headers func(i int) []kgo.RecordHeader) {
	w.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		value := fmt.Sprintf("%d/%d", partition, first+i)
		records[i] = &kgo.Record{Topic: ingress, Partition: partition, Key: []byte(value), Value: []byte(value), Headers: headers(first + i), Timestamp: time.Now()}
	}
	w.Produce(records...)
}

// get returns a header's value, the last where there are several.
func get(r *kgo.Record, name string) string {
	for _, h := range slices.Backward(r.Headers) {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// notEarly fails the test for a record whose delivery time is before its due time.
func (w *fixture) notEarly(records []*kgo.Record) {
	w.Helper()
	for _, r := range records {
		due, err := time.Parse(time.RFC3339, get(r, "layover-due"))
		if err != nil {
			w.Fatalf("record %s: %v", r.Value, err)
		}
		if r.Timestamp.Before(due) {
			w.Errorf("record %s delivered at %v, due at %v", r.Value, r.Timestamp, due)
		}
	}
}
