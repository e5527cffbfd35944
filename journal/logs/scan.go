package logs

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

// scanRetry is the pause between two questions of a scan, after one that failed.
const scanRetry = 200 * time.Millisecond

// Scan reads partitions of any topics, each from an offset to another one, which is not
// included. It calls f for each record that somebody committed, in order within a partition.
// Where f returns false, the rest of the partition is not read. An error of f ends the scan.
//
// left has the partitions that were not read to their end, each with the reason: none of
// them delays another for longer than wait. A scan ends when nothing was read for wait.
// Limits are of each request, and each broker has one at a time.
func Scan(ctx context.Context, cl *kgo.Client, limits Limits, ends map[offsets.TopicPartition][2]int64, wait time.Duration, f func(offsets.TopicPartition, *kgo.Record) (more bool, err error)) (left map[offsets.TopicPartition]error, err error) {
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
		fetched := fetchAll(fetching, cl, limits, open)
		cancel()
		for at, got := range fetched {
			s := open[at]
			if got.Next > s.next {
				last = before
			}
			if err := s.take(at, got, f); err != nil {
				return nil, fmt.Errorf("%s/%d@%d: %w", at.Topic, at.Partition, s.next, err)
			}
			switch {
			case s.next >= s.end:
				delete(open, at)
			case hopeless(got.Err), errors.Is(got.Err, ErrUnreadable) && errors.Is(s.err, ErrUnreadable): // once may be the network's fault
				left[at] = fmt.Errorf("%s/%d@%d: %w", at.Topic, at.Partition, s.next, got.Err)
				delete(open, at)
			case got.Err != nil:
				s.leader, s.err, failed = -1, got.Err, true
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
			cluster.Pause(ctx, scanRetry)
		}
	}
	return left, nil
}

// scanned is a partition that a scan has not read to its end.
type scanned struct {
	next, end int64
	leader    int32 // -1: to be asked
	id        offsets.TopicID
	err       error // the last error
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
func fetchAll(ctx context.Context, cl *kgo.Client, limits Limits, open map[offsets.TopicPartition]*scanned) map[offsets.TopicPartition]Fetched {
	wants := make(map[int32][]Want)
	for at, s := range open { // in another order each time, so that none is always the last
		if s.leader >= 0 {
			wants[s.leader] = append(wants[s.leader], Want{At: at, ID: s.id, From: s.next})
		}
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	out := make(map[offsets.TopicPartition]Fetched)
	for leader, led := range wants {
		asking.Go(func() { // ends with its request, which has a time limit
			got := Fetch(ctx, cl, leader, led, limits)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(out, got)
		})
	}
	asking.Wait()
	return out
}

// take calls f with the records that were read of a partition, and returns its error.
func (s *scanned) take(at offsets.TopicPartition, got Fetched, f func(offsets.TopicPartition, *kgo.Record) (bool, error)) error {
	for _, r := range got.Records {
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
	s.next = got.Next
	return nil
}
