package daemon

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"layover/verify"
	"layover/verify/long"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Behind the faults at random every life has two rounds. Each has every kind of fault that
// the plan knows, one at a time, and both have the same ones. Between two faults all is well
// again, which records that are sent to every partition show. So whatever a fault leaves
// behind meets the second one of its kind.
const rounds = 2

// roundsTake is how long the load goes on beside them: most are about as long.
const roundsTake = 20 * time.Minute

// ordeal is one fault of the rounds. It says whether it could happen.
type ordeal struct {
	kind string
	do   func(r *rig, for_ time.Duration) bool
	for_ time.Duration
	// seldom: it may find nothing to happen to.
	seldom bool
}

// chooseOrdeals chooses the faults of the rounds, which are the same in each, in another order.
func (p *plan) chooseOrdeals(dice *rand.Rand) {
	all := p.ordealsOfRequests(dice)
	all = append(all, p.ordealsOfMembers(dice)...)
	all = append(all, p.ordealsOfTopics(dice)...)
	all = append(all, p.ordealsOfTheJournal(dice)...)
	all = append(all, p.ordealsOfClocks(dice)...)
	all = append(all, p.ordealsOfTruncation(dice)...)
	for i := range all {
		all[i].for_ = time.Duration(3000+dice.IntN(12_000)) * time.Millisecond
	}
	for range rounds {
		dice.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
		p.ordeals = append(p.ordeals, all...)
	}
}

// hits returns how many requests have met what a window does to them.
func (r *rig) hits(f *window) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.sum.faults[f.key.Int16()][f.effect]
	for _, w := range r.windows {
		if w.key == f.key && w.fault != nil && f.effect == refused { // counted when it is shut
			n += w.fault.Hits()
		}
	}
	return n
}

// ordealsOfMembers has what happens to instances: they leave, die, are cut off, thrown out.
func (p *plan) ordealsOfMembers(dice *rand.Rand) []ordeal {
	slot, which, port := dice.IntN(p.instances), dice.Uint32(), 9092+dice.IntN(p.brokers)
	ends := func(kill bool) func(*rig, time.Duration) bool {
		return func(r *rig, for_ time.Duration) bool {
			r.end(slot, kill)
			r.pass(time.Now().Add(for_ / 4))
			r.begin(slot)
			return true
		}
	}
	return []ordeal{
		{kind: "an instance stops", do: ends(false)},
		{kind: "an instance is killed", do: ends(true)},
		{kind: "an instance is off the network", do: func(r *rig, for_ time.Duration) bool { r.unplug(slot, for_); return true }},
		{kind: "a broker is out of reach", do: func(r *rig, for_ time.Duration) bool {
			r.note("nobody reaches the broker at %d for %v", port, for_)
			r.closeRoute(everybody, fmt.Sprintf("localhost:%d", port), for_)
			return true
		}},
		{kind: "leaders and coordinators move", do: func(r *rig, _ time.Duration) bool { r.move(); return true }},
		{kind: "a member is thrown out", do: func(r *rig, _ time.Duration) bool {
			r.evict(which)
			return r.Broker.GroupInfo(group) != nil
		}},
	}
}

// ordealsOfTopics has what happens to targets, whose records are held meanwhile, to the
// dead-letter topic, for which reading pauses, and to the ingress topic.
func (p *plan) ordealsOfTopics(dice *rand.Rand) []ordeal {
	which, share, partitions := dice.Uint32(), dice.Float64(), 1+dice.Int32N(3)
	forbids := func(kind, topic string, w wish) ordeal {
		return ordeal{kind: kind, do: func(r *rig, for_ time.Duration) bool {
			r.note("%s may not be written to for %v", topic, for_)
			r.trouble(for_)
			fault := r.Refuse(kmsg.Produce, kfake.Fault{Topic: topic, Err: kerr.TopicAuthorizationFailed})
			time.AfterFunc(for_, fault.Remove)
			r.pulse(w)
			return true
		}}
	}
	out := []ordeal{
		{kind: "a target is made again", do: func(r *rig, for_ time.Duration) bool {
			r.create(other, 1) // unless it is there
			r.deleteTarget(other)
			r.pulse(wish{ask: ask{none: true}, target: other})
			r.pass(time.Now().Add(for_))
			r.create(other, partitions)
			return true
		}},
		forbids("a target is forbidden", other, wish{ask: ask{none: true}, target: other}),
		forbids("the dead-letter topic is forbidden", dlq, wish{ask: invalid("x-delay", "tomorrow", "malformed_delay")}),
		{kind: "records are deleted", do: func(r *rig, _ time.Duration) bool {
			before := r.sum.deleted
			for n := uint32(0); n < 16 && r.sum.deleted == before; n++ {
				r.deleteRecords(which+n, n%2 == 0, 0.2+share/2)
			}
			return r.sum.deleted > before
		}},
		{kind: "the ingress topic gets a partition", do: func(r *rig, _ time.Duration) bool {
			before := len(r.ends(ingress))
			r.addPartitions(1)
			return len(r.ends(ingress)) > before
		}},
	}
	if p.renews {
		out = append(out, ordeal{kind: "the ingress topic is made again", do: func(r *rig, for_ time.Duration) bool {
			r.deleteIngress()
			r.pass(time.Now().Add(for_))
			r.recreateIngress(partitions)
			return true
		}})
	}
	return out
}

