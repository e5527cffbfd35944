package consumer

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// starts counts how often it is told where a log begins.
type starts struct {
	keeper
	told atomic.Int64
}

func (s *starts) LogStart(offsets.Assignment, int64) { s.told.Add(1) }

// TestALogStartAboveThePositionIsAskedForOnce: reading goes on with a jump, which waits up to a second for the last one.
// Before that the client would ask again and again.
func TestALogStartAboveThePositionIsAskedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kafkatest.StartVirtual(t, 1, kfake.SeedTopics(1, "t"))
		produce := func() {
			for range 10 {
				k.Produce(&kgo.Record{Topic: "t", Value: []byte("v")})
			}
		}
		produce()
		k.Commit("g", kadm.Offset{Topic: "t", At: 0, LeaderEpoch: -1})
		h := &starts{keeper: keeper{got: make(map[offsets.Assignment][]int64)}}
		h.begun = make(map[offsets.Assignment]int)
		c, err := New(Config{Topics: []string{"t"}, Group: "g", SessionTimeout: 45 * time.Second, StartOffset: "earliest", FetchMaxBytes: 1 << 20, ReadingBudget: 1 << 20,
			MaxDecompress: 1 << 20, Options: k.Options, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, h)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		time.Sleep(10 * time.Second)
		c.SetPaused(true)
		time.Sleep(3 * time.Second)
		produce()
		gone := make(kadm.Offsets)
		gone.AddOffset("t", 0, 15, -1)
		if _, err := kadm.NewClient(k.Client).DeleteRecords(ctx, gone); err != nil {
			t.Fatal(err)
		}
		c.jumps.mu.Lock()
		c.jumps.last = time.Now() // one of another partition
		c.jumps.mu.Unlock()
		c.SetPaused(false)
		time.Sleep(5 * time.Second)
		if n := h.told.Load(); n != 1 {
			t.Errorf("it is told %d times", n)
		}
		a := offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: "t"}, Epoch: 1}
		if got := h.got[a]; len(got) != 15 {
			t.Errorf("read is %v", got)
		}
		cancel()
		<-done
		c.Leave(context.Background())
	})
}
