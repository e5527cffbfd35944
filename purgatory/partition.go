package purgatory

import (
	"fmt"
	"slices"

	"layover/journal/facts"
	"layover/offsets"
)

// JumpOver is the length from which a finished stretch is jumped over instead of
// read. Reading 3 million finished records took 1.1 s, going over them 68 ms.
const JumpOver = 10_000

// partition is the state of one assigned partition.
type partition struct {
	facts.Assigned
	// next is the first offset not yet read. Invariant: nothing at or above next
	// is finished but the offsets that the assignment came with.
	next      int64
	readEpoch int32 // highest leader epoch of the records read
	logStart  int64 // as far as it was told; below it nothing is read, whatever is there
	// unknownEpochUntil is one past the highest finished offset that the assignment brought
	// without a leader epoch. It is 0 where there is none, and once a record there or
	// beyond is read.
	unknownEpochUntil int64
	// finishedUntil caches the end of the finished run that next is in.
	finishedUntil int64

	src    *source // the outbox's side of it
	halted *HaltNotice

	named   int // records with an id that have not ended
	pairs   pairs
	barrier barrier

	ages       ages
	assignedMs int64 // wall clock at the assignment
	parked     int   // in the wheel
	moved      moved // what of it is in the runs topic, or on its way there
	// furthestMs is the latest deadline of a record in the wheel, 0 while it has none. Records
	// leave the wheel in the order of deadlines, so the one that has it is the last. Where
	// that one was cancelled, moved or expired, or the clock was stepped back, it is later than any.
	// Invariant: it is never early; TestEveryRecordReadIsAccountedFor recounts it.
	furthestMs int64
	// madeAgain: its topic was deleted and made again. Nobody can read its records anew.
	madeAgain bool
	left      *handover // of its sweep, nil before: counts what the next owner reads

	requested *Histogram // its topic's, of Stats; nil before the first record that asks for a delay
	finished  int64      // finished in this assignment
	commit    commitState
	cutFrom   uint64 // number of the last journal record that is not waited for
	metaLimit int    // characters of metadata the broker takes
}

// Assign takes a partition. Records of an earlier assignment must have been swept.
func (c *Core) Assign(a facts.Assigned) {
	if c.parts.byTopic[a.TopicPartition] != nil {
		panic(fmt.Sprintf("purgatory: %s/%d assigned twice", a.Topic, a.Partition))
	}
	if a.Facts == nil {
		a.Facts = facts.NewWriter(facts.Identity{Identity: a.Identity()}, 1, facts.Restored{}, a.Window)
	}
	p := &partition{
		Assigned: a, next: a.Next, readEpoch: a.LeaderEpoch, metaLimit: offsets.MaxMetadata, assignedMs: c.now.WallMs,
	}
	p.commit.dirty = !a.Committed
	if a.Overtaken {
		p.commit.repeatUntil = c.now.MonotonicMs + repeatForMs
	}
	p.commit.low = a.Window.Low()
	if a.Next > a.Window.Low() {
		p.logStart = a.Next
	}
	if a.LeaderEpoch < 0 && a.Window.Above() > 0 {
		p.unknownEpochUntil = a.Window.Highest() + 1
	}
	if s, ok := c.journals.states[a.Topic]; ok {
		p.useJournal(s)
	}
	c.stats.lose(a.Topic, false, p.finishRange(a.Window.Low(), a.Next), c.now.WallMs)
	if p.barrier = (barrier{over: a.Next >= a.StableEnd, readMs: c.now.AnsweredMs}); !p.barrier.over {
		c.replays.barred++
	}
	p.src = c.out.source(a.TopicPartition, c.parts.free(), a.Committed)
	p.src.shut = !p.barrier.over
	c.parts.add(p)
	p.jump(c)
}

// finishRange notes that no offset of a stretch will ever need an outcome, and returns
// of how many that is news.
func (p *partition) finishRange(from, to int64) int64 {
	n := p.Window.FinishRange(from, to)
	if n > 0 {
		p.Facts.Note(from, to)
		p.commit.dirty = true
	}
	return n
}

// LogStart notes that the log of a partition begins at start now: unread records below it
// are gone, outside our power, and counted.
func (c *Core) LogStart(tp offsets.TopicPartition, epoch uint64, start int64) {
	p := c.parts.find(tp, epoch)
	if p == nil || start <= p.next {
		return
	}
	p.logStart = start
	c.stats.lose(p.Topic, false, p.finishRange(p.next, start), c.now.WallMs)
	p.next = start
	p.commit.dirty = true
}

