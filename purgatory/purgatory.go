package purgatory

import (
	"math"
	"time"

	"layover/facts"
	"layover/offsets"
	"layover/wheel"
)

// Policy is what happens to a record that cannot be delivered as it is.
type Policy uint8

const (
	DeadLetter Policy = iota // to the dead-letter topic
	Deliver                  // to the egress topic at once, with the error headers
	Drop                     // counted, then finished
	Halt                     // the partition stops reading, the record stays unfinished
)

// Config is what a Core needs to know. All sizes are bytes.
type Config struct {
	OnInvalid       Policy
	DeadLetterTopic string // "" for none
	Patience        time.Duration
	HeldShare       int64 // store bytes one target's held records may take, in all cores
	// HeldElsewhere takes what this core holds for a target and returns what all others
	// hold; nil where there is but one. It is asked ten times a second at most. ingress
	// is "" unless ApartByIngress.
	HeldElsewhere func(target, ingress string, own int64) int64
	// ApartByIngress makes each ingress topic have its targets for itself, with the
	// bounds of each: what is wrong with one for its records holds no other's.
	ApartByIngress bool

	MaxInFlight      int   // records in flight per target partition
	MaxBuffered      int   // records in flight in all, stuck ones too: the client's buffer; 0: 65,536
	MaxInFlightBytes int64 // bytes in flight of the whole core, at least one record
	LargestChunk     int   // bytes of a regular payload chunk; 0: 256 KiB
	JumpOver         int64 // finished stretches longer than this are jumped over
	Geometry         wheel.Geometry
	// JournalAbove is how many characters of metadata a finished set may take until it
	// goes to the journal; 0: as many as the broker takes.
	JournalAbove int
}

// Router says which partition of its target a record goes to. It is asked when a
// record is due; the answer may change from one call to the next.
type Router interface {
	// Route routes a record that was read from an ingress partition to its target.
	Route(target string, from offsets.TopicPartition, body []byte) Route
}

// Route is where a record goes.
type Route struct {
	Partition int32   // where Verdict is Usable
	Verdict   Verdict // of the target, at the moment
	Detail    string  // what is wrong with it, where the verdict does not say it all
}

// Verdict is what is known about a target.
type Verdict uint8

const (
	Usable      Verdict = iota
	Pending             // not known yet; asking again soon is free
	Missing             // the topic does not exist
	Forbidden           // not authorised
	Unreachable         // no leader, or none that answers
	Mismatched          // its partitions do not go with those of the ingress topic
)

// String returns the word that status, logs and error messages use.
func (v Verdict) String() string {
	return [...]string{"usable", "being looked up", "missing", "forbidden", "unreachable", "mismatched"}[v]
}

// Clock is the time of an event.
type Clock struct {
	WallMs int64 // Unix milliseconds; may step in either direction
	// PatienceMs counts the milliseconds in which brokers answered; it never goes back.
	PatienceMs int64
	// MonotonicMs counts all milliseconds; it never goes back, and no step moves it.
	MonotonicMs int64
}

// Core parks records and decides when they go where. See the package comment.
type Core struct {
	cfg    Config
	router Router
	wheel  *wheel.TimingWheel
	store  *store

	parts   []*partition // by slot; nil: free
	byTopic map[offsets.TopicPartition]*partition

	journals map[string]JournalState // by ingress topic
	writes   []facts.Write           // scratch of cut

	targets    []*target // by index; nil: free
	freeTarget []uint32  // free indexes
	byKey      map[targetKey]*target
	families   map[string]*family // by glob; only of those that hold something
	dead       *target            // the dead-letter topic, nil for none
	busy       []*target          // with something to offer, or lately so
	nextTarget int                // where the next round of Offer over busy begins
	enduredMs  int64              // wall clock of the last look at patience and share
	// overhead is the memory of queues, targets and their partitions, in bytes.
	overhead int64

	flight      []flight
	freeFlight  []int32
	flightBytes int64 // in flight, without what is stuck
	stuck       int   // in flight to target partitions that do not answer
	stuckBytes  int64 // of those
	inFlight    int
	fairRecords int   // share of one target in what may be in flight, at least 1
	fairBytes   int64 // the same in bytes
	fullMs      int64 // monotonic clock of the last record for which the client had no room; 0: none
	// overburdened: dead letters that wait take more than their share of memory.
	overburdened bool

	// nextDueMs is the earliest deadline in the wheel, while it is ahead of the
	// clock; otherwise it has to be looked up.
	nextDueMs int64

	doneMs int64 // monotonic clock of the last Tick that left nothing undone

	due     []uint64 // scratch of Tick
	effects Effects
	stats   Stats
	now     Clock
}

