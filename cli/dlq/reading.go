package dlq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cluster"
	"layover/journal/logs"
	"layover/offsets"
)

const (
	// maxReaders bounds the partitions that are read side by side, and so the memory: each
	// has one answer at a time.
	maxReaders = 4
	// readRetry is between two questions of which the first found nothing.
	readRetry = 200 * time.Millisecond
	// readWait is how long a partition may make no progress.
	readWait = 30 * time.Second
)

// fetchLimits bound an answer to a mebibyte, but for one batch that is larger, and one batch
// decompressed to 128 MiB.
var fetchLimits = logs.Limits{Answer: 1 << 20, Partition: 1 << 20, Batch: 128 << 20}

// chunk is records of one partition, in order. All of its offsets below next that are
// wanted are in it, or have no committed record.
type chunk struct {
	partition int32
	records   []*kgo.Record
	first     int64
	next      int64
	gone      bool  // its offsets were deleted before they were read
	err       error // ends the reading of the partition
}

// stretch returns the offsets that a chunk is about.
func (c *chunk) stretch() stretch { return stretch{c.first, c.next - 1} }

// reader reads one topic. Its end is given: what is written meanwhile is not read.
type reader struct {
	*brokers
	topic string
	id    offsets.TopicID
}

// read sends the committed records of the stretches, and closes the channel behind the
// last. Up to 4 partitions are read side by side; each sends one chunk at a time, and
// waits until it is taken. It ends with ctx.
func (r *reader) read(ctx context.Context, all stretches) <-chan chunk {
	out, todo := make(chan chunk), make(chan int32, len(all))
	for _, n := range slices.Sorted(maps.Keys(all)) {
		todo <- n
	}
	close(todo)
	var readers sync.WaitGroup
	for range min(maxReaders, len(all)) {
		readers.Go(func() { // ends when no partition is left, or with ctx
			for n := range todo {
				if err := r.partition(ctx, n, all[n], out); err != nil {
					send(ctx, out, chunk{partition: n, err: err})
				}
			}
		})
	}
	go func() { // ends with the readers
		readers.Wait()
		close(out)
	}()
	return out
}

// each calls f with every chunk of the stretches. It ends with the first error, of f or of
// reading, or with ctx, when all that it has started has ended.
func (r *reader) each(ctx context.Context, all stretches, f func(*chunk) error) error {
	ctx, stop := context.WithCancel(ctx)
	chunks := r.read(ctx, all)
	defer end(stop, chunks)
	for c := range chunks {
		if c.err != nil {
			return c.err
		}
		if err := f(&c); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// end stops what read has started, and waits for it.
func end(stop context.CancelFunc, chunks <-chan chunk) {
	stop()
	for range chunks {
	}
}

// send reports whether the chunk was taken before ctx ended.
func send(ctx context.Context, out chan<- chunk, c chunk) bool {
	select {
	case out <- c:
		return true
	case <-ctx.Done():
		return false
	}
}

// partition reads one partition. Its end is a position and not a record: the last offsets
// may be markers, aborted, or compacted away.
func (r *reader) partition(ctx context.Context, n int32, s stretch, out chan<- chunk) error {
	leader, moved := int32(-1), time.Now()
	for at := s.first; at <= s.last && ctx.Err() == nil; {
		var err error
		if leader < 0 {
			leader, err = r.leader(ctx, n)
		}
		var records []*kgo.Record
		next, gone := at, false
		if err == nil {
			records, next, err = r.fetch(ctx, leader, n, at)
		}
		if errors.Is(err, kerr.OffsetOutOfRange) {
			if start := r.start(ctx, n); start > at {
				next, gone = start, true
			}
		}
		if next > at {
			behind := slices.IndexFunc(records, func(k *kgo.Record) bool { return k.Offset > s.last })
			if behind >= 0 {
				records = records[:behind]
			}
			if !send(ctx, out, chunk{partition: n, records: records, first: at, next: min(next, s.last+1), gone: gone}) {
				return nil
			}
			at, moved = next, time.Now() // waiting until it is taken is no silence of Kafka
			continue
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && hopeless(err), time.Since(moved) >= readWait:
			if err == nil {
				err = cluster.ErrNoAnswer
			}
			return r.explain(err, fmt.Sprintf("reading %s/%d@%d", r.topic, n, at), "Read on topic "+r.topic)
		case err != nil:
			leader = -1
		}
		cluster.Pause(ctx, readRetry)
	}
	return nil
}

// start asks where the log of a partition begins; -1: not known.
func (r *reader) start(ctx context.Context, n int32) int64 {
	at, start := offsets.TopicPartition{Topic: r.topic, Partition: n}, int64(-1)
	cluster.AskBounds(ctx, r.Client, []offsets.TopicPartition{at}, func(found cluster.Located) {
		if is := found[at]; is.Err == nil {
			start = is.Start
		}
	})
	return start
}

// hopeless reports whether asking again does not mend an error.
func hopeless(err error) bool {
	return cluster.Denied(err) || errors.Is(err, kerr.OffsetOutOfRange) || errors.Is(err, errUnreadable) || errors.Is(err, errAnother)
}

// errUnreadable is a batch that the broker has, and nobody can read, or not in the memory
// that one may take.
var errUnreadable = errors.New("the batch there cannot be read; redrive leaves it out where --offsets begin behind it")

// errAnother is a topic that was deleted and made again: its offsets mean other records.
var errAnother = errors.New("the topic was deleted and made again meanwhile")

// leader asks for the leader of a partition.
func (r *reader) leader(ctx context.Context, n int32) (int32, error) {
	at := offsets.TopicPartition{Topic: r.topic, Partition: n}
	is := cluster.Locate(ctx, r.Client, []offsets.TopicPartition{at})[at]
	if is.Err == nil && is.TopicID != r.id {
		return -1, errAnother
	}
	return is.Leader, is.Err
}

// fetch asks once for committed records. next is where to go on, also past offsets without
// a record.
func (r *reader) fetch(ctx context.Context, leader, n int32, at int64) (records []*kgo.Record, next int64, err error) {
	p := offsets.TopicPartition{Topic: r.topic, Partition: n}
	got := logs.Fetch(ctx, r.Client, leader, []logs.Want{{At: p, ID: r.id, From: at}}, fetchLimits)[p]
	err = errors.Unwrap(got.Err) // the place in front of it is that of the caller's error
	if errors.Is(err, logs.ErrUnreadable) {
		err = fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return got.Records, got.Next, err
}
