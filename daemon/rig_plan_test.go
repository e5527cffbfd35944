package daemon

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const maxInstances = 3

// plan is everything about a run that is chosen, from its seed alone. A seed replays the
// same plan. The order of goroutines at each of its instants is not chosen, so a rare
// fault may need more than one replay.
type plan struct {
	seed       uint64
	brokers    int
	partitions int32
	instances  int
	settings   []string // of the daemons
	metadata   int      // characters that the broker takes, 0: as many as any
	dense      bool     // sets may be longer than any broker takes
	// journalBytes is the max.message.bytes of a journal that is there from the start, 0
	// for none. With a low one there are many snapshots, of several parts.
	journalBytes int
	harm         bool          // the journal is deleted, truncated, or given a retention
	impatient    bool          // valid records may be dead-lettered because a target takes none
	overlap      bool          // faults do not wait for each other's end
	latency      time.Duration // of every request
	missing      time.Duration // of the late target
	healAt       time.Duration
	lastDue      time.Duration
	full         bool // reading may pause, as there is little memory
	renews       bool // the ingress topic is deleted and made again
	timerPlan
	quiet   bool     // nothing is amiss, and nothing is excused
	steps   []step   // by time
	ordeals []ordeal // of the rounds, in their order
}

// step is one thing that happens.
type step struct {
	at time.Duration
	do func(r *rig)
}

func (p *plan) String() string {
	return fmt.Sprintf("seed %d: %d brokers, %d partitions, up to %d instances, latency %v, metadata %d, dense %v, journal with batches of %d, harmed %v, impatient %v, overlapping faults %v, timers %+v, settings %q, healed at %v",
		p.seed, p.brokers, p.partitions, p.instances, p.latency, p.metadata, p.dense, p.journalBytes, p.harm, p.impatient, p.overlap, p.timerPlan, p.settings, p.healAt)
}

