package lane

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"layover/offsets"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kgo"
)

// of1 counts the copies of partition 1, and may refuse those of partition 0.
type of1 struct {
	*shelf
	n       atomic.Int64
	refuses bool
}

func (s *of1) Copy(at offsets.TopicPartition, r *kgo.Record, done func(int64, error)) {
	if at.Partition == 1 {
		s.n.Add(1)
	} else if s.refuses {
		s.answers.Go(func() { done(-1, errors.New("topic authorization failed")) })
		return
	}
	s.shelf.Copy(at, r, done)
}

// fill1 hands in records of partition 1 that nearly fill memory.
func (r *rig) fill1() {
	for i := range int64(full) {
		rec := r.record(i, 6*time.Hour)
		rec.Partition, rec.Value = 1, make([]byte, 1000)
		r.fetched(assignment(1, 2), rec)
	}
}

// keepsNoOther fails the test unless something of partition 1 is moved in ten minutes, beside many records of partition
// 0, which stall. Memory is nearly full of both. stall is called before those come, and behind them the rest is.
func keepsNoOther(t *testing.T, refuses bool, stall func(*rig), rest func(*rig, *shelf)) {
	var counted *of1
	shelved(t, func(c *Config) {
		counted = &of1{shelf: c.Runs.Runs.(*shelf), refuses: refuses}
		c.Runs.Runs = counted
	}, nil, func(r *rig, s *shelf) {
		r.assign(1, 2)
		stall(r)
		records := make([]*kgo.Record, 25_000)
		for i := range records {
			records[i] = r.record(int64(i), 5*time.Hour)
		}
		r.fetched(assignment(0, 1), records...)
		rest(r, s)
		r.fill1()
		time.Sleep(10 * time.Minute)
		if n := counted.n.Load(); n == 0 {
			t.Error("nothing of partition 1 is moved in ten minutes")
		}
		over := make(chan struct{})
		r.Lost(assignment(1, 2), func() { close(over) })
		<-over
	})
}

// TestAPartitionWhoseCommitsAreRefusedKeepsNoOtherFromMoving: no more of it may be moved than a restart may repeat, as
// where the right to read its topic is gone.
func TestAPartitionWhoseCommitsAreRefusedKeepsNoOtherFromMoving(t *testing.T) {
	keepsNoOther(t, false, func(r *rig) {
		time.Sleep(2 * time.Second)
		r.kafka.set(func(k *kafka) {
			k.refuse, k.spares = errors.New("topic authorization failed"), func(partition int32) bool { return partition == 1 }
		})
	}, func(r *rig, s *shelf) {
		time.Sleep(20 * time.Second)
		if n := r.moved(s); n != 10_000 {
			r.Fatalf("%d are moved of partition 0", n)
		}
	})
}

// TestAPartitionThatRefusesCopiesKeepsNoOtherFromMoving: of its records one is tried each second.
func TestAPartitionThatRefusesCopiesKeepsNoOtherFromMoving(t *testing.T) {
	long.Only(t)
	keepsNoOther(t, true, func(*rig) {}, func(*rig, *shelf) { time.Sleep(10 * time.Second) })
}

// TestARunsPartitionThatIsSlowKeepsNoOtherFromBeingMoved: copies of partition 0 are taken one by one, in five seconds each.
// Memory is nearly full of them when partition 1 gets records.
func TestARunsPartitionThatIsSlowKeepsNoOtherFromBeingMoved(t *testing.T) {
	const share, each = 4 << 20, 600
	plant := func(p int, s *shelf) {
		if p == 0 {
			s.takes = 5 * time.Second
		}
	}
	manyShelves(t, 2, 4, share, plant, func(r *rig, m *shelves) {
		m.alone.Store(r)
		add := func(p int32, n int, wait time.Duration) {
			for i := range int64(n) {
				rec := r.record(i, wait)
				rec.Partition, rec.Value = p, make([]byte, 2500)
				r.fetched(assignment(p, 1), rec)
			}
		}
		add(0, 880, 20*time.Hour)
		time.Sleep(15 * time.Second)
		add(1, each, 5*time.Hour)
		full := 0
		for range 1200 {
			time.Sleep(time.Second)
			if r.Bytes() > share*7/8 {
				full++
			}
		}
		if n := r.moved(m.list[1]); n == 0 || full > 30 {
			r.Errorf("memory is full for %d s, with %d of %d records of partition 1 moved, and %d of partition 0", full, n, each, r.moved(m.list[0]))
		}
	})
}
