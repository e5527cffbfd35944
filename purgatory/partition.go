package purgatory

import (
	"fmt"
	"slices"

	"layover/facts"
	"layover/offsets"
)

// JumpOver is the length from which a finished stretch is jumped over instead of
// read: reading 3 million finished records took 1.1 s, going over them 68 ms.
const JumpOver = 10_000

// Assignment is a partition as it was handed to this process.
type Assignment struct {
	offsets.TopicPartition
	Epoch     uint64 // Layover's own number of this tenure, never used twice
	TopicID   offsets.TopicID
	ClusterID string
	Window    *offsets.Window // low offset and what is finished above it; the core's from here on
	Facts     *facts.Writer   // what the journal has of it, the core's too; nil: commits do without
	// Next is the first offset that will be read; offsets below it that are not
	// finished are no longer in the log.
	Next      int64
	StableEnd int64 // the last stable offset when it was assigned
	// LeaderEpoch is the committed one, -1 for none: what Window holds is about records
	// of up to this epoch.
	LeaderEpoch int32
	Committed   bool // the start position is committed, so delivering may begin
	Overtaken   bool // a commit of before the assignment may still arrive
}

// partition is the state of one assigned partition.
type partition struct {
	Assignment
	slot uint32
	// next is the first offset not yet read. Invariant: nothing at or above next
	// is finished but what the assignment came with.
	next      int64
	readEpoch int32 // highest leader epoch of what was read
	logStart  int64 // as far as it was told; below it nothing is read, whatever is there
	// strangeUntil is one past the highest finished offset that the assignment brought
	// without a leader epoch, until a record there or beyond is read; 0: none.
	strangeUntil int64
	// finishedUntil caches the end of the finished run that next is in.
	finishedUntil int64

	confirmed bool  // a commit succeeded since the assignment, or since the lease ran out
	draining  bool  // revoked: nothing is offered any more
	revokedMs int64 // patience clock of that
	gone      bool  // swept; alive only until what is in flight has an outcome
	halted    *HaltNotice

	ages    ages
	waiting queue // due, but not to be offered yet
	parked  int   // in the wheel
	// furthestMs is the latest deadline of a record in the wheel, 0 while it has none:
	// records leave it in the order of deadlines, so the one that has it is the last. It
	// may be late for a moment after a step back of the clock, and is never early.
	// Invariant: TestEveryRecordReadIsAccountedFor recounts it.
	furthestMs int64
	due        int // in a queue
	inFlight   int

	finished  int64 // finished in this tenure
	commit    commitState
	cutFrom   uint64 // number of the last journal record that is not waited for
	metaLimit int    // characters of metadata the broker takes
}

func (p *partition) mayDeliver() bool { return p.confirmed && !p.draining && !p.gone }

// Assign takes a partition. Records of an earlier tenure must have been swept.
func (c *Core) Assign(a Assignment) {
	if c.byTopic[a.TopicPartition] != nil {
		panic(fmt.Sprintf("purgatory: %s/%d assigned twice", a.Topic, a.Partition))
	}
	if a.Facts == nil {
		a.Facts = facts.NewWriter(facts.Identity{Identity: a.identity()}, 1, facts.Restored{}, a.Window)
	}
	p := &partition{
		Assignment: a, next: a.Next, readEpoch: a.LeaderEpoch, confirmed: a.Committed, metaLimit: offsets.MaxMetadata,
		waiting: queue{held: &c.overhead},
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
		p.strangeUntil = a.Window.Highest() + 1
	}
	if s, ok := c.journals[a.Topic]; ok {
		p.useJournal(s)
	}
	if lost := p.finishRange(a.Window.Low(), a.Next); lost > 0 {
		c.stats.LostToRetention += lost
	}
	slot := slices.Index(c.parts, nil)
	if slot < 0 {
		slot = len(c.parts)
		c.parts = append(c.parts, nil)
	}
	p.slot = uint32(slot)
	c.parts[slot] = p
	c.byTopic[a.TopicPartition] = p
	p.jump(c)
}

