package daemon

import (
	"fmt"
	"sync"
	"time"

	"layover/admin"
	"layover/cluster"
	"layover/consumer"
	"layover/delay"
	"layover/journal/facts"
	"layover/lane"
	"layover/offsets"
	"layover/producer"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// router stands between the consumer and the lanes. It gives each assigned
// partition to the lane with the fewest, and passes on what is about it. Neither
// side knows the other.
type router struct {
	lanes    []*lane.Lane
	consumer *consumer.Consumer

	mu   sync.Mutex
	at   map[offsets.TopicPartition]int // lane of each assigned partition
	load []int                          // partitions by lane
}

func newRouter(lanes int) *router {
	return &router{at: make(map[offsets.TopicPartition]int), load: make([]int, lanes)}
}

// start completes the circle; nothing is called before.
func (r *router) start(lanes []*lane.Lane, c *consumer.Consumer) { r.lanes, r.consumer = lanes, c }

// place chooses a partition's lane.
func (r *router) place(tp offsets.TopicPartition) *lane.Lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	least := 0
	for i, n := range r.load {
		if n < r.load[least] {
			least = i
		}
	}
	r.at[tp] = least
	r.load[least]++
	return r.lanes[least]
}

// partitions returns how many are assigned.
func (r *router) partitions() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.at)
}

// lane returns a partition's lane; with remove it is nobody's from then on.
func (r *router) lane(tp offsets.TopicPartition, remove bool) *lane.Lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.at[tp]
	if !ok {
		return nil
	}
	if remove {
		delete(r.at, tp)
		r.load[i]--
	}
	return r.lanes[i]
}

// Assigned implements consumer.Handler.
func (r *router) Assigned(a facts.Assigned) { r.place(a.TopicPartition).Assign(a) }

// Fetched implements consumer.Handler.
func (r *router) Fetched(a offsets.Assignment, records []*kgo.Record, bytes int64) {
	if l := r.lane(a.TopicPartition, false); l == nil || !l.Fetched(a, records, bytes) {
		r.consumer.Consumed(bytes)
	}
}

// LogStart implements consumer.Handler.
func (r *router) LogStart(a offsets.Assignment, start int64) {
	if l := r.lane(a.TopicPartition, false); l != nil {
		l.LogStart(a, start)
	}
}

// Unread implements consumer.Handler.
func (r *router) Unread(a offsets.Assignment, b offsets.UnreadBatch) {
	if l := r.lane(a.TopicPartition, false); l != nil {
		l.Unread(a, b)
	}
}

// Revoked implements consumer.Handler.
func (r *router) Revoked(assignments []offsets.Assignment) { r.end(assignments, (*lane.Lane).Revoke) }

// Lost implements consumer.Handler.
func (r *router) Lost(assignments []offsets.Assignment) { r.end(assignments, (*lane.Lane).Lost) }

// end ends assignments side by side and waits for all.
func (r *router) end(assignments []offsets.Assignment, how func(*lane.Lane, offsets.Assignment, func())) {
	var over sync.WaitGroup
	for _, a := range assignments {
		if l := r.lane(a.TopicPartition, true); l != nil {
			over.Add(1)
			how(l, a, over.Done)
		}
	}
	over.Wait()
}

// Commit implements lane.Committer.
func (r *router) Commit(commits []offsets.Commit, done func([]offsets.CommitResult)) {
	r.consumer.Commit(commits, done)
}

// Jump implements lane.Reading.
func (r *router) Jump(j purgatory.Jump) {
	if j.Beyond {
		r.consumer.JumpBeyond(j.Assignment, j.To, j.LeaderEpoch)
		return
	}
	r.consumer.Jump(j.Assignment, j.To, j.LeaderEpoch)
}

// Halt implements lane.Reading.
func (r *router) Halt(h purgatory.HaltNotice) {
	r.consumer.Stop(h.Assignment, h.Offset, haltedBy(h), h.Reason)
}

// haltedBy says what kind of halt it is.
func haltedBy(h purgatory.HaltNotice) consumer.Reason {
	switch {
	case h.Truncated:
		return consumer.Truncated
	case h.Unreadable:
		return consumer.Unreadable
	}
	return consumer.Halted
}

// Paused implements lane.Reading.
func (r *router) Paused() bool { return r.consumer.Paused() }

// Stopped implements lane.Reading.
func (r *router) Stopped(a offsets.Assignment) bool { return r.consumer.Stopped(a) }

// LeaseValid implements lane.Reading.
func (r *router) LeaseValid() bool { return r.consumer.LeaseValid() }

// Waits implements lane.Reading.
func (r *router) Waits(first time.Duration) { r.consumer.Waits(first) }

