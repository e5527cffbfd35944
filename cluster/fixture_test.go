package cluster

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const ingress = "delayed"

// fixture is one bubble: virtual time, a broker, and a watcher. It keeps what the watcher
// asked.
type fixture struct {
	*kafkatest.Cluster
	w      *Watcher
	logs   kafkatest.Log
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	asked   []asked
	changes [][]Change // as they were passed on
}

// asked is one request, with its size on the wire.
type asked struct {
	at    time.Time
	key   kmsg.Key
	names []string
	bytes int // 0: it was not answered
}

// inBubble runs f with a watcher of the ingress topic and of what configure says.
func inBubble(t *testing.T, configure func(*Config), f func(w *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{Cluster: kafkatest.StartVirtual(t, 1, kfake.SeedTopics(3, ingress)), done: make(chan struct{})}
		w.Answer(kmsg.Metadata, w.observe)
		w.Answer(kmsg.DescribeConfigs, w.observe)
		cfg := Config{Ingress: []string{ingress}, MaxDelay: time.Hour, Log: slog.New(slog.NewTextHandler(&w.logs, nil)), Changed: func(c []Change) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.changes = append(w.changes, c)
		}}
		if configure != nil {
			configure(&cfg)
		}
		w.w = New(cfg, w.NewClient(kgo.WithHooks(w), kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond })))
		ctx, cancel := context.WithCancel(t.Context())
		w.cancel = cancel
		go func() {
			defer close(w.done)
			w.w.Run(ctx)
		}()
		defer w.stop()
		f(w)
	})
}

func (w *fixture) stop() {
	w.cancel()
	<-w.done
}

// observe keeps what is asked. It answers nothing.
func (w *fixture) observe(r kmsg.Request) kmsg.Response {
	a := asked{at: time.Now(), key: kmsg.Key(r.Key())}
	switch r := r.(type) {
	case *kmsg.MetadataRequest:
		for _, t := range r.Topics {
			a.names = append(a.names, *t.Topic)
		}
	case *kmsg.DescribeConfigsRequest:
		for _, t := range r.Resources {
			a.names = append(a.names, t.ResourceName)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(a.names) > 0 {
		w.asked = append(w.asked, a)
	}
	return nil
}

// OnBrokerE2E implements kgo.HookBrokerE2E: requests are answered one at a time.
func (w *fixture) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.asked); n > 0 && w.asked[n-1].key == kmsg.Key(key) && e2e.Err() == nil {
		w.asked[n-1].bytes = e2e.BytesWritten
	}
}

// since returns what was asked about topics from an instant on.
func (w *fixture) since(at time.Time, key kmsg.Key) (out []asked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.asked {
		if a.key == key && !a.at.Before(at) {
			out = append(out, a)
		}
	}
	return out
}

func (w *fixture) state(name string) State { return w.w.Lookup(name).State }

func (w *fixture) create(names ...string) {
	w.Helper()
	for _, name := range names {
		w.CreateTopic(name, 2, map[string]string{"retention.ms": "86400000"})
	}
}

// TestAnErrorOfOneTopicIsOfThatTopicAlone: what does not say whether the topic exists
// leaves what is known of it, and everything about others.
func TestAnErrorOfOneTopicIsOfThatTopicAlone(t *testing.T) {
	inBubble(t, func(c *Config) { c.Targets = []string{"ready"} }, func(w *fixture) {
		w.create("ready", "job-1", "job-2")
		for _, name := range []string{ingress, "ready", "job-1", "job-2"} {
			w.Until(3*time.Second, name+" is usable", func() bool { return w.state(name) == Usable })
		}
		for _, err := range []*kerr.Error{kerr.LeaderNotAvailable, kerr.UnknownServerError, kerr.InvalidReplicationFactor} {
			before := []Topic{w.w.Lookup(ingress), w.w.Lookup("job-1")}
			var refusals []*kfake.FaultHandle
			for _, name := range []string{ingress, "job-1"} {
				refusals = append(refusals, w.Refuse(kmsg.Metadata, kfake.Fault{Topic: name, Err: err}))
			}
			if _, err := w.Admin().UpdatePartitions(w.Context(), 4, "ready", "job-2"); err != nil {
				t.Fatal(err)
			}
			w.Until(3*time.Second, "the others grow", func() bool { return w.w.Lookup("ready").Partitions == 4 && w.w.Lookup("job-2").Partitions == 4 })
			time.Sleep(10 * time.Second)
			for i, name := range []string{ingress, "job-1"} {
				if now := w.w.Lookup(name); now.State != Usable || now.ID != before[i].ID || !slices.Equal(now.Led, before[i].Led) || now.Since != before[i].Since {
					t.Errorf("%v: %s was %+v and is %+v", err, name, before[i], now)
				}
			}
			if h := w.w.Health(); !h.Answering || len(h.Missing) > 0 {
				t.Errorf("%v: health %+v", err, h)
			}
			for _, r := range refusals {
				r.Remove()
			}
			for _, name := range []string{"ready", "job-2"} {
				w.DeleteTopic(name)
				w.create(name)
			}
			time.Sleep(3 * time.Second)
		}
	})
}

