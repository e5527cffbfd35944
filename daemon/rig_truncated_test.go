package daemon

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// truncations are what the rig has cut from the ends of ingress logs. Under rig.mu.
type truncations struct {
	lowest map[int32]int64 // by partition: from there on an offset may name several records
	number map[int32]int64 // by partition
}

func newTruncations() truncations {
	return truncations{lowest: make(map[int32]int64), number: make(map[int32]int64)}
}

// ambiguous says whether an offset may name several records: what is known of it by its number
// alone is of neither.
func (t *truncations) ambiguous(partition int32, offset int64) bool {
	from, cut := t.lowest[partition]
	return cut && offset >= from
}

// note notes a truncation. What commits and journal said of the offsets is of other records.
func (r *rig) noteTruncation(partition int32, from int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum.truncated++
	t := &r.truncations
	if lowest, cut := t.lowest[partition]; !cut || from < lowest {
		t.lowest[partition] = from
	}
	t.number[partition]++
	if s := r.said[logPlace{topic: r.ingressID, partition: partition}]; s != nil {
		for o := from; o < int64(len(s.since)); o++ {
			s.unsay(o)
		}
	}
}

// truncatedSoFar returns how often a partition was truncated.
func (r *rig) truncatedSoFar(partition int32) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.truncations.number[partition]
}

// withBrokers lets a goroutine other than the one of the plan look at the brokers, which a
// truncation replaces.
func (r *rig) withBrokers(do func()) {
	r.brokers <- struct{}{}
	defer func() { <-r.brokers }()
	do()
}

// truncateIngress has an ingress partition lose its end, as after an unclean election, while no
// instance runs and nobody sends.
func (r *rig) truncateIngress(partition int32, from int64) {
	end := r.ends(ingress)[partition]
	r.note("%s/%d loses all from %d to %d, and every broker starts again", ingress, partition, from, end)
	r.trouble(0)
	r.ledger.Truncated(ingress, partition, from)
	r.noteTruncation(partition, from)
	r.withBrokers(func() { r.Truncate(ingress, partition, from) })
	if r.plan.metadata > 0 {
		r.LimitMetadata(r.plan.metadata)
	}
	r.setOffsetBack(partition, from)
	r.trouble(0)
}

// setOffsetBack is what an operator does where a group's offset has passed the end that a log has now. It does where the
// record that pins it was moved to a run. No instance runs.
func (r *rig) setOffsetBack(partition int32, end int64) {
	if o, is := r.Committed(group, ingress, partition); !is || o.At <= end {
		return
	}
	for _, m := range r.Broker.GroupInfo(group).Members { // who was killed: a group with members takes no offset of anybody else
		r.note("a member is thrown out: %v", r.throwOut(m))
	}
	r.note("an operator sets the offset of %s/%d to %d", ingress, partition, end)
	r.Commit(group, kadm.Offset{Topic: ingress, Partition: partition, At: end, LeaderEpoch: -1})
}

// ordealsOfTruncation has an ingress log lose records that were delivered, and the commits say
// so; or records that nobody has read. A record that is parked below pins the low offset. Where
// that has passed the truncation all the same, an operator sets it back, without whom the
// partition would rightly stop. Records are written anew over the lost ones, before anybody reads.
func (p *plan) ordealsOfTruncation(dice *rand.Rand) []ordeal {
	which := dice.Uint32()
	truncates := func(finished bool) func(*rig, time.Duration) bool {
		return func(r *rig, _ time.Duration) bool {
			r.busy.Wait()
			n := int32(which % uint32(len(r.ends(ingress))))
			parked := 4*time.Minute + r.furthest() // by every clock
			r.alone(n, relative(parked, parked.String()))
			kept := r.alone(n, ask{none: true})
			r.awaitDue("a truncation", []string{kept}, time.Now())
			if !finished {
				r.endAll()
			}
			r.busy.Wait()
			from := r.ends(ingress)[n]
			var lost []string
			for range 3 {
				lost = append(lost, r.alone(n, ask{none: true}))
			}
			if finished {
				r.awaitDue("a truncation", lost, time.Now())
				r.pass(time.Now().Add(3 * time.Second)) // they are committed
				r.endAll()
			}
			r.busy.Wait()
			r.truncateIngress(n, from)
			r.alone(n, ask{none: true})
			for slot := range r.plan.instances {
				r.begin(slot)
			}
			return true
		}
	}
	return []ordeal{
		{kind: "an ingress log loses what was delivered", do: truncates(true)},
		{kind: "an ingress log loses what was not read", do: truncates(false)},
	}
}

// alone sends a record in a batch of its own to a partition, and returns its id once the log
// has it.
func (r *rig) alone(partition int32, a ask) string {
	r.pulses++
	w := wish{ask: a, target: egress, id: fmt.Sprintf("pulse-%d", r.pulses)}
	r.send(&burst{wishes: []wish{w}, partition: uint32(partition)})
	r.busy.Wait()
	return w.id
}

// endAll stops all instances.
func (r *rig) endAll() {
	for slot := range r.instances {
		r.end(slot, false)
	}
}
