package lane

import (
	"sync/atomic"
	"testing"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// halfSilent is a shelf that answers no copy of partition 0.
type halfSilent struct {
	*shelf
	answers1 atomic.Int64
}

func (s *halfSilent) Copy(at offsets.TopicPartition, r *kgo.Record, done func(int64, error)) {
	if at.Partition == 0 {
		return
	}
	s.answers1.Add(1)
	s.shelf.Copy(at, r, done)
}

// TestAPartitionOfARunsTopicThatDoesNotAnswerKeepsNoOtherFromMoving: memory is nearly full of both.
func TestAPartitionOfARunsTopicThatDoesNotAnswerKeepsNoOtherFromMoving(t *testing.T) {
	var half *halfSilent
	shelved(t, func(c *Config) {
		half = &halfSilent{shelf: c.Runs.Runs.(*shelf)}
		c.Runs.Runs = half
	}, nil, func(r *rig, s *shelf) {
		r.fill(0, full, 5*time.Hour) // of partition 0
		r.assign(1, 2)
		time.Sleep(2 * time.Second)
		for i := range int64(full) {
			rec := r.record(i, 6*time.Hour)
			rec.Partition, rec.Value = 1, make([]byte, 1000)
			r.fetched(assignment(1, 2), rec)
		}
		time.Sleep(10 * time.Minute)
		if n := half.answers1.Load(); n == 0 {
			t.Error("nothing of partition 1 is moved in ten minutes")
		}
		over := make(chan struct{})
		r.Lost(assignment(1, 2), func() { close(over) })
		<-over
	})
}
