package purgatory

import "unsafe"

// command is a record that is about another one of its id: a cancel, or the newer record.
type command struct {
	offset  int64
	cancel  bool
	copied  bool // one of several cancels, of which all but one find nothing
	counted bool // it is finished already, and is read again
}

// commands finds the records that commands are about, and keeps those commands that wait
// for an answer.
type commands struct {
	index index
	// pending has the commands about a record that is in flight, or may have been written,
	// oldest first. Behind a newer record that is not finished there is none: it is about that.
	pending map[location][]command
	waiting int // commands in pending
	cancels int // of those, cancels that are not finished
}

// The results of cancels.
const (
	resultCancelled = "cancelled"
	resultTooLate   = "too_late"
	resultMiss      = "miss"
)

// CancelResults returns the results that Stats counts cancels by.
func CancelResults() []string { return []string{resultCancelled, resultTooLate, resultMiss} }

// commandSize is the accounted size of a command that waits, in bytes.
const commandSize = int64(unsafe.Sizeof(command{})) + 24

func (c *commands) bytes() int64 {
	return c.index.bytes() + int64(c.waiting+len(c.pending))*commandSize
}

// wait keeps a command until its record is answered.
func (c *commands) wait(l location, cmd command) {
	c.pending[l] = append(c.pending[l], cmd)
	c.waiting++
	if cmd.cancel && !cmd.counted {
		c.cancels++
	}
	c.index.store.markSuperseded(l)
}

// take returns the commands that have waited for a record.
func (c *commands) take(l location) []command {
	all, ok := c.pending[l]
	if !ok {
		return nil
	}
	delete(c.pending, l)
	c.waiting -= len(all)
	for _, cmd := range all {
		if cmd.cancel && !cmd.counted {
			c.cancels--
		}
	}
	return all
}

// handOver forgets a record whose partition is gone, and the commands that have waited for
// it: whoever has the partition next reads them again. It returns how many cancels those are.
func (c *commands) handOver(l location) (cancels int64) {
	before := c.cancels
	c.take(l)
	c.index.remove(l)
	return int64(before - c.cancels)
}

// Command takes a command that is finished, and counts again: see Wants. A later restart may
// find it finished and its record not.
func (r Reader) Command(offset int64, id []byte, cancel bool) {
	r.apply(id, command{offset: offset, cancel: cancel, counted: true})
}

// cancel takes a cancel.
func (r Reader) cancel(a *Arrival) {
	r.part.next = a.Offset + 1
	r.count(Cancel)
	r.apply(a.ID, command{offset: a.Offset, cancel: true, copied: a.Copied})
}

// apply carries out a command on the record of its id. It returns that record where it is
// still in the index, 0 otherwise.
func (r Reader) apply(id []byte, cmd command) (had location) {
	c, p := r.core, r.part
	l, ok := c.commands.index.find(p.src.slot, id)
	if !ok {
		c.missed(p, id, cmd)
		return 0
	}
	h, at := readHeader(c.store.at(l)), c.store.spot(l)
	switch {
	case at.where == lettered:
		c.missed(p, id, cmd)
		return l
	case at.where == inFlight || h.marks&unsure != 0:
		p.pairs.open(cmd.offset)
		c.commands.wait(l, cmd)
		if at.where != inFlight {
			c.store.exempt(l)
		}
		return l
	}
	c.commands.index.remove(l)
	c.takeOut(p, l, at, &h)
	c.supersede(p, id, &h, cmd)
	c.commands.index.compact()
	return 0
}

// missed ends a command that found no record. A newer record needs none, and of one that is
// read again it was said before.
func (c *Core) missed(p *partition, id []byte, cmd command) {
	if !cmd.cancel || cmd.counted {
		return
	}
	c.stats.Cancels[TopicResult{p.Topic, resultMiss}]++
	if cmd.copied { // most of the copies find nothing, and nobody wants to hear of it
		p.finish(cmd.offset)
		return
	}
	c.say(p, Event{Kind: CancelMiss, ID: id, Offset: -1, By: cmd.offset}, -1, cmd.offset)
}

// supersede ends a record that a command is about and that no target has.
func (c *Core) supersede(p *partition, id []byte, h *header, cmd command) {
	kind, finishes := Replaced, int64(-1)
	if cmd.cancel {
		kind, finishes = Cancelled, cmd.offset
		if !cmd.counted {
			c.stats.Cancels[TopicResult{p.Topic, resultCancelled}]++
		}
	}
	c.stats.Ended[TopicResult{p.Topic, kind.String()}]++
	c.say(p, Event{Kind: kind, ID: id, Offset: h.offset, By: cmd.offset, DueMs: h.deadlineMs}, h.offset, finishes)
}

// takeOut takes a record out of where it waits, and gives its bytes back.
func (c *Core) takeOut(p *partition, l location, at spot, h *header) {
	p.named--
	if at.where == inWheel {
		if !c.parking.cancel(at.at, h.deadlineMs) {
			panic("purgatory: a record with an id is not where its header says")
		}
		if p.parked--; p.parked == 0 {
			p.furthestMs = 0
		}
		c.stats.Parked--
		c.out.release(l, h)
		return
	}
	t := c.out.dir.list[h.target]
	q := &t.queue
	switch at.where {
	case inWaiting:
		q = &p.src.waiting
	case behindBarrier:
		q = &p.src.behind
	case inOverflow:
		q = &c.out.dir.dest(t, int32(at.at)).overflow
		t.overflow--
	}
	p.src.due--
	c.store.entomb(l, int(h.total()))
	q.lost(h.total())
	c.out.unref(t)
}

// answered carries out the commands that waited for the end of a record: it was written, or
// no target has it.
func (c *Core) answered(p *partition, l location, h *header, id []byte, written bool) {
	for i, cmd := range c.commands.take(l) {
		switch {
		case !written && i == 0:
			c.supersede(p, id, h, cmd)
		case !cmd.cancel:
			p.pairs.close(cmd.offset)
		case written:
			if !cmd.counted {
				c.stats.Cancels[TopicResult{p.Topic, resultTooLate}]++
			}
			p.pairs.close(cmd.offset)
			c.say(p, Event{Kind: TooLate, ID: id, Offset: h.offset, By: cmd.offset, DueMs: h.deadlineMs}, -1, cmd.offset)
		default:
			p.pairs.close(cmd.offset)
			c.missed(p, id, cmd)
		}
	}
}