// identity is what commit metadata of the partition is bound to.
func (a *Assignment) identity() offsets.Identity {
	return offsets.Identity{ClusterID: a.ClusterID, TopicID: a.TopicID, Partition: a.Partition}
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

// find returns the partition if it is still the tenure of that epoch.
func (c *Core) find(tp offsets.TopicPartition, epoch uint64) *partition {
	if p := c.byTopic[tp]; p != nil && p.Epoch == epoch {
		return p
	}
	return nil
}

// LogStart notes that the log of a partition begins at start now: what was not
// read below it is gone, outside our power, and counted.
func (c *Core) LogStart(tp offsets.TopicPartition, epoch uint64, start int64) {
	p := c.find(tp, epoch)
	if p == nil || start <= p.next {
		return
	}
	p.logStart = start
	c.stats.LostToRetention += p.finishRange(p.next, start)
	p.next = start
	p.commit.dirty = true
}

// Revoke stops offering records of the partition. What is in flight still counts;
// Sweep ends the tenure.
func (c *Core) Revoke(tp offsets.TopicPartition, epoch uint64) {
	if p := c.find(tp, epoch); p != nil {
		p.draining, p.revokedMs = true, c.now.PatienceMs
	}
}

// Draining returns how many records of a revoked partition are in flight and may be
// answered soon: those to target partitions that were silent before are not waited for.
// Its cost grows with what is in flight.
func (c *Core) Draining(tp offsets.TopicPartition, epoch uint64) (n int) {
	p := c.find(tp, epoch)
	if p == nil || p.inFlight == 0 {
		return 0
	}
	for i := range c.flight {
		if f := &c.flight[i]; f.busy && f.entry.part == p && p.revokedMs-f.dest.answeredMs < stuckMs {
			n++
		}
	}
	return n
}

// Tenure names a partition in one assignment.
type Tenure struct {
	offsets.TopicPartition
	Epoch uint64
}

// Sweep ends tenures: everything parked or due of them is forgotten and its bytes
// released, in one pass over all that is parked. What is in flight is forgotten with
// its outcome. The records are not lost: nothing of them was committed as finished,
// and whoever has the partition next reads them again.
func (c *Core) Sweep(tenures ...Tenure) {
	var ended []*partition
	for _, t := range tenures {
		p := c.find(t.TopicPartition, t.Epoch)
		if p == nil {
			continue
		}
		delete(c.byTopic, t.TopicPartition)
		c.stats.Journal.Add(p.Facts.Status().Stats)
		p.draining, p.gone = true, true
		ended = append(ended, p)
	}
	if len(ended) == 0 {
		return
	}
	c.sweepWheel()
	c.sweepQueues()
	for _, t := range c.targets {
		if t != nil && t.refs == 0 {
			c.forget(t)
		}
	}
	for _, p := range ended {
		p.parked, p.furthestMs = 0, 0
		c.retire(p)
	}
}

// sweepWheel forgets what is parked of partitions that are gone.
func (c *Core) sweepWheel() {
	swept := c.wheel.Sweep(func(payload uint64) bool {
		h := readHeader(c.store.at(location(payload)))
		if !c.parts[h.slot].gone {
			return false
		}
		c.releaseAt(location(payload), &h)
		return true
	})
	c.nextDueMs = 0
	c.stats.Parked -= int64(swept)
	c.stats.HandedOver += int64(swept)
}

// sweepQueues forgets what is due of partitions that are gone.
func (c *Core) sweepQueues() {
	gone := func(e *entry) bool { return e.part.gone }
	forget := func(e entry) {
		e.part.due--
		c.stats.HandedOver += e.records()
		c.release(e)
	}
	for _, p := range c.parts {
		if p != nil && p.gone {
			p.waiting.remove(gone, forget)
			p.waiting.free()
		}
	}
	for _, t := range c.busy {
		t.queue.remove(gone, forget)
		for _, d := range t.dests {
			before := d.overflow.count
			d.overflow.remove(gone, forget)
			t.overflow -= before - d.overflow.count
		}
	}
}

// retire frees the slot of a swept partition once nothing of it is in flight.
func (c *Core) retire(p *partition) {
	if p.gone && p.inFlight == 0 && c.parts[p.slot] == p {
		c.parts[p.slot] = nil
	}
}

// Suspend stops offering until each partition's next successful commit: the lease
// ran out, and a commit that is accepted is the proof of membership.
func (c *Core) Suspend() {
	for _, p := range c.parts {
		if p != nil && !p.gone {
			p.confirmed = false
			p.commit.dirty = true
			p.commit.doubtful = p.commit.underway
		}
	}
}

// confirm lets the records go that waited for it.
func (c *Core) confirm(p *partition) {
	if p.confirmed || p.gone {
		return
	}
	p.confirmed = true
	if p.draining {
		return
	}
	for p.waiting.count > 0 {
		c.wait(p.waiting.pop(), false)
	}
}

// jump asks the reader to leave out a long finished stretch that begins at next.
func (p *partition) jump(c *Core) {
	if p.next < p.finishedUntil || !p.Window.Finished(p.next) {
		return
	}
	p.finishedUntil = p.Window.NextUnfinished(p.next)
	if p.finishedUntil-p.next > c.cfg.JumpOver {
		c.stats.Jumped += p.finishedUntil - p.next
		p.next = p.finishedUntil
		c.effects.Jumps = append(c.effects.Jumps, Jump{p.TopicPartition, p.Epoch, p.next, p.factsEpoch(), false})
	}
}
