package daemon

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"layover/verify"
	"layover/verify/kafkatest"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// More seeds than a usual run has, or a single one:
//
//	go test ./daemon -run TestRigRandomFaults -timeout 1h -args -rig.from 100 -rig.seeds 200
//	go test ./daemon -run TestRigRandomFaults -v -args -rig.seed 117 -rig.logs
var (
	rigFrom  = flag.Uint64("rig.from", 0, "first seed of the rig; 0: the usual one")
	rigSeeds = flag.Int("rig.seeds", 0, "how many seeds the rig runs; 0: as many as fit into a usual test")
	rigSeed  = flag.Uint64("rig.seed", 0, "the one seed to run")
	rigLooks = flag.Bool("rig.looks", false, "note in the timeline what each look at the commits saw")
	rigLogs  = flag.Bool("rig.logs", false, "log what the instances of a failing seed said")
)

const (
	group     = "layover-" + ingress
	clusterID = "rig"
)

// rig is one run: a plan, the brokers it happens with, and what is seen of it from outside.
//
// The instances are whole daemons. Between each and the brokers lie lines that the rig
// owns. The rig has read there, or asked of the brokers, what it knows of offsets,
// commits and deliveries. It never asks a daemon, except at the end whether anything is
// left.
type rig struct {
	*fixture
	plan      *plan
	ledger    *verify.Ledger
	shaky     *kgo.Client // sends over lines that break, with one try
	busy      sync.WaitGroup
	begun     time.Time
	instances [maxInstances]*instance
	parties   [maxInstances]*party // at the instances' lines
	machines  [maxInstances]*machine
	everyone  []*party              // that ever was
	archive   []arrival             // of targets that were deleted
	ingressID [16]byte              // before it was deleted
	journals  map[int32]*journalLog // by partition; who watches the commits has it
	garbled   atomic.Bool           // somebody else wrote to the journal
	recreated bool                  // the ingress topic was
	gone      map[int32]int64       // by ingress partition: everything below was deleted
	next      int                   // of the plan's steps
	lastDue   time.Time             // of all that was sent
	egress    *egressWatch          // during the rounds
	still     *standstill           // outside the bubble
	pulses    int                   // records that ask whether all is well
	look      chan struct{}
	brokers   chan struct{} // see withBrokers
	over      chan struct{} // closed when ghosts need not be buried any more
	buried    chan struct{} // closed when they are not
	looked    chan struct{} // closed when nobody looks any more

	mu          sync.Mutex
	dice        *rand.Rand // of what happens to single requests
	windows     []*window
	quiet       int // nothing happens to anybody while it is not 0
	closed      map[route]int
	lines       map[*line]string
	made        map[logPlace]*made
	sent        map[batch]span
	copies      []copySeen
	copied      map[batch]bool          // its copies are noted
	plain       map[[16]byte]bool       // topics that hold no copies
	alive       map[string]time.Time    // when a member of the group last spoke, by its id
	passed      map[logPlace][]passing  // by topic and partition
	said        map[logPlace]*sayings   // the same
	assignments map[int32][]*assignment // of all parties, by ingress partition, in order
	names       map[int32]bool          // by ingress partition: the commit names records of the journal
	troubles    []period
	orders      map[int32]*order // by partition
	retractions []retraction
	complaints  map[int32][]time.Time // by ingress partition: an assignment began without all of its journal
	harms       int                   // begins and ends of what harms the journal
	harming     int                   // what harms it now
	lastHarm    time.Time             // when something last harmed it
	truncations truncations

	silentUntil time.Time // nothing about the journal of this id comes to a broker
	silentID    [16]byte

	timeline []string
	faults   []string
	kinds    map[string]int // of faults: how many
	sum      *sums
	ids      timerWatch
}

func TestRigRandomFaults(t *testing.T) {
	from, n := rigRange(uint64(long.Of(47, 309)), 5) // their first records are moved, and settle; 309 is short
	total := newSums()
	eachSeed(t, from, n, func(t *testing.T, seed uint64) func() {
		s := runRig(t, newPlan(seed))
		return func() { total.add(s) }
	})
	t.Logf("%d seeds from %d:\n%v", n, from, total)
	total.complain(t, n)
}

