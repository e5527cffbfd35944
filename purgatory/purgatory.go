package purgatory

import (
	"time"

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

// Config is the settings of a Core. All sizes are bytes.
type Config struct {
	OnInvalid       Policy
	DeadLetterTopic string // "" for none
	OnExpired       Policy // DeadLetter or Drop
	EventsTopic     string // "" for none
	// Event makes the record that says an event. It has no state.
	Event        func(*Event) Body
	Patience     time.Duration
	PatienceText string // Patience as its setting is written, for messages
	HeldShare    int64  // bytes one target's held records may take, in all cores
	// Place chooses the partition of a usable target for a record; nil: the first. It has
	// no state: the state of the target is its argument.
	Place func(s *TargetState, from offsets.TopicPartition, body []byte) Route
	// CatchUp says when late records go on; nil: at once.
	CatchUp Pacer
	// ApartByIngress makes each ingress topic have its targets for itself, with the
	// bounds of each. A target that suits no record of one ingress topic holds no
	// record of another.
	ApartByIngress bool

	MaxInFlight      int   // records in flight per target partition that is slow; see allowance
	MaxBuffered      int   // records in flight in all, stuck ones too: the client's buffer; 0: 65,536
	MaxInFlightBytes int64 // bytes in flight of the whole core, at least one record
	MaxCopies        int   // copies in flight, silent ones too: the client's buffer; 0: 65,536
	LargestChunk     int   // bytes of a regular payload chunk; 0: 256 KiB
	JumpOver         int64 // finished stretches longer than this are jumped over
	// ClockSlack is how far the clocks of two members may differ, and a clock be set back.
	// Beyond it a finished record that another clock delivered counts for nothing: see
	// Command.
	ClockSlack time.Duration
	Geometry   wheel.Geometry
	// JournalAbove is how many characters of metadata a finished set may take until it
	// goes to the journal; 0: as many as the broker takes.
	JournalAbove int
}

// Clock is the time of an event.
type Clock struct {
	WallMs int64 // Unix milliseconds; may step in either direction
	// AnsweredMs counts the milliseconds in which brokers answered; it never goes back.
	AnsweredMs int64
	// MonotonicMs counts all milliseconds; it never goes back, and no step moves it.
	MonotonicMs int64
}

// Core parks records and decides when they go where. See the package comment.
type Core struct {
	cfg     Config
	now     Clock // of the last event; the parts look at it
	store   *store
	out     *outbox // before parking: the census of the tests names memory by the first way to it
	parking parking

	commands commands
	events   eventMaker
	replays  Replays

	runs      Runs
	parts     partitions
	journals  Journals
	effects   Effects // those of the outbox and the journals are added when they are taken
	stats     Stats
	handovers handovers
}

// New returns an empty core whose wheel starts at now.
func New(cfg Config, now Clock) *Core {
	if cfg.JournalAbove == 0 {
		cfg.JournalAbove = offsets.MaxMetadata
	}
	if cfg.MaxBuffered == 0 {
		cfg.MaxBuffered = maxBuffered
	}
	if cfg.MaxCopies == 0 {
		cfg.MaxCopies = maxBuffered
	}
	c := &Core{
		cfg: cfg, now: now, store: newStore(cfg.LargestChunk),
		parts: newPartitions(), stats: newStats(),
	}
	c.journals = newJournals(&c.parts, &c.now, &c.stats)
	c.parking = newParking(c.store, cfg.Geometry, now.WallMs)
	c.out = newOutbox(&c.cfg, c.store, &c.stats, &c.now)
	c.parking.catching = catching{pacer: cfg.CatchUp, dir: &c.out.dir}
	c.events = eventMaker{cfg: &c.cfg, dir: &c.out.dir, stats: &c.stats, now: &c.now}
	c.commands = newCommands(c.store, &c.stats, &c.events)
	c.replays = Replays{now: &c.now, parts: &c.parts, out: c.out, stats: &c.stats}
	c.runs = Runs{most: cfg.MaxCopies, now: &c.now, store: c.store, parking: &c.parking, parts: &c.parts, out: c.out, stats: &c.stats, journals: &c.journals}
	return c
}

// Effects are for the owner to carry out. Slices are reused: they are valid
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
	offsets.Assignment
	To int64
	// LeaderEpoch is that of the finished offsets, -1 for unknown. Where the log of that
	// epoch ends below To, the jump would go over records that were written anew.
	LeaderEpoch int32
	// Beyond: the reader stands before a batch that it cannot read, of that epoch.
	Beyond bool
}

// HaltNotice says that a partition stops reading at an offset, and why.
type HaltNotice struct {
	offsets.Assignment
	Offset int64
	Reason string // may quote a header of the record
	Code   string // the stable code of the reason, for where nothing of a record may be told; "" if there is none
	// Truncated: not by the policy for invalid records. Which of the records from
	// Offset on are finished cannot be told, and an operator has to choose.
	Truncated bool
	// Unreadable: not by that policy either. A batch is there that nobody can read.
	Unreadable bool
	// Copied: by a record that was read from its runs topic. At Offset it is finished.
	Copied bool
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
	e.Holds, e.Writes, e.Deletes = c.out.holds.notices, c.journals.writes, c.journals.deletes
	c.effects.Jumps = e.Jumps[len(e.Jumps):]
	c.effects.Halts = e.Halts[len(e.Halts):]
	c.out.holds.notices = e.Holds[len(e.Holds):]
	c.journals.writes = e.Writes[len(e.Writes):]
	c.journals.deletes = e.Deletes[len(e.Deletes):]
	return e
}

// Journals returns the part that writes to journals.
func (c *Core) Journals() *Journals { return &c.journals }

