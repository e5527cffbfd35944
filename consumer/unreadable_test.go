package consumer

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"layover/cluster/batches"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// jumped is a group in which the poll that has a batch's error is handed over late. Before that a jump beyond the batch is
// carried out, as all up to there is finished. Offset 0 has a record so large that the next batch comes with a fetch of
// its own.
type jumped struct {
	*group
	cl *kgo.Client // of records that are not compressed
	m  *one
}

func inJumped(t *testing.T, f func(j *jumped)) {
	t.Helper()
	inGroup(t, func(g *group) {
		j := &jumped{group: g}
		j.cl = g.NewClient(kgo.ProducerBatchMaxBytes(10<<20), kgo.BrokerMaxWriteBytes(11<<20), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(time.Second))
		defer j.cl.Close()
		j.put(&kgo.Record{Topic: "t", Value: make([]byte, 1<<20-1000)}) // 0
		f(j)
	})
}

// put produces one batch, and returns its first offset.
func (j *jumped) put(records ...*kgo.Record) int64 {
	j.Helper()
	if err := j.cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		j.Fatal(err)
	}
	return records[0].Offset
}

// jump has a member read partition 0 from its start, and jump to an offset while its lane is busy with the first record.
// It returns what was read within 20 s, and what was handed over unread.
func (j *jumped) jump(to int64) (read []int64, unread []offsets.UnreadBatch) {
	j.Helper()
	j.Commit("g", kadm.Offset{Topic: "t", At: 0, LeaderEpoch: -1})
	for p := int32(1); p < 3; p++ { // what others have would take the budget
		j.Commit("g", kadm.Offset{Topic: "t", Partition: p, At: j.Broker.PartitionInfo("t", p).HighWatermark, LeaderEpoch: -1})
	}
	j.m = j.join(func(c *Config) { c.ReadingBudget = 1000 })
	j.m.notes.mu.Lock()
	j.m.keep = true
	j.m.notes.mu.Unlock()
	time.Sleep(20 * time.Second)
	if read := j.m.offsetsOf(0); !slices.Equal(read, []int64{0}) {
		j.Fatalf("before the jump read is %v, want 0 alone", read)
	}
	j.m.Jump(j.m.assignment(0), to, -1)
	time.Sleep(time.Second)
	j.m.notes.mu.Lock()
	j.m.keep = false
	kept := j.m.kept
	j.m.notes.mu.Unlock()
	j.m.Consumed(kept)
	time.Sleep(20 * time.Second)
	return j.m.offsetsOf(0), j.m.notRead()
}

// TestABatchTooLargeBehindAJumpPassesNoRecordOver: the jump goes into the middle of a batch that can be read. Another batch
// too large, of the same size, stands behind it.
func TestABatchTooLargeBehindAJumpPassesNoRecordOver(t *testing.T) {
	inJumped(t, func(j *jumped) {
		j.bomb(5) // 1 to 5
		var ten []*kgo.Record
		for range 10 { // 6 to 15
			ten = append(ten, &kgo.Record{Topic: "t", Value: []byte("x")})
		}
		j.put(ten...)
		second := j.bomb(5) // 16 to 20
		j.produce(0, 3)
		read, unread := j.jump(10)
		if !slices.Equal(read, []int64{0, 10, 11, 12, 13, 14, 15}) || len(unread) != 1 || unread[0].First != second {
			t.Errorf("read %v, want 10 to 15; handed over is %+v, want the batch at %d", read, unread, second)
		}
	})
}