// flightSize is what a record in flight is accounted with, in bytes.
const flightSize = 96

// flight is one record in flight, by its id.
type flight struct {
	entry       entry
	dest        *dest
	sinceMs     int64 // wall clock when it was handed over
	monotonicMs int64 // the same by the clock that no step moves
	busy        bool
	trial       bool
}

// New returns an empty core whose wheel starts at now.
func New(cfg Config, router Router, now Clock) *Core {
	if cfg.JournalAbove == 0 {
		cfg.JournalAbove = offsets.MaxMetadata
	}
	if cfg.MaxBuffered == 0 {
		cfg.MaxBuffered = maxBuffered
	}
	c := &Core{
		cfg:     cfg,
		router:  router,
		wheel:   wheel.New(now.WallMs, cfg.Geometry),
		store:   newStore(cfg.LargestChunk),
		byTopic: make(map[offsets.TopicPartition]*partition), journals: make(map[string]JournalState),
		byKey: make(map[targetKey]*target), families: make(map[string]*family),
		stats: newStats(),
		now:   now,
	}
	if cfg.DeadLetterTopic != "" {
		c.dead = c.target(targetKey{name: cfg.DeadLetterTopic}, cfg.DeadLetterTopic)
		c.dead.refs++ // never forgotten
	}
	return c
}

// Effects is what the owner has to carry out. Slices are reused: they are valid
// until the next call of Take.
type Effects struct {
	Jumps   []Jump
	Halts   []HaltNotice
	Holds   []HoldNotice
	Writes  []JournalWrite
	Deletes []JournalDelete
}

// Jump asks the reader to go on at an offset: everything before it is finished.
type Jump struct {
	offsets.TopicPartition
	Epoch uint64
	To    int64
	// LeaderEpoch is that of what is finished, -1 for unknown: where the log of that
	// epoch ends below To, the jump would go over records that were written anew.
	LeaderEpoch int32
	// Beyond: the reader stands before a batch that it cannot read, of that epoch.
	Beyond bool
}

// HaltNotice says that a partition stops reading at an offset, and why.
type HaltNotice struct {
	offsets.TopicPartition
	Epoch  uint64
	Offset int64
	Reason string // may quote a header of the record
	Code   string // the stable code of the reason, for where nothing of a record may be told; "" if there is none
	// Truncated: not by the policy for invalid records. Which of the records from
	// Offset on are finished cannot be told, and an operator has to choose.
	Truncated bool
	// Unreadable: not by that policy either. A batch is there that nobody can read.
	Unreadable bool
}

// HoldNotice says that a target began or ended to be held, or is for another reason.
type HoldNotice struct {
	Target  string
	Label   string // its name, or the glob that allowed it
	Held    bool
	Changed bool // it was held before, with another verdict
	// Forgotten: it is not held any more because nothing is there for it.
	Forgotten bool
	Verdict   Verdict
	Detail    string
}

// Take hands out the effects since the last call.
func (c *Core) Take() Effects {
	e := c.effects
	c.effects.Jumps = e.Jumps[len(e.Jumps):]
	c.effects.Halts = e.Halts[len(e.Halts):]
	c.effects.Holds = e.Holds[len(e.Holds):]
	c.effects.Writes = e.Writes[len(e.Writes):]
	c.effects.Deletes = e.Deletes[len(e.Deletes):]
	return e
}

