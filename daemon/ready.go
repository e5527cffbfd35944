package daemon

import (
	"context"
	"slices"
	"time"

	"layover/consumer"
	"layover/lane"
	"layover/offsets"
	"layover/purgatory"
)

const (
	// lookForReady is the pause between two looks, until the process is ready.
	lookForReady = 50 * time.Millisecond
	// readyWithout is how long a process waits for what Kafka withholds: an answer, an
	// ingress topic, or the beginning of a partition. Then it is ready without it.
	readyWithout = 10 * time.Second
)

// waitedFor reports whether something missing since that time is waited for no longer.
func waitedFor(since time.Time) bool { return time.Since(since) >= readyWithout }

// becomeReady looks until the process is ready, which then stays so. A pod that was let
// in is not thrown out because Kafka has come back and there is something to read again.
func (d *Daemon) becomeReady(ctx context.Context) {
	ticker := time.NewTicker(lookForReady)
	defer ticker.Stop()
	lastThere := time.Now()   // when an ingress topic was last not known to be missing
	var lastRefused time.Time // when a broker last refused the connection
	for {
		d.loops.readiness.Add(1)
		if !d.ingressMissing() {
			lastThere = time.Now()
		}
		if d.refused() {
			lastRefused = time.Now()
		}
		if d.isReady(lastThere, lastRefused) {
			d.ready.Store(true)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// isReady reports whether the first assignment is read, a bound has paused reading, or
// Kafka has been down or without an ingress topic for readyWithout. A Kafka that refuses
// the connection is not down: the settings are wrong, and a roll-out has to stop.
func (d *Daemon) isReady(lastThere, lastRefused time.Time) bool {
	if d.refused() && !d.connection.Status().Answered {
		return false
	}
	health := d.watcher.Health()
	if !health.Answering && waitedFor(health.Since) && waitedFor(lastRefused) || waitedFor(lastThere) || len(d.backpressure.pauses()) > 0 {
		return true
	}
	return caughtUp(d.consumer.Status(), d.looks((*lane.Lane).Snapshot), d.cannotBeRead())
}

// refused reports whether a broker refuses the connection.
func (d *Daemon) refused() bool { return len(d.connection.Status().Refused) > 0 }

// ingressMissing reports whether there is nothing to read: no ingress topic exists.
func (d *Daemon) ingressMissing() bool { return len(d.unusable()) == len(d.cfg.IngressTopics) }

// cannotBeRead returns a function that reports whether Kafka keeps a partition from
// being read: it has no leader, or its topic is unusable. Readiness leaves it out.
func (d *Daemon) cannotBeRead() func(offsets.TopicPartition) bool {
	leaderless, unusable := d.leaderless(), d.unusable()
	return func(tp offsets.TopicPartition) bool { return leaderless[tp] || slices.Contains(unusable, tp.Topic) }
}

// caughtUp reports whether a join has completed and every assigned partition is read
// up to the last stable offset it had when it was assigned. Partitions that stopped
// count as read, and those that cannot be begun do after readyWithout.
func caughtUp(group consumer.Status, lanes []*purgatory.Snapshot, cannotBeRead func(offsets.TopicPartition) bool) bool {
	if !group.Joined {
		return false
	}
	at := make(map[offsets.TopicPartition]purgatory.PartitionView)
	for _, l := range lanes {
		for _, p := range l.Partitions {
			at[p.TopicPartition] = p
		}
	}
	for _, p := range group.Partitions {
		if p.Stopped != "" && (!p.Trying || waitedFor(p.Since)) || cannotBeRead(p.TopicPartition) {
			continue
		}
		v, ok := at[p.TopicPartition]
		if !ok || v.Epoch != p.Epoch || v.Next < v.StableEnd {
			return false
		}
	}
	return true
}
