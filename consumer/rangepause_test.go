package consumer

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// starts counts how often it is told where a log begins.
type starts struct {
	keeper
	told atomic.Int64
}

func (s *starts) LogStart(offsets.Assignment, int64) { s.told.Add(1) }

// readingTen runs f with a consumer that has read ten records of a partition, in a bubble. A loop that does not rest
// would have virtual time stand still.
func readingTen(t *testing.T, f func(k *kafkatest.Cluster, c *Consumer, h *starts), opts ...kfake.Opt) {
	synctest.Test(t, func(t *testing.T) {
		k := kafkatest.StartVirtual(t, 1, append(opts, kfake.SeedTopics(1, "t"))...)
		ten(k)
		k.Commit("g", kadm.Offset{Topic: "t", At: 0, LeaderEpoch: -1})
		h := &starts{keeper: keeper{got: make(map[offsets.Assignment][]int64), begun: make(map[offsets.Assignment]int)}}
		c, stop := running(t, k, h, 1<<20, io.Discard)
		time.Sleep(10 * time.Second)
		f(k, c, h)
		stop()
		c.Leave(context.Background())
		time.Sleep(fetchRetry) // the last question ends
	})
}

func ten(k *kafkatest.Cluster) {
	for range 10 {
		k.Produce(&kgo.Record{Topic: "t", Value: []byte("v")})
	}
}

// TestALogStartAboveThePositionIsAskedForOnce: reading goes on with a jump, which waits up to a second for the last one.
func TestALogStartAboveThePositionIsAskedForOnce(t *testing.T) {
	readingTen(t, func(k *kafkatest.Cluster, c *Consumer, h *starts) {
		c.SetPaused(true)
		time.Sleep(3 * time.Second)
		ten(k)
		gone := make(kadm.Offsets)
		gone.AddOffset("t", 0, 15, -1)
		if _, err := kadm.NewClient(k.Client).DeleteRecords(context.Background(), gone); err != nil {
			t.Fatal(err)
		}
		c.jumps.mu.Lock()
		c.jumps.last = time.Now() // one of another partition
		c.jumps.mu.Unlock()
		c.SetPaused(false)
		time.Sleep(5 * time.Second)
		synctest.Wait() // what was read is seen
		if n := h.told.Load(); n != 1 {
			t.Errorf("it is told %d times", n)
		}
		a := offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: "t"}, Epoch: 1}
		if got := h.got[a]; len(got) != 15 {
			t.Errorf("read is %v", got)
		}
	})
}

// TestATopicThatIsMadeAgainIsNotAskedForAllTheTime: a broker from before fetches named topics by their ids says that the
// position is out of range, until the topic is assigned afresh.
func TestATopicThatIsMadeAgainIsNotAskedForAllTheTime(t *testing.T) {
	old := kversion.Stable()
	old.SetMaxKeyVersion(kmsg.Fetch.Int16(), 12)
	readingTen(t, func(k *kafkatest.Cluster, c *Consumer, _ *starts) {
		adm := kadm.NewClient(k.Client)
		if _, err := adm.DeleteTopics(context.Background(), "t"); err != nil {
			t.Fatal(err)
		}
		if _, err := adm.CreateTopics(context.Background(), 1, 1, nil, "t"); err != nil {
			t.Fatal(err)
		}
		before := c.poll.turns.Load()
		time.Sleep(10 * time.Second)
		if n := c.poll.turns.Load() - before; n > 50 {
			t.Errorf("the poll loop turns %d times in ten seconds", n)
		}
	}, kfake.MaxVersions(old))
}
