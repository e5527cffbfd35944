package daemon

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// tries is how often the rig makes instances send a kind of request, until one meets its fault. A fault of half of them
// has twice as many.
const tries = 6

// ordealsOfRequests has a fault for each kind of request, and each effect among them. Each
// meets a request twice in a life, but where that cannot be:
//
//   - InitProducerID and ApiVersions with several brokers: nothing may happen to a client
//     before it has its producer id, see OnNewClient.
//   - CreateTopics where the plan does no harm to the journal: it is the only topic that a
//     daemon makes, and it is there.
//   - DeleteRecords: records are deleted behind a snapshot, which waits until a finished set has
//     outgrown the commit, and then for facts of the size of a batch. A record that is moved leaves
//     no hole in a set.
//   - Fetch where reading may pause for as long as the load has delays.
//
// In these plans such a kind is tried, and its faults do not count as missing.
func (p *plan) ordealsOfRequests(dice *rand.Rand) (out []ordeal) {
	effects := []string{refused, lost, cut, slowed}
	for i, key := range slices.Sorted(maps.Keys(refusals)) {
		if p.brokers > 1 && (key == kmsg.InitProducerID || key == kmsg.ApiVersions) {
			continue
		}
		f := window{key: key, slot: everybody, share: 1, effect: effects[(i+int(p.seed))%len(effects)], lag: 2 * time.Second, after: dice.IntN(2) == 0}
		if f.effect == refused && (len(refusals[key]) == 0 || p.brokers == 1 && key == kmsg.Metadata) {
			f.effect = lost
		}
		if f.effect == refused {
			f.err = refusals[key][dice.IntN(len(refusals[key]))]
			if key == kmsg.JoinGroup || key == kmsg.SyncGroup { // see chooseWindow
				f.share = 0.5
			}
		}
		seldom := key == kmsg.CreateTopics && !p.harm || key == kmsg.DeleteRecords || key == kmsg.Fetch && p.full
		out = append(out, p.ordealOf(&f, p.force(dice, key), seldom))
	}
	return out
}

// ordealOf makes instances send a kind of request while a fault lies on it, until one has met
// it. Before the window is open goes what it must not meet.
func (p *plan) ordealOf(f *window, force forcing, seldom bool) ordeal {
	return ordeal{kind: kmsg.NameForKey(f.key.Int16()) + " " + f.effect, seldom: seldom, do: func(r *rig, for_ time.Duration) bool {
		before := r.hits(f)
		for try := 0; float64(try)*f.share < tries && r.hits(f) == before; try++ {
			if force.before != nil {
				force.before(r)
			}
			again := *f
			r.open(&again, 3*time.Minute)
			r.note("%v for %v", &again, max(for_, force.wait))
			if force.within != nil {
				force.within(r, try)
			}
			r.pass(time.Now().Add(max(for_, force.wait)))
			r.shut(&again)
		}
		return r.hits(f) > before
	}}
}

// forcing is what makes instances send a kind of request.
type forcing struct {
	before func(r *rig)          // the fault begins
	within func(r *rig, try int) // the fault
	wait   time.Duration         // until they send it at the latest
}

// force returns what makes instances send a kind of request. With several brokers no start
// is of use: nothing happens to a client that is new.
func (p *plan) force(dice *rand.Rand, key kmsg.Key) (f forcing) {
	which := dice.Uint32()
	switch key {
	case kmsg.Produce, kmsg.Fetch:
		f.within = func(r *rig, _ int) { r.pulse(wish{ask: ask{none: true}, target: egress}) }
	case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.OffsetFetch, kmsg.ListOffsets, kmsg.OffsetCommit, kmsg.OffsetForLeaderEpoch:
		f.within = func(r *rig, try int) {
			r.evict(which + uint32(try))
			r.move()
		}
	case kmsg.Heartbeat: // none while one that has not left properly is waited for
		f.before = (*rig).awaitMembers
	case kmsg.FindCoordinator: // at a start, or when a heartbeat comes to a broker that is it no more
		f.wait = 10 * time.Second
		f.within = func(r *rig, _ int) {
			if p.brokers == 1 {
				r.startAgain()
			} else {
				r.moveCoordinator()
			}
		}
	case kmsg.LeaveGroup, kmsg.InitProducerID, kmsg.ApiVersions: // a single one of several may have nothing to send
		f.within = func(r *rig, _ int) {
			r.startAgain()
			r.pulse(wish{ask: ask{none: true}, target: egress})
		}
	case kmsg.DescribeConfigs: // each minute
		f.wait = time.Minute
	case kmsg.CreateTopics:
		if p.harm {
			f.within = func(r *rig, _ int) { r.deleteJournal() }
		}
	case kmsg.CreatePartitions: // the rig's own request must not meet the fault
		f.before = func(r *rig) {
			r.createJournal()
			r.pass(time.Now().Add(5 * time.Second)) // they know it
			r.addPartitions(1)
		}
	case kmsg.DeleteRecords:
		f.wait = scattered
		f.before = func(r *rig) { r.setClocks() } // by one that is ahead they are due before they are read
		f.within = func(r *rig, _ int) { r.scatter(which) }
	}
	return f
}

// awaitMembers waits until all members of the group have joined: in plans with little memory nothing else has.
func (r *rig) awaitMembers() {
	for until := time.Now().Add(wellWithin); time.Now().Before(until); r.pass(time.Now().Add(time.Second)) {
		if g := r.Broker.GroupInfo(group); g != nil && g.State == "Stable" {
			return
		}
	}
}

// moveCoordinator gives the group another coordinator, which is chosen at random.
func (r *rig) moveCoordinator() {
	before := r.Broker.CoordinatorFor(group)
	for range 100 {
		if r.Broker.RehashCoordinators(); r.Broker.CoordinatorFor(group) != before {
			break
		}
	}
	r.note("the coordinator moves from %d to %d", before, r.Broker.CoordinatorFor(group))
}

// startAgain stops all instances, one after the other, and starts each again.
func (r *rig) startAgain() {
	for slot := range r.plan.instances {
		r.end(slot, false)
		r.begin(slot)
	}
}

// scattered is the time in which the records of scatter are delivered, one after the other.
const scattered = 40 * time.Second

// scatter sends records to one partition of which every second one is delayed, each by more
// than the one before. So the set of finished ones outgrows metadata, and there is a fact of
// each.
func (r *rig) scatter(which uint32) {
	b := &burst{partition: which}
	records := max(400, 2*r.plan.metadata) // a hole takes two characters and more
	for n := range records {
		w := wish{ask: ask{none: true}, target: egress}
		if n%2 == 0 {
			d := (scattered * time.Duration(1+n) / time.Duration(records)).Truncate(time.Millisecond)
			w.ask = relative(d, d.String())
		}
		r.pulses++
		w.id = "scattered-" + strconv.Itoa(r.pulses)
		b.wishes = append(b.wishes, w)
	}
	r.createJournal()
	r.send(b)
}