// Replays returns the part that holds back records with an id.
func (c *Core) Replays() *Replays { return &c.replays }

// Runs returns the part that moves far records to the runs topics.
func (c *Core) Runs() *Runs { return &c.runs }

// Shares takes the time and appends to out the bytes that wait here, by share: a share of memory
// is for all cores together. Ten times a second at most it lists all for which any wait, and at
// once those for which none do any more.
func (c *Core) Shares(now Clock, out []Share) []Share {
	c.now = now
	return c.out.shares.tell(out, now, c.out.busy, &c.out.dir)
}

// Elsewhere takes the bytes that wait in other cores, by share.
func (c *Core) Elsewhere(shares []Share) { c.out.shares.hear(shares, &c.out.dir) }

// Tick takes the time and moves due records to the queues of their targets, at most
// budget of them; more reports that there are others. It never moves a record before its
// deadline.
func (c *Core) Tick(now Clock, budget int) (more bool) {
	c.now = now
	due, more, lagMs := c.parking.advance(now, budget)
	if lagMs >= 0 {
		c.stats.TickLag.observe(&LatenessBounds, lagMs)
	}
	for _, payload := range due {
		c.expire(parked(payload))
	}
	c.replays.tick()
	c.out.tick()
	c.settle()
	return more
}

// expire moves one record that the wheel handed out to the queue it waits in.
func (c *Core) expire(loc location, putBack bool) {
	h := readHeader(c.store.at(loc))
	if fireMs := h.fireMs(c.now.WallMs); fireMs > c.now.WallMs { // never early, whatever the wheel believes
		c.parking.again(loc, fireMs, putBack)
		return
	}
	t := c.out.dir.list[h.target]
	if putBack {
		c.parking.catching.leave(t.label, &h)
	}
	p := c.parts.list[h.slot]
	p.unpark()
	c.stats.Parked--
	c.out.enqueue(entry{loc: loc, from: p.src, target: t, size: h.total(), admitted: putBack})
}

// Wanted appends to out the targets that the next Offer would route records to: Targets is
// to tell their states before. Its cost grows with the targets that have records waiting.
func (c *Core) Wanted(out []TargetName) []TargetName { return c.out.wanted(out) }

// Targets takes the states of targets. Each is good until it is told again.
func (c *Core) Targets(states []TargetState) { c.out.dir.tell(states) }

// Offer appends to out at most limit records to be produced now. They are due, their
// partition's membership is confirmed, their target takes records, and its partition has
// room. A target whose state was never told gets none.
func (c *Core) Offer(out []Delivery, limit int) []Delivery {
	out = c.out.offer(out, limit)
	for i := range c.out.returned {
		r := &c.out.returned[i]
		h, p := readHeader(c.store.at(r.loc)), c.parts.list[r.from.slot]
		p.parkAgain(h.deadlineMs)
		c.stats.Parked++
		c.parking.again(r.loc, r.fireMs, r.admitted)
		if r.admitted {
			c.parking.catching.enter(r.target.label, r.fireMs, &h)
		}
	}
	c.settle() // of records that expired
	clear(c.out.returned)
	if c.out.returned = c.out.returned[:0]; cap(c.out.returned) > keptEntries {
		c.out.returned = nil
	}
	return out
}

// Unoffered reports whether the last Offer put so many late records back that it ended
// before it had looked at all that is due. The next Offer goes on at once.
func (c *Core) Unoffered() bool { return c.out.putBacks >= putBackBudget }

// Outcomes takes the results of deliveries, in the order in which they ended.
// Records that have to be sent again keep their order.
func (c *Core) Outcomes(now Clock, results []Result) {
	c.now = now
	c.out.outcomes(results)
	c.settle()
}

// NextDeadline returns the earliest instant at which Tick has something to do.
func (c *Core) NextDeadline() (ms int64, ok bool) { return c.parking.wheel.NextDeadline() }

// Bytes returns the memory that grows with parked records: chunks, wheel, finished sets,
// samples of timestamps, and queues.
func (c *Core) Bytes() int64 {
	b := c.store.bytes + c.parking.wheel.Bytes() + c.parking.catching.bytes() + c.out.bytes() + c.commands.bytes()
	for _, p := range c.parts.list {
		if p != nil {
			b += p.Window.Bytes() + p.Facts.Bytes() + p.ages.bytes() + p.pairs.bytes() + p.moved.bytes()
		}
	}
	return b
}

// Resting returns the bytes that the records in memory take by themselves, with the chunks and the list of flights that
// are kept behind them. No delivery frees more. While one is in flight to a target or runs topic that answers it returns
// all, which is Bytes.
func (c *Core) Resting(all int64) int64 {
	if c.out.flights.occupying() > 0 || c.runs.Answering() > 0 {
		return all
	}
	bytes := c.store.bytes + c.out.flights.memory()
	for p := range c.parts.here() {
		bytes += int64(p.src.due) * entrySize
	}
	return bytes
}

// Occupying returns how many records are in flight to targets that answer. The bound of
// all in flight applies to them.
func (c *Core) Occupying() int { return c.out.flights.occupying() }

// InFlight returns how many records are in flight.
func (c *Core) InFlight() int { return c.out.flights.count }

// Owed returns how many answers are owed: to deliveries, and to copies.
func (c *Core) Owed() int { return c.out.flights.count + c.runs.Flying() }

// Pauses returns why reading has to pause now.
func (c *Core) Pauses() []Pause { return c.out.pauses() }

// Trim gives back memory that is kept for reuse; for when nothing is going on.
func (c *Core) Trim() {
	c.store.trim()
	c.out.flights.trim()
	c.parking.wheel.Trim()
	c.out.dir.trim(&c.parts)
}