// stepBackMs is how far the wall clock may go back before the wheel is rebuilt;
// up to here the wheel waits until the clock has caught up.
const stepBackMs = 1000

// Tick takes the time and moves what is due by it to the queues of its targets,
// at most budget records; more says that there are others. It never moves a
// record before its deadline.
func (c *Core) Tick(now Clock, budget int) (more bool) {
	c.now = now
	if now.WallMs < c.wheel.NowMs()-stepBackMs {
		c.rebuild(now.WallMs)
	}
	if ms, ok := c.wheel.NextDeadline(); ok && ms <= now.WallMs { // a clock that was stepped is nobody's lag
		c.stats.TickLag.observe(&LatenessBounds, min(now.WallMs-ms, now.MonotonicMs-c.doneMs))
	}
	c.due, more = c.wheel.AdvanceClock(now.WallMs, budget, c.due[:0])
	for _, payload := range c.due {
		c.expire(location(payload))
	}
	c.endurance()
	c.burdened()
	if !more {
		c.doneMs = now.MonotonicMs
	}
	return more
}

// rebuild moves everything into a new wheel that starts at a wall clock which
// was stepped back: the old one is ahead of it and would hold short delays up.
// The old one is run to its end rather than drained, because that keeps the order
// of what is due at the same time without a sort, or a list, of everything parked.
func (c *Core) rebuild(wallMs int64) {
	old := c.wheel
	c.wheel = wheel.New(wallMs, c.cfg.Geometry)
	for more := true; more; {
		c.due, more = old.AdvanceClock(math.MaxInt64, rebuildBudget, c.due[:0])
		for _, payload := range c.due {
			h := readHeader(c.store.at(location(payload)))
			if h.atOnce {
				h.deadlineMs = wallMs
			}
			c.wheel.Add(h.deadlineMs, payload)
		}
	}
}

// rebuildBudget is how many records are moved at a time, to bound scratch memory.
const rebuildBudget = 4096

// expire moves one record that the wheel handed out to the queue it waits in.
func (c *Core) expire(loc location) {
	h := readHeader(c.store.at(loc))
	if h.deadlineMs > c.now.WallMs && !h.atOnce { // never early, whatever the wheel believes
		c.wheel.Add(h.deadlineMs, uint64(loc))
		return
	}
	p := c.parts[h.slot]
	if p.parked--; p.parked == 0 {
		p.furthestMs = 0
	}
	c.stats.Parked--
	c.enqueue(entry{loc: loc, part: p, target: c.targets[h.target], size: h.total()})
}

// enqueue puts a due record where it waits: with its partition until membership
// is confirmed, with its target otherwise.
func (c *Core) enqueue(e entry) {
	e.part.due++
	if !e.part.mayDeliver() {
		e.part.waiting.pushBack(e)
		return
	}
	c.wait(e, false)
}

// NextDeadline returns the earliest instant at which Tick has something to do.
func (c *Core) NextDeadline() (ms int64, ok bool) { return c.wheel.NextDeadline() }

// Bytes returns the memory that grows with what is parked: chunks, wheel,
// finished sets, samples of timestamps, and queues.
func (c *Core) Bytes() int64 {
	b := c.store.bytes + c.wheel.Bytes() + c.overhead + int64(cap(c.flight))*flightSize
	for _, p := range c.parts {
		if p != nil {
			b += p.Window.Bytes() + p.Facts.Bytes() + p.ages.bytes()
		}
	}
	return b
}

// Occupying returns how many records are in flight to targets that answer: what
// the bound of all that is in flight applies to.
func (c *Core) Occupying() int { return c.inFlight - c.stuck }

// InFlight returns how many records are in flight.
func (c *Core) InFlight() int { return c.inFlight }

// Trim gives back memory that is kept for reuse; for when nothing is going on.
func (c *Core) Trim() { c.store.trim() }
