package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// State is what is known about a topic.
type State uint8

const (
	Pending   State = iota // not asked yet, or nobody answers
	Usable                 // exists
	Missing                // does not exist
	Forbidden              // not authorised to describe it
)

// String returns the word that logs and status use.
func (s State) String() string {
	return [...]string{"unknown", "usable", "missing", "forbidden"}[s]
}

// Topic is what is known about one topic.
type Topic struct {
	Name          string
	State         State
	Since         time.Time // of State as it is; zero while it is Pending from the start
	ID            [16]byte
	Partitions    int32
	Led           []int32 // partitions that have a leader
	MaxBatchBytes int32   // max.message.bytes
	// Retention is retention.ms: below 0 nothing is deleted by time, 0 not known.
	Retention time.Duration

	configured time.Time // when the configuration was last read
	used       time.Time // when it was last looked up
	pinned     bool      // named in the configuration, never forgotten
}

// Config is what a Watcher needs.
type Config struct {
	Ingress  []string
	Targets  []string // egress, dead letters, and allowed names
	MaxDelay time.Duration
	// Changed is called after a topic's state changed; renewed says that it was
	// deleted and made again, or has appeared.
	Changed func(topic Topic, renewed bool)
	Log     *slog.Logger
}

// Intervals of the watch.
const (
	askEvery       = time.Second
	askTimeout     = 5 * time.Second
	configureEvery = time.Minute      // topic configurations
	sayEvery       = 30 * time.Second // between two lines about what is missing
	forgetAfter    = 10 * time.Minute // a target that nobody asked for
	// maxAnswerGap is the longest time between two answers that counts as time in
	// which brokers answered.
	maxAnswerGap = 5 * time.Second

	// defaultMaxBatch is Kafka's default of max.message.bytes.
	defaultMaxBatch = 1_048_588
)

// Watcher holds what the last answers said.
type Watcher struct {
	cfg    Config
	client *kgo.Client
	wake   chan struct{} // capacity 1

	mu       sync.Mutex
	topics   map[string]*Topic
	answered time.Duration // sum of the gaps between answers
	last     time.Time     // of the last answer
	since    time.Time     // begin of the present state: answering or not
	err      error         // of the last request, nil after an answer
	brokers  int           // in the last answer
	warnings map[string]string
	said     time.Time
	about    string    // what the last line was about, "" when it is over
	began    time.Time // when what is missing began to be, zero when nothing is
	beat     time.Time // of the loop's last turn
}

// New returns a watcher over a client of its own.
func New(cfg Config, client *kgo.Client) *Watcher {
	now := time.Now()
	w := &Watcher{cfg: cfg, client: client, wake: make(chan struct{}, 1), topics: make(map[string]*Topic),
		warnings: make(map[string]string), since: now, beat: now, said: now.Add(-sayEvery + 3*time.Second)}
	for _, name := range slices.Concat(cfg.Ingress, cfg.Targets) {
		w.topics[name] = &Topic{Name: name, pinned: true, MaxBatchBytes: defaultMaxBatch}
	}
	return w
}

// Run asks until the context ends.
func (w *Watcher) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-w.wake:
		}
		changes := w.ask(ctx)
		w.configure(ctx)
		for _, c := range changes { // whoever hears of a topic finds its limits known
			w.cfg.Changed(c.topic, c.renewed)
		}
		w.say(time.Now())
		timer.Reset(askEvery)
	}
}

// Beat returns when the loop last turned. It turns once a second, or as often as
// requests time out.
func (w *Watcher) Beat() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.beat
}

// Lookup returns what is known about a topic. One that was never asked for is
// pending, and is asked for now.
func (w *Watcher) Lookup(name string) Topic {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.topics[name]
	if t == nil {
		t = &Topic{Name: name, MaxBatchBytes: defaultMaxBatch}
		w.topics[strings.Clone(name)] = t
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	t.used = time.Now()
	return *t
}

// Answered returns the time in which brokers answered, as far as it is known; it
// never goes back.
func (w *Watcher) Answered() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered
}

// Brokers returns how many brokers the cluster has, at least 1.
func (w *Watcher) Brokers() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.brokers, 1)
}

// Health is what is known about the brokers.
type Health struct {
	Answering bool
	Since     time.Time // of the present state
	Err       string
	Missing   []string          // configured topics that cannot be used, with the reason
	Unusable  []Topic           // the same topics, by name
	Warnings  map[string]string // by ingress topic
}

