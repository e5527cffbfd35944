package purgatory

// settle finishes the records that the outbox has ended, and gives their bytes back. A
// record of a partition that is gone is counted and not finished: its next owner does not
// know of the delivery.
func (c *Core) settle() {
	ended := c.out.endings
	if len(ended) == 0 {
		c.commands.index.compact() // a record of a chunk may have landed
		return
	}
	for i := range ended {
		e := &ended[i]
		h := readHeader(c.store.at(e.loc))
		p := c.parts.list[e.from.slot]
		if h.marks&isEvent != 0 {
			c.events.said(p, &h, e.fate)
			c.out.release(e.loc, &h)
			continue
		}
		switch e.fate {
		case taken:
			c.stats.taken(&e.entry, e.target == c.out.dir.dead, &h, c.now.WallMs)
			if e.target != c.out.dir.dead {
				c.stats.missed.note(p, &h, c.now.WallMs)
			}
			if !p.src.gone {
				p.finishEntry(&e.entry, h.place())
			}
		case dropped:
			c.stats.Dropped[p.Topic]++
			p.finish(h.place())
		case unfinished:
			c.stats.Unfinished++
			c.runs.stays(p, h.place())
			p.halt(&c.effects, HaltNotice{Offset: h.offset, Reason: e.failure.reason + ": " + e.failure.message, Copied: h.marks&isCopy != 0})
		case handedOver:
			c.stats.HandedOver += e.records()
			c.stats.orphaned(p, &h, e.records(), c.now.WallMs)
		case expired:
			c.stats.Ended[TopicResult{p.Topic, Expired.String()}]++
			c.events.say(p, Event{Kind: Expired, ID: c.commands.index.idOf(e.loc, &h), Offset: h.offset, By: -1, DueMs: h.deadlineMs}, h.place(), noPlace)
		}
		if h.marks&hasID != 0 {
			c.commands.ended(p, e, &h)
		}
		c.queueEvents()
		c.stats.Referred -= e.records() - 1
		c.out.release(e.loc, &h)
	}
	c.commands.index.compact()
	for i := range ended { // not before: others of the batch may be of the same partition
		c.parts.retire(ended[i].from)
	}
	clear(ended)
	if c.out.endings = ended[:0]; cap(ended) > keptEntries {
		c.out.endings = nil
	}
}

// finishEntry notes that the record of an entry, or the batch it stands for, has its
// outcome.
func (p *partition) finishEntry(e *entry, at place) {
	if e.failure != nil && e.failure.span.records > 0 {
		p.finished += p.finishRange(e.failure.span.from, e.failure.span.to)
		return
	}
	p.finish(at)
}
