package daemon

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// What there is. Nothing of the first two partitions of the ingress topic, nor of all but
// the last one of the target, ever falls sick.
const (
	besidePartitions = 4 // of the ingress topic: the third falls sick, the last cannot be read
	sickPartition    = 2
	unreadable       = 3
	egressPartitions = 4
	silentOfEgress   = 3
	lamePartitions   = 3

	besidePatience = 4 * time.Minute  // for a target; longer than any is sick
	besideNoticed  = 15 * time.Second // by then every instance knows what metadata says
)

// Targets beside the usual one, by what befalls them.
const (
	absent   = "absent" // is missing
	locked   = "locked" // is forbidden
	mute     = "mute"   // does not answer
	full     = "full"   // has no room on its disks
	lame     = "lame"   // is forbidden while one of its partitions does not answer
	wide     = "wide-"  // several of many partitions, which fall silent one after the other
	wideEach = 17_000   // records to each: a wave is a quarter of what a client buffers, and six are more than all
)

func sickTargets() []string { return []string{absent, locked, mute, full, lame} }

func wideTargets() (names []string) {
	for i := range 6 {
		names = append(names, fmt.Sprint(wide, i))
	}
	return names
}

// besidePlan is everything about a run that is chosen, from its seed alone.
type besidePlan struct {
	seed     uint64
	brokers  int
	metadata int // characters that the broker takes, 0: as many as any
	settings []string
	ills     []string // what falls sick, in no order
	bad      bool     // a batch of the last partition cannot be read
	steps    []besideStep
}

type besideStep struct {
	at time.Duration
	do func(b *beside)
}

func (p *besidePlan) String() string {
	return fmt.Sprintf("seed %d: %d brokers, metadata %d, settings %q, sick: %s", p.seed, p.brokers, p.metadata, p.settings, strings.Join(p.ills, ", "))
}

func (p *besidePlan) at(at time.Duration, do func(b *beside)) {
	p.steps = append(p.steps, besideStep{at, do})
}

// newBesidePlan chooses a run of some minutes. A usual one is of few, without what takes long
// to compute: with the race detector it takes ten times as long.
func newBesidePlan(seed uint64) *besidePlan {
	dice := rand.New(rand.NewPCG(seed, 0x626573696465))
	p := &besidePlan{seed: seed, brokers: 1 + dice.IntN(3)}
	if dice.IntN(2) == 0 { // what is finished does not fit, and the journal is needed
		p.metadata = 260
	}
	lanes := 1 + dice.IntN(3)
	over := time.Duration(8+dice.IntN(6)) * time.Minute
	if !longRig() {
		over = 3 * time.Minute
	}
	for _, ill := range ills() {
		for at := 20 * time.Second; dice.IntN(100) < ill.chance; {
			at += time.Duration(dice.IntN(240_000)) * time.Millisecond
			length := 20*time.Second + time.Duration(dice.IntN(160_000))*time.Millisecond
			if at+length > over {
				break
			}
			which := dice.IntN(2)
			end := func(*beside) {}
			p.at(at, func(b *beside) { end = b.begins(&ill, which, length) })
			p.at(at+length, func(b *beside) { end(b) })
			p.ills = append(p.ills, ill.name)
			at += length
		}
	}
	switch dear := dice.IntN(4); { // each of these takes long to compute
	case !longRig():
	case dear == 0:
		lanes = 1
		p.floods(dice, over)
	case dear == 2:
		p.bad = true
		p.ills = append(p.ills, "a batch that cannot be read")
		p.at(time.Duration(30+dice.IntN(120))*time.Second, func(b *beside) { b.sendUnreadable() })
	}
	p.settings = []string{
		fmt.Sprintf("LAYOVER_LANES=%d", lanes), "LAYOVER_INGRESS_TOPICS=" + ingress + "," + second,
		"LAYOVER_TARGETS_ALLOWED=" + strings.Join(sickTargets(), ",") + "," + wide + "*,jobs.*",
		"LAYOVER_TARGET_PATIENCE=" + besidePatience.String(), "LAYOVER_MAX_PARKED_BYTES=128Mi",
	}
	p.accidents(dice, over)
	p.load(dice, over)
	slices.SortStableFunc(p.steps, func(a, b besideStep) int { return cmp.Compare(a.at, b.at) })
	return p
}

// floods lets the wide targets fall silent one after the other, until all is healed.
func (p *besidePlan) floods(dice *rand.Rand, over time.Duration) {
	p.ills = append(p.ills, "partitions of wide targets one after the other")
	at := time.Duration(30+dice.IntN(60)) * time.Second
	for _, target := range wideTargets() {
		p.at(at, func(b *beside) { b.flood(target) })
		at += time.Duration(4+dice.IntN(8)) * time.Second
	}
}

// accidents are what the group has to share anew for.
func (p *besidePlan) accidents(dice *rand.Rand, over time.Duration) {
	for at := 30 * time.Second; at < over; at += time.Duration(20+dice.IntN(100)) * time.Second {
		slot, other := dice.IntN(besideSlots), dice.IntN(8)
		kill, pause := dice.IntN(2) == 0, time.Duration(1+dice.IntN(20))*time.Second
		switch c := dice.IntN(10); {
		case c < 3: // for longer than the session of ten seconds
			away := time.Duration(12+dice.IntN(20)) * time.Second
			p.away(at, away, slot)
		case c < 4:
			p.away(at, time.Duration(1+dice.IntN(5))*time.Second, slot)
		case c < 5:
			p.at(at, func(b *beside) { b.evict(other) })
		case c < 8:
			p.at(at, func(b *beside) { b.end(slot, kill) })
			p.at(at+pause, func(b *beside) { b.begin(slot) })
		default:
			p.at(at, func(b *beside) {
				if b.slots[slot] == nil {
					b.begin(slot)
				} else if b.slots[1-slot] != nil {
					b.end(slot, kill)
				}
			})
		}
	}
}

// away takes the instance of a slot off the network for a while.
func (p *besidePlan) away(at, for_ time.Duration, slot int) {
	var l *life
	p.at(at, func(b *beside) {
		if l = b.slots[slot]; l != nil {
			b.unplug(slot, for_)
		}
	})
	p.at(at+for_, func(b *beside) {
		if l != nil && !l.asked {
			b.plugIn(l)
		}
	})
}
