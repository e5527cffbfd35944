package purgatory

import (
	"fmt"
	"math/bits"

	"layover/offsets"
)

// Reader takes the records of one partition into the core, in offset order.
type Reader struct {
	core *Core
	part *partition
}

// Reader returns the intake of an assignment. ok is false when the partition has
// moved on or has stopped reading, and its fetched records are to be dropped.
func (c *Core) Reader(tp offsets.TopicPartition, epoch uint64) (r Reader, ok bool) {
	p := c.parts.find(tp, epoch)
	if p == nil || p.src.draining || p.halted != nil {
		return Reader{}, false
	}
	return Reader{c, p}, true
}

// Want is what a core wants of a record.
type Want uint8

// The Wants.
const (
	Nothing   Want = iota // it has been taken note of, or its partition has stopped reading
	Whole                 // it has still to be read
	Commanded             // it is finished, and where it has an id its command counts again
)

// Wants says what is wanted of a record at the offset, written in the leader epoch.
// Where it is Nothing, its headers need not be looked at.
func (r Reader) Wants(offset int64, leaderEpoch int32) Want {
	c, p := r.core, r.part
	if !r.reach(offset, offset, leaderEpoch) {
		return Nothing
	}
	if offset >= p.finishedUntil && !p.Window.Finished(offset) {
		return Whole
	}
	p.jump(c)
	if p.next != offset {
		return Nothing
	}
	p.next++ // a stretch too short to jump over
	r.count(Skipped)
	r.restored(offset)
	if p.named > 0 && offset >= p.Again {
		return Commanded
	}
	return Nothing
}

// reach moves the read position up to the records of one leader epoch from an offset to
// the last. It returns false when they were read before, or jumped over, or their
// partition has stopped reading.
func (r Reader) reach(offset, last int64, leaderEpoch int32) bool {
	p := r.part
	if p.halted != nil || leaderEpoch > p.readEpoch && !r.newLeader(offset, leaderEpoch) {
		return false
	}
	if last+1 >= p.unknownEpochUntil {
		p.unknownEpochUntil = 0 // the epochs of a log go up: none of these facts is of a later one
	}
	p.barrier.read(p.src, r.core.now.AnsweredMs)
	if offset < p.next {
		return false
	}
	if offset > p.next { // compacted, aborted, or deleted: nothing there will ever need an outcome
		p.finished += p.finishRange(p.next, offset)
		p.commit.dirty = true
		p.next = offset
	}
	p.moved.epochs.read(offset, leaderEpoch)
	return true
}

// newLeader notes a record of a leader epoch above all before; false when its
// partition stops reading. Finished offsets from there on are of earlier epochs, whose
// records have been truncated away and written over. Where the low offset, the read
// position or a jump has passed them there is no way back. The partition then stops,
// and its commits go on to name the old epoch.
func (r Reader) newLeader(offset int64, leaderEpoch int32) bool {
	c, p := r.core, r.part
	if p.unknownEpochUntil > 0 { // nobody knows of which epochs these facts are
		p.readEpoch = leaderEpoch
		return true
	}
	if passed := max(p.Window.Low(), p.next); p.readEpoch >= 0 && passed > offset {
		p.halt(&c.effects, HaltNotice{Offset: offset, Truncated: true, Reason: fmt.Sprintf("the log was truncated at %d, and offsets up to %d were read or count as finished: "+
			"set the group's offset for this partition, then restart", offset, passed)})
		return false
	}
	p.readEpoch = leaderEpoch
	if n := p.Window.ClipAbove(offset); n > 0 {
		c.NoteError(p.Topic, fmt.Sprintf("the log of partition %d was truncated at %d: %d finished offsets above are forgotten", p.Partition, offset, n))
		p.Facts.Lose()
		p.commit.dirty = true
	}
	p.finishedUntil = min(p.finishedUntil, offset)
	p.ages.clip(offset)
	return true
}

// factsEpoch is the highest leader epoch that the finished offsets are of, -1 where that
// is not known.
func (p *partition) factsEpoch() int32 {
	if p.unknownEpochUntil > 0 {
		return -1
	}
	return p.readEpoch
}

