package consumer

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
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

// keeper is a handler that keeps the records it gets. While it has not given their bytes back,
// the poll loop waits at a known place, outside the time in which rebalances are blocked.
type keeper struct {
	mu    sync.Mutex
	got   map[offsets.Assignment][]int64 // offsets of each assignment
	begun map[offsets.Assignment]int
	ended []offsets.Assignment
	wrong []string
	bytes int64
}

func (k *keeper) Assigned(a facts.Assigned) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.begun[a.Assignment]++
	for other := range k.begun {
		if other.TopicPartition == a.TopicPartition && other.Epoch > a.Epoch {
			k.wrong = append(k.wrong, "an assignment was begun behind the one that followed it")
		}
	}
}

func (k *keeper) Fetched(a offsets.Assignment, records []*kgo.Record, bytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.begun[a] == 0 || slices.Contains(k.ended, a) {
		k.wrong = append(k.wrong, "records came for an assignment that is not")
	}
	for _, r := range records {
		k.got[a] = append(k.got[a], r.Offset)
	}
	k.bytes += bytes
}

func (k *keeper) end(as []offsets.Assignment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = append(k.ended, as...)
}

func (k *keeper) LogStart(offsets.Assignment, int64)             {}
func (k *keeper) Unread(offsets.Assignment, offsets.UnreadBatch) {}
func (k *keeper) Revoked(as []offsets.Assignment)                { k.end(as) }
func (k *keeper) Lost(as []offsets.Assignment)                   { k.end(as) }

// handed returns the bytes that it has, which it has no more then.
func (k *keeper) handed() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	bytes := k.bytes
	k.bytes = 0
	return bytes
}

// running starts a member of group g for topic t, and lets it run until stop is called. It may hold budget bytes.
func running(t *testing.T, k *kafkatest.Cluster, h Handler, budget int64, logs io.Writer) (c *Consumer, stop func()) {
	t.Helper()
	c, err := New(Config{
		Topics: []string{"t"}, Group: "g", SessionTimeout: 45 * time.Second, StartOffset: "earliest", FetchMaxBytes: 1 << 20, ReadingBudget: budget,
		MaxDecompress: 1 << 20, Options: k.Options, Log: slog.New(slog.NewTextHandler(logs, nil)),
	}, h)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	return c, func() {
		cancel()
		<-done
	}
}

// throwOut makes the group forget its member.
func throwOut(t *testing.T, k *kafkatest.Cluster) {
	t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = "g"
	for _, m := range k.Broker.GroupInfo("g").Members {
		rm := kmsg.NewLeaveGroupRequestMember()
		rm.MemberID = m.MemberID
		req.Members = append(req.Members, rm)
	}
	if _, err := req.RequestWith(context.Background(), k.Client); err != nil {
		t.Fatal(err)
	}
}

// TestAnAssignmentThatEndsBetweenItsLastAnswerAndItsEntryIsNotBegun: the poll loop waits for room,
// the partition becomes ready to enter, and the membership is lost and found again.
func TestAnAssignmentThatEndsBetweenItsLastAnswerAndItsEntryIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kafkatest.StartVirtual(t, 1, kfake.SeedTopics(2, "t"))
		for p := range int32(2) {
			for range 10 {
				k.Produce(&kgo.Record{Topic: "t", Partition: p, Value: []byte("v")})
			}
			k.Commit("g", kadm.Offset{Topic: "t", Partition: p, At: 0, LeaderEpoch: -1})
		}
		h := &keeper{got: make(map[offsets.Assignment][]int64), begun: make(map[offsets.Assignment]int)}
		away := func() *kfake.FaultHandle {
			return k.Refuse(kmsg.ListOffsets, kfake.Fault{Topic: "t", Partitions: []int32{1}, Err: kerr.LeaderNotAvailable})
		}
		sick := away() // before the member asks
		c, stop := running(t, k, h, 1, io.Discard)
		for round := range 3 {
			if round > 0 {
				sick = away()
				throwOut(t, k)
			}
			time.Sleep(25 * time.Second) // the other partition is read, and the poll loop waits
			for _, tp := range []int32{0, 1} {
				if c.table.owns(offsets.TopicPartition{Topic: "t", Partition: tp}) != true {
					t.Fatalf("round %d: partition %d is not assigned", round, tp)
				}
			}
			sick.Remove()
			time.Sleep(3 * time.Second)
			c.loader.mu.Lock()
			waiting := len(c.loader.arrived)
			c.loader.mu.Unlock()
			if waiting == 0 {
				t.Fatalf("round %d: nothing waits to enter", round)
			}
			throwOut(t, k)
			time.Sleep(30 * time.Second)
			c.Consumed(h.handed())
			for range 10 {
				time.Sleep(time.Second)
				c.Consumed(h.handed())
			}
		}
		h.mu.Lock()
		for a, n := range h.begun {
			if n != 1 {
				t.Errorf("%v was begun %d times", a, n)
			}
		}
		for a, got := range h.got {
			if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
				t.Errorf("of %v came %v", a, got)
			}
		}
		if len(h.wrong) > 0 {
			t.Error(h.wrong)
		}
		epochs := slices.Sorted(maps.Keys(epochsOf(h.begun, 1)))
		if len(epochs) < 3 {
			t.Errorf("partition 1 was begun in the assignments %v", epochs)
		}
		h.mu.Unlock()
		stop()
		leave, left := context.WithTimeout(context.Background(), 10*time.Second)
		defer left()
		c.Leave(leave)
		<-c.committer.done
	})
}

