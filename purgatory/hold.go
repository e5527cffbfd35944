package purgatory

import "fmt"

// Back-off between tries of a held target, doubling, in milliseconds.
const (
	holdFirstMs = 100
	holdMaxMs   = 2000
)

// trialLook is how many held records one try looks at to find one whose partition has
// room. A thousand cost some 0.1 ms, ten times a second at most; a million held for
// one silent partition are looked through in two minutes, well within the patience.
const trialLook = 1024

// hold is why a target gets no records for the time being.
type hold struct {
	held    bool
	verdict Verdict
	detail  string
	// known: metadata gave the verdict, not an answer to a record. So metadata can
	// take it back; what an answer said only another answer can.
	known     bool
	retryAtMs int64 // wall clock of the next try
	backoffMs int64
	look      int   // index in the queue where the next try begins to look
	trial     *dest // has the record that is on its way to see whether the target is back
	sinceMs   int64
	// exhausted: patience or share is used up and there is no dead-letter topic.
	exhausted bool
}

// rehome copies a held record into its target's own class of chunks, so that what
// one target holds pins no chunk of anybody else and is accounted exactly.
func (c *Core) rehome(e *entry) {
	if e.since == 0 {
		e.since = max(c.now.PatienceMs, 1)
	}
	if e.rehomed || e.target == c.dead {
		return
	}
	old := c.store.at(e.loc)[:e.size]
	loc, dst := c.store.alloc(heldClass+int(e.target.index), int(e.size))
	copy(dst, old)
	c.store.release(e.loc, int(e.size))
	e.loc, e.rehomed = loc, true
}

// holdTarget stops giving a target records until a later try. known: metadata says so.
func (c *Core) holdTarget(t *target, v Verdict, detail string, known bool) {
	h := &t.hold
	notice := HoldNotice{Target: t.name, Label: t.label, Held: true, Verdict: v, Detail: detail}
	if h.held {
		if notice.Changed = h.verdict != v; notice.Changed {
			c.effects.Holds = append(c.effects.Holds, notice)
		}
		h.verdict, h.detail, h.known = v, detail, h.known && known
		h.backoffMs = min(2*h.backoffMs, holdMaxMs)
		h.retryAtMs = c.now.WallMs + h.backoffMs
		return
	}
	*h = hold{held: true, verdict: v, detail: detail, known: known, backoffMs: holdFirstMs, retryAtMs: c.now.WallMs + holdFirstMs, sinceMs: c.now.WallMs}
	for _, d := range t.dests { // one queue, so that there is one oldest record
		for d.overflow.count > 0 { // in front: it was routed before what is in the queue
			t.overflow--
			t.queue.pushFront(d.overflow.popBack())
		}
	}
	t.queue.each(func(e *entry) { c.rehome(e) })
	c.effects.Holds = append(c.effects.Holds, notice)
}

// releaseTarget ends a hold: the target took a record, or metadata has taken it back.
func (c *Core) releaseTarget(t *target) {
	t.hold = hold{}
	t.queue.each(func(e *entry) { e.since = 0 })
	c.effects.Holds = append(c.effects.Holds, HoldNotice{Target: t.name, Label: t.label})
}

// try looks whether a held target is back, when its back-off is over. Where metadata
// was why, metadata tells. Otherwise one record is sent: the first from where the last
// look ended whose partition has nothing in flight and has room.
func (c *Core) try(t *target, out []Delivery, limit int) []Delivery {
	h := &t.hold
	if h.trial != nil || c.now.WallMs < h.retryAtMs && h.retryAtMs-c.now.WallMs <= holdMaxMs {
		return out
	}
	if h.known && t != c.dead {
		h.look = 0
	}
	for n := min(trialLook, t.queue.count); n > 0 && t.queue.count > 0; n-- {
		if h.look >= t.queue.count {
			h.look = 0
		}
		e := t.queue.at(h.look)
		if c.early(e) {
			if h.look == 0 {
				c.parkAgain(t.queue.pop())
			} else {
				h.look++ // its turn to leave comes when it is in front
			}
			continue
		}
		d, ok := c.route(t, *e)
		if !ok {
			return out
		}
		if h.known && t != c.dead { // for dead letters reading waits until one is written
			c.releaseTarget(t)
			return c.offerTarget(t, out, limit)
		}
		if d.inFlight == 0 && c.room(d, e) {
			h.trial = d
			return append(out, c.start(t.queue.take(h.look), d, true))
		}
		h.look++
	}
	h.retryAtMs = c.now.WallMs + holdFirstMs
	return out
}