// newPlan chooses a run.
func newPlan(seed uint64) *plan {
	dice := rand.New(rand.NewPCG(seed, 0x6c61796f766572))
	p := &plan{seed: seed, brokers: 1 + dice.IntN(3), partitions: 1 + dice.Int32N(4), instances: 1 + dice.IntN(maxInstances), overlap: dice.IntN(2) == 0}
	p.settings = []string{fmt.Sprintf("LAYOVER_LANES=%d", 1+dice.IntN(3)), "LAYOVER_TARGETS_ALLOWED=other,late,small"}
	if p.impatient = dice.IntN(3) == 0; p.impatient {
		p.settings = append(p.settings, "LAYOVER_TARGET_PATIENCE=5m")
	} else {
		p.settings = append(p.settings, "LAYOVER_TARGET_PATIENCE=1d")
	}
	if p.full = p.impatient && dice.IntN(2) == 0; p.full {
		p.settings = append(p.settings, "LAYOVER_MAX_PARKED_BYTES=8Mi")
	} else { // a fetch is larger than the load of any run then: see bursts
		p.settings = append(p.settings, "LAYOVER_MAX_PARKED_BYTES=2Gi")
	}
	p.chooseRoom(dice)
	p.latency = []time.Duration{0, 200 * time.Microsecond, 3 * time.Millisecond}[dice.IntN(3)]
	over := time.Duration(12+dice.IntN(36)) * time.Minute
	p.lastDue = bursts(dice, p.load(dice, p.full), over+roundsTake, func(at time.Duration, b *burst) { p.at(at, func(r *rig) { r.send(b) }) })
	p.healAt = over
	p.missing = time.Duration(1+dice.IntN(25)) * time.Minute
	p.at(p.missing, func(r *rig) { r.create(late, 2) })
	p.lives(dice)
	p.chooseFaults(dice)
	p.chooseOrdeals(dice)
	p.chooseTimers(over + roundsTake)
	p.chooseCopyFaults()
	slices.SortStableFunc(p.steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return p
}

// chooseRoom chooses how much room there is for finished sets. Commits of less than 256
// characters have no metadata, and without it nobody finds a journal.
func (p *plan) chooseRoom(dice *rand.Rand) {
	switch n := dice.IntN(8); {
	case n < 4:
		p.metadata = 260 + dice.IntN(400)
	case n < 5:
		p.metadata = 100 + dice.IntN(156)
	}
	p.dense = dice.IntN(3) == 0 || p.metadata > 0 && dice.IntN(2) == 0
	if dice.IntN(4) > 0 {
		p.journalBytes = 400 + dice.IntN(1600)
	}
	p.harm = dice.IntN(3) == 0
}

func (p *plan) at(at time.Duration, do func(r *rig)) { p.steps = append(p.steps, step{at, do}) }

// load chooses what kinds of bursts and delays there are. With hours among the delays low
// offsets stay where they are for hours; without, they move.
func (p *plan) load(dice *rand.Rand, full bool) mix {
	return mix{transactions: !full, hours: dice.IntN(2) == 0 || p.metadata > 0 && dice.IntN(2) == 0, dense: p.dense}
}

// lives chooses when instances start and end.
func (p *plan) lives(dice *rand.Rand) {
	for slot := range p.instances {
		at := time.Duration(dice.IntN(1+slot*300)) * time.Second
		for at < p.healAt {
			kill := dice.IntN(2) == 0
			p.at(at, func(r *rig) { r.begin(slot) })
			at += time.Duration(20+dice.IntN(1500)) * time.Second
			if at < p.healAt {
				p.at(at, func(r *rig) { r.end(slot, kill) })
			}
			at += time.Duration(dice.IntN(90)) * time.Second
		}
	}
}

// chooseFaults fills the time until healing with faults: one after the other, or each at
// any time.
func (p *plan) chooseFaults(dice *rand.Rand) {
	if p.renews = dice.IntN(12) == 0; p.renews {
		p.renewIngress(dice)
	}
	for at := 10 * time.Second; at < p.healAt; {
		length := time.Duration(500+dice.IntN(90_000)) * time.Millisecond
		p.chooseFault(dice, at, min(length, p.healAt-at))
		if p.overlap {
			at += time.Duration(dice.IntN(60_000)) * time.Millisecond
		} else {
			at += length + time.Duration(dice.IntN(40_000))*time.Millisecond
		}
	}
}

func (p *plan) chooseFault(dice *rand.Rand, at, length time.Duration) {
	n, share := dice.Uint32(), dice.Float64()
	slot := dice.IntN(p.instances+1) - 1
	switch c := dice.IntN(110); {
	case c >= 100:
		p.chooseJournalFault(dice, at, length)
	case c < 62:
		f := p.chooseWindow(dice, slot)
		p.at(at, func(r *rig) {
			r.note("%v for %v", f, length)
			r.open(f, length)
		})
		if provoke := p.provocation(dice, f.key); provoke != nil {
			p.at(at+min(time.Second, length/2), provoke)
		}
	case c < 70:
		slot := dice.IntN(p.instances)
		p.at(at, func(r *rig) { r.unplug(slot, length) })
	case c < 77:
		port := 9092 + dice.IntN(p.brokers)
		p.at(at, func(r *rig) {
			r.note("%s reaches no broker at %d for %v", slotName(slot), port, length)
			r.closeRoute(slot, fmt.Sprintf("localhost:%d", port), length)
		})
	case c < 84:
		p.at(at, func(r *rig) { r.move() })
	case c < 89:
		p.at(at, func(r *rig) { r.evict(n) })
	case c < 95:
		above := dice.IntN(3) == 0
		p.at(at, func(r *rig) { r.deleteRecords(n, above, share) })
	case c < 98:
		p.at(at, func(r *rig) { r.deleteTarget(other) })
		p.at(at+length, func(r *rig) { r.create(other, 1+int32(n%3)) })
	default:
		p.at(at, func(r *rig) { r.lengthen(n) })
	}
}

// chooseWindow chooses what happens to the requests of one kind.
func (p *plan) chooseWindow(dice *rand.Rand, slot int) *window {
	keys := slices.Sorted(maps.Keys(refusals))
	f := &window{key: keys[dice.IntN(len(keys))], slot: slot, share: []float64{1, 0.9, 0.5, 0.2, 0.05}[dice.IntN(5)]}
	if p.brokers > 1 && (f.key == kmsg.InitProducerID || f.key == kmsg.ApiVersions) || dice.IntN(3) == 0 { // see OnNewClient; and what matters most
		f.key = []kmsg.Key{kmsg.Produce, kmsg.OffsetCommit}[dice.IntN(2)]
	}
	f.effect = []string{refused, lost, cut, slowed}[dice.IntN(4)]
	if f.effect == refused && (len(refusals[f.key]) == 0 || p.brokers == 1 && f.key == kmsg.Metadata) {
		f.effect = lost // a partition whose metadata is refused has a sender of its own: see OnNewClient
	}
	if f.effect == refused {
		f.err = refusals[f.key][dice.IntN(len(refusals[f.key]))]
	}
	if f.key == kmsg.JoinGroup || f.key == kmsg.SyncGroup { // some of their refusals are answered by the next try at once
		f.share = min(f.share, 0.5)
	}
	if dice.IntN(6) == 0 {
		f.slot = shakySender
	}
	switch f.key {
	case kmsg.CreateTopics, kmsg.CreatePartitions, kmsg.DeleteRecords: // which are rare
		f.slot, f.share = everybody, max(f.share, 0.5)
	}
	f.after = dice.IntN(2) == 0
	f.lag = []time.Duration{5 * time.Millisecond, 300 * time.Millisecond, 2 * time.Second, 8 * time.Second, 25 * time.Second}[dice.IntN(5)]
	return f
}

// provocation is what makes an instance send a kind of request that it seldom sends, so
// that what happens to those requests happens to some.
func (p *plan) provocation(dice *rand.Rand, key kmsg.Key) func(r *rig) {
	which, slot := dice.Uint32(), dice.IntN(p.instances)
	switch key {
	case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch, kmsg.ListOffsets, kmsg.OffsetCommit:
		return func(r *rig) { r.evict(which) }
	case kmsg.LeaveGroup, kmsg.InitProducerID, kmsg.ApiVersions, kmsg.DescribeConfigs, kmsg.FindCoordinator:
		return func(r *rig) {
			r.end(slot, false)
			r.begin(slot)
		}
	case kmsg.OffsetForLeaderEpoch:
		return func(r *rig) { r.move() }
	case kmsg.Produce: // the load may be over
		return func(r *rig) { r.pulse(wish{ask: ask{none: true}, target: egress}) }
	case kmsg.CreatePartitions:
		return func(r *rig) { r.lengthen(which) }
	case kmsg.CreateTopics:
		if p.harm {
			return func(r *rig) { r.deleteJournal() }
		}
	}
	return nil
}

// renewIngress has the ingress topic deleted and made again.
func (p *plan) renewIngress(dice *rand.Rand) {
	at := time.Duration(dice.Int64N(int64(p.healAt)))
	gone := time.Duration(1+dice.IntN(60)) * time.Second
	n := 1 + dice.Int32N(4)
	p.at(at, func(r *rig) { r.deleteIngress() })
	p.at(min(at+gone, p.healAt), func(r *rig) { r.recreateIngress(n) })
}
