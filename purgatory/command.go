package purgatory

import (
	"math"
	"time"
	"unsafe"
)

// command is a record that is about another one of its id: a cancel, or the newer record.
type command struct {
	offset  int64
	cancel  bool
	copied  bool // one of several cancels, of which all but one find nothing
	counted bool // it is finished already, and is read again
}

// commands decides what a command does to the record that it is about. It finds the record,
// keeps the commands that wait for its answer, and says what became of both.
//
// Where the record waits is the core's affair: a record that ends at once is handed to the
// reader, which takes it out. See Reader.apply.
type commands struct {
	index  index
	events *eventMaker // the core's
	stats  *Stats      // the core's: here Cancels, Ended and HandedOver are counted

	// pending has the commands about a record that is in flight, or may have been written,
	// oldest first. Behind a newer record that is not finished there is none: it is about that.
	pending map[location][]command
	waiting int // commands in pending
	cancels int // of those, cancels that are not finished
}

func newCommands(s *store, stats *Stats, e *eventMaker) commands {
	return commands{index: newIndex(s), events: e, stats: stats, pending: make(map[location][]command)}
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

// apply takes a command about the record of an id. It returns that record where it is still in
// the index, 0 otherwise. With ends the command ends that record at once. The record has left
// the index, and the caller takes it out of where it waits and calls supersede.
func (c *commands) apply(p *partition, id []byte, cmd command) (l location, ends bool) {
	l, ok := c.index.find(p.src.slot, id)
	if !ok {
		c.missed(p, id, cmd)
		return 0, false
	}
	s := c.index.store
	h, at := readHeader(s.at(l)), s.spot(l)
	switch {
	case at.where == lettered:
		c.missed(p, id, cmd)
		return l, false
	case at.where == inFlight || h.marks&unsure != 0:
		p.pairs.open(cmd.offset)
		c.wait(l, cmd)
		if at.where != inFlight {
			s.exempt(l)
		}
		return l, false
	}
	c.index.remove(l)
	return l, true
}

// missed ends a command that found no record. A newer record needs none, and of one that is
// read again it was said before.
func (c *commands) missed(p *partition, id []byte, cmd command) {
	if !cmd.cancel || cmd.counted {
		return
	}
	c.stats.Cancels[TopicResult{p.Topic, resultMiss}]++
	if cmd.copied { // most of the copies find nothing, and nobody wants to hear of it
		p.finish(place(cmd.offset))
		return
	}
	c.events.say(p, Event{Kind: CancelMiss, ID: id, Offset: -1, By: cmd.offset}, noPlace, place(cmd.offset))
}

// supersede ends a record that a command is about and that no target has.
func (c *commands) supersede(p *partition, id []byte, h *header, cmd command) {
	kind, finishes := Replaced, noPlace
	if cmd.cancel {
		kind, finishes = Cancelled, place(cmd.offset)
		if !cmd.counted {
			c.stats.Cancels[TopicResult{p.Topic, resultCancelled}]++
		}
	}
	c.stats.Ended[TopicResult{p.Topic, kind.String()}]++
	c.events.say(p, Event{Kind: kind, ID: id, Offset: h.offset, By: cmd.offset, DueMs: h.deadlineMs}, h.place(), finishes)
}

// ended ends the life of a record with an id, and carries out the commands that have waited
// for that.
func (c *commands) ended(p *partition, e *ending, h *header) {
	p.named--
	if p.src.gone {
		c.stats.HandedOver += c.handOver(e.loc)
		return
	}
	c.index.remove(e.loc)
	c.answered(p, e.loc, h, e.fate != withdrawn)
}

// answered carries out the commands that waited for the end of a record: it was written, or
// no target has it.
func (c *commands) answered(p *partition, l location, h *header, written bool) {
	id := c.index.idOf(l, h)
	for i, cmd := range c.take(l) {
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
			c.events.say(p, Event{Kind: TooLate, ID: id, Offset: h.offset, By: cmd.offset, DueMs: h.deadlineMs}, noPlace, place(cmd.offset))
		default:
			p.pairs.close(cmd.offset)
			c.missed(p, id, cmd)
		}
	}
}

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

// ClockSlack is far above the differences of clocks that are kept right. It is short: a record
// that was once too far ahead may end older ones by so much before its deadline.
const ClockSlack = time.Minute

// Command takes a command that is finished, and counts again: see Wants. A later restart may
// find it finished and its record not. Of the arrival only the id, its place and its instants
// count.
//
// A newer record that is finished before its deadline has ended in one of two ways. A later
// command ended it, and that counts itself; or it was invalid, for its deadline was too far
// ahead of the clock then. So it counts from its deadline on, by a clock that may be slow.
func (r Reader) Command(a *Arrival) {
	if !a.Cancel && a.earliestEndMs() > r.core.now.WallMs+r.core.cfg.ClockSlack.Milliseconds() {
		return
	}
	r.apply(a.ID, command{offset: a.Offset, cancel: a.Cancel, counted: true})
}

// earliestEndMs is the instant before which a valid record ends by a command alone.
func (a *Arrival) earliestEndMs() int64 {
	if a.waits() {
		return a.DeadlineMs
	}
	return math.MinInt64
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
	l, ends := c.commands.apply(p, id, cmd)
	if !ends {
		c.queueEvents() // a miss
		return l
	}
	h, at := readHeader(c.store.at(l)), c.store.spot(l)
	p.named--
	if at.where == inWheel {
		c.parking.cancel(at.at, &h)
		p.unpark()
		c.stats.Parked--
		c.out.release(l, &h)
	} else {
		c.out.takeOut(p.src, l, at, &h)
	}
	c.commands.supersede(p, id, &h, cmd)
	c.queueEvents()
	c.commands.index.compact()
	return 0
}