// Read takes a record that is wanted. It returns false when the partition stops
// reading here: the record and all after it stay unread.
func (r Reader) Read(a *Arrival) bool {
	c, p := r.core, r.part
	if a.Control {
		p.next = a.Offset + 1
		p.finish(place(a.Offset))
		return true
	}
	r.restored(a.Offset)
	if a.TimestampMs > c.now.WallMs+FutureSlackMs {
		c.stats.Future[p.Topic]++
	}
	if a.Reason != "" {
		return r.invalid(a)
	}
	if a.Cancel {
		r.cancel(a)
		return true
	}
	p.next = a.Offset + 1
	r.countValid(a)
	var before location
	if a.ID != nil {
		before = r.apply(a.ID, command{offset: a.Offset})
	}
	r.add(a, before)
	return true
}

// add parks a valid record. before is the one of its id that is still in the index, if any.
func (r Reader) add(a *Arrival, before location) {
	c, p := r.core, r.part
	t := c.out.dir.targetOf(p.Topic, a.Target, a.Label)
	fireMs := a.DeadlineMs
	if !a.waits() {
		// It ends when its turn comes, which is now, however far ahead its deadline is.
		fireMs = min(fireMs, c.now.WallMs)
	} else {
		p.furthestMs = max(p.furthestMs, fireMs)
	}
	classNo := bits.Len64(uint64(max(fireMs-c.now.WallMs, 0)))
	late := c.cfg.CatchUp != nil && !a.atOnce() && isLate(a.DeadlineMs, a.TimestampMs, c.now.WallMs)
	switch {
	case late:
		classNo = lateClass
	case a.Reloaded:
		classNo = reloadedClass
	case a.loaded > 0:
		classNo = copiesClass
	}
	loc := r.park(t, a, classNo)
	if a.ID != nil {
		loc = c.store.name(loc)
		c.commands.index.add(p.src.slot, a.ID, loc, before)
		p.named++
	}
	c.parking.add(loc, fireMs)
	if fireMs > c.now.WallMs { // what is due at once needs no look into the wheel
		c.parking.nextDueMs = min(c.parking.nextDueMs, fireMs)
	}
	if a.loaded == 0 && (late || fireMs > c.now.WallMs) { // what leaves at once does not need its log for long
		p.ages.note(a.Offset, a.TimestampMs)
	}
	p.parked++
	c.stats.Parked++
}

// FutureSlackMs is how far a record's timestamp may be ahead of the clock without
// being counted as one from the future.
const FutureSlackMs = 5000

// restored counts a record that was in the log when its partition was assigned.
func (r Reader) restored(offset int64) {
	if offset < r.part.StableEnd {
		r.core.stats.Restored++
	}
}

// invalid applies the policy to a record that cannot be understood.
func (r Reader) invalid(a *Arrival) bool {
	c, p := r.core, r.part
	if a.Cancel {
		return r.invalidCancel(a)
	}
	if c.cfg.OnInvalid == Halt {
		r.stop(a)
		return false
	}
	p.next = a.Offset + 1
	r.count(Invalid)
	c.stats.Invalid[TopicReason{p.Topic, a.Reason}]++
	return r.judge(a)
}

// stop stops the partition's reading at an invalid record.
func (r Reader) stop(a *Arrival) {
	// a.Message may quote the record, and the status page is for everybody.
	n := HaltNotice{Offset: a.Offset, Code: a.Reason, Reason: fmt.Sprintf("%s: the record at offset %d, whose headers say more", a.Reason, a.Offset)}
	if a.loaded > 0 {
		n.Copied, n.Reason = true, fmt.Sprintf("%s: the record of offset %d, which was moved to offset %d of its runs topic", a.Reason, a.Offset, a.loaded-1)
	}
	r.part.halt(&r.core.effects, n)
}

// judge does with an invalid record what the policy says, unless that is to stop.
func (r Reader) judge(a *Arrival) bool {
	c := r.core
	t := c.out.dir.dead
	switch c.cfg.OnInvalid {
	case Drop:
		return r.drop(a)
	case Deliver:
		t = c.out.dir.targetOf(r.part.Topic, a.Target, a.Label)
	}
	r.refuse(t, a)
	return true
}

