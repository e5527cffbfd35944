package daemon

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"layover/admin"
	"layover/cluster"
	"layover/consumer"
	"layover/delay"
	"layover/offsets"
	"layover/purgatory"
)

// Sample implements admin.Source: one look at the process.
func (d *Daemon) Sample() admin.Sample {
	group := d.consumer.Status()
	s := admin.Sample{
		Version: d.opts.Version, Revision: d.opts.Revision, GoVersion: runtime.Version(),
		Mode: "at-least-once", Started: d.started, Draining: d.draining.Load(),
		Memory: admin.Memory{Used: d.governor.used() + d.consumer.Buffered(), PauseAt: d.governor.limit(), Limit: d.cfg.MaxParkedBytes},
		Loops:  make(map[string]time.Time), Settings: d.adminSettings(),
	}
	for i, l := range d.lanes {
		s.Lanes = append(s.Lanes, l.Snapshot())
		s.Loops[fmt.Sprintf("lane %d", i)] = l.Beat()
	}
	s.Loops["watch of the cluster"] = d.watcher.Beat()
	s.Loops["poll"] = d.consumer.Beat()
	for _, p := range d.governor.pauses() {
		s.Pauses = append(s.Pauses, admin.Pause{Reason: p.Reason, Target: p.Target})
	}
	health := d.watcher.Health()
	s.Kafka = admin.Kafka{Answering: health.Answering, Since: health.Since, Err: health.Err, Missing: health.Missing, Unusable: d.unusable(), Warnings: health.Warnings}
	for _, t := range health.Unusable {
		s.Kafka.Topics = append(s.Kafka.Topics, admin.TopicState{Name: t.Name, State: t.State.String(), Since: t.Since})
	}
	for _, m := range d.mismatches() {
		s.Kafka.Missing, s.Kafka.Topics = append(s.Kafka.Missing, m.Detail), append(s.Kafka.Topics, m)
	}
	s.Names = admin.Names{Known: health.Names.Known, Limit: health.Names.Limit, Refused: health.Names.Refused}
	s.Group = admin.Group{
		ID: d.cfg.GroupID, InstanceID: d.cfg.GroupInstanceID, MemberID: group.MemberID, Generation: group.Generation,
		Joined: group.Joined, Rebalances: group.Rebalances, LastError: group.LastError, LeaseValid: d.consumer.LeaseValid(),
	}
	leaderless := d.leaderless()
	for _, p := range group.Partitions {
		s.Group.Partitions = append(s.Group.Partitions, admin.Assignment{Topic: p.Topic, Partition: p.Partition, Loaded: p.Loaded, Stopped: p.Stopped,
			Reason: string(p.Reason), Since: p.Since, Trying: p.Trying, Leaderless: leaderless[p.TopicPartition], Next: p.Next, End: p.End})
	}
	s.Journal = d.journalSample()
	s.Replay = d.replay.sample()
	s.CaughtUp = d.ready.Load()
	return s
}

// Readiness is looked at this often until it is reached.
const (
	lookForReady = 50 * time.Millisecond
	kafkaDown    = 10 * time.Second // without an answer for so long, a process is ready, if degraded
)

// becomeReady waits for what makes a process ready, which then stays so: the first
// assignment read up to its stable end, a join without one, reading paused by a
// bound, or Kafka down, or without an ingress topic, for a while. A pod that was let in is not thrown out because
// Kafka has come back and there is something to read again.
func (d *Daemon) becomeReady(ctx context.Context) {
	ticker := time.NewTicker(lookForReady)
	defer ticker.Stop()
	there := time.Now() // when an ingress topic was last not known to be missing
	for {
		if !d.ingressMissing() {
			there = time.Now()
		}
		lanes := make([]*purgatory.Snapshot, len(d.lanes))
		for i, l := range d.lanes {
			lanes[i] = l.Snapshot()
		}
		health := d.watcher.Health()
		down := !health.Answering && time.Since(health.Since) >= kafkaDown || time.Since(there) >= kafkaDown
		if down || len(d.governor.pauses()) > 0 || caughtUp(d.consumer.Status(), lanes, d.cannotBeRead()) {
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

// ingressMissing says whether there is nothing to read: no ingress topic exists.
func (d *Daemon) ingressMissing() bool { return len(d.unusable()) == len(d.cfg.IngressTopics) }

// unusable are the ingress topics that Kafka says do not exist or may not be read.
func (d *Daemon) unusable() (topics []string) {
	for _, topic := range d.cfg.IngressTopics {
		if s := d.watcher.Lookup(topic).State; s == cluster.Missing || s == cluster.Forbidden {
			topics = append(topics, topic)
		}
	}
	return topics
}

// leaderless are the ingress partitions that no broker leads.
func (d *Daemon) leaderless() map[offsets.TopicPartition]bool {
	out := make(map[offsets.TopicPartition]bool)
	for _, topic := range d.cfg.IngressTopics {
		t := d.watcher.Lookup(topic)
		if t.State != cluster.Usable || len(t.Led) == int(t.Partitions) {
			continue
		}
		for p := range t.Partitions {
			out[offsets.TopicPartition{Topic: topic, Partition: p}] = true
		}
		for _, p := range t.Led {
			delete(out, offsets.TopicPartition{Topic: topic, Partition: p})
		}
	}
	return out
}

// cannotBeRead says of a partition that it is sick, and nothing is read of it for a
// reason that is Kafka's. What stands beside it does not wait for it.
func (d *Daemon) cannotBeRead() func(offsets.TopicPartition) bool {
	leaderless, unusable := d.leaderless(), d.unusable()
	return func(tp offsets.TopicPartition) bool { return leaderless[tp] || slices.Contains(unusable, tp.Topic) }
}

// caughtUp says whether a join has completed and every assigned partition is read
// up to the last stable offset it had when it was assigned, or is not read at all: one
// that cannot be begun counts as that after a while.
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
		if p.Stopped != "" && (!p.Trying || time.Since(p.Since) >= kafkaDown) || cannotBeRead(p.TopicPartition) {
			continue
		}
		v, ok := at[p.TopicPartition]
		if !ok || v.Epoch != p.Epoch || v.Next < v.StableEnd {
			return false
		}
	}
	return true
}

func (d *Daemon) adminSettings() admin.Settings {
	c := d.cfg
	s := admin.Settings{
		Ingress: c.IngressTopics, Egress: c.EgressTopic, DeadLetter: c.DLQTopic, OnInvalid: string(c.OnInvalid),
		Lanes: c.Lanes, CommitInterval: c.CommitInterval, MaxDelay: c.MaxDelay,
		Retention: make(map[string]time.Duration), Deliverable: !slices.ContainsFunc(c.IngressTopics, func(t string) bool { return d.egressOf(t) == "" }),
	}
	s.Targets = d.allowed()
	for _, t := range c.IngressTopics {
		s.Retention[t] = d.watcher.Lookup(t).Retention
	}
	for _, r := range delay.Reasons() {
		s.Reasons = append(s.Reasons, string(r))
	}
	return s
}