// Consumed implements lane.Reading.
func (r *router) Consumed(bytes int64) { r.consumer.Consumed(bytes) }

// delivery stands between one lane and its producer.
type delivery struct {
	producer *producer.Producer
	watcher  *cluster.Watcher
	tooMany  string // what is wrong with a name that there is no room for
}

func (d *Daemon) delivery(p *producer.Producer) *delivery {
	return &delivery{p, d.watcher, fmt.Sprintf(
		"%s the %d that are known at a time: find the producer that writes x-deliver-to, or narrow LAYOVER_TARGETS_ALLOWED",
		admin.NoRoomForName, d.watcher.Health().Names.Limit)}
}

// Lookup implements lane.Deliverer.
func (d *delivery) Lookup(name purgatory.TargetName) purgatory.TargetState {
	t := d.watcher.Lookup(name.Name)
	s := purgatory.TargetState{TargetName: name}
	switch t.State {
	case cluster.Usable:
		s.Partitions, s.Led = t.Partitions, t.Led
		if name.Ingress != "" {
			s.IngressPartitions = d.watcher.Lookup(name.Ingress).Partitions
		}
	case cluster.Missing:
		s.Verdict = purgatory.Missing
	case cluster.TooMany:
		s.Verdict, s.Detail = purgatory.Missing, d.tooMany
	case cluster.Forbidden:
		s.Verdict = purgatory.Forbidden
	default:
		s.Verdict = purgatory.Pending
	}
	return s
}

// byKey chooses the target partition that the key of a delivery hashes to, which a mapped
// header may have chosen. In the dead-letter topic, and that of events, it is the record's own.
func byKey(dead, events string, names *delay.Names) func(*purgatory.TargetState, offsets.TopicPartition, []byte) purgatory.Route {
	return func(t *purgatory.TargetState, _ offsets.TopicPartition, body []byte) purgatory.Route {
		if t.Name == dead || t.Name == events {
			return ownKey(t, body)
		}
		return purgatory.Route{Partition: producer.Pick(lane.Key(body, names), t.Partitions, t.Led)}
	}
}

// ownKey chooses the target partition that a record's own key hashes to.
func ownKey(t *purgatory.TargetState, body []byte) purgatory.Route {
	return purgatory.Route{Partition: producer.Pick(lane.Key(body, nil), t.Partitions, t.Led)}
}

// samePartition keeps the number of a record's partition, if the target has as many as
// the ingress topic. With fewer, it would depend on luck which of them gets which
// records. To the dead-letter topic, and that of events, that does not apply.
func samePartition(dead, events string) func(*purgatory.TargetState, offsets.TopicPartition, []byte) purgatory.Route {
	return func(t *purgatory.TargetState, from offsets.TopicPartition, body []byte) purgatory.Route {
		if t.Name == dead || t.Name == events {
			return ownKey(t, body)
		}
		if least := max(t.IngressPartitions, from.Partition+1); t.Partitions < least {
			return purgatory.Route{Verdict: purgatory.Mismatched, Detail: tooFew(t.Name, t.Partitions, from.Topic, least)}
		}
		return purgatory.Route{Partition: from.Partition}
	}
}

// tooFew says what is wrong with a target's number of partitions, and what mends it.
func tooFew(target string, has int32, ingress string, wants int32) string {
	return fmt.Sprintf("%s has %d partitions and %s has %d: with LAYOVER_PARTITION=same all records of %s for it are held, of whichever partition; give it at least %d, or set LAYOVER_PARTITION=key",
		target, has, ingress, wants, ingress, wants)
}

// Deliver implements lane.Deliverer.
func (d *delivery) Deliver(r *kgo.Record, alone bool, done func(*kgo.Record, error)) {
	d.producer.Deliver(r, alone, done)
}

// Classify implements lane.Deliverer.
func (d *delivery) Classify(err error) purgatory.Result {
	r := purgatory.Result{Detail: err.Error()}
	switch producer.Classify(err) {
	case producer.Delivered:
		r.Class = purgatory.Delivered
	case producer.TooLarge:
		r.Class = purgatory.TooLarge
	case producer.Rejected:
		r.Class = purgatory.Rejected
	case producer.Missing:
		r.Class, r.Verdict = purgatory.Unavailable, purgatory.Missing
	case producer.Forbidden:
		r.Class, r.Verdict = purgatory.Unavailable, purgatory.Forbidden
		r.Detail = cluster.Allow(err, "Write on this topic").Error()
	case producer.NoRoom:
		r.Class = purgatory.NoRoom
	default:
		r.Class = purgatory.Unknown
	}
	return r
}
