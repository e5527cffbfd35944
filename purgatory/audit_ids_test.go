package purgatory

import (
	"fmt"
	"slices"
)

// idCensus counts what ids, commands and events have, afresh.
type idCensus struct {
	used   map[int]int32 // bytes of records by chunk
	flying map[int]int32 // records with an id in flight, by chunk
	named  map[uint32]int
	dead   int // entries of queues
	found  int // records that the index finds by their id
	slots  int // records with a name
	live   map[location]bool
	events int
	pairs  map[uint32]map[int64]bool // by slot: offsets of commands whose records are not finished
	wrong  []string
}

func newIDCensus() idCensus {
	return idCensus{used: map[int]int32{}, flying: map[int]int32{}, named: map[uint32]int{}, live: map[location]bool{}, pairs: map[uint32]map[int64]bool{}}
}

// note takes a record where it was found: in the wheel without an entry, at a spot otherwise.
func (n *idCensus) note(c *Core, l location, h *header, e *entry, at spot) {
	if h.marks&isEvent != 0 {
		n.events++
		if h.by >= 0 && !c.parts.list[h.slot].src.gone {
			n.pair(h.slot, h.by)
		}
	}
	if (l&named != 0) != (h.marks&hasID != 0) {
		n.wrong = append(n.wrong, fmt.Sprintf("offset %d has a name: %v", h.offset, l&named != 0))
	}
	if l&named == 0 {
		return
	}
	n.slots++
	n.live[l] = true
	n.named[h.slot]++
	no := int(c.store.slots.Get(uint32(l)) >> locationBits)
	if at.where == inFlight {
		n.flying[no]++
	}
	says := c.store.spot(l)
	if e != nil && e.failure != nil {
		at = spot{where: lettered, at: says.at}
	}
	if says.where != at.where || says.at != at.at && at.where != inWheel {
		n.wrong = append(n.wrong, fmt.Sprintf("offset %d is in %d at %d, its header says %d at %d", h.offset, at.where, at.at, says.where, says.at))
	}
	found, ok := c.commands.index.find(h.slot, c.commands.index.idOf(l, h))
	switch {
	case ok && found == l:
		n.found++
	case !says.superseded && says.where != lettered:
		n.wrong = append(n.wrong, fmt.Sprintf("offset %d is not found by its id", h.offset))
	case c.store.chunks[no].class == idClass && says.where != inFlight:
		n.wrong = append(n.wrong, fmt.Sprintf("offset %d is not found by its id, and in a chunk that is compacted", h.offset))
	}
}

func (n *idCensus) pair(slot uint32, command int64) {
	if n.pairs[slot] == nil {
		n.pairs[slot] = map[int64]bool{}
	}
	n.pairs[slot][command] = true
}

// ended reports whether a record left the wheel out of turn: only then a deadline may count
// on after its record has left.
func (r *rig) ended() bool { return total(r.stats.Ended) > 0 || r.expiring }

// auditIDs holds the index, the commands that wait, and the chunks that are compacted to a
// recount.
func (r *rig) auditIDs(n *idCensus) {
	r.Helper()
	c := r.Core
	for _, wrong := range n.wrong {
		r.Error(wrong)
	}
	if got := c.store.slots.Len(); got != n.slots+n.dead {
		r.Errorf("%d names, recount %d records and %d dead entries", got, n.slots, n.dead)
	}
	if got := c.commands.index.table.Len(); got != n.found {
		r.Errorf("the index has %d records, recount %d", got, n.found)
	}
	if int64(n.events) != c.stats.EventsWaiting {
		r.Errorf("%d events wait, recount %d", c.stats.EventsWaiting, n.events)
	}
	waiting, cancels := 0, 0
	for l, all := range c.commands.pending {
		if !n.live[l] || !c.store.spot(l).superseded {
			r.Errorf("commands wait for a record that is none, or is not superseded")
			continue
		}
		h := readHeader(c.store.at(l))
		for _, cmd := range all {
			waiting++
			if cmd.cancel && !cmd.counted {
				cancels++
			}
			if !c.parts.list[h.slot].src.gone {
				n.pair(h.slot, cmd.offset)
			}
		}
	}
	if waiting != c.commands.waiting || cancels != c.commands.cancels {
		r.Errorf("%d commands wait, of which %d are cancels; recount %d, %d", c.commands.waiting, c.commands.cancels, waiting, cancels)
	}
	for _, p := range c.parts.list {
		if p == nil || p.src.gone {
			continue
		}
		if p.named != n.named[p.src.slot] {
			r.Errorf("partition %d counts %d records with an id, recount %d", p.Partition, p.named, n.named[p.src.slot])
		}
		pairs := n.pairs[p.src.slot]
		if len(pairs) != p.pairs.count {
			r.Errorf("partition %d has %d commands whose records are not finished, recount %v", p.Partition, p.pairs.count, pairs)
		}
		for o := range pairs {
			if oldest, ok := p.pairs.oldest(); !ok || o < oldest || p.pairs.window.Finished(o) {
				r.Errorf("partition %d: the command at %d is not kept", p.Partition, o)
			}
		}
	}
	r.auditChunks(n)
}

func (r *rig) auditChunks(n *idCensus) {
	r.Helper()
	for no, ch := range r.store.chunks {
		if ch == nil {
			continue
		}
		if ch.used != n.used[no] || ch.flying != n.flying[no] {
			r.Errorf("chunk %d counts %d bytes, %d in flight; recount %d, %d", no, ch.used, ch.flying, n.used[no], n.flying[no])
		}
		thin := slices.Contains(r.store.thin, no)
		if ch.thin && !thin {
			r.Errorf("chunk %d is to be compacted, and not in the list", no)
		}
		if ch.class == idClass && int(ch.used)*2 < cap(ch.buf) && ch.flying == 0 && r.store.classes[idClass].open != no && !ch.thin {
			r.Errorf("chunk %d: %d of %d bytes are live, and nothing will compact it", no, ch.used, cap(ch.buf))
		}
	}
}