// tried takes back the record of a trial that failed, to those that have waited as long.
func (c *Core) tried(e entry) {
	t := e.target
	c.wait(e, true)
	at := 0
	for at+1 < t.queue.count && t.queue.at(at+1).since < e.since {
		at++
	}
	t.queue.put(at)
}

// endurance dead-letters the oldest of what targets hold when patience or share of
// memory is used up, and finds target partitions that have stopped answering.
//
// Its cost grows with the targets that have something waiting, so it looks at them
// ten times a second and not at every tick.
func (c *Core) endurance() {
	if since := c.now.WallMs - c.enduredMs; since >= 0 && since < endureEveryMs {
		return
	}
	c.enduredMs = c.now.WallMs
	if c.inFlight > 0 {
		for _, t := range c.targets {
			if t != nil && t.inFlight > 0 {
				c.silence(t)
			}
		}
	}
	c.weighFamilies()
	for _, t := range c.busy {
		t.hold.exhausted = false
		c.share(t)
		if t.overflow > 0 && t != c.dead {
			for _, d := range t.dests {
				if d.stalled {
					c.endure(t, &d.overflow, Unreachable)
				}
			}
		}
		if t.hold.held && t != c.dead {
			c.endure(t, &t.queue, t.hold.verdict)
		}
	}
}

// endureEveryMs is how often patience and share are looked at, in milliseconds.
const endureEveryMs = 100

// endure applies share and patience to one queue of held records.
func (c *Core) endure(t *target, q *queue, v Verdict) {
	for q.count > 0 {
		waited := c.now.PatienceMs - q.front().since
		_, held := t.held()
		f := c.families[t.label]
		full := held+t.elsewhere > c.cfg.HeldShare || f != nil && f.own > f.most
		if !full && waited < c.cfg.Patience.Milliseconds() {
			return
		}
		if c.dead == nil {
			t.hold.exhausted = true
			return
		}
		e := q.pop()
		if q != &t.queue {
			t.overflow--
		} else {
			t.hold.look = max(t.hold.look-1, 0)
		}
		f.shed(int64(e.size), q.count)
		why := fmt.Sprintf("target %s is %s, held for %d ms", t.name, v, max(waited, 0))
		if full {
			why = fmt.Sprintf("target %s is %s, and the records held for it, or for all targets that %s allows, fill their share of memory, %d bytes", t.name, v, t.label, c.cfg.HeldShare)
		}
		if t.hold.detail != "" && q == &t.queue {
			why += ": " + t.hold.detail
		}
		c.deadLetter(e, reasonUnavailable, why)
	}
}

// share tells other cores what is held for a target here, and hears what they hold.
func (c *Core) share(t *target) {
	_, own := t.held()
	if t == c.dead {
		own = t.waiting()
	}
	if c.cfg.HeldElsewhere != nil && (own > 0 || t.shared) {
		t.shared = own > 0
		t.elsewhere = c.cfg.HeldElsewhere(t.name, t.key.ingress, own)
	}
}

// held returns what is held for the target: records, and the store bytes they take.
func (t *target) held() (records int, bytes int64) {
	if t.hold.held {
		records, bytes = t.queue.count, t.queue.bytes
	}
	if t.overflow == 0 {
		return records, bytes
	}
	for _, d := range t.dests {
		if d.stalled {
			records += d.overflow.count
			bytes += d.overflow.bytes
		}
	}
	return records, bytes
}

// waiting returns the store bytes of all that waits for the target, held or not.
func (t *target) waiting() int64 {
	bytes := t.queue.bytes
	if t.overflow > 0 {
		for _, d := range t.dests {
			bytes += d.overflow.bytes
		}
	}
	return bytes
}

// burdened notes whether dead letters take more than a target's share of memory.
// Until half of it is free again reading pauses: their topic may be silent, which is
// known only later, and they would take what is there for all.
func (c *Core) burdened() {
	if c.dead == nil {
		return
	}
	own, most := c.dead.waiting(), c.cfg.HeldShare
	if c.overburdened {
		most /= 2
	}
	c.overburdened = own > 0 && own+c.dead.elsewhere > most
}
