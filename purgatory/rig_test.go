package purgatory

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"layover/journal/facts"
	"layover/offsets"
	"layover/purgatory/far"
	"layover/wheel"
)

const (
	ingress = "delayed"
	egress  = "ready"
	other   = "audit"
	graves  = "dead-letters"
	events  = "events"
)

// startMs is the wall clock at which every rig starts.
const startMs = 1_700_000_000_000

// text is a body of plain bytes. Its first byte chooses the target partition.
type text string

func (b text) Size() int      { return len(b) }
func (b text) Put(dst []byte) { copy(dst, b) }

// signpost is what a test says about targets.
type signpost map[string]Verdict

// rig is a core in the hands of a test.
type rig struct {
	testing.TB
	*Core
	router signpost
	// partitions of every target, 0: not told; led: those that have a leader
	partitions int32
	led        []int32
	at         Clock
	back       bool // the clock was stepped back
	// expiring: a record with an expiry was read.
	expiring bool

	// elsewhere says what waits in other cores, which hear what waits here; nil: nothing.
	elsewhere func(name TargetName, own ShareBytes) ShareBytes

	asked []TargetName
	told  []TargetState
}

func newRig(t testing.TB, edit func(*Config)) *rig {
	cfg := Config{
		DeadLetterTopic: graves, Patience: time.Minute, HeldShare: 1 << 20,
		MaxInFlight: 100, MaxInFlightBytes: 1 << 20, JumpOver: 10, ClockSlack: time.Hour,
		Geometry: wheel.Geometry{TickMs: 1, Slots: 64, Factor: 16, Levels: 4},
		Place: func(_ *TargetState, _ offsets.TopicPartition, body []byte) Route {
			return Route{Partition: int32(body[0] - '0')}
		},
	}
	if edit != nil {
		edit(&cfg)
	}
	r := &rig{TB: t, router: signpost{}, at: Clock{WallMs: startMs, AnsweredMs: 1}}
	r.Core = New(cfg, r.at)
	return r
}

// Tick is the core's, which hears before what waits in others.
func (r *rig) Tick(now Clock, budget int) bool {
	if r.elsewhere != nil {
		shares := r.Shares(now, nil)
		for i := range shares {
			shares[i].Elsewhere = r.elsewhere(shares[i].TargetName, shares[i].Own)
		}
		r.Elsewhere(shares)
	}
	return r.Core.Tick(now, budget)
}

// Offer is the core's, which is told before what the signpost says.
func (r *rig) Offer(out []Delivery, limit int) []Delivery {
	r.asked, r.told = r.Wanted(r.asked[:0]), r.told[:0]
	for _, name := range r.asked {
		r.told = append(r.told, TargetState{TargetName: name, Verdict: r.router[name.Name], Partitions: r.partitions, Led: r.led})
	}
	if len(r.told) > 0 {
		r.Targets(r.told)
	}
	return r.Core.Offer(out, limit)
}

// The journals of the core, by the names that tests have for what happens to them.

func (r *rig) Journal(topic string, s JournalState)          { r.Journals().Tell(topic, s) }
func (r *rig) Cut(all bool) (more bool)                      { return r.Journals().Cut(all) }
func (r *rig) CutOf(tp offsets.TopicPartition, epoch uint64) { r.Journals().CutOf(tp, epoch) }
func (r *rig) GiveUp()                                       { r.Journals().GiveUp() }
func (r *rig) Writing() bool                                 { return r.Journals().Writing() }
func (r *rig) WritingOf(tp offsets.TopicPartition, epoch uint64) bool {
	return r.Journals().WritingOf(tp, epoch)
}
func (r *rig) Written(a offsets.Assignment, result facts.Result) { r.Journals().Written(a, result) }
func (r *rig) Deleted(d JournalDelete, err error)                { r.Journals().Deleted(d, err) }

func partitionOf(no int32) offsets.TopicPartition {
	return offsets.TopicPartition{Topic: ingress, Partition: no}
}

// sizeOf is what a record takes in a chunk, in a core with few partitions and targets.
func sizeOf(a Arrival) int64 {
	h := header{size: uint32(a.Body.Size()), offset: a.Offset, deadlineMs: a.DeadlineMs, timestampMs: a.TimestampMs}
	var b [maxHeader]byte
	return int64(len(h.encode(&b))) + int64(h.size)
}