// Health returns what is known about the brokers.
func (w *Watcher) Health() Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := Health{Answering: w.err == nil && !w.last.IsZero(), Since: w.since, Warnings: make(map[string]string)}
	if w.err != nil {
		h.Err = w.err.Error()
	}
	for k, v := range w.warnings {
		h.Warnings[k] = v
	}
	for _, t := range w.topics {
		if t.pinned && (t.State == Missing || t.State == Forbidden) {
			h.Unusable = append(h.Unusable, *t)
		}
	}
	slices.SortFunc(h.Unusable, func(a, b Topic) int { return strings.Compare(a.Name, b.Name) })
	h.Missing = w.unusable()
	return h
}

// unusable lists configured topics that cannot be used. Callers hold mu.
func (w *Watcher) unusable() (out []string) {
	for name, t := range w.topics {
		if t.pinned && (t.State == Missing || t.State == Forbidden) {
			out = append(out, fmt.Sprintf("topic %s is %s", name, t.State))
		}
	}
	slices.Sort(out)
	return out
}

// ask sends one metadata request for every topic that somebody cares about.
func (w *Watcher) ask(ctx context.Context) []change {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	w.mu.Lock()
	now := time.Now()
	w.beat = now
	for name, t := range w.topics {
		if !t.pinned && !t.used.IsZero() && now.Sub(t.used) > forgetAfter {
			delete(w.topics, name)
			continue
		}
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
	}
	w.mu.Unlock()
	resp, err := req.RequestWith(ctx, w.client)
	return w.note(resp, err)
}

type change struct {
	topic   Topic
	renewed bool
}

// note takes one answer and returns what changed.
func (w *Watcher) note(resp *kmsg.MetadataResponse, err error) (changes []change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if silent := w.err != nil || w.last.IsZero(); silent == (err == nil) { // a start counts as silence
		w.since = now
	}
	w.err = err
	if err != nil {
		return nil
	}
	if gap := now.Sub(w.last); !w.last.IsZero() {
		w.answered += min(gap, maxAnswerGap)
	}
	w.last = now
	w.brokers = len(resp.Brokers)
	for _, rt := range resp.Topics {
		if rt.Topic == nil {
			continue
		}
		t := w.topics[*rt.Topic]
		if t == nil {
			continue
		}
		old := *t
		t.read(&rt)
		if old.State != t.State {
			t.Since = now
		}
		renewed := t.State == Usable && old.ID != t.ID && (old.ID != [16]byte{} || old.State == Missing)
		if old.State != t.State || old.Partitions != t.Partitions || renewed {
			changes = append(changes, change{*t, renewed})
		}
	}
	return changes
}

// read takes one topic's part of an answer.
func (t *Topic) read(rt *kmsg.MetadataResponseTopic) {
	switch err := kerr.ErrorForCode(rt.ErrorCode); err {
	case nil:
		t.State, t.ID, t.Partitions = Usable, rt.TopicID, int32(len(rt.Partitions))
		t.Led = t.Led[:0:0]
		for _, p := range rt.Partitions {
			if p.Leader >= 0 {
				t.Led = append(t.Led, p.Partition)
			}
		}
		if t.Partitions == 0 {
			t.State = Missing
		}
	case kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException:
		t.State = Missing
	case kerr.TopicAuthorizationFailed:
		t.State = Forbidden
	}
}

// say logs what is missing once, when it begins or becomes something else, and once
// when all is there. What comes and goes gives a line every 30 s at most.
func (w *Watcher) say(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var about, problem string // about is the same as long as it lasts: an error names another broker each time
	switch missing := w.unusable(); {
	case w.err != nil:
		about, problem = "no broker answers", fmt.Sprintf("no broker answers: %v", w.err)
	case len(missing) > 0:
		problem = strings.Join(missing, ", ")
		about = problem
	}
	switch {
	case about == "":
		if w.about != "" {
			w.cfg.Log.Info("brokers answer and all configured topics are there", "waited", now.Sub(w.began).Round(time.Second).String())
		}
		w.about, w.began = "", time.Time{}
		return
	case w.began.IsZero():
		w.began = now
	}
	if about != w.about && now.Sub(w.said) >= sayEvery {
		w.said, w.about = now, about
		w.cfg.Log.Warn("waiting for Kafka", "missing", problem)
	}
}
