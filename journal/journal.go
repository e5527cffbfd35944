package journal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"layover/cluster/needs"
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
	Runs   *RunsConfig // nil: there are no runs topics
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

// Sizes of batches, in bytes.
const (
	// defaultMaxBatch is Kafka's default of max.message.bytes.
	defaultMaxBatch = needs.DefaultMaxBytes
	// batchOverhead is the room for a batch of one record around its value. Of a small
	// batch it is a quarter.
	batchOverhead = 1024
)

// Journal keeps the journal topics, and the runs topics. Its methods may be called from any
// goroutine.
type Journal struct {
	cfg            Config
	keeper         *keeper
	journals, runs *kind // of topics that are kept; runs is nil where there are none
	flights        flights
	deletes        sync.WaitGroup
	mu             sync.Mutex
	refused        map[string]bool // journal topics whose refusal to delete is logged
	restored       restored
	reading        int64 // turns of all Restores together
}

// Turns is how often the loops of a Journal have turned.
type Turns struct {
	Keeper  int64 // of Run
	Reading int64 // of all Restores together
}

// New returns a journal. It asks nothing yet.
func New(cfg Config) *Journal {
	j := &Journal{cfg: cfg, refused: make(map[string]bool), keeper: &keeper{client: cfg.Client, options: cfg.Options, log: cfg.Log}}
	j.flights.open = make(map[offsets.TopicPartition]flight)
	j.journals = journalKind(&j.cfg)
	j.keeper.add(j.journals, cfg.Ingress, cfg.Name, cfg.Auto)
	if cfg.Runs != nil {
		j.runs = runsKind(&j.cfg)
		j.keeper.add(j.runs, cfg.Ingress, cfg.Runs.Name, true)
		if cfg.Runs.Keep != nil {
			j.keeper.watch(j.runs, cfg.Runs.Keep)
		}
	}
	return j
}

// Run keeps the topics until the context ends.
func (j *Journal) Run(ctx context.Context) {
	j.keeper.run(ctx, func() { j.flights.say(j.cfg.Log, time.Now()) })
}

// turned counts a turn of a Restore's loop.
func (j *Journal) turned() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reading++
}

// Turns returns how often the loops have turned.
func (j *Journal) Turns() Turns {
	keeper := j.keeper.turned(0)
	j.mu.Lock()
	defer j.mu.Unlock()
	return Turns{Keeper: keeper, Reading: j.reading}
}

// Topic is the state of a journal topic or a runs topic for metrics and status.
type Topic struct {
	Name       string
	State      string // unknown, usable, refused, missing, forbidden, illegal name, off
	TopicID    offsets.TopicID
	Partitions int32
	Warning    string  // the fault that an operator should mend, "" for none
	Error      string  // the last error
	Unreadable bool    // the right to describe or to read it is missing
	Orphans    Orphans // of a runs topic alone
}

// View is the state of the topics for metrics and status.
type View struct {
	Topics map[string]Topic // journals, by ingress topic
	Runs   map[string]Topic // runs topics, by ingress topic; nil where there are none

	Restores, RestoredRecords, RestoredBytes int64
	RestoreSeconds                           float64
	LastRestore                              time.Duration // how long the last one took
}

// View returns the state of the topics for metrics and status.
func (j *Journal) View() View {
	v := View{Topics: j.keeper.view(j.journals)}
	for ingress, err := range j.flights.errors() {
		if t, ok := v.Topics[ingress]; ok {
			t.Error = err
			v.Topics[ingress] = t
		}
	}
	if j.runs != nil {
		v.Runs = j.keeper.view(j.runs)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.restored
	v.Restores, v.RestoredRecords, v.RestoredBytes = r.count, r.records, r.bytes
	v.RestoreSeconds, v.LastRestore = r.took.Seconds(), r.last
	return v
}

// MaxBatch returns the limit of a journal topic or a runs topic for one batch, in bytes. For
// an unknown topic it is Kafka's default.
func (j *Journal) MaxBatch(name string) int32 { return j.keeper.maxBatch(name) }

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
