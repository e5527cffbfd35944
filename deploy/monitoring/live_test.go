package monitoring

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"layover/config"
	"layover/daemon"
	"layover/verify/kafkatest"
)

const (
	httpAddr = "localhost:9846"
	within   = 2 * time.Minute // of virtual time
	// mixed is how many records make a finished set that no commit has room for. Every
	// other one is due at once, and the rest in an hour.
	mixed = 20_000
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// live is a running Layover in a bubble, with a broker in it.
type live struct {
	*kafkatest.Cluster
	web *http.Client
}

// scrapeLive starts Layover on an in-process broker, and returns what /metrics says in
// the states with series that are not always there. The states are a stopped partition, a
// held target, a set in the journal, and records that are delivered and parked.
func scrapeLive(t *testing.T) scrape {
	t.Helper()
	var out scrape
	synctest.Test(t, func(t *testing.T) {
		l := &live{Cluster: kafkatest.StartVirtual(t, 1)}
		l.web = &http.Client{Transport: &http.Transport{DialContext: l.Net.DialContext, DisableKeepAlives: true}}
		l.makeTopics()
		stop := l.start()
		defer stop()
		l.send(0, "x-delay", "1s", "x-deliver-to", "team-none")
		l.send(0, "x-delay", "1s")
		l.send(1, "x-delay", "soon")
		l.sendMixed(2)
		out = l.until(func(s scrape) bool {
			return s.has("layover_partition_stopped_offset", "partition=1") && s.has("layover_finished_set_in", "partition=2", "place=journal")
		})
	})
	return out
}

// makeTopics makes them with a retention, as a topic without one has no headroom.
func (l *live) makeTopics() {
	l.Helper()
	for topic, partitions := range map[string]int32{"delayed": 3, "ready": 2, "dead-letters": 1} {
		l.CreateTopic(topic, partitions, map[string]string{"retention.ms": "604800000"})
	}
}

// start runs a daemon, and returns what stops it.
func (l *live) start() (stop func()) {
	l.Helper()
	cfg, _, err := config.Load([]string{
		"KAFKA_BROKERS=" + l.Addr(), "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_TARGETS_ALLOWED=team-*",
		"LAYOVER_DLQ_TOPIC=dead-letters", "LAYOVER_ON_INVALID=halt", "LAYOVER_LANES=2", "LAYOVER_HTTP_ADDR=" + httpAddr, "KAFKA_TLS_CA=" + l.Authority(365*24*time.Hour),
	})
	if err != nil {
		l.Fatal(err)
	}
	serves := make(chan struct{})
	d, err := daemon.New(cfg, daemon.Options{
		Log: slog.New(slog.DiscardHandler), Version: "test", Revision: "test",
		Kafka:  []kgo.Opt{kgo.Dialer(l.Net.DialContext)}, // in the place of TLS, so that certificates have their series
		Ready:  func(string) { close(serves) },
		Listen: func(addr string) (net.Listener, error) { return l.Net.Listen("tcp", addr) },
	})
	if err != nil {
		l.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }() // ended by cancel
	<-serves
	return func() {
		cancel()
		if err := <-done; err != nil {
			l.Errorf("stopping: %v", err)
		}
	}
}

// send produces a record with headers, given as names and values in turn.
func (l *live) send(partition int32, headers ...string) {
	l.Helper()
	l.Produce(record(partition, headers...))
}

func (l *live) sendMixed(partition int32) {
	l.Helper()
	records := make([]*kgo.Record, mixed)
	for i := range records {
		records[i] = record(partition, "x-delay", [...]string{"0", "1h"}[i%2])
	}
	l.Produce(records...)
}

func record(partition int32, headers ...string) *kgo.Record {
	r := &kgo.Record{Topic: "delayed", Partition: partition, Value: []byte("hello"), Timestamp: time.Now()}
	for i := 0; i < len(headers); i += 2 {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: headers[i], Value: []byte(headers[i+1])})
	}
	return r
}

// until scrapes in virtual time until a condition holds.
func (l *live) until(holds func(scrape) bool) scrape {
	l.Helper()
	for deadline := time.Now().Add(within); ; time.Sleep(time.Second) {
		text, err := l.metrics()
		if err != nil {
			l.Fatal(err)
		}
		s, err := parseScrape(text)
		if err != nil {
			l.Fatal(err)
		}
		if holds(s) {
			return s
		}
		if time.Now().After(deadline) {
			l.Fatalf("the states that are looked for do not come within %v:\n%s", within, text)
		}
	}
}

func (l *live) metrics() (string, error) {
	resp, err := l.web.Get("http://" + httpAddr + "/metrics")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("/metrics: %s: %s", resp.Status, body)
	}
	return string(body), err
}
