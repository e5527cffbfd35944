package consumer

import (
	"context"
	"time"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// jumpTo is where a partition's reading is to go on.
type jumpTo struct {
	offset      int64
	leaderEpoch int32
	again       bool // also where reading stands there already: the client has stopped
}

// JumpBeyond is Jump where reading does not go on without it: the client stands before
// a batch of that epoch that it does not read. It is asked for as long as the tenure is.
func (c *Consumer) JumpBeyond(t offsets.Assignment, to int64, leaderEpoch int32) {
	if leaderEpoch < 0 {
		c.noteJump(t, jumpTo{to, -1, true})
		return
	}
	go c.askAndJump(t, jumpTo{to, leaderEpoch, true}) // ends with the answer, or with the tenure
}

// Jump makes reading of a partition go on at an offset, before a later poll's records
// are handed over: everything before it is finished, in the log of that leader
// epoch. Whether that log reaches there is asked first: the client does not by
// itself, and what was written anew below would never be read. -1 is no epoch, and
// nothing is asked.
func (c *Consumer) Jump(t offsets.Assignment, to int64, leaderEpoch int32) {
	if leaderEpoch < 0 {
		c.noteJump(t, jumpTo{to, -1, false})
		return
	}
	go c.askAndJump(t, jumpTo{to, leaderEpoch, false}) // ends with the answer, after 30 s at most
}

func (c *Consumer) noteJump(t offsets.Assignment, to jumpTo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, ok := c.jumps[t]; c.row(t) == nil || ok && to.offset <= was.offset {
		return
	}
	c.jumps[t] = to
	time.AfterFunc(time.Until(c.jumped.Add(jumpEvery)), c.endPoll)
}

// askAndJump notes the jump when the log is the one that was read. Without an answer
// it does not, and what would have been jumped over is read and dropped.
func (c *Consumer) askAndJump(t offsets.Assignment, to jumpTo) {
	for by := time.Now().Add(askFor); c.isTenure(t) && (to.again || time.Now().Before(by)); time.Sleep(loadRetry) {
		ctx, cancel := context.WithTimeout(context.Background(), askFor)
		end, err := c.endOfEpoch(ctx, t.TopicPartition, to.leaderEpoch)
		cancel()
		switch {
		case err == nil && end >= 0 && end < to.offset:
			c.giveUp(t, Truncated, truncatedBelow(end, to.offset))
			return
		case err == nil:
			c.noteJump(t, to)
			return
		}
	}
}

// askFor is how long it is asked where a log ends, where reading goes on without it.
const askFor = 30 * time.Second

// endOfEpoch returns where the log of a leader epoch ends, -1 where the broker does
// not know the epoch (KIP-101).
func (c *Consumer) endOfEpoch(ctx context.Context, t offsets.TopicPartition, leaderEpoch int32) (int64, error) {
	var req kadm.OffsetForLeaderEpochRequest
	req.Add(t.Topic, t.Partition, leaderEpoch)
	answers, err := kadm.NewClient(c.client).OffsetForLeaderEpoch(ctx, req)
	if err != nil {
		return 0, err
	}
	a, ok := answers[t.Topic][t.Partition]
	if !ok {
		return 0, cluster.ErrNoAnswer
	}
	return a.EndOffset, a.Err
}

// astray makes reading of a partition go on where it begins, if the client began to read
// below: a client that did not know the partition yet could not be set to its offset.
// What it read is known to be finished. Callers hold mu.
func (c *Consumer) astray(o *owned, records []*kgo.Record) {
	if !o.fetched && len(records) > 0 && records[0].Offset < o.next {
		c.jumps[o.Assignment] = jumpTo{o.next, records[0].LeaderEpoch, true}
	}
}

// jumpEvery is the least time between jumps: each makes the client drop what it has
// fetched and not handed over, of all partitions.
const jumpEvery = time.Second

// endPoll makes the poll loop turn, if it is polling.
func (c *Consumer) endPoll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.polling != nil {
		c.polling()
	}
}

// jump carries out the jumps of partitions that have been fetched from: before
// that the client may not know them yet, and would not move. Only the poll loop
// calls it, while rebalances are blocked: a tenure cannot end between the look and
// the leap.
func (c *Consumer) jump() {
	c.mu.Lock()
	wait := time.Until(c.jumped.Add(jumpEvery))
	if len(c.jumps) == 0 || wait > 0 {
		if len(c.jumps) > 0 {
			time.AfterFunc(wait, c.endPoll)
		}
		c.mu.Unlock()
		return
	}
	set := make(map[string]map[int32]kgo.EpochOffset)
	var again []offsets.Assignment // which may be paused
	for t, to := range c.jumps {
		o := c.row(t)
		if o != nil && !o.fetched {
			continue
		}
		delete(c.jumps, t)
		if o == nil || o.stopped != "" || o.next > to.offset || o.next == to.offset && !to.again {
			continue
		}
		c.jumped = time.Now()
		o.next = to.offset
		if set[t.Topic] == nil {
			set[t.Topic] = make(map[int32]kgo.EpochOffset)
		}
		set[t.Topic][t.Partition] = kgo.EpochOffset{Epoch: to.leaderEpoch, Offset: to.offset}
		if to.again {
			again = append(again, t)
		}
	}
	c.mu.Unlock()
	c.client.SetOffsets(set) // nothing where set is empty
	for _, t := range again {
		c.resume(t)
	}
}
