package cluster

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"layover/cluster/needs"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Config has the parameters of a Watcher.
type Config struct {
	Ingress  []string
	Targets  []string // egress, dead letters, and allowed names
	MaxDelay time.Duration
	// Runs reports whether far-off records of an ingress topic are moved, so that it need
	// not keep them; nil: none are. It may not call the Watcher.
	Runs func(ingress string) bool
	// Names limits the names chosen by headers that are known at a time; 0: MaxNames.
	Names int
	// Refused reports whether a broker refuses the connection, which has a line of its
	// own; nil: none does.
	Refused func() bool
	// Heard returns when a broker last answered any client of the process; nil: it is not known.
	Heard func() time.Time
	// Quiet: somebody else judges and logs configurations. Health has the warnings all the same.
	Quiet bool
	// Changed is called with the changes of one answer, unless there are none.
	Changed func(changes []Change)
	Log     *slog.Logger
}

// Intervals of the watch.
const (
	askEvery       = time.Second
	askTimeout     = 5 * time.Second
	namesEvery     = 10 * time.Millisecond // between two requests about names that headers chose
	namesTimeout   = 2 * time.Second
	configureEvery = time.Minute      // topic configurations
	sayEvery       = 30 * time.Second // between two lines about missing topics
	// maxAnswerGap is the longest time between two answers that counts as time in
	// which brokers answered.
	maxAnswerGap = 5 * time.Second
	// patience is for how long no answer about topics is nothing, while brokers answer other requests.
	patience = 30 * time.Second

	// defaultMaxBatch is Kafka's default of max.message.bytes.
	defaultMaxBatch = needs.DefaultMaxBytes
)

// Watcher knows the brokers and topics as their last answers had them.
type Watcher struct {
	cfg    Config
	client *kgo.Client
	wake   chan struct{} // capacity 1

	mu         sync.Mutex
	topics     map[string]*Topic // that the configuration names
	names      *names            // that headers chose
	asked      time.Time         // when the last request about configured topics ended
	askedNames time.Time         // when the last one about names ended
	answered   time.Duration     // sum of the gaps between answers
	last       time.Time         // of the last answer
	since      time.Time         // begin of the present state: answering or not
	err        error             // of the last request about topics, nil after an answer
	brokers    int               // in the last answer
	warnings   map[string]string
	// configuredAt is when topics were last looked through for configurations to read.
	configuredAt time.Time
	said         time.Time // when trouble was last logged
	about        string    // trouble of the last line, "" when it is over
	began        time.Time // of the present trouble, zero for none
	crowded      time.Time // since when the log says that there are too many names
	beat         time.Time // of the loop's last turn
	turns        int64     // of the loop
	wasRefused   bool      // brokers refused when the last question was asked

	othersAnswer bool // the last question had no answer, and other requests had some meanwhile
}

// New returns a watcher over a client of its own.
func New(cfg Config, client *kgo.Client) *Watcher {
	now := time.Now()
	if cfg.Names == 0 {
		cfg.Names = MaxNames
	}
	w := &Watcher{cfg: cfg, client: client, wake: make(chan struct{}, 1), topics: make(map[string]*Topic), names: newNames(cfg.Names),
		warnings: make(map[string]string), since: now, beat: now, said: now.Add(-sayEvery + 3*time.Second)}
	for _, name := range slices.Concat(cfg.Ingress, cfg.Targets) {
		w.topics[name] = &Topic{Name: name, pinned: true, MaxBatchBytes: defaultMaxBatch}
	}
	return w
}

// Run asks until the context ends, with one request at a time.
func (w *Watcher) Run(ctx context.Context) {
	timer := time.NewTimer(askEvery)
	defer timer.Stop()
	for ctx.Err() == nil {
		wait := w.step(ctx)
		if wait <= 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-w.wake:
		}
	}
}

// step sends the request that is due, if any, passes its changes on, and returns the time
// until the next one. The configured topics come first: they wait for one request about
// names of headers at most.
func (w *Watcher) step(ctx context.Context) time.Duration {
	w.turned()
	wait, ask := w.due(time.Now())
	if ask == nil {
		return wait
	}
	changes := ask(ctx)
	w.configure(ctx, changes)
	if len(changes) > 0 { // whoever hears of a topic finds its limits known
		w.cfg.Changed(changes)
	}
	w.say(time.Now())
	wait, ask = w.due(time.Now())
	if ask != nil {
		return 0
	}
	return wait
}

// turned counts a turn of the loop.
func (w *Watcher) turned() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turns++
}

// due returns the question that is due, or else the time until one is.
func (w *Watcher) due(now time.Time) (wait time.Duration, ask func(context.Context) []Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beat = now
	wait = w.asked.Add(askEvery).Sub(now)
	if wait <= 0 {
		return 0, w.askPinned
	}
	if w.err != nil || !w.names.waiting() { // while nobody answers, one request is enough to see
		return wait, nil
	}
	if gap := w.askedNames.Add(namesEvery).Sub(now); gap > 0 {
		return min(wait, gap), nil
	}
	return 0, w.askNames
}

// Beat returns when the loop last turned. It turns once a second, or as often as
// requests time out.
func (w *Watcher) Beat() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.beat
}

// Turns returns how often the loop has turned.
func (w *Watcher) Turns() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.turns
}

// Lookup returns what is known about a topic. A new name is Pending and is asked about
// soon; without room for it, it is TooMany. The cost is one or two map accesses.
func (w *Watcher) Lookup(name string) Topic {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.topics[name]; t != nil {
		return *t
	}
	t, added := w.names.lookup(name, time.Now())
	if t == nil {
		return Topic{Name: name, State: TooMany, MaxBatchBytes: defaultMaxBatch}
	}
	if added {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
	return *t
}

// MaxBatchBytes returns max.message.bytes of a topic, and Kafka's default where it is not
// known. The call does not count as a use of the name. At each update of their metadata,
// clients ask for every topic that they ever produced to.
func (w *Watcher) MaxBatchBytes(name string) int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.topic(name); t != nil {
		return t.MaxBatchBytes
	}
	return defaultMaxBatch
}

// Bytes returns the memory that names chosen by headers take.
func (w *Watcher) Bytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.names.bytes
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
	// Told: Answering, and brokers have said which topics there are.
	Told bool
	// OthersAnswer: the last question about topics had no answer, and other requests had some.
	OthersAnswer bool
	Err          string
	Missing      []string          // configured topics that cannot be used, with the reason
	Unusable     []Topic           // the same topics, by name
	Warnings     map[string]string // by ingress topic
	Names        Names
}

// Names counts the names chosen by headers. Refused is since when new ones find no room,
// and zero while there is room.
type Names struct {
	Known, Limit int
	Refused      time.Time
}

// Health returns what is known about the brokers.
func (w *Watcher) Health() Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := Health{Answering: w.err == nil && (!w.last.IsZero() || w.answersSince(w.since)), Since: w.since, Told: w.err == nil && !w.last.IsZero(), OthersAnswer: w.othersAnswer, Warnings: make(map[string]string),
		Names: Names{Known: len(w.names.known), Limit: w.names.limit, Refused: w.names.full}}
	if w.err != nil {
		h.Err = w.err.Error()
	}
	for k, v := range w.warnings {
		h.Warnings[k] = v
	}
	h.Unusable = w.unusable()
	h.Missing = w.missing(h.Unusable)
	return h
}
