package sim

import (
	"bytes"
	"fmt"
	"time"

	"layover/offsets"
	"layover/purgatory"
	"layover/wheel"
)

const (
	ingress = "delayed"
	egress  = "ready"
	other   = "audit"
	graves  = "dead-letters"
	cluster = "cluster"

	startMs = 1_700_000_000_000
)

// Config is the shape of a world.
type Config struct {
	Instances   int
	Partitions  int
	OnInvalid   purgatory.Policy
	DeadLetters bool // there is a dead-letter topic

	MaxInFlight      int
	MaxBuffered      int
	MaxInFlightBytes int64
	HeldShare        int64
	Patience         time.Duration
	LargestChunk     int
	JumpOver         int64
	MaxMetadata      int  // the broker's limit in characters
	Burst            int  // records that one Append writes
	Accidents        int  // how many there may be, -1: any number
	CommitsByName    bool // the broker takes commits of a topic id that is gone

	Journal      bool // there is one
	JournalAbove int  // characters of metadata from which on a set goes there, 0: what the broker takes
	JournalMax   int  // bytes of one of its records

	Runs bool // far records are moved to the runs topic; it needs a journal

	IDs       int  // how many ids a partition has, 0: none
	Events    bool // there is a topic for events
	OnExpired purgatory.Policy

	CatchUp int // late records a second, 0: no rate
}

// World is some instances of the core, the brokers, and the network between them. It has
// one owner. Everything that happens in it is an Action.
type World struct {
	brokers
	network
	cfg   Config
	nowMs int64
	insts []*instance

	lives  uint64 // of groups' offsets: incarnations
	epochs uint64
	err    *Broken
	text   *bytes.Buffer // what happened, for people; nil: not wanted
	tally  Tally
	reads  reads

	accidents int
	steps     int
	waited    int  // late records that were put back
	unchecked bool // the steps were checked before
}

// New returns a world in which nothing runs yet.
func New(cfg Config) *World {
	w := &World{cfg: cfg, nowMs: startMs, brokers: newBrokers(cfg), reads: reads{aheadMs, aheadMs, 4000}}
	for i := range cfg.Instances {
		w.insts = append(w.insts, &instance{w: w, no: i})
	}
	return w
}

// Broken is a promise that was not kept.
type Broken struct {
	Promise string // which, without where
	Text    string
}

func (b *Broken) Error() string { return b.Text }

// fail notes a broken promise. The first one counts: what follows may follow from it.
func (w *World) fail(format string, args ...any) {
	if w.err == nil {
		w.err = &Broken{format, fmt.Sprintf(format, args...)}
		w.say("BROKEN: %v", w.err)
	}
}

func (w *World) say(format string, args ...any) {
	if w.text != nil {
		fmt.Fprintf(w.text, "      "+format+"\n", args...)
	}
}

func partitionOf(p int) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: ingress, Partition: int32(p)}
}

// routed chooses the partition of a target, by a body's first byte.
func routed(_ *purgatory.TargetState, _ offsets.TopicPartition, body []byte) purgatory.Route {
	return purgatory.Route{Partition: int32(body[0]-'0') % 2}
}

// core makes an instance's core.
func (w *World) core(clock purgatory.Clock, event func(*purgatory.Event) purgatory.Body, rate *pacer) *purgatory.Core {
	cfg := purgatory.Config{
		OnInvalid: w.cfg.OnInvalid, Patience: w.cfg.Patience, HeldShare: w.cfg.HeldShare,
		MaxInFlight: w.cfg.MaxInFlight, MaxBuffered: w.cfg.MaxBuffered, MaxCopies: w.cfg.MaxBuffered, MaxInFlightBytes: w.cfg.MaxInFlightBytes, LargestChunk: w.cfg.LargestChunk,
		JumpOver: w.cfg.JumpOver, ClockSlack: clockSlackMs * time.Millisecond, Geometry: wheel.Geometry{TickMs: 1, Slots: 64, Factor: 16, Levels: 4},
		JournalAbove: w.cfg.JournalAbove, Place: routed, OnExpired: w.cfg.OnExpired, Event: event,
	}
	if rate != nil {
		cfg.CatchUp = rate
	}
	if w.cfg.DeadLetters {
		cfg.DeadLetterTopic = graves
	}
	if w.cfg.Events {
		cfg.EventsTopic = happenings
	}
	return purgatory.New(cfg, clock)
}

// write is the broker's side of a produce: the record stands in its target now.
func (w *World) write(f *produce) {
	if f.event != nil {
		w.writeEvent(f)
		return
	}
	e := f.entry
	e.written++
	w.say("%v is written to %s", e, f.d.Target)
	switch {
	case string(f.d.Body) != e.body:
		w.fail("%v was written with other bytes: %q, want %q", e, f.d.Body, e.body)
	case e.written > e.allowed():
		w.fail("%v was written %d times, though it was read as unfinished %d times and %d answers left it open", e, e.written, e.reads, e.unknown)
	}
}

// take stores a commit that the coordinator accepts, and holds it to the promise:
// nothing that it calls finished is without an outcome.
func (w *World) take(c *commitMsg) {
	log := w.logs[c.part]
	w.say("commit of %d by %s is taken: %s", c.part, c.MemberID, c.facts)
	w.group.offsets[c.part] = &committed{offsets.Committed{Offset: c.Low, LeaderEpoch: c.LeaderEpoch, Metadata: c.Metadata}, c.topicID, c.byWord, false}
	c.taken = w.group.offsets[c.part]
	if c.topicID != log.topicID { // of a topic that is gone, as its metadata tells
		for _, e := range log.entries {
			e.said = false
		}
		return
	}
	if w.group.owner[c.part] != member(c.MemberID) {
		w.fail("a commit of partition %d by %s was taken, which belongs to %q", c.part, c.MemberID, w.group.owner[c.part])
	}
	for _, in := range w.insts {
		if own := in.partition(c.part); in.up && string(in.member) == c.MemberID && (own == nil || own.epoch != c.Epoch) {
			w.fail("a commit of partition %d was taken that was built in an earlier assignment to %s", c.part, c.MemberID)
		}
	}
	w.saidOfCopies(c.part, &c.Runs)
	found, _ := w.found(c.part, w.group.offsets[c.part].Committed)
	for o := range log.end() {
		switch e := log.entries[o]; {
		case !found.has(o): // a late older commit, or a set of which less fits now
			e.said = false
		case c.byWord && o < c.Low: // an operator's offset, and nothing was read since
			e.lost = e.lost || e.written == 0
		case o < log.start && (e.reads == 0 || e.epoch > c.LeaderEpoch || w.writtenOver(e)) && e.kind == record:
			e.lost = e.lost || e.written == 0 // deleted before anybody read it, or whoever built this did
		case !e.finished() && !w.moved(e):
			w.fail("LOST: the commit of partition %d at %d calls %d finished, which has no outcome", c.part, c.Low, o)
		}
	}
}
