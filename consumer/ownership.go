package consumer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// identify copies member id and generation into the table. Callers hold mu and
// run inside a rebalance callback, where both belong to the table as it is.
func (c *Consumer) identify() {
	c.memberID, c.generation = c.client.GroupMetadata()
}

// onAssigned begins a tenure for each added partition. It is called after every
// join, with nothing added too, so the generation is the join's.
func (c *Consumer) onAssigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	c.mu.Lock()
	c.identify()
	outlived := c.outlived()
	c.mu.Unlock()
	c.lose(outlived)
	for topic, partitions := range outlived {
		if slices.ContainsFunc(partitions, func(p int32) bool { return !slices.Contains(added[topic], p) }) {
			go c.Rejoin(topic) // it waits for this callback's end, and ends with the topic's fresh assignment
		}
	}
	// A topic that was purged and added again can come back without having been
	// revoked: what is left of its earlier tenures ends here.
	c.mu.Lock()
	stale := c.tenures(added)
	c.mu.Unlock()
	if len(stale) > 0 {
		c.handler.Revoked(stale)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rebalances.Add(1)
	c.joined = true
	c.group.Store(nil)
	for topic, partitions := range added {
		for _, p := range partitions {
			tp := offsets.TopicPartition{Topic: topic, Partition: p}
			c.epochs++
			c.table[tp] = &owned{Assignment: offsets.Assignment{TopicPartition: tp, Epoch: c.epochs}, member: c.memberID, end: endUnknown}
		}
	}
	c.client.ResumeFetchPartitions(added)
	c.cfg.Log.Info("group joined", "group", c.cfg.Group, "generation", c.generation, "added", total(added), "assigned", len(c.table))
}

// outlived returns the partitions that were assigned to a member id of before. A client
// that hears only by joining again that the group had dropped it gets a new id, and keeps
// what it had without a word: meanwhile it may have been another's, who finished and
// committed more. Callers hold mu.
func (c *Consumer) outlived() map[string][]int32 {
	out := make(map[string][]int32)
	for tp, o := range c.table {
		if o.member != c.memberID {
			out[tp.Topic] = append(out[tp.Topic], tp.Partition)
		}
	}
	return out
}

// onRevoked ends tenures while the membership still holds. The partitions stay in
// the table until the handler is done with them: under the cooperative protocol
// nobody else has them before this returns.
func (c *Consumer) onRevoked(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	c.mu.Lock()
	c.identify()
	outlived := c.outlived()
	tenures := c.tenures(lost)
	c.mu.Unlock()
	if len(outlived) > 0 { // the membership that they were assigned to is gone
		c.lose(lost)
		return
	}
	if len(tenures) > 0 {
		c.handler.Revoked(tenures)
		c.cfg.Log.Info("partitions revoked", "group", c.cfg.Group, "revoked", len(tenures))
	}
	c.forget(lost)
}

// onLost ends tenures whose membership is gone: nothing can be committed.
func (c *Consumer) onLost(_ context.Context, _ *kgo.Client, lost map[string][]int32) { c.lose(lost) }

func (c *Consumer) lose(lost map[string][]int32) {
	c.mu.Lock()
	tenures := c.tenures(lost)
	c.mu.Unlock()
	c.forget(lost)
	if len(tenures) > 0 {
		c.handler.Lost(tenures)
		c.cfg.Log.Warn("partitions lost", "group", c.cfg.Group, "lost", len(tenures))
	}
}

// row returns a tenure's row of the table, nil when the tenure is over. Callers hold mu.
func (c *Consumer) row(t offsets.Assignment) *owned {
	if o := c.table[t.TopicPartition]; o != nil && o.Epoch == t.Epoch {
		return o
	}
	return nil
}

// tenures returns the loaded tenures of partitions. Callers hold mu.
func (c *Consumer) tenures(parts map[string][]int32) (out []offsets.Assignment) {
	for topic, partitions := range parts {
		for _, p := range partitions {
			if o := c.table[offsets.TopicPartition{Topic: topic, Partition: p}]; o != nil && o.loaded {
				out = append(out, o.Assignment)
			}
		}
	}
	return out
}

func (c *Consumer) forget(parts map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic, partitions := range parts {
		for _, p := range partitions {
			tp := offsets.TopicPartition{Topic: topic, Partition: p}
			if o := c.table[tp]; o != nil {
				delete(c.jumps, o.Assignment)
			}
			delete(c.table, tp)
		}
	}
}

// Reason is why a partition is not read, as a stable code.
type Reason string

// The Reasons.
const (
	NotBegun   Reason = "not_begun"  // where to begin is not known yet: it is asked for again
	NoOffset   Reason = "no_offset"  // the group's offset is gone, and nothing is guessed
	Truncated  Reason = "truncated"  // the log is another one than that which was read
	Unreadable Reason = "unreadable" // a batch that cannot be read
	Halted     Reason = "halted"     // by the policy for invalid records

	Failing      Reason = "fetch_failed"  // fetches are refused: they are tried again
	NewerVersion Reason = "newer_version" // a newer version wrote what is committed, or the journal
)

// Stop makes a partition not be read any more in this tenure, and says where and why.
func (c *Consumer) Stop(t offsets.Assignment, at int64, code Reason, reason string) {
	c.mu.Lock() // held over the pause: the next tenure may not begin in between
	defer c.mu.Unlock()
	o := c.row(t)
	if o == nil || o.stopped != "" {
		return
	}
	o.stopped, o.reason, o.since, o.stoppedAt = reason, code, time.Now(), at
	c.client.PauseFetchPartitions(map[string][]int32{t.Topic: {t.Partition}})
}

// View is one row of the ownership table, for status.
type View struct {
	offsets.Assignment
	Loaded  bool
	Stopped string    // why it is not read, "" if it is
	Reason  Reason    // of Stopped, for programs
	Since   time.Time // of Stopped
	Trying  bool      // it is stopped until what is wrong is over, and needs nobody
	Next    int64
	End     int64 // of the log, -1 while it is unknown
}

// Status is what can be seen of the consumer from outside.
type Status struct {
	MemberID   string
	Generation int32
	Joined     bool // a join has completed since the start
	Rebalances int64
	Partitions []View
	LastError  string // of the group, "" after a join
}

// Status returns a copy of the ownership table and what belongs to it.
func (c *Consumer) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{MemberID: c.memberID, Generation: c.generation, Joined: c.joined, Rebalances: c.rebalances.Load()}
	if e := c.group.Load(); e != nil {
		s.LastError = *e
	}
	for _, o := range c.table {
		v := View{o.Assignment, o.loaded, o.stopped, o.reason, o.since, o.trying, o.next, o.end}
		if o.stopped != "" && o.loaded {
			v.Next = o.stoppedAt
		}
		if o.stopped == "" && o.failed.err != nil && time.Since(o.failed.since) >= loadGrace {
			v.Stopped, v.Reason, v.Since, v.Trying = fmt.Sprintf("fetches fail, trying again: %v", o.failed.err), Failing, o.failed.since, true
		}
		s.Partitions = append(s.Partitions, v)
	}
	slices.SortFunc(s.Partitions, func(a, b View) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return s
}

func total(parts map[string][]int32) (n int) {
	for p := range maps.Values(parts) {
		n += len(p)
	}
	return n
}
