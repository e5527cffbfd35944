package journal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"layover/delay"
	"layover/journal/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// State is what is known about one ingress topic's journal topic.
type State struct {
	Usable   bool            // exists and may be written to
	TopicID  offsets.TopicID // zero: it does not exist
	MaxBytes int             // of one record's value
}

// Config has the parameters of a Journal.
type Config struct {
	Group   string
	Ingress []string
	// Name returns the name of an ingress topic's journal topic. No two ingress topics
	// have the same one.
	Name func(ingress string) string
	// Auto has journal topics made, checked and written. Without it a journal is only
	// read, where a commit names one.
	Auto   bool
	Shared bool        // Name does not tell groups apart
	Client *kgo.Client // for questions and admin requests; not closed here
	// Options returns brokers, dialer, back-off, logger of the clients that read.
	Options func() []kgo.Opt
	// Produce appends a record to its partition and calls done once. It keeps the
	// order, and forgets a topic that was made again.
	Produce func(r *kgo.Record, done func(*kgo.Record, error))
	// Changed is called from Run's goroutine after a topic's state changed.
	Changed func(ingress string, s State)
	Log     *slog.Logger
}

// Intervals of the keeper.
const (
	askEvery       = time.Second
	askTimeout     = 5 * time.Second // one request
	configureEvery = time.Minute
	configureRetry = 10 * time.Second
	requestRetry   = 5 * time.Second  // after a request that nobody answered
	refusedRetry   = time.Minute      // after one that was refused
	refusedSay     = 30 * time.Minute // between two lines about one refusal

	// defaultMaxBatch is Kafka's default of max.message.bytes.
	defaultMaxBatch = 1_048_588
	// batchOverhead is the room for a batch of one record around its value. Of a small
	// batch it is a quarter.
	batchOverhead = 1024
)

// Journal keeps the journal topics. Its methods may be called from any goroutine.
type Journal struct {
	cfg      Config
	flights  flights
	deletes  sync.WaitGroup
	mu       sync.Mutex
	topics   map[string]*topic // by ingress topic; the keys never change
	refused  map[string]bool   // journal topics whose refusal to delete is logged
	restored restored
	turns    Turns // under mu
}

// Turns is how often the loops of a Journal have turned.
type Turns struct {
	Keeper  int64 // of Run
	Reading int64 // of all Restores together
}

// topic is what is known about one journal topic. Run alone changes it, under mu.
type topic struct {
	ingress, name string
	state         topicState
	id            offsets.TopicID
	partitions    int32
	maxBatch      int

	wanted   int32 // partitions of the ingress topic, 0: not known
	replicas int16 // of its first partition
	misses   int   // answers in a row that did not know the topic

	making, growing, using refusal

	configured time.Time // when the configuration is read again
	warning    string    // the fault of the configuration, "" for none
	unread     bool      // the log says that the configuration cannot be read
	err        string    // the last error
	told       State
	sharing    sharing
}

// topicState says whether a journal topic can be used.
type topicState string

const (
	unknown   topicState = "unknown" // not asked yet, or nobody answers
	usable    topicState = "usable"
	missing   topicState = "missing"
	forbidden topicState = "forbidden" // not authorised to describe it or to write to it
	illegal   topicState = "illegal name"
	off       topicState = "off"
)

// refusal is an operation that was refused.
type refusal struct {
	text       string    // "" when it is not, or not any more
	next, said time.Time // the next try, and the last line
}

// say notes a refusal and says whether a line is due.
func (r *refusal) say(text string, now time.Time) bool {
	r.next = now.Add(refusedRetry)
	due := r.text == "" || now.Sub(r.said) >= refusedSay
	r.text = text
	if due {
		r.said = now
	}
	return due
}

// New returns a journal. It asks nothing yet.
func New(cfg Config) *Journal {
	j := &Journal{cfg: cfg, topics: make(map[string]*topic), refused: make(map[string]bool)}
	j.flights.open = make(map[offsets.TopicPartition]flight)
	for _, ingress := range cfg.Ingress {
		t := &topic{ingress: ingress, name: cfg.Name(ingress), state: unknown, maxBatch: defaultMaxBatch}
		switch {
		case !cfg.Auto:
			t.state = off
		case !delay.IsTopicName(t.name):
			t.state = illegal
		}
		j.topics[ingress] = t
	}
	return j
}

