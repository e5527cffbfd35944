package purgatory

import "layover/offsets"

// span is the batch that a letter stands for.
type span struct {
	from, to int64 // offsets that it finishes, to not included; all below from were finished before
	last     int64 // offset of the batch
	records  int64 // that were not finished before, at least 1
}

// records is how many records an entry stands for.
func (e *entry) records() int64 {
	if e.failure != nil && e.failure.span.records > 0 {
		return e.failure.span.records
	}
	return 1
}

// Unread takes a batch in place of its records, and the body of the letter that stands for
// them. It returns false when the partition stops reading here: the batch and all after it
// stay unread.
//
// A batch may be finished in part, after a run with a larger limit or in a compacted log.
// Its letter then stands for the rest. Their number is not known: unfinished offsets are
// counted, and never more than the batch has records.
func (r Reader) Unread(b *offsets.UnreadBatch, letter Body) bool {
	c, p := r.core, r.part
	if p.halted != nil {
		return false
	}
	if b.Broken {
		return r.broken(b)
	}
	if from := max(b.First, p.logStart); b.LeaderEpoch > p.readEpoch && !r.newLeader(from, b.LeaderEpoch) {
		return false
	}
	from := max(b.First, p.next)
	if from > b.Last { // said twice: read before, or jumped over
		p.jumpBeyond(c, b)
		return true
	}
	if !r.reach(from, b.Last, b.LeaderEpoch) {
		return false
	}
	s := span{from: from, to: b.Last + 1, last: b.Last, records: min(max(b.Records, 1), p.unfinished(from, b.Last+1))}
	if b.Aborted || s.records <= 0 {
		p.finished += p.finishRange(from, s.to)
		p.jumpBeyond(c, b)
		return true
	}
	if c.cfg.OnInvalid == Halt || c.cfg.OnInvalid == Deliver || c.out.dir.dead == nil && c.cfg.OnInvalid == DeadLetter {
		p.halt(&c.effects, HaltNotice{Offset: from, Code: reasonTooLargeToRead, Reason: reasonTooLargeToRead + ": " + b.Message})
		return false
	}
	c.stats.consumed.count(c.stats.Consumed, TopicOutcome{p.Topic, Invalid}, s.records)
	c.stats.Invalid[TopicReason{p.Topic, reasonTooLargeToRead}] += s.records
	if from < p.StableEnd {
		c.stats.Restored += s.records
	}
	if c.cfg.OnInvalid == Drop {
		c.stats.Dropped[p.Topic] += s.records
		p.finished += p.finishRange(from, s.to)
	} else {
		r.refer(b, letter, s)
	}
	p.jumpBeyond(c, b)
	return true
}

// broken goes over a batch that an operator has left out: it is finished. What is finished behind it is left out as by
// any jump. Any other stops the partition. Of one that a jump has gone over meanwhile nothing is to be decided.
func (r Reader) broken(b *offsets.UnreadBatch) bool {
	c, p := r.core, r.part
	to := p.next
	if b.Last >= p.next {
		at := max(b.First, p.next)
		if !p.Window.Finished(at) {
			p.halt(&c.effects, HaltNotice{Offset: at, Reason: b.Message, Unreadable: true})
			return false
		}
		to = p.leavesOut(at, b.Last+1)
		p.finished += p.finishRange(p.next, at) // gaps in front of it
		c.stats.Jumped += to - at
		p.next = to
	}
	c.effects.Jumps = append(c.effects.Jumps, Jump{p.Assignment, to, p.factsEpoch(), true})
	return true
}

// refer queues the letter that stands for a batch.
func (r Reader) refer(b *offsets.UnreadBatch, letter Body, s span) {
	c, dead := r.core, r.core.out.dir.dead
	loc := r.park(dead, &Arrival{Offset: b.First, Body: letter, Outcome: Immediate}, 0)
	h := readHeader(c.store.at(loc))
	c.stats.Referred += s.records - 1
	c.out.enqueueFailed(entry{loc: loc, from: r.part.src, target: dead, size: h.total()}, &failure{reason: reasonTooLargeToRead, message: b.Message, span: s})
}

// jumpBeyond lets reading go on behind a batch: the reader stands before it, and does
// not by itself.
func (p *partition) jumpBeyond(c *Core, b *offsets.UnreadBatch) {
	p.next = max(p.next, b.Last+1)
	c.effects.Jumps = append(c.effects.Jumps, Jump{p.Assignment, b.Last + 1, b.LeaderEpoch, true})
}

// unfinished counts the offsets of a stretch that are not finished.
func (p *partition) unfinished(from, to int64) int64 {
	from = max(from, p.Window.Low())
	n := to - from
	p.Window.EachFrom(from, func(a, b int64) bool {
		n -= max(min(b, to)-max(a, from), 0)
		return b < to
	})
	return n
}