// longRig reports whether seeds are played whole, however long they take to compute.
func longRig() bool { return long.Whole() || *rigSeed != 0 || *rigSeeds > 0 }

// rigRange returns the first seed to run and how many: those that flags ask for, or the
// usual ones.
func rigRange(first uint64, usual int) (from uint64, n int) {
	if *rigFrom > 0 {
		first = *rigFrom
	}
	switch {
	case *rigSeed != 0:
		return *rigSeed, 1
	case *rigSeeds > 0:
		return first, *rigSeeds
	case long.Whole():
		return first, usual
	}
	return first, 1
}

// eachSeed runs seeds side by side, and what each returns one after the other.
func eachSeed(t *testing.T, from uint64, n int, run func(t *testing.T, seed uint64) (add func())) {
	t.Parallel()
	var mu sync.Mutex
	t.Run("seed", func(t *testing.T) {
		for i := range n {
			seed := from + uint64(i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				add := run(t, seed)
				mu.Lock()
				defer mu.Unlock()
				add()
			})
		}
	})
}

// runRig runs one plan.
func runRig(t *testing.T, p *plan) *sums {
	s := newSums()
	began := time.Now()
	still := &standstill{over: make(chan struct{}), daemons: make(map[string]*Daemon)}
	defer close(still.over)
	go still.run(fmt.Sprintf("seed %d", p.seed))
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, p, s)
		r.still = still
		r.run()
	})
	s.real = time.Since(began)
	return s
}

func newRig(t *testing.T, p *plan, s *sums) *rig {
	r := &rig{
		fixture: fixtureOf(kafkatest.StartVirtualOnDisk(t, p.brokers, kfake.ClusterID(clusterID), kfake.SeedTopics(p.partitions, ingress),
			kfake.SeedTopics(2, egress), kfake.SeedTopics(2, other), kfake.SeedTopics(1, dlq))), plan: p, sum: s, ledger: verify.NewLedger(dlq), begun: time.Now(),
		dice: rand.New(rand.NewPCG(p.seed, 1)), closed: make(map[route]int), lines: make(map[*line]string), made: make(map[logPlace]*made), sent: make(map[batch]span), copied: make(map[batch]bool), plain: make(map[[16]byte]bool),
		passed: make(map[logPlace][]passing), orders: make(map[int32]*order), said: make(map[logPlace]*sayings), assignments: make(map[int32][]*assignment), kinds: make(map[string]int), names: make(map[int32]bool),
		complaints: make(map[int32][]time.Time), journals: make(map[int32]*journalLog), gone: make(map[int32]int64), look: make(chan struct{}, 1), looked: make(chan struct{}), over: make(chan struct{}), brokers: make(chan struct{}, 1), truncations: newTruncations(), buried: make(chan struct{}), alive: make(map[string]time.Time),
	}
	for slot := range r.machines {
		r.machines[slot] = &machine{rig: r, steps: []clockStep{{from: r.begun}}}
	}
	r.ids = timerWatch{names: make(map[source]string), quiet: make(map[string]bool)}
	r.create(small, 1)
	if p.events && p.timerPlan.missing == 0 {
		r.create(events, 2)
	}
	r.ingressID = r.Broker.TopicInfo(ingress).TopicID
	if p.journalBytes > 0 {
		r.createJournal()
	}
	if p.metadata > 0 {
		r.LimitMetadata(p.metadata)
	}
	r.Client = r.NewClient(kgo.MetadataMaxAge(10 * time.Second))
	if _, _, err := r.Client.ProducerID(t.Context()); err != nil { // see OnNewClient
		t.Fatal(err)
	}
	shaky := &party{rig: r, slot: shakySender}
	r.shaky = r.NewClient(kgo.MetadataMaxAge(10*time.Second), kgo.Dialer(shaky.dial), kgo.DisableIdempotentWrite(), kgo.RecordRetries(0))
	go r.watchCommits() // ended by closing look
	go r.buryGhosts()   // ended by closing over
	return r
}

