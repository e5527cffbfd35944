package lane

import (
	"context"
	"time"

	"layover/offsets"
	"layover/purgatory"
	"layover/purgatory/far"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Runs reads and writes the runs topics, in which records wait that are due far off. Nothing
// blocks, and each done is called from any goroutine.
type Runs interface {
	// Open finds out what is known of an assignment's runs, and goes on until it knows or ctx
	// ends. It calls done once, with nil where ctx has ended.
	Open(ctx context.Context, ask far.Ask, done func(*far.Opening))
	// Copy appends a record to the runs partition of an ingress partition, and calls done
	// once. It keeps the order of a partition's records.
	Copy(at offsets.TopicPartition, r *kgo.Record, done func(offset int64, err error))
	// Visit reads offsets of a runs partition whose topic has an id, and calls done once. The
	// records are those of Visited.Found as they stood in ingress, with its topic, partition and
	// offset.
	Visit(v purgatory.Visit, topic offsets.TopicID, done func(purgatory.Visited, []*kgo.Record))
	// Delete deletes the records of a runs partition below an offset, unless the log of a leader epoch
	// ends below, and calls done once.
	Delete(at offsets.TopicPartition, topic offsets.TopicID, epoch int32, below int64, done func(error))
}

// RunsTopic is what is known of an ingress topic's runs topic. Its zero value is that there is
// none.
type RunsTopic struct {
	TopicID offsets.TopicID // zero: it does not exist, or nobody knows
	Usable  bool            // it takes copies
}

// RunsConfig is the settings of a lane about runs.
type RunsConfig struct {
	Runs Runs
	// InFlight bounds the copies of this lane that are not answered. The client refuses copies that it
	// has no room for, and nothing of their partition is moved for a second. Half of what silent
	// partitions leave of it is used.
	InFlight int
	// Share returns the bytes of this lane's records at which memory counts as full.
	Share func() int64
	// Left returns this lane's part of the memory that the whole process has left, in bytes; negative: more is
	// used than there is.
	Left func() int64
	// Full reports whether reading pauses for memory; nil: it never does.
	Full func() bool
	// Beside is how many lanes wait for each visit that reads, as only so many do at a time; at least 1.
	Beside int
	// Retention is how long an ingress topic keeps its records; 0 and below: for ever, or
	// nobody knows.
	Retention func(ingress string) time.Duration
	// Partitions is how many ingress partitions this process has, of all lanes.
	Partitions func() int
	// Uniform reports whether no member of the group is of a release that knows no runs.
	Uniform func() bool
}

// RunsChanged takes the state of an ingress topic's runs topic.
func (l *Lane) RunsChanged(ingress string, t RunsTopic) { l.box.order(runsTopic{ingress, t}) }

// Orders about runs.
type (
	runsTopic struct {
		ingress string
		topic   RunsTopic
	}
	runsOpened struct {
		assignment offsets.Assignment
		opening    *far.Opening
	}
	runsUnclear struct{ assignment offsets.Assignment }
	runsLeft    struct {
		assignment offsets.Assignment
		topic      offsets.TopicID
		end        int64
		reply      chan<- *offsets.Window // capacity 1
	}
	runsRead struct {
		answer  purgatory.Visited
		records []*kgo.Record
	}
	runsListed struct {
		listing purgatory.Listing
		offset  int64
		err     error
	}
	runsDeleted struct {
		what purgatory.RunsDelete
		err  error
	}
)

func (o runsTopic) carryOut(l *Lane) { l.moves.openings.told(o.ingress, o.topic) }
func (o runsOpened) carryOut(l *Lane) {
	l.moves.openings.opened(o.assignment, o.opening)
	l.moves.visits.news = true
}
func (o runsUnclear) carryOut(l *Lane) { l.moves.openings.open(o.assignment) }
func (o runsRead) carryOut(l *Lane)    { l.moves.read(&o.answer, o.records) }
func (o runsLeft) carryOut(l *Lane)    { o.reply <- l.moves.openings.left(o.assignment, o.topic, o.end) }
func (o runsListed) carryOut(l *Lane) {
	l.core.Runs().Listed(&o.listing, o.err == nil, o.offset)
	l.moves.visits.news = true
}
func (o runsDeleted) carryOut(l *Lane) { l.core.Runs().Deleted(o.what, o.err) }