// Run keeps the topics until the context ends.
func (j *Journal) Run(ctx context.Context) {
	if !j.cfg.Auto {
		<-ctx.Done()
		return
	}
	j.sayIllegal()
	for ctx.Err() == nil {
		j.turned(&j.turns.Keeper)
		if j.ask(ctx) {
			j.create(ctx)
			j.grow(ctx)
			j.configure(ctx) // whoever hears of a topic hears its limit
			j.shared(ctx)
			j.tell()
		}
		j.flights.say(j.cfg.Log, time.Now())
		pause(ctx, askEvery)
	}
}

// turned counts a turn of a loop.
func (j *Journal) turned(count *int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	*count++
}

// Turns returns how often the loops have turned.
func (j *Journal) Turns() Turns {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.turns
}

// tell passes on the states that have changed.
func (j *Journal) tell() {
	for _, ingress := range j.cfg.Ingress {
		j.mu.Lock()
		t := j.topics[ingress]
		s := t.now()
		changed := s != t.told
		t.told = s
		j.mu.Unlock()
		if changed {
			j.cfg.Changed(ingress, s)
		}
	}
}

// now returns the topic's state.
func (t *topic) now() State {
	if (t.id == offsets.TopicID{}) && t.state != usable {
		return State{}
	}
	return State{Usable: t.state == usable && t.sharing.refused == "", TopicID: t.id, MaxBytes: t.maxBatch - min(batchOverhead, t.maxBatch/4)}
}

// Topic is a journal topic's state for metrics and status.
type Topic struct {
	Name       string
	State      string // unknown, usable, refused, missing, forbidden, illegal name, off
	TopicID    offsets.TopicID
	Partitions int32
	Warning    string // the fault that an operator should mend, "" for none
	Error      string // the last error
}

// View is the journals' state for metrics and status.
type View struct {
	Topics map[string]Topic // by ingress topic

	Restores, RestoredRecords, RestoredBytes int64
	RestoreSeconds                           float64
	LastRestore                              time.Duration // how long the last one took
}

// View returns the journals' state for metrics and status.
func (j *Journal) View() View {
	failed := j.flights.errors()
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.restored
	v := View{Topics: make(map[string]Topic, len(j.topics)), Restores: r.count, RestoredRecords: r.records, RestoredBytes: r.bytes,
		RestoreSeconds: r.took.Seconds(), LastRestore: r.last}
	for ingress, t := range j.topics {
		state := string(t.state)
		if t.sharing.refused != "" {
			state = "refused"
		}
		w := Topic{Name: t.name, State: state, TopicID: t.id, Partitions: t.partitions, Warning: t.complaint(), Error: t.err}
		if failed[ingress] != "" {
			w.Error = failed[ingress]
		}
		v.Topics[ingress] = w
	}
	return v
}

// complaint returns the first fault that an operator should mend, "" for none.
func (t *topic) complaint() string {
	for _, s := range []string{t.sharing.refused, t.using.text, t.making.text, t.growing.text, t.warning} {
		if s != "" {
			return s
		}
	}
	return ""
}

// MaxBatch returns a journal topic's limit for one batch, in bytes. For an unknown topic it
// is Kafka's default.
func (j *Journal) MaxBatch(name string) int32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, t := range j.topics {
		if t.name == name {
			return int32(t.maxBatch)
		}
	}
	return defaultMaxBatch
}

// Wait waits for deletions under way. They end by themselves, within 5 s. Nobody may
// call Delete any more.
func (j *Journal) Wait() { j.deletes.Wait() }

// at returns the journal partition of an ingress partition.
func (j *Journal) at(tp offsets.TopicPartition) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: j.cfg.Name(tp.Topic), Partition: tp.Partition}
}

// restored sums up the calls of Restore.
type restored struct {
	count, records, bytes int64
	took, last            time.Duration
}

// result makes the answer to a write.
func result(seq uint64, err error) facts.Result { return facts.Result{Seq: seq, Offset: -1, Err: err} }