// ordealsOfTheJournal has what happens to the journal; what harms it where the plan does.
func (p *plan) ordealsOfTheJournal(dice *rand.Rand) (out []ordeal) {
	which := dice.Uint32()
	of := func(kind string, do func(r *rig, for_ time.Duration)) {
		out = append(out, ordeal{kind: kind, do: func(r *rig, for_ time.Duration) bool {
			r.createJournal() // unless it is there
			do(r, for_)
			return true
		}})
	}
	of("the journal is silent", func(r *rig, for_ time.Duration) { r.silence(journalTopic, for_) })
	of("the journal refuses", func(r *rig, for_ time.Duration) { r.refuse(journalTopic, which, for_) })
	if !p.harm {
		return out
	}
	of("the journal is garbled", func(r *rig, _ time.Duration) { r.garbleJournal(which) })
	of("the journal is made again", func(r *rig, _ time.Duration) { r.deleteJournal() })
	of("the journal is truncated", func(r *rig, _ time.Duration) { r.truncateJournal(which, 1) })
	of("the journal expires", func(r *rig, for_ time.Duration) { r.expireJournal(for_) })
	return out
}

// pass lets time go by, in which the load that the plan has goes on.
func (r *rig) pass(until time.Time) {
	for ; r.next < len(r.plan.steps); r.next++ {
		at := r.begun.Add(r.plan.steps[r.next].at)
		if at.After(until) {
			break
		}
		time.Sleep(time.Until(at))
		r.plan.steps[r.next].do(r)
	}
	time.Sleep(time.Until(until))
}

// endure plays the rounds.
func (r *rig) endure() {
	r.note("the rounds begin")
	r.create(other, 1)
	r.create(late, 2)
	for slot := range r.plan.instances {
		r.begin(slot)
	}
	r.egress = watchEgress(r)
	defer r.egress.stop()
	r.recover("the faults at random")
	if !long.Asked() && !longRig() { // they take most of a life
		return
	}
	for _, o := range r.plan.ordeals {
		end := time.Now().Add(o.for_)
		r.note("next: %s", o.kind)
		if o.do(r, o.for_) {
			r.sum.endured[o.kind]++
		}
		r.pass(end)
		r.pass(time.Now().Add(time.Second))
		r.recover(o.kind)
	}
	for _, o := range r.plan.ordeals {
		if n := r.sum.endured[o.kind]; n < rounds && !o.seldom {
			r.fault("%s: %d times in one life, want %d", o.kind, n, rounds)
		}
	}
	r.note("the rounds end")
}

// pulse sends a record to each ingress partition, and returns their ids.
func (r *rig) pulse(w wish) (ids []string) {
	for n := range r.Broker.PartitionInfos(ingress) {
		r.pulses++
		w.id = fmt.Sprintf("pulse-%d", r.pulses)
		ids = append(ids, w.id)
		r.send(&burst{wishes: []wish{w}, partition: uint32(n)})
	}
	return ids
}

// Time after a fault within which all has to be well, and between two records that ask.
const (
	wellWithin = 3 * time.Minute
	pulseEvery = 5 * time.Second
)

// recover waits until every ingress partition is read, and its records are delivered. With
// little memory reading may pause for as long as the load has delays.
func (r *rig) recover(from string) {
	began := time.Now()
	well := make(map[int]bool) // by partition
	sent := make(map[string]int)
	for time.Since(began) < wellWithin {
		if time.Since(began) > wellWithin-2*pulseEvery {
			r.lookAgain()
		}
		for n, id := range r.pulse(wish{ask: ask{none: true}, target: egress}) {
			sent[id] = n
		}
		r.pass(time.Now().Add(pulseEvery))
		for id, n := range sent {
			well[n] = well[n] || r.egress.has(id)
		}
		if open := len(r.ends(ingress)); open > 0 && !slices.ContainsFunc(slices.Collect(seq(open)), func(n int) bool { return !well[n] }) {
			r.sum.slowest = max(r.sum.slowest, time.Since(began))
			return
		}
		if r.plan.full {
			return
		}
	}
	r.fault("%v after %q not every partition is delivered of: %v", wellWithin, from, well)
}

func seq(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// egressWatch knows what has arrived in the egress topic.
type egressWatch struct {
	client *kgo.Client
	done   chan struct{}
	mu     sync.Mutex
	seen   map[string]bool
}

// watchEgress reads the egress topic until stop. It has no fetch session: brokers that start again give out the ids of
// sessions anew, and would answer it with what another client has asked for.
func watchEgress(r *rig) *egressWatch {
	w := &egressWatch{done: make(chan struct{}), seen: make(map[string]bool)}
	w.client = r.NewClient(kgo.ConsumeTopics(egress), kgo.DisableFetchSessions(), kgo.Rack(rigRack), kgo.Dialer(r.unhurried), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()), kgo.WithDecompressor(outside), kgo.MetadataMaxAge(10*time.Second))
	go func() {
		defer close(w.done)
		for {
			fetches := w.client.PollFetches(context.Background())
			if fetches.IsClientClosed() {
				return
			}
			fetches.EachRecord(func(k *kgo.Record) { w.saw(get(k, verify.IDHeader)) })
		}
	}()
	return w
}

func (w *egressWatch) saw(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasPrefix(id, "pulse-") {
		w.seen[id] = true
	}
}

// lookAgain reads the egress topic whole. The watch's own client may ask a fenced leader for minutes.
func (r *rig) lookAgain() {
	for _, a := range r.read(egress) {
		r.egress.saw(origin(a.Record).id)
	}
}

func (w *egressWatch) has(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[id]
}

func (w *egressWatch) stop() {
	w.client.Close()
	<-w.done
}
