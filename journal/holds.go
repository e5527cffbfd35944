package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"layover/facts"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// holdsWait is how long Holds waits for answers, and for records.
const holdsWait = 5 * time.Second

// Holds says which of the partitions have a record in their journal, of whatever life
// of their offset. An error says that it is not known; the cost is that of reading
// each journal up to its first such record. A topic that does not exist is believed in
// after two seconds: a broker that has just started knows none.
func (j *Journal) Holds(ctx context.Context, ids map[offsets.TopicPartition]offsets.Identity) (map[offsets.TopicPartition]bool, error) {
	of := make(map[offsets.TopicPartition]offsets.TopicPartition, len(ids)) // ingress partition by that of the journal
	for tp := range ids {
		of[j.at(tp)] = tp
	}
	began := time.Now()
	for {
		held, missing, err := j.holds(ctx, ids, of)
		if err == nil && (!missing || time.Since(began) >= missingWait) {
			return held, nil
		}
		if ctx.Err() != nil || time.Since(began) >= holdsWait {
			return nil, fmt.Errorf("journal: %w", cmp.Or(err, ctx.Err()))
		}
		pause(ctx, restoreRetry)
	}
}

// holds tries once.
func (j *Journal) holds(ctx context.Context, ids map[offsets.TopicPartition]offsets.Identity, of map[offsets.TopicPartition]offsets.TopicPartition) (held map[offsets.TopicPartition]bool, missing bool, err error) {
	parts := make([]offsets.TopicPartition, 0, len(of))
	for at := range of {
		parts = append(parts, at)
	}
	ends, err := j.logBounds(ctx, parts, func(err error) bool { // nobody has written there
		missing = missing || errors.Is(err, errMissing)
		return errors.Is(err, errMissing) || errors.Is(err, kerr.TopicAuthorizationFailed)
	})
	if err != nil {
		return nil, false, err
	}
	held = make(map[offsets.TopicPartition]bool, len(ids))
	for tp := range ids {
		held[tp] = false
	}
	if len(ends) == 0 {
		return held, missing, nil
	}
	client, err := newClient(j.cfg.Options())
	if err != nil {
		return nil, false, err
	}
	defer client.Close()
	err = scan(ctx, client, ends, holdsWait, func(at offsets.TopicPartition, r *kgo.Record) (more bool, err error) {
		tp := of[at]
		rec, err := facts.Read(r.Value)
		if err == nil && rec.Of(facts.Identity{Identity: ids[tp], Group: j.cfg.Group}) {
			held[tp] = true
		}
		return !held[tp], nil
	})
	if errors.Is(err, kerr.TopicAuthorizationFailed) {
		err = nil
	}
	return held, missing, err
}

// logBounds returns where the logs of partitions begin and end, without those of which
// an error says that they do not count.
func (j *Journal) logBounds(ctx context.Context, parts []offsets.TopicPartition, absent func(error) bool) (map[offsets.TopicPartition][2]int64, error) {
	var mu sync.Mutex
	var failed error
	ends := make(map[offsets.TopicPartition][2]int64)
	askBounds(ctx, j.cfg.Client, parts, func(a answers) {
		mu.Lock()
		defer mu.Unlock()
		for at, b := range a {
			switch {
			case b.err == nil:
				ends[at] = [2]int64{b.start, b.end}
			case !absent(b.err):
				failed = fmt.Errorf("%s/%d: %w", at.Topic, at.Partition, b.err)
			}
		}
	})
	return ends, failed
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
