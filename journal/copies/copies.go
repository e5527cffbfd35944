package copies

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"layover/cluster"
	"layover/journal/copies/turns"
	"layover/journal/facts"
	"layover/journal/logs"
	"layover/journal/runs"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Config has the parameters of Copies.
type Config struct {
	Group string
	// Name returns the name of an ingress topic's runs topic.
	Name func(ingress string) string
	// Journal reads the finished copies.
	Journal Journal
	Client  *kgo.Client // for questions and admin requests; not closed here
	// Options returns brokers, dialer, back-off, logger of the client that reads.
	Options func() []kgo.Opt
	// Produce appends a record to its partition and calls done once. It keeps the order,
	// but for records that are sent alone: these have a batch of their own, of any size.
	Produce func(r *kgo.Record, alone bool, done func(*kgo.Record, error))
	// Batch returns how many bytes a record of ingress may take that goes to a runs topic, or comes from it. A
	// larger one is refused, as its copy could not be read.
	Batch func(topic string) int
	// Together returns how many bytes a batch of several copies may take of a runs topic, BatchBytes at most.
	Together func(topic string) int
	// Visits is how many visits read at a time, beside two of sick brokers: see turns.
	Visits int
	Log    *slog.Logger
}

// Journal is the journal, as Copies asks it.
type Journal interface {
	// Restore adds what the journal has to the windows of asks, and calls done with the
	// answer of each, by its index. It returns after the last one.
	Restore(ctx context.Context, asks []facts.Ask, done func(i int, a facts.Answer))
}

// BatchBytes limits a batch of copies. A visit that wants one record reads its whole batch:
// from batches of 1 MiB that takes ten times as long.
const BatchBytes = 64 << 10

// besideBytes is more than a copy takes beside its record, with the lengths in a batch.
const besideBytes = 1 << 10

// errUnreadable is a copy that no visit could read.
var errUnreadable = fmt.Errorf("%w: it takes more than a batch may decompressed", runs.ErrTooLarge)

// limits are those of an answer about a runs topic. A copy has a header more than its record.
func (c *Copies) limits(topic string) logs.Limits {
	return logs.Limits{Answer: answerBytes, Partition: answerBytes, Batch: c.cfg.Batch(topic) + besideBytes, Together: true}
}

// Copies reads and writes the runs topics. Its methods may be called from any goroutine.
type Copies struct {
	cfg     Config
	reading *kgo.Client
	turns   *turns.Turns    // of visits
	ends    context.Context // is over when Close is called
	cancel  context.CancelFunc
	running sync.WaitGroup
	// troubles is what is wrong at the moment, for status.
	troubles troubles

	mu       sync.Mutex
	leaders  map[offsets.TopicPartition]leader  // of runs partitions
	broken   map[offsets.TopicPartition][]int64 // offsets of runs partitions at which a batch could not be read
	openings []*opening                         // that no round has taken yet
	said     map[string]time.Time               // when a line was last logged, by what it says
}

// leader is what the last answer told of a runs partition.
type leader struct {
	broker    int32
	topicID   offsets.TopicID
	clusterID string
	doubtful  bool // it may be another one by now
}

// New returns Copies. It asks nothing yet.
func New(cfg Config) (*Copies, error) {
	reading, err := logs.NewClient(cfg.Options())
	if err != nil {
		return nil, err
	}
	c := &Copies{cfg: cfg, reading: reading, turns: turns.New(max(cfg.Visits, 1)),
		troubles: newTroubles(), leaders: make(map[offsets.TopicPartition]leader), broken: make(map[offsets.TopicPartition][]int64), said: make(map[string]time.Time)}
	c.ends, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Close ends all that is underway, and waits for it.
func (c *Copies) Close() {
	c.cancel()
	c.running.Wait()
	c.reading.Close()
}

// at returns the runs partition of an ingress partition.
func (c *Copies) at(tp offsets.TopicPartition) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: c.cfg.Name(tp.Topic), Partition: tp.Partition}
}