// Revoke stops offering records of the partition. Outcomes of those in flight still
// count; Sweep ends the assignment.
func (c *Core) Revoke(tp offsets.TopicPartition, epoch uint64) {
	if p := c.parts.find(tp, epoch); p != nil {
		p.src.draining, p.src.revokedMs = true, c.now.AnsweredMs
	}
}

// Draining returns how many records of a revoked partition are in flight and may be
// answered soon. Those to target partitions that were silent before are not waited for. Copies in flight count as
// well, but for those to a silent runs partition. Its cost grows with the records in flight.
func (c *Core) Draining(tp offsets.TopicPartition, epoch uint64) (n int) {
	p := c.parts.find(tp, epoch)
	if p == nil {
		return 0
	}
	if p.src.inFlight > 0 {
		n = c.out.flights.draining(p.src)
	}
	if !p.silent(c.now.MonotonicMs) {
		n += p.src.moving
	}
	return n
}

// Sweep ends assignments: everything parked or due of them is forgotten and its bytes
// released, in one pass over all that is parked. A record in flight is forgotten with
// its outcome. The records are not lost: nothing of them was committed as finished,
// and whoever has the partition next reads them again. But of a topic that was made again
// they are: it returns how many, by topic, without those in flight.
func (c *Core) Sweep(assignments ...offsets.Assignment) (lost []Loss) {
	before := slices.Clone(c.stats.Losses)
	var ended []*partition
	var sources []*source
	for _, a := range assignments {
		p := c.parts.find(a.TopicPartition, a.Epoch)
		if p == nil {
			continue
		}
		delete(c.parts.byTopic, a.TopicPartition)
		c.stats.Journal.Add(p.Facts.Status().Stats)
		p.src.draining, p.src.gone = true, true
		p.left = c.handovers.of(p, c.now.MonotonicMs)
		if !p.barrier.over {
			c.replays.barred--
		}
		ended, sources = append(ended, p), append(sources, p.src)
	}
	if len(ended) == 0 {
		return nil
	}
	swept := c.parking.sweep(func(loc location, putBack bool) bool {
		h := readHeader(c.store.at(loc))
		p := c.parts.list[h.slot]
		if !p.src.gone {
			return false
		}
		c.stats.orphaned(p, &h, 1, c.now.WallMs)
		if loc&named != 0 {
			c.stats.HandedOver += c.commands.handOver(loc)
		}
		if putBack {
			c.parking.catching.leave(c.out.dir.list[h.target].label, &h)
		}
		c.out.release(loc, &h)
		return true
	})
	c.stats.Parked -= swept
	for _, p := range ended {
		swept += c.runs.forget(p)
	}
	c.stats.HandedOver += swept
	c.out.sweep(sources)
	c.settle()
	c.commands.index.compact()
	c.out.forgetUnused()
	for _, p := range ended {
		p.parked, p.furthestMs = 0, 0
		c.parts.retire(p.src)
	}
	return c.stats.lostSince(before)
}

// parkAgain notes that a record is back in the wheel.
func (p *partition) parkAgain(deadlineMs int64) {
	p.parked++
	p.furthestMs = max(p.furthestMs, deadlineMs)
}

// unpark notes that a record has left the wheel.
func (p *partition) unpark() {
	if p.parked--; p.parked == 0 {
		p.furthestMs = 0
	}
}

// Suspend stops offering until each partition's next successful commit: the lease
// ran out, and a commit that is accepted is the proof of membership.
func (c *Core) Suspend() {
	for p := range c.parts.here() {
		p.src.confirmed = false
		p.commit.dirty = true
		p.commit.doubtful = p.commit.underway
	}
}

// jump asks the reader to leave out a long finished stretch that begins at next.
func (p *partition) jump(c *Core) {
	if p.next < p.finishedUntil || !p.Window.Finished(p.next) {
		return
	}
	p.finishedUntil = p.Window.NextUnfinished(p.next)
	to := p.leavesOut(p.next, p.next)
	if to-p.next > c.cfg.JumpOver {
		c.stats.Jumped += to - p.next
		p.next = to
		c.effects.Jumps = append(c.effects.Jumps, Jump{p.Assignment, p.next, p.factsEpoch(), false})
	}
}

// leavesOut returns up to where a finished stretch that begins at an offset need not be read, least at the earliest. From
// Again on commands in it count again, where a record with an id waits that they may be about.
func (p *partition) leavesOut(from, least int64) int64 {
	to := p.Window.NextUnfinished(from)
	if p.named > 0 {
		to = min(to, max(p.Again, least))
	}
	return to
}
