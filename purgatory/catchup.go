package purgatory

import "time"

// After an outage, or with a target that was away, many records are late at once. With a
// rate of catch-up they leave one after the other. A record that is late when its target
// would take it asks for its instant, and waits for that in the wheel. It waits there once.
// Then it goes on, however late it is, so that nothing waits for ever.

// LateMs is how long after its deadline a record counts as late for catch-up. Records of a
// healthy target are not, while a partition goes from one member to the next.
const LateMs = 10_000

// Pacer says when late records go on. All cores of a process share one, so its owner makes
// it safe for their goroutines.
type Pacer interface {
	// Admit returns in how many milliseconds one more late record may go to a target with
	// this label, 0 for now. Its instant is taken, unless it is withinMs away or further: then
	// ok is false. Where it has to wait it is counted as waiting.
	Admit(label string, monotonicMs, withinMs int64) (waitMs int64, ok bool)
	// Waiting takes how many records more, or fewer, wait for their instant. The records
	// leave the wheel, or are back there because the clock was stepped back.
	Waiting(label string, more int)
}

// CatchUp gives late records instants, so that of each label no more than a rate of them go
// on in a second. Time that nobody used is not saved up. It has one owner, and one entry for
// each label: names and globs of the configuration.
type CatchUp struct {
	apartNs int64 // between two instants, rounded up: the rate is never passed
	labels  map[string]*pace
}

// pace is the instants of one label.
type pace struct {
	nextNs  int64 // monotonic, of the first instant that nobody has
	waiting int   // records that wait for theirs
}

// NewCatchUp returns a CatchUp of so many records a second, 1 to 1,000,000,000.
func NewCatchUp(rate int) *CatchUp {
	second := time.Second.Nanoseconds()
	return &CatchUp{apartNs: (second + int64(rate) - 1) / int64(rate), labels: make(map[string]*pace)}
}

// Admit implements Pacer. Instants within the same millisecond go together.
func (c *CatchUp) Admit(label string, monotonicMs, withinMs int64) (waitMs int64, ok bool) {
	p := c.of(label)
	millisecond := time.Millisecond.Nanoseconds()
	nowNs := monotonicMs * millisecond
	at := max(p.nextNs, nowNs)
	if p.waiting == 0 { // whoever had the instants up to there is gone: cancelled, or with its partition
		at = min(at, nowNs+max(c.apartNs, millisecond))
	}
	if waitMs = (at - nowNs) / millisecond; waitMs >= withinMs {
		return waitMs, false
	}
	if p.nextNs = at + c.apartNs; waitMs > 0 {
		p.waiting++
	}
	return waitMs, true
}

// Waiting implements Pacer.
func (c *CatchUp) Waiting(label string, more int) { c.of(label).waiting += more }

func (c *CatchUp) of(label string) *pace {
	p := c.labels[label]
	if p == nil {
		p = new(pace)
		c.labels[label] = p
	}
	return p
}

// putBackBudget is how many records one Offer puts back, to bound its time and its list.
const putBackBudget = 4096

// putBack puts a record back that is late and beyond the rate, and reports it. There is a
// rate, the record's target is usable, and nothing else keeps it. One that expires before its
// instant waits for that.
func (o *outbox) putBack(e *entry, h *header) bool {
	if e.admitted || e.failure != nil || e.target == o.dir.events {
		return false
	}
	if h.atOnce || !isLate(h.deadlineMs, h.timestampMs, o.now.WallMs) {
		return false
	}
	within := int64(1<<63 - 1)
	if h.marks&(hasExpiry|unsure) == hasExpiry {
		within = h.expireMs - o.now.WallMs
	}
	waitMs, ok := o.cfg.CatchUp.Admit(e.target.label, o.now.MonotonicMs, within)
	if e.admitted = ok; ok && waitMs == 0 {
		return false
	}
	e.from.due--
	o.putBacks++
	o.returned = append(o.returned, returned{*e, o.now.WallMs + min(waitMs, within)})
	return true
}

// isLate says whether a record is late. An instant from before it was written is its
// producer's affair, as for its lateness.
func isLate(deadlineMs, timestampMs, nowMs int64) bool {
	return nowMs-max(deadlineMs, timestampMs) > LateMs
}

// returned is a due record that goes back into the wheel.
type returned struct {
	entry
	fireMs int64
}

// catching counts the records of a wheel that wait for their instant, by label.
type catching struct {
	pacer  Pacer      // nil: there is no rate
	dir    *directory // of their targets
	labels map[string]*catchingUp
	// Invariant: untilMs is the latest instant of those in the wheel, or a later one. A rebuild
	// of the wheel looks for instants up to there;
	// TestTwoStepsBackDelayNothingBeyondItsDeadline checks it.
	untilMs int64
	copies  int64 // bytes of those that were read from runs topics
}

// catchingUp is the records of one label that wait for their instant; there is at least one.
type catchingUp struct {
	records int
	untilMs int64 // the latest instant given
	// oldest samples deadlines by instant: Outlook says how overdue the oldest is.
	oldest ages
}

// CatchingUp is how many late records for a target wait for their instant.
type CatchingUp struct {
	Label   string // the target's name, or the glob that allowed it
	Records int
	UntilMs int64 // the latest of their instants
}

// enter counts a record that is put back.
func (c *catching) enter(label string, fireMs int64, h *header) {
	u := c.labels[label]
	if u == nil {
		if c.labels == nil {
			c.labels = make(map[string]*catchingUp)
		}
		u = new(catchingUp)
		c.labels[label] = u
	}
	u.records++
	u.untilMs = max(u.untilMs, fireMs)
	u.oldest.note(u.untilMs, h.deadlineMs)
	c.untilMs = max(c.untilMs, fireMs)
	c.countCopy(h, 1)
}

// leave counts a record out: its instant has come, or it has ended.
func (c *catching) leave(label string, h *header) {
	u := c.labels[label]
	if u.records--; u.records == 0 {
		delete(c.labels, label)
	}
	if len(c.labels) == 0 {
		c.untilMs = 0
	}
	c.pacer.Waiting(label, -1)
	c.countCopy(h, -1)
}

// countCopy adds a record's bytes to those of copies, if it is one, or takes them off.
func (c *catching) countCopy(h *header, sign int64) {
	if h.marks&isCopy != 0 {
		c.copies += sign * int64(h.total())
	}
}

// move notes that a record waits for another instant.
func (c *catching) move(h *header, fireMs int64) {
	u := c.labels[c.labelOf(h)]
	u.untilMs, c.untilMs = max(u.untilMs, fireMs), max(c.untilMs, fireMs)
}

// labelOf returns the label of the target that a header names.
func (c *catching) labelOf(h *header) string { return c.dir.list[h.target].label }

// stepBack moves all instants with the clock.
func (c *catching) stepBack(ms int64) {
	for _, u := range c.labels {
		u.untilMs -= ms
		for i := range u.oldest.samples {
			u.oldest.samples[i].offset -= ms
		}
	}
	if c.untilMs > 0 {
		c.untilMs -= ms
	}
}

// oldestMs returns a deadline that none of the records is older than, 0 where there is none.
func (u *catchingUp) oldestMs(nowMs int64) int64 { return u.oldest.since(nowMs) }

// bytes is the memory of the samples.
func (c *catching) bytes() (n int64) {
	for _, u := range c.labels {
		n += u.oldest.bytes()
	}
	return n
}

// views returns what a Snapshot says of the records.
func (c *catching) views() (out []CatchingUp) {
	for label, u := range c.labels {
		out = append(out, CatchingUp{label, u.records, u.untilMs})
	}
	return out
}