func epochsOf(begun map[offsets.Assignment]int, partition int32) map[uint64]bool {
	out := make(map[uint64]bool)
	for a := range begun {
		if a.Partition == partition {
			out[a.Epoch] = true
		}
	}
	return out
}

// jumping returns a jumper of one partition that was fetched from.
func jumping() (*jumper, offsets.Assignment) {
	table := newOwnership()
	table.add(map[string][]int32{"t": {0}})
	a := offsets.Assignment{TopicPartition: offsets.TopicPartition{Topic: "t"}, Epoch: 1}
	table.while(a, func(o *owned) { o.loaded, o.fetched = true, true })
	return &jumper{table: table, poll: new(poll), pending: make(map[offsets.Assignment]jumpTo)}, a
}

// TestAJumpThatIsAskedForWhileAnotherIsCarriedOutIsKept, and one of an assignment that ended
// meanwhile is not carried out.
func TestAJumpThatIsAskedForWhileAnotherIsCarriedOutIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, a := jumping()
		first, second := jumpTo{100, -1, false}, jumpTo{200, -1, false}
		j.note(a, first)
		due := j.due()
		j.note(a, second) // by a lane, between the look and the leap
		j.over(a, due[a], leapt)
		if got, ok := j.pending[a]; !ok || got != second {
			t.Errorf("pending is %v, want %v", j.pending, second)
		}
		j.table.forget(map[string][]int32{"t": {0}}) // between the next look and the leap
		j.table.add(map[string][]int32{"t": {0}})
		time.Sleep(jumpEvery)
		for a, to := range j.due() {
			if leaps := false; j.table.while(a, func(o *owned) { leaps = o.leap(to) == leapt }) || leaps {
				t.Error("a jump of an assignment that is over was carried out")
			}
			j.over(a, to, needless)
		}
		if j.note(a, second); len(j.pending) > 0 {
			t.Errorf("pending is %v for an assignment that is over", j.pending)
		}
	})
}

// TestAJumpThatWaitsWakesThePollLoopOnce, however often the loop turns until then.
func TestAJumpThatWaitsWakesThePollLoopOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, a := jumping()
		woken := 0
		j.poll.end = func() { woken++ }
		for round := range 3 {
			j.note(a, jumpTo{int64(100 * (round + 1)), -1, false})
			time.Sleep(time.Nanosecond)
			for range 100 {
				if j.due() != nil {
					break
				}
				time.Sleep(time.Millisecond)
			}
			time.Sleep(jumpEvery)
			synctest.Wait()
			j.poll.mu.Lock()
			if woken != 1 {
				t.Errorf("round %d: the poll loop was woken %d times", round, woken)
			}
			woken = 0
			j.poll.mu.Unlock()
			for a, to := range j.due() {
				j.over(a, to, leapt)
			}
		}
	})
}

// TestOfTwoJumpsTheFurtherOneIsCarriedOut, and of two to one place the first.
func TestOfTwoJumpsTheFurtherOneIsCarriedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, a := jumping()
		j.last = time.Now()
		for _, step := range []struct{ to, want jumpTo }{
			{jumpTo{100, 3, true}, jumpTo{100, 3, true}},
			{jumpTo{100, -1, false}, jumpTo{100, 3, true}},
			{jumpTo{99, -1, true}, jumpTo{100, 3, true}},
			{jumpTo{101, -1, false}, jumpTo{101, -1, true}}, // the client stands all the same
		} {
			if j.note(a, step.to); j.pending[a] != step.want {
				t.Errorf("with %v pending is %v, want %v", step.to, j.pending[a], step.want)
			}
		}
		time.Sleep(jumpEvery - time.Millisecond)
		if due := j.due(); due != nil {
			t.Errorf("%v is due too soon after the last one", due)
		}
		time.Sleep(time.Millisecond)
		if due := j.due(); len(due) != 1 {
			t.Errorf("%v is due, want one", due)
		}
		j.back(a, 7, 2) // the client has strayed
		if want := (jumpTo{7, 2, true}); j.pending[a] != want {
			t.Errorf("pending is %v, want %v", j.pending[a], want)
		}
		last := j.last
		if j.over(a, j.pending[a], needless); !j.last.Equal(last) {
			t.Error("a jump that was needless counts as one")
		}
		if len(j.pending) != 0 || j.due() != nil {
			t.Errorf("pending is %v", j.pending)
		}
	})
}
