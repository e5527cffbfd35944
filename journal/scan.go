package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// scanWait is how long a scan waits for any record.
const scanWait = 30 * time.Second

// Scan reads partitions of a topic, each from its start to its end (not included), and
// calls f for each record that somebody committed, in order within a partition. It ends
// with an error of f, of a partition, or when nothing was read for 30 s.
func Scan(ctx context.Context, opts []kgo.Opt, topic string, ends map[int32][2]int64, f func(partition int32, r *kgo.Record) error) error {
	client, err := newClient(opts)
	if err != nil {
		return err
	}
	defer client.Close()
	all := make(map[offsets.TopicPartition][2]int64, len(ends))
	for p, b := range ends {
		all[offsets.TopicPartition{Topic: topic, Partition: p}] = b
	}
	left, err := scan(ctx, client, all, scanWait, func(at offsets.TopicPartition, r *kgo.Record) (bool, error) {
		return true, f(at.Partition, r)
	})
	for _, why := range left {
		err = cmp.Or(err, why)
	}
	return err
}

// scanned is a partition that a scan has not read to its end.
type scanned struct {
	next, end int64
	leader    int32 // -1: to be asked
	id        offsets.TopicID
	err       error // the last error
}

// scan is Scan for partitions of any topics. Where f returns false, the rest of the
// partition is not read. left has the partitions that were not read to their end, each
// with the reason: none of them delays another for longer than wait.
func scan(ctx context.Context, cl *kgo.Client, ends map[offsets.TopicPartition][2]int64, wait time.Duration, f func(offsets.TopicPartition, *kgo.Record) (more bool, err error)) (left map[offsets.TopicPartition]error, err error) {
	open := make(map[offsets.TopicPartition]*scanned)
	for at, b := range ends {
		if b[0] < b[1] {
			open[at] = &scanned{next: b[0], end: b[1], leader: -1}
		}
	}
	left = make(map[offsets.TopicPartition]error)
	for last := time.Now(); len(open) > 0; {
		failed := find(ctx, cl, open)
		before := time.Now()
		fetching, cancel := context.WithTimeout(ctx, wait) // a broker that hangs delays the others no longer
		fetched := fetchAll(fetching, cl, open)
		cancel()
		for at, got := range fetched {
			s := open[at]
			if got.next > s.next {
				last = before
			}
			if err := s.take(at, got, f); err != nil {
				return nil, fmt.Errorf("%s/%d@%d: %w", at.Topic, at.Partition, s.next, err)
			}
			switch {
			case s.next >= s.end:
				delete(open, at)
			case hopeless(got.err):
				left[at] = fmt.Errorf("%s/%d@%d: %w", at.Topic, at.Partition, s.next, got.err)
				delete(open, at)
			case got.err != nil:
				s.leader, s.err, failed = -1, got.err, true
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if time.Since(last) >= wait {
			for at, s := range open {
				left[at] = fmt.Errorf("%s/%d was not read to its end, and nothing came for %v: %w", at.Topic, at.Partition, wait, cmp.Or(s.err, cluster.ErrNoAnswer))
			}
			return left, nil
		}
		if failed {
			pause(ctx, restoreRetry)
		}
	}
	return left, nil
}

// hopeless says whether asking again does not mend an error.
func hopeless(err error) bool {
	return errors.Is(err, kerr.OffsetOutOfRange) || errors.Is(err, kerr.TopicAuthorizationFailed)
}

// find asks for unknown leaders. It returns true where one stays unknown.
func find(ctx context.Context, cl *kgo.Client, open map[offsets.TopicPartition]*scanned) (failed bool) {
	var unknown []offsets.TopicPartition
	for at, s := range open {
		if s.leader < 0 {
			unknown = append(unknown, at)
		}
	}
	if len(unknown) == 0 {
		return false
	}
	for at, b := range cluster.Locate(ctx, cl, unknown) {
		if b.Err != nil {
			open[at].err, failed = b.Err, true
			continue
		}
		open[at].leader, open[at].id = b.Leader, b.TopicID
	}
	return failed
}

// fetchAll asks every leader once, all at a time.
func fetchAll(ctx context.Context, cl *kgo.Client, open map[offsets.TopicPartition]*scanned) map[offsets.TopicPartition]took {
	wants := make(map[int32][]want)
	for at, s := range open { // in another order each time, so that none is always the last
		if s.leader >= 0 {
			wants[s.leader] = append(wants[s.leader], want{at, s.id, s.next})
		}
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	out := make(map[offsets.TopicPartition]took)
	for leader, led := range wants {
		asking.Go(func() { // ends with its request, which has a time limit
			got := fetch(ctx, cl, leader, led)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(out, got)
		})
	}
	asking.Wait()
	return out
}

// take calls f with the records that were read of a partition, and returns its error.
func (s *scanned) take(at offsets.TopicPartition, got took, f func(offsets.TopicPartition, *kgo.Record) (bool, error)) error {
	for _, r := range got.records {
		if r.Offset >= s.end {
			break
		}
		s.next = r.Offset
		more, err := f(at, r)
		if err != nil {
			return err
		}
		if !more {
			s.next = s.end
			return nil
		}
	}
	s.next = got.next
	return nil
}