// TestABatchAsLargeAsOneTooLargeIsRead: the one that the jump leads to takes as many bytes in the log.
func TestABatchAsLargeAsOneTooLargeIsRead(t *testing.T) {
	inJumped(t, func(j *jumped) {
		asking := j.NewClient()
		sizeOf := func(partition int32, offset int64) int {
			f, err := batches.At(context.Background(), asking, offsets.TopicPartition{Topic: "t", Partition: partition}, offset)
			if err != nil {
				t.Fatal(err)
			}
			return f.Bytes
		}
		bytes := sizeOf(0, j.bomb(5)) // 1 to 5
		size := bytes - 70
		for range 3 { // how large a record is that makes such a batch
			size += bytes - sizeOf(1, j.put(&kgo.Record{Topic: "t", Partition: 1, Value: make([]byte, size)}))
		}
		good := j.put(&kgo.Record{Topic: "t", Value: make([]byte, size)}) // 6
		end := j.produce(0, 3)
		if got := sizeOf(0, good); got != bytes {
			t.Fatalf("the batch takes %d bytes, want %d", got, bytes)
		}
		if read, unread := j.jump(good); len(unread) > 0 || !slices.Contains(read, good) || !slices.Contains(read, end-1) {
			t.Errorf("read %v, want %d to %d; handed over unread is %+v", read, good, end-1, unread)
		}
	})
}

// TestABrokenBatchBehindAJumpIsNotTakenForTheNextOne: an operator has left the broken one out.
func TestABrokenBatchBehindAJumpIsNotTakenForTheNextOne(t *testing.T) {
	inJumped(t, func(j *jumped) {
		j.ProduceBatch("t", kafkatest.Batch(func(*kmsg.RecordBatch) {})) // 1 to 3
		end := j.produce(0, 10)
		if read, unread := j.jump(8); len(unread) > 0 || !slices.Equal(read, append([]int64{0}, upTo(8, end)...)) {
			t.Errorf("read %v, want 8 to %d; handed over unread is %+v", read, end-1, unread)
		}
	})
}

// TestABatchThatIsDamagedOnItsWayIsFetchedUntilItComesWhole, more and more rarely, and that is said meanwhile. Another
// partition is read all the time.
func TestABatchThatIsDamagedOnItsWayIsFetchedUntilItComesWhole(t *testing.T) {
	inGroup(t, func(g *group) {
		var damages atomic.Bool
		m := g.joinDamaged(&damages)
		g.owns(m, 3)
		damages.Store(true)
		g.produce(0, 1)
		g.Produce(&kgo.Record{Topic: "t", Value: []byte("a fragile value")})
		end := g.produce(0, 1)
		g.Until(10*time.Second, "it is said", func() bool { return m.view(0).Reason == Failing && strings.Contains(m.view(0).Stopped, "crc") })
		time.Sleep(time.Minute)
		said := "at a batch that its broker has whole"
		before := len(g.logs.Lines(said))
		time.Sleep(10 * mostRefetch)
		if n := len(g.logs.Lines(said)) - before; n < 8 || n > 10 || before > 8 {
			t.Errorf("fetched again %d times in the first minute, and %d times in five more", before, n)
		}
		if other := g.produce(1, 3); !m.reads(1, other) {
			t.Errorf("the other is at %+v", m.view(1))
		}
		damages.Store(false)
		time.Sleep(mostRefetch)
		if !m.reads(0, end) || len(m.notRead()) != 0 || !slices.Equal(m.offsetsOf(0), upTo(0, end)) {
			t.Errorf("at %+v, read %v, handed over unread is %+v", m.view(0), m.offsetsOf(0), m.notRead())
		}
	})
}

// joinDamaged joins a member to which a fragile value comes damaged, while damages says so.
func (g *group) joinDamaged(damages *atomic.Bool) *one {
	return g.join(func(c *Config) {
		c.Options = func() []kgo.Opt {
			return append(g.Options(), kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := g.Net.DialContext(ctx, network, addr)
				return kafkatest.Swapped{Conn: c, From: []byte("a fragile value"), To: []byte("a damaged value"), Off: func() bool { return !damages.Load() }}, err
			}))
		}
	})
}

// TestThePauseBeforeABatchIsFetchedAgainDoubles while reading stays where it is.
func TestThePauseBeforeABatchIsFetchedAgainDoubles(t *testing.T) {
	var r refetches
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if got := r.next(7); got != want*time.Second {
			t.Errorf("%d: %v, want %d s", i, got, want)
		}
	}
	if got := r.next(8); got != lookAgain {
		t.Errorf("at another position: %v", got)
	}
}
