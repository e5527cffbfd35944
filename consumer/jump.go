package consumer

import (
	"context"
	"maps"
	"sync"
	"time"

	"layover/cluster"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// jumpEvery is the least time between jumps: each makes the client drop the records
	// of all partitions that it has fetched and not handed over.
	jumpEvery = time.Second
	// askFor is for how long a log's end is asked for, where reading goes on without it.
	askFor = 30 * time.Second
)

// jumper makes reading of partitions go on at other offsets. The poll loop carries jumps
// out; any goroutine may ask for them.
type jumper struct {
	client   *kgo.Client
	table    *ownership
	fetching *fetching
	poll     *poll

	mu      sync.Mutex
	pending map[offsets.Assignment]jumpTo // one of an assignment that is over goes with the next jump
	last    time.Time                     // when a jump was last carried out
	wakes   time.Time                     // when the poll loop is woken for the next one
}

// jumpTo is where a partition's reading is to go on.
type jumpTo struct {
	offset      int64
	leaderEpoch int32
	forced      bool // also where reading stands there already: the client has stopped
}

// Jump makes reading of a partition go on at an offset, before a later poll's records
// are handed over. Everything before that offset is finished, in the log of that
// leader epoch. It first asks whether that log reaches there: the client does not
// ask, and records that were written anew below would never be read. -1 is no epoch,
// for which nothing is asked.
func (c *Consumer) Jump(a offsets.Assignment, to int64, leaderEpoch int32) {
	c.jumps.ask(a, jumpTo{to, leaderEpoch, false})
}

// JumpBeyond is Jump where reading does not go on without it: the client stands before
// a batch of that epoch that it does not read. The question is repeated until there is an
// answer, or the assignment is over.
func (c *Consumer) JumpBeyond(a offsets.Assignment, to int64, leaderEpoch int32) {
	c.jumps.ask(a, jumpTo{to, leaderEpoch, true})
}

// ask notes a jump, once it is known that the log is the one that was read.
func (j *jumper) ask(a offsets.Assignment, to jumpTo) {
	if to.leaderEpoch < 0 {
		j.note(a, to)
		return
	}
	go j.check(a, to) // ends with the answer, with the assignment, or unless forced after 30 s
}

// check notes the jump when the log is the one that was read. Without an answer it does
// not, and the records that would have been jumped over are read and dropped.
func (j *jumper) check(a offsets.Assignment, to jumpTo) {
	for by := time.Now().Add(askFor); j.table.is(a) && (to.forced || time.Now().Before(by)); time.Sleep(loadRetry) {
		ctx, cancel := context.WithTimeout(context.Background(), askFor)
		end, err := cluster.EndOfEpoch(ctx, j.client, a.TopicPartition, to.leaderEpoch)
		cancel()
		switch {
		case err == nil && end >= 0 && end < to.offset:
			j.fetching.giveUp(a, Truncated, truncatedBelow(end, to.offset))
			return
		case err == nil:
			j.note(a, to)
			return
		}
	}
}

// note has a jump carried out, or the one that is pending, if that goes further ahead. If either is forced, that is.
func (j *jumper) note(a offsets.Assignment, to jumpTo) {
	if !j.table.is(a) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if was, ok := j.pending[a]; ok {
		forced := to.forced || was.forced
		if to.offset <= was.offset {
			to = was
		}
		to.forced = forced
	}
	j.pending[a] = to
	j.wake()
}

// wake has the poll loop turn when the next jump may be carried out, at once where that is
// already so. Every poll asks for it meanwhile, and one timer is enough. Callers hold mu.
func (j *jumper) wake() {
	at := j.last.Add(jumpEvery)
	if at.Equal(j.wakes) && time.Until(at) > 0 {
		return
	}
	j.wakes = at
	time.AfterFunc(time.Until(at), j.poll.interrupt)
}

// back makes a client that began to read below the position go on at the position: all
// offsets below are known to be finished.
func (j *jumper) back(a offsets.Assignment, to int64, leaderEpoch int32) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.pending[a] = jumpTo{to, leaderEpoch, true}
}

// carryOut carries out the jumps of partitions that have been fetched from: before
// that the client may not know them yet, and would not move. Only the poll loop
// calls it, while rebalances are blocked: an assignment cannot end between the look and
// the leap.
func (j *jumper) carryOut() {
	set, unset := make(map[string]map[int32]kgo.EpochOffset), make(map[string]map[int32]kgo.EpochOffset)
	var forced []offsets.Assignment // which may be paused
	for a, to := range j.due() {
		fate := needless
		j.table.while(a, func(o *owned) { fate = o.leap(to) })
		if fate == tooEarly {
			continue
		}
		j.over(a, to, fate)
		if to.forced { // also where reading has been set further ahead meanwhile
			forced = append(forced, a)
		}
		if fate == needless {
			continue
		}
		if set[a.Topic] == nil {
			set[a.Topic], unset[a.Topic] = make(map[int32]kgo.EpochOffset), make(map[int32]kgo.EpochOffset)
		}
		if to.forced { // the client leaves out what it believes to be set, and may stand elsewhere
			unset[a.Topic][a.Partition] = kgo.EpochOffset{Epoch: -1, Offset: to.offset + 1}
		}
		set[a.Topic][a.Partition] = kgo.EpochOffset{Epoch: to.leaderEpoch, Offset: to.offset}
	}
	if len(set) > 0 {
		j.fetching.set(unset, set)
	}
	for _, a := range forced {
		j.fetching.resume(a)
	}
}

// due returns the pending jumps, nil while the last one was less than jumpEvery ago.
func (j *jumper) due() map[offsets.Assignment]jumpTo {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pending) == 0 {
		return nil
	}
	if time.Until(j.last.Add(jumpEvery)) > 0 {
		j.wake()
		return nil
	}
	return maps.Clone(j.pending)
}

// over forgets a jump, unless another one of its assignment has been asked for since.
func (j *jumper) over(a offsets.Assignment, to jumpTo, f fate) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pending[a] == to {
		delete(j.pending, a)
	}
	if f == leapt {
		j.last = time.Now()
	}
}

// fate is the result of a jump.
type fate uint8

const (
	needless fate = iota // reading is there or further, is stopped, or the assignment is over
	tooEarly             // the client may not know the partition yet
	leapt
)

// leap moves the position to the jump's offset, unless that is too early or needless.
func (o *owned) leap(to jumpTo) fate {
	switch {
	case !o.fetched:
		return tooEarly
	case o.stopped() || o.next > to.offset || o.next == to.offset && !to.forced:
		return needless
	}
	o.next = to.offset
	return leapt
}