// run lets the plan happen, heals, waits until all has drained, and judges.
func (r *rig) run() {
	defer r.tearDown()
	r.pass(r.begun.Add(r.plan.healAt))
	r.heal()
	r.endure()
	r.heal()
	r.note("all faults end")
	for ; r.next < len(r.plan.steps); r.next++ {
		r.plan.steps[r.next].do(r)
	}
	if r.instances[0] == nil {
		r.begin(0)
	}
	for _, p := range r.parties {
		if p != nil {
			r.rejoin(p)
		}
	}
	r.create(late, 2)
	r.create(other, 2)
	if r.plan.events {
		r.create(events, 2)
	}
	r.busy.Wait()
	if due := r.lastDue.Add(time.Minute); time.Now().Before(due) {
		time.Sleep(time.Until(due))
	}
	open := r.drained()
	for until := time.Now().Add(20 * time.Minute); open != "" && time.Now().Before(until); open = r.drained() {
		time.Sleep(time.Second)
	}
	if open != "" {
		r.fault("not drained: %s", open)
	}
	r.judge()
}

// tearDown ends what still runs.
func (r *rig) tearDown() {
	r.heal()
	for slot := range r.instances {
		r.end(slot, r.Failed())
	}
	close(r.over)
	<-r.buried
	r.shaky.Close()
	r.Client.Close()
	r.busy.Wait()
	time.Sleep(5 * time.Minute) // in which what a stopped client still asks for is given up
	for _, l := range r.openLines() {
		l.cut()
	}
	synctest.Wait()
	close(r.look)
	<-r.looked
	r.Broker.Close()
}

func (r *rig) openLines() (out []*line) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.lines {
		out = append(out, l)
	}
	return out
}

// begin starts an instance in a slot.
func (r *rig) begin(slot int) {
	if r.instances[slot] != nil {
		return
	}
	p := &party{rig: r, slot: slot, assignments: make(map[int32][]*assignment), pulse: make(pulse)}
	r.note("instance %d starts", slot)
	var hook kgo.Hook
	if r.plan.brokers > 1 {
		hook = r
	}
	r.wall = r.machines[slot].wall
	r.instances[slot], r.parties[slot] = r.startOver(p.dial, hook, r.plan.settings...), p
	p.logs = r.instances[slot].logs
	p.counted = r.countTimers(r.instances[slot], p)
	p.turning.over, p.turning.done = make(chan struct{}), make(chan struct{})
	go p.judgeTurns(r.instances[slot].daemon) // ended by end
	r.everyone = append(r.everyone, p)
	r.sum.starts++
}

// end stops or kills the instance of a slot.
func (r *rig) end(slot int, kill bool) {
	in, p := r.instances[slot], r.parties[slot]
	if in == nil {
		return
	}
	r.instances[slot], r.parties[slot] = nil, nil
	p.counted()
	if kill {
		r.note("instance %d is killed", slot)
		r.sum.kills++
		p.killed.Store(true)
		r.isolate(p)
	} else {
		r.note("instance %d stops", slot)
		r.sum.stops++
	}
	in.cancel()
	r.running = nil // this rig ends its instances itself
	if err := <-in.done; err != nil {
		r.fault("instance %d ended with %v", slot, err)
	}
	close(p.turning.over)
	<-p.turning.done
	p.killed.Store(true) // a process that has ended leaves nothing behind that could go on
	r.isolate(p)
	if *rigLogs {
		r.Logf("instance %d:\n%s", slot, in.logs)
	}
}

// unplug takes an instance off the network for a while.
func (r *rig) unplug(slot int, for_ time.Duration) {
	p := r.parties[slot]
	if p == nil {
		return
	}
	r.note("instance %d is off the network for %v", slot, for_)
	r.sum.unplugged++
	r.isolate(p)
	time.AfterFunc(for_, func() { // which is too late for one that was killed meanwhile
		if !p.killed.Load() {
			r.rejoin(p)
		}
	})
}

// note adds a line to the timeline.
func (r *rig) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Since(r.begun).Round(time.Millisecond)
	r.timeline = append(r.timeline, fmt.Sprintf("%14v  %s", at, fmt.Sprintf(format, args...)))
}