// Copy appends a record, without its topic and partition, to the runs partition of an ingress
// partition. The record's time is that of the call. It calls done once, from any goroutine.
func (c *Copies) Copy(tp offsets.TopicPartition, r *kgo.Record, done func(offset int64, err error)) {
	at := c.at(tp)
	r.Topic, r.Partition = at.Topic, at.Partition
	size := sizeOf(r)
	if size > c.cfg.Batch(at.Topic)+besideBytes/2 {
		c.refused(at, errUnreadable)
		done(-1, errUnreadable)
		return
	}
	together := c.cfg.Together(at.Topic)
	alone := size > together-together/16 // with its headers it may not fit in there
	c.troubles.sent(tp, r.Timestamp)
	c.cfg.Produce(r, alone, func(r *kgo.Record, err error) {
		switch {
		case alone && (errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge)):
			err = fmt.Errorf("%w: %w", runs.ErrTooLarge, err)
		case err != nil:
			err = cluster.Allow(err, "Write on topic "+at.Topic)
		}
		c.troubles.answered(tp, err, time.Now())
		if err != nil {
			c.refused(at, err)
			done(-1, err)
			return
		}
		done(r.Offset, nil)
	})
}

// refused logs that a copy was not taken.
func (c *Copies) refused(at offsets.TopicPartition, err error) {
	c.say("refused "+at.Topic, func() {
		c.cfg.Log.Warn("runs topic refuses a record: it stays in memory, and is tried again", "topic", at.Topic, "partition", at.Partition, "err", err)
	})
}

// sizeOf returns the bytes that a record takes in a batch, about.
func sizeOf(r *kgo.Record) int {
	size := 16 + len(r.Key) + len(r.Value)
	for i := range r.Headers {
		size += 4 + len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return size
}

// Delete deletes the records of an ingress partition's runs partition below an offset. Its topic must
// still have the id, and the log of a leader epoch reach there: all of it may have been written anew
// since. It calls done once, within seconds.
func (c *Copies) Delete(tp offsets.TopicPartition, topic offsets.TopicID, epoch int32, below int64, done func(error)) {
	at := c.at(tp)
	c.running.Go(func() { // ends with its requests, which have time limits
		err := c.delete(at, topic, epoch, below)
		switch {
		case errors.Is(err, kerr.TopicAuthorizationFailed):
			c.say("deleting "+at.Topic, func() {
				c.cfg.Log.Warn("records of a runs topic cannot be deleted, and it grows", "topic", at.Topic, "partition", at.Partition,
					"err", cluster.Allow(err, "Delete on topic "+at.Topic))
			})
		case err != nil:
			c.cfg.Log.Debug("records of a runs topic are not deleted yet", "topic", at.Topic, "partition", at.Partition, "err", err)
		}
		done(err)
	})
}

// delete looks first, as the request to delete tells neither a topic id nor a leader epoch. An election
// with a truncation in the moment between goes unnoticed: what is written anew meanwhile is deleted.
func (c *Copies) delete(at offsets.TopicPartition, topic offsets.TopicID, epoch int32, below int64) error {
	b := cluster.Locate(c.ends, c.cfg.Client, []offsets.TopicPartition{at})[at]
	switch {
	case b.Err != nil:
		return b.Err
	case b.TopicID != topic:
		return errRecreated
	}
	switch end, err := c.endOf(c.ends, at, epoch); {
	case err != nil:
		return err
	case end < below:
		return fmt.Errorf("%w: the log of leader epoch %d ends at %d, want %d at least", errTruncated, epoch, end, below)
	}
	return logs.Delete(c.ends, c.cfg.Client, at, below)
}

var (
	errRecreated = errors.New("the runs topic was made again")
	errTruncated = errors.New("the runs topic was truncated")
)

// sayEvery is the time between two lines that say the same.
const sayEvery = 30 * time.Second

// say logs a line, unless one of its kind was logged less than 30 s ago.
func (c *Copies) say(kind string, line func()) {
	c.mu.Lock()
	now := time.Now()
	due := now.Sub(c.said[kind]) >= sayEvery
	if due {
		c.said[kind] = now
	}
	c.mu.Unlock()
	if due {
		line()
	}
}

// endOf returns where the log of a leader epoch ends. An epoch that no broker knows has no end:
// nothing that was said of it counts.
func (c *Copies) endOf(ctx context.Context, at offsets.TopicPartition, epoch int32) (int64, error) {
	end, _, err := c.endIfKnown(ctx, at, epoch)
	return end, err
}

// endIfKnown is endOf, and tells whether a broker knows the epoch.
func (c *Copies) endIfKnown(ctx context.Context, at offsets.TopicPartition, epoch int32) (end int64, known bool, err error) {
	end, err = cluster.EndOfEpoch(ctx, c.cfg.Client, at, epoch)
	if err != nil {
		return 0, false, fmt.Errorf("end of leader epoch %d: %w", epoch, err)
	}
	return max(end, 0), end >= 0, nil
}
