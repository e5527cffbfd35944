package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/cluster"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// scan reads ranges by partition, and returns the offsets that came.
func (w *fixture) scan(ends map[int32][2]int64, f func(r *kgo.Record) (bool, error)) (got map[int32][]int64, left map[offsets.TopicPartition]error, err error) {
	w.Helper()
	got = make(map[int32][]int64)
	ranges := make(map[offsets.TopicPartition][2]int64)
	for p, b := range ends {
		ranges[at(p)] = b
	}
	left, err = Scan(context.Background(), w.reader, roomy, ranges, 5*time.Second, func(tp offsets.TopicPartition, r *kgo.Record) (bool, error) {
		got[tp.Partition] = append(got[tp.Partition], r.Offset)
		return f(r)
	})
	return got, left, err
}

// TestAScanLeavesABatchThatIsUnreadableTwice, at once.
func TestAScanLeavesABatchThatIsUnreadableTwice(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.produce(0, "a")
		w.ProduceBatch(topic, kafkatest.Batch(func(*kmsg.RecordBatch) {})) // says gzip, and is none
		w.produce(0, "behind")
		w.reader.Ping(context.Background())
		began := time.Now()
		got, left, err := w.scan(map[int32][2]int64{0: {0, 5}}, all)
		if want := map[int32][]int64{0: {0}}; err != nil || !same(got, want) || !errors.Is(left[at(0)], ErrUnreadable) || !strings.Contains(left[at(0)].Error(), topic+"/0@1: reading at 1: ") {
			t.Errorf("%v, left %v, %v", got, left, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func all(*kgo.Record) (bool, error) { return true, nil }

func same(a, b map[int32][]int64) bool { return fmt.Sprint(a) == fmt.Sprint(b) } // maps print in order

// TestAScanReadsRangesOfPartitionsByTheirLeaders, in order and nothing else.
func TestAScanReadsRangesOfPartitionsByTheirLeaders(t *testing.T) {
	inBubble(t, func(w *fixture) {
		if err := w.Broker.MoveTopicPartition(topic, 1, 1); err != nil {
			t.Fatal(err)
		}
		for p := range int32(3) {
			w.produce(p, "a", "b", "c", "d", "e")
		}
		got, left, err := w.scan(map[int32][2]int64{0: {1, 3}, 1: {0, 5}, 2: {4, 4}}, all)
		if want := map[int32][]int64{0: {1, 2}, 1: {0, 1, 2, 3, 4}}; err != nil || len(left) > 0 || !same(got, want) {
			t.Errorf("%v, left %v, %v", got, left, err)
		}
		got, left, err = w.scan(map[int32][2]int64{0: {0, 5}, 1: {0, 5}}, func(r *kgo.Record) (bool, error) { return r.Partition == 1 || r.Offset < 2, nil })
		if want := map[int32][]int64{0: {0, 1, 2}, 1: {0, 1, 2, 3, 4}}; err != nil || len(left) > 0 || !same(got, want) {
			t.Errorf("one that is enough: %v, left %v, %v", got, left, err)
		}
		stop := errors.New("enough")
		got, _, err = w.scan(map[int32][2]int64{0: {0, 5}}, func(*kgo.Record) (bool, error) { return true, stop })
		if want := map[int32][]int64{0: {0}}; !errors.Is(err, stop) || !strings.HasPrefix(err.Error(), topic+"/0@0: ") || !same(got, want) {
			t.Errorf("an error: %v, %v", got, err)
		}
	})
}

// TestAScanLeavesWhatCannotBeRead with the reason, at once where asking again mends nothing;
// the others are read.
func TestAScanLeavesWhatCannotBeRead(t *testing.T) {
	for what, c := range map[string]struct {
		key  kmsg.Key
		err  *kerr.Error
		took time.Duration
	}{
		"no right":          {kmsg.Fetch, kerr.TopicAuthorizationFailed, 0},
		"out of range":      {kmsg.Fetch, kerr.OffsetOutOfRange, 0},
		"a broken disk":     {kmsg.Fetch, kerr.KafkaStorageError, 5 * time.Second},
		"without a leader":  {kmsg.Metadata, kerr.LeaderNotAvailable, 5 * time.Second},
		"of another leader": {kmsg.Fetch, kerr.NotLeaderForPartition, 5 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(w *fixture) {
				w.produce(0, "a")
				w.produce(1, "b", "c")
				w.reader.Ping(context.Background()) // so that the fault is not met by a client that is new
				sick := w.Refuse(c.key, kfake.Fault{Topic: topic, Partitions: []int32{1}, Err: c.err})
				began := time.Now()
				got, left, err := w.scan(map[int32][2]int64{0: {0, 1}, 1: {1, 2}}, all)
				if want := map[int32][]int64{0: {0}}; err != nil || !same(got, want) || len(left) != 1 || left[at(1)] == nil || !strings.Contains(left[at(1)].Error(), topic+"/1") {
					t.Errorf("%v, left %v, %v", got, left, err)
				}
				if took := time.Since(began); took < c.took || took > c.took+time.Second {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if n := sick.Hits(); n > 2+int(c.took/scanRetry) {
					t.Errorf("asked %d times", n)
				}
				if c.key == kmsg.Fetch && !errors.Is(left[at(1)], c.err) {
					t.Errorf("left %v", left)
				}
				sick.Remove()
				if got, left, err = w.scan(map[int32][2]int64{1: {1, 2}}, all); err != nil || len(left) > 0 || !slices.Equal(got[1], []int64{1}) {
					t.Errorf("healthy again: %v, left %v, %v", got, left, err)
				}
			})
		})
	}
}

// TestAScanWaitsForAnEndThatIsNotThere as long as it is told, and ends with its context.
func TestAScanWaitsForAnEndThatIsNotThere(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.produce(0, "a")
		began := time.Now()
		got, left, err := w.scan(map[int32][2]int64{0: {0, 2}}, all)
		if took := time.Since(began); err != nil || !slices.Equal(got[0], []int64{0}) || !errors.Is(left[at(0)], cluster.ErrNoAnswer) || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("%v, left %v, %v after %v", got, left, err, took)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		left, err = Scan(ctx, w.reader, roomy, map[offsets.TopicPartition][2]int64{at(0): {0, 2}}, time.Minute, func(offsets.TopicPartition, *kgo.Record) (bool, error) { return true, nil })
		if left != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("left %v, %v", left, err)
		}
	})
}

