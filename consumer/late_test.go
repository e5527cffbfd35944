package consumer

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// busy is a handler whose first Assigned takes a while: a machine that is short of
// processor time, a log that blocks, many partitions.
type busy struct {
	each  time.Duration
	mu    sync.Mutex
	slept bool
	in    int
	twice bool
	seen  map[int32][]int64
}

func (b *busy) Assigned(a facts.Assigned) {
	b.mu.Lock()
	b.in++
	b.twice = b.twice || b.in > 1
	first := !b.slept
	b.slept = true
	b.mu.Unlock()
	if first {
		time.Sleep(b.each)
	}
	b.mu.Lock()
	b.in--
	b.mu.Unlock()
}
func (b *busy) Fetched(a offsets.Assignment, records []*kgo.Record, _ int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range records {
		b.seen[a.Partition] = append(b.seen[a.Partition], r.Offset)
	}
}
func (b *busy) LogStart(offsets.Assignment, int64)             {}
func (b *busy) Unread(offsets.Assignment, offsets.UnreadBatch) {}
func (b *busy) Revoked([]offsets.Assignment)                   {}
func (b *busy) Lost([]offsets.Assignment)                      {}

// A partition becomes ready after load's grace and before the client has its place. SetOffsets of the poll loop
// would be dropped then, as the client does not know the partition, and the client would read from offset 0.
// Where the log starts above 0 that is out of range, for ever. So the loop waits for the place.
func TestAPartitionThatIsReadyWhileLoadAnswersIsReadFromItsPlace(t *testing.T) {
	for what, each := range map[string]time.Duration{"control": 0, "busy": 3 * time.Second} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := kafkatest.StartVirtual(t, 1, kfake.SeedTopics(2, "t"))
				for p := range int32(2) {
					for range 20 {
						k.Produce(&kgo.Record{Topic: "t", Partition: p, Value: []byte("v")})
					}
					k.DeleteRecords("t", p, 10)
					k.Commit("g", kadm.Offset{Topic: "t", Partition: p, At: 10, LeaderEpoch: -1})
				}
				sick := k.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: "t", Partitions: []int32{1}, Err: kerr.LeaderNotAvailable})
				asked := k.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Count: -1, Observe: true})
				b := &busy{each: each, seen: make(map[int32][]int64)}
				var logs bytes.Buffer
				c, stop := running(t, k, b, 1<<20, &logs)
				for !c.Status().Joined {
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(3200 * time.Millisecond)
				sick.Remove()
				time.Sleep(6 * time.Second)
				before := asked.Hits()
				time.Sleep(time.Minute)
				b.mu.Lock()
				if n := len(b.seen[1]); n != 10 {
					t.Errorf("%d records of the partition were read in a minute, want 10; %d questions for its bounds meanwhile; status %+v", n, asked.Hits()-before, c.Status().Partitions)
				}
				if b.twice {
					t.Error("Assigned was called while another call of it ran")
				}
				b.mu.Unlock()
				stop()
				leave, left := context.WithTimeout(context.Background(), 10*time.Second)
				defer left()
				c.Leave(leave)
				<-c.committer.done
			})
		})
	}
}