// TestATopicIsMissingAfterTwoAnswersInARow: a broker that has just started may not know
// of it yet. One that nobody has seen is missing at once.
func TestATopicIsMissingAfterTwoAnswersInARow(t *testing.T) {
	inBubble(t, nil, func(w *fixture) {
		w.create("job-1")
		for _, name := range []string{ingress, "job-1"} {
			w.Until(3*time.Second, name+" is usable", func() bool { return w.state(name) == Usable })
			w.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: name, Err: kerr.UnknownTopicOrPartition})
			for range 100 {
				time.Sleep(50 * time.Millisecond)
				if s := w.state(name); s != Usable {
					t.Fatalf("%s is %v after one stale answer", name, s)
				}
			}
			w.DeleteTopic(name)
			w.Until(3*time.Second, name+" is missing", func() bool { return w.state(name) == Missing })
		}
		began := time.Now()
		w.Until(time.Second, "a name that nobody has seen is missing", func() bool { return w.state("job-2") == Missing })
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("the first answer took %v", took)
		}
	})
}

// TestChangesOfOneAnswerArePassedOnTogether: who hears of them has something to do for
// each time.
func TestChangesOfOneAnswerArePassedOnTogether(t *testing.T) {
	inBubble(t, nil, func(w *fixture) {
		time.Sleep(time.Second)
		w.mu.Lock()
		before := len(w.changes)
		w.mu.Unlock()
		for i := range 1000 {
			w.state(nameOf(i))
		}
		time.Sleep(10 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		var topics int
		for _, c := range w.changes[before:] {
			topics += len(c)
		}
		if calls := len(w.changes) - before; topics != 1000 || calls > 6 {
			t.Errorf("%d topics in %d calls, want 1000 in as many as requests", topics, calls)
		}
	})
}

// TestConfigurationsAreReadInBatches: one topic's error is its own, and a request has a
// bounded answer.
func TestConfigurationsAreReadInBatches(t *testing.T) {
	inBubble(t, nil, func(w *fixture) {
		time.Sleep(1500 * time.Millisecond)
		const topics = 350
		for i := range topics {
			w.create(nameOf(i))
		}
		w.Refuse(kmsg.DescribeConfigs, kfake.Fault{Resource: nameOf(7), Err: kerr.TopicAuthorizationFailed})
		began := time.Now()
		for i := range topics {
			w.state(nameOf(i))
		}
		known := func(name string) bool { return w.w.Lookup(name).Retention == 24*time.Hour }
		w.Until(2*time.Second, "all are configured", func() bool {
			for i := range topics {
				if i != 7 && !known(nameOf(i)) { // who may not be read spoils nobody else
					return false
				}
			}
			return true
		})
		time.Sleep(2 * time.Minute)
		if known(nameOf(7)) {
			t.Error("what may not be read is known")
		}
		times := make(map[string]int)
		for _, a := range w.since(began, kmsg.DescribeConfigs) {
			if len(a.names) > configureTopics {
				t.Errorf("a request about %d topics", len(a.names))
			}
			for _, name := range a.names {
				times[name]++
			}
		}
		for i := range topics {
			if n := times[nameOf(i)]; i != 7 && (n < 2 || n > 3) {
				t.Errorf("%s was read %d times in 2 min", nameOf(i), n)
			}
		}
	})
}

// TestAnEmptyPolicyKeepsForEver: from Kafka 4.2 on a topic without a
// policy is kept for ever.
func TestAnEmptyPolicyKeepsForEver(t *testing.T) {
	for name, test := range map[string]struct {
		values  map[string]string
		want    time.Duration
		warning bool
	}{
		"empty":       {map[string]string{"cleanup.policy": "", "retention.ms": "1000", "retention.bytes": "5"}, -1, false},
		"not told":    {map[string]string{"retention.ms": "1000"}, time.Second, true},
		"compact":     {map[string]string{"cleanup.policy": "compact", "retention.ms": "1000"}, -1, true},
		"both":        {map[string]string{"cleanup.policy": "compact,delete", "retention.ms": "1000"}, time.Second, true},
		"delete":      {map[string]string{"cleanup.policy": "delete", "retention.ms": "1000"}, time.Second, true},
		"nothing yet": {map[string]string{}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(Config{Ingress: []string{ingress}, MaxDelay: time.Hour, Log: slog.New(slog.DiscardHandler)}, nil)
			w.configured(ingress, test.values)
			if got := w.Lookup(ingress).Retention; got != test.want || (w.warnings[ingress] != "") != test.warning {
				t.Errorf("retention %v, want %v; warning %q", got, test.want, w.warnings[ingress])
			}
		})
	}
}

// nameOf is the name of a number that a header might choose: as long as Kafka lets it be.
func nameOf(i int) string {
	digits := "0000000" + string(rune('0'+i%10))
	for n, at := i/10, 6; n > 0; n, at = n/10, at-1 {
		digits = digits[:at] + string(rune('0'+n%10)) + digits[at+1:]
	}
	return "job-" + digits + strings.Repeat("x", 237)
}