// invalidCancel dead-letters or drops what was meant as a cancel, whatever the policy says:
// no consumer expects to get it.
func (r Reader) invalidCancel(a *Arrival) bool {
	c, p := r.core, r.part
	p.next = a.Offset + 1
	r.count(Invalid)
	c.stats.Invalid[TopicReason{p.Topic, a.Reason}]++
	if c.out.dir.dead == nil {
		return r.drop(a)
	}
	r.refuse(c.out.dir.dead, a)
	return true
}

// drop finishes an invalid record that nobody gets.
func (r Reader) drop(a *Arrival) bool {
	r.core.stats.Dropped[r.part.Topic]++
	r.part.finish(a.place())
	return true
}

// refuse queues an invalid record for a target, or for the dead-letter topic.
func (r Reader) refuse(t *target, a *Arrival) {
	loc := r.park(t, a, 0)
	h := readHeader(r.core.store.at(loc))
	r.core.out.enqueueFailed(entry{loc: loc, from: r.part.src, target: t, size: h.total()}, &failure{reason: a.Reason, message: a.Message})
}

// park copies a record into the store. Nothing of the fetched bytes is kept.
func (r Reader) park(t *target, a *Arrival, classNo int) location {
	h := header{
		slot: r.part.src.slot, offset: a.Offset, deadlineMs: a.DeadlineMs, timestampMs: a.TimestampMs,
		atOnce: a.atOnce(),
	}
	if a.ID != nil && a.Reason == "" {
		h.marks, h.idAt, classNo = hasID, uint32(a.IDAt), idClass
	}
	if a.Expires && a.Reason == "" {
		h.marks, h.expireMs = h.marks|hasExpiry, a.ExpireMs
	}
	if a.loaded > 0 {
		h.marks, h.copyAt, h.epoch = h.marks|isCopy, a.loaded-1, a.LeaderEpoch
	}
	return r.core.out.dir.park(t, &h, a.Body, classNo)
}

// halt stops a partition's reading at an offset, which stays unfinished. The first
// notice counts; the caller says where and why, and not of which assignment.
func (p *partition) halt(out *Effects, n HaltNotice) {
	if p.halted != nil {
		return
	}
	n.Assignment = p.Assignment
	p.halted = &n
	out.Halts = append(out.Halts, n)
}

// finish notes that a record has its outcome.
func (p *partition) finish(at place) {
	if copyAt, ok := at.inRuns(); ok {
		p.commit.dirty = !p.moved.ended(copyAt) && p.moved.index.Finish(copyAt) || p.commit.dirty
		return
	}
	if offset := int64(at); p.Window.Finish(offset) {
		p.Facts.Note(offset, offset+1)
		p.finished++
		p.commit.dirty = true
	}
}

// isFinished reports whether what is at a place has its outcome. A copy in memory may be stale, and what stands at
// its offset now be finished: then the answer is no until it has ended.
func (p *partition) isFinished(at place) bool {
	if copyAt, ok := at.inRuns(); ok {
		return p.moved.stale[copyAt] == 0 && p.moved.index.Finished(copyAt)
	}
	return p.Window.Finished(int64(at))
}

// countValid counts a valid record, and what it asks for.
func (r Reader) countValid(a *Arrival) {
	stats, topic := &r.core.stats, r.part.Topic
	r.count(a.Outcome)
	if a.Ambiguous {
		stats.Ambiguous[topic]++
	}
	if a.Despite != "" {
		stats.Invalid[TopicReason{topic, a.Despite}]++
	}
	if a.Attempt > 0 {
		histogramIn(stats.Attempts, topic).observe(&AttemptBounds, a.Attempt)
	}
	if a.Outcome == Immediate || a.Outcome != Passed && a.TimestampMs > 0 {
		if r.part.requested == nil {
			r.part.requested = histogramIn(stats.Requested, topic)
		}
		r.part.requested.observe(&DelayBounds, a.requestedMs())
	}
}

func (r Reader) count(o Outcome) {
	r.core.stats.consumed.count(r.core.stats.Consumed, TopicOutcome{r.part.Topic, o}, 1)
}