// waitsWith is what a record without a text takes while it waits in a queue, in bytes.
func waitsWith(a Arrival) int64 { return entrySize + sizeOf(a) }

// assign hands over partition no at a low offset, with its start committed.
func (r *rig) assign(no int32, epoch uint64, low int64) {
	r.Assign(facts.Assigned{Assignment: offsets.Assignment{TopicPartition: partitionOf(no), Epoch: epoch}, Window: offsets.NewWindow(low), Next: low, Committed: true})
}

// arrival is a valid record for the egress topic, due delayMs from now.
func (r *rig) arrival(offset, delayMs int64, body string) Arrival {
	return Arrival{Offset: offset, TimestampMs: r.at.WallMs, DeadlineMs: r.at.WallMs + delayMs, Target: egress, Label: egress, Body: text(body)}
}

// take reads one record; false when it was not wanted or stops its partition.
func (r *rig) take(no int32, epoch uint64, a Arrival) bool {
	r.Helper()
	r.expiring = r.expiring || a.Expires
	reader, ok := r.Reader(partitionOf(no), epoch)
	return ok && reader.Wants(a.Offset, 0) == Whole && reader.Read(&a)
}

// mustTake reads records for the egress topic that are due delayMs from now.
func (r *rig) mustTake(no int32, epoch uint64, delayMs int64, offsets ...int64) {
	r.Helper()
	for _, o := range offsets {
		if !r.take(no, epoch, r.arrival(o, delayMs, fmt.Sprintf("0 record %d", o))) {
			r.Fatalf("offset %d was not taken", o)
		}
	}
}

// pass lets time go by, in which brokers answer, and what became due move on.
func (r *rig) pass(ms int64) {
	r.at.WallMs += ms
	r.at.AnsweredMs += max(ms, 0)
	r.at.MonotonicMs += max(ms, 0)
	for r.Tick(r.at, 1<<20) {
	}
}

// step sets the wall clock forwards or back without time going by.
func (r *rig) step(ms int64) {
	r.back = r.back || ms < 0
	r.at.WallMs += ms
	for r.Tick(r.at, 1<<20) {
	}
}

func (r *rig) offer() []Delivery { return r.Offer(nil, 1<<20) }

// end gives deliveries an outcome, in their order.
func (r *rig) end(class Class, ds ...Delivery) {
	results := make([]Result, len(ds))
	for i, d := range ds {
		results[i] = Result{ID: d.ID, Class: class, Verdict: Missing, Detail: "said the broker"}
	}
	r.Outcomes(r.at, results)
}

// one ends the only delivery on offer, and returns what it was.
func (r *rig) one(class Class) Delivery {
	r.Helper()
	ds := r.offer()
	if len(ds) != 1 {
		r.Fatalf("%d deliveries on offer, want 1: %+v", len(ds), ds)
	}
	r.end(class, ds...)
	return ds[0]
}

// rejected has the only delivery on offer rejected, in a batch and then alone, and returns what it was.
func (r *rig) rejected() Delivery {
	r.Helper()
	if d := r.one(Rejected); d.Alone {
		r.Fatalf("%+v is sent alone at first", d)
	}
	d := r.one(Rejected)
	if !d.Alone || d.Bare {
		r.Fatalf("%+v is sent again, want it alone", d)
	}
	return d
}

// want compares the offsets of deliveries.
func (r *rig) want(ds []Delivery, want ...int64) {
	r.Helper()
	got := []int64{}
	for _, d := range ds {
		got = append(got, d.Offset)
	}
	if !slices.Equal(got, append([]int64{}, want...)) {
		r.Fatalf("offered offsets %v, want %v", got, want)
	}
}

// commitLow takes the commits of all that have news up to partition no, and returns
// the low offset of that one; -1: it has none.
func (r *rig) commitLow(no int32) int64 {
	r.Helper()
	for _, c := range r.Commits(nil, false) {
		r.Committed(offsets.CommitResult{Commit: c})
		if c.Partition == no {
			return c.Low
		}
	}
	return -1
}

func total[K comparable](m map[K]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// cleanings begins the visits that load runs to be moved again, with room for all.
func (r *rig) cleanings(c far.Cleaning) []Visit {
	visits, _ := r.Runs().Cleanings(nil, c, math.MaxInt64, math.MaxInt)
	return visits
}
