package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/verify/kafkatest"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// notes is a handler that writes down all that it is told, and consumes it at once unless
// a test keeps it.
type notes struct {
	mu       sync.Mutex
	c        *Consumer
	keep     bool // fetched bytes are not given back
	kept     int64
	has      map[int32]facts.Assigned
	read     map[int32][]int64 // offsets by partition, of the present assignment
	starts   []int64           // of logs that begin above the position
	unread   []offsets.UnreadBatch
	revoked  int
	lost     int
	assigned int
	empty    int     // times that nothing was revoked or lost, and that was said
	owners   *owners // nil: not counted
}

// owners is how many members have each partition.
type owners struct {
	mu  sync.Mutex
	has map[int32]int
	two []int32 // partitions that a second member got, in that order
}

func (o *owners) take(partition int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.has[partition]++
	if o.has[partition] > 1 {
		o.two = append(o.two, partition)
	}
}

func (o *owners) give(partition int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.has[partition]--
}

func (n *notes) Assigned(a facts.Assigned) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.owners != nil {
		n.owners.take(a.Partition)
	}
	n.has[a.Partition] = a
	n.read[a.Partition] = nil
	n.assigned++
}

func (n *notes) Fetched(a offsets.Assignment, records []*kgo.Record, bytes int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range records {
		n.read[a.Partition] = append(n.read[a.Partition], r.Offset)
	}
	if n.keep {
		n.kept += bytes
	} else {
		n.c.Consumed(bytes)
	}
}

func (n *notes) LogStart(_ offsets.Assignment, start int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.starts = append(n.starts, start)
}

func (n *notes) Unread(_ offsets.Assignment, b offsets.UnreadBatch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unread = append(n.unread, b)
}

func (n *notes) Revoked(all []offsets.Assignment) { n.ended(all, &n.revoked) }
func (n *notes) Lost(all []offsets.Assignment)    { n.ended(all, &n.lost) }

func (n *notes) ended(all []offsets.Assignment, count *int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*count += len(all)
	if len(all) == 0 {
		n.empty++
	}
	for _, a := range all {
		if n.owners != nil {
			n.owners.give(a.Partition)
		}
		delete(n.has, a.Partition)
	}
}

// offsetsOf returns what was read of a partition in its present assignment.
func (n *notes) offsetsOf(partition int32) []int64 {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.read[partition])
}

// group is brokers with a topic t of 3 partitions, and the members of one group.
type group struct {
	*kafkatest.Cluster
	logs   kafkatest.Log
	began  time.Time
	owners owners
}

func inGroup(t *testing.T, f func(g *group), opts ...kfake.Opt) {
	t.Helper()
	synctest.Test(t, func(inner *testing.T) {
		g := &group{Cluster: kafkatest.StartVirtual(inner, 1, append(opts, kfake.SeedTopics(3, "t"))...), began: time.Now(), owners: owners{has: make(map[int32]int)}}
		defer func() { // also where it ends early; tests fail either of the two
			if t.Failed() || inner.Failed() {
				inner.Log(g.logs.String())
			}
		}()
		f(g)
	})
}

// one is a member of the group that runs.
type one struct {
	*notes
	*Consumer
	leave func()
	done  chan struct{} // closed when Run has returned
	err   error         // of Run, then
}

// join starts a member. It leaves with the test, or before.
func (g *group) join(edit func(*Config)) *one {
	g.Helper()
	n := &notes{has: make(map[int32]facts.Assigned), read: make(map[int32][]int64), owners: &g.owners}
	cfg := Config{
		Topics: []string{"t"}, Group: "g", SessionTimeout: 10 * time.Second, StartOffset: "earliest", FetchMaxBytes: 1 << 20, ReadingBudget: 1 << 20,
		MaxDecompress: 1 << 20, Asking: g.NewClient(), Options: g.Options, Log: slog.New(slog.NewTextHandler(&g.logs, nil)),
	}
	if edit != nil {
		edit(&cfg)
	}
	c, err := New(cfg, n)
	if err != nil {
		g.Fatal(err)
	}
	n.c = c
	if err := c.Start(); err != nil {
		g.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &one{notes: n, Consumer: c, done: make(chan struct{})}
	go func() {
		defer close(m.done)
		m.err = c.Run(ctx)
	}()
	go c.WatchEnds(ctx)
	m.leave = sync.OnceFunc(func() {
		cancel()
		<-m.done
		leave, left := context.WithTimeout(context.Background(), 10*time.Second)
		defer left()
		c.Leave(leave)
		<-c.committer.done
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.empty > 0 {
			g.Errorf("the handler was told %d times that nothing has ended", n.empty)
		}
	})
	g.Cleanup(m.leave)
	return m
}

// over reports whether Run has returned.
func (m *one) over() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// owns waits until a member has exactly so many partitions.
func (g *group) owns(m *one, partitions int) {
	g.Helper()
	g.Until(30*time.Second, fmt.Sprintf("the member has %d partitions", partitions), func() bool {
		m.notes.mu.Lock()
		defer m.notes.mu.Unlock()
		return len(m.has) == partitions
	})
}

// assignment returns the present assignment of a partition.
func (m *one) assignment(partition int32) offsets.Assignment {
	m.notes.mu.Lock()
	defer m.notes.mu.Unlock()
	return m.has[partition].Assignment
}

// view returns a partition's row of Status.
func (m *one) view(partition int32) View {
	for _, v := range m.Status().Partitions {
		if v.Partition == partition {
			return v
		}
	}
	return View{}
}

// finish commits an offset with a window from there on as metadata.
func (m *one) finish(partition int32, low int64) offsets.CommitResult {
	answer := make(chan []offsets.CommitResult, 1)
	a := m.assignment(partition)
	m.notes.mu.Lock()
	assigned := m.has[partition]
	m.notes.mu.Unlock()
	w := offsets.NewWindow(low)
	w.FinishRange(low+2, low+3)
	id := offsets.Identity{ClusterID: assigned.ClusterID, TopicID: assigned.TopicID, Partition: partition}
	m.Commit([]offsets.Commit{{TopicPartition: a.TopicPartition, Epoch: a.Epoch, Low: low, LeaderEpoch: -1, Metadata: w.Encode(id, offsets.MaxMetadata).Metadata}},
		func(r []offsets.CommitResult) { answer <- r })
	return (<-answer)[0]
}

// produce appends n records to a partition and returns the offset behind them.
func (g *group) produce(partition int32, n int) (end int64) {
	for range n {
		end = g.Produce(&kgo.Record{Topic: "t", Partition: partition, Value: make([]byte, 100)}) + 1
	}
	return end
}

// counts counts the requests of a kind while f runs.
func (g *group) counts(key kmsg.Key, f func()) int {
	seen := g.Broker.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Count: -1, Observe: true})
	defer seen.Remove()
	f()
	return seen.Hits()
}