// TestRecordsAreDeletedBelowAnOffset, and an error says what was not.
func TestRecordsAreDeletedBelowAnOffset(t *testing.T) {
	inBubble(t, func(w *fixture) {
		w.produce(1, "a", "b", "c")
		if err := Delete(context.Background(), w.Client, at(1), 2); err != nil {
			t.Error(err)
		}
		if start := w.Broker.PartitionInfo(topic, 1).LogStartOffset; start != 2 {
			t.Errorf("log start %d, want 2", start)
		}
		if start := w.Broker.PartitionInfo(topic, 0).LogStartOffset; start != 0 {
			t.Errorf("log start %d of another partition", start)
		}
		if err := Delete(context.Background(), w.Client, at(1), 9); !errors.Is(err, kerr.OffsetOutOfRange) || !strings.Contains(err.Error(), "deleting records below 9") {
			t.Errorf("%v", err)
		}
		var answers atomic.Bool
		w.Answer(kmsg.DeleteRecords, func(r kmsg.Request) kmsg.Response {
			if !answers.Load() {
				w.Broker.SleepControl(func() { time.Sleep(time.Minute) })
			}
			return r.ResponseKind()
		})
		began := time.Now()
		if err := Delete(context.Background(), w.Client, at(1), 3); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took < deleteTimeout || took > deleteTimeout+time.Second {
			t.Errorf("took %v", took)
		}
		answers.Store(true)
		time.Sleep(2 * time.Minute)
		if err := Delete(context.Background(), w.Client, at(1), 3); !errors.Is(err, cluster.ErrNoAnswer) {
			t.Errorf("an answer without the partition: %v", err)
		}
	})
}
