package daemon

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"time"

	"layover/admin"
	"layover/cluster"
	"layover/cluster/doctor"
	"layover/cluster/needs"
	"layover/delay"
	"layover/lane"
	"layover/offsets"
)

// Sample implements admin.Source: one look at the process.
func (d *Daemon) Sample() admin.Sample {
	group := d.consumer.Status()
	pauseAt, movesAt := d.backpressure.pauseAt()
	s := admin.Sample{
		Version: d.opts.Version, Revision: d.opts.Revision, GoVersion: runtime.Version(),
		Mode: "at-least-once", Started: d.started, Draining: d.draining.Load(),
		Memory: admin.Memory{Used: d.backpressure.used() + d.consumer.Buffered(), PauseAt: pauseAt, MovesAt: movesAt, Limit: d.cfg.MaxParkedBytes},
		Loops:  make(map[string]time.Time), Turns: d.turns(), Settings: d.adminSettings(),
	}
	s.Lanes = d.looks((*lane.Lane).Snapshot)
	for i, l := range d.lanes {
		s.Loops[fmt.Sprintf("lane %d", i)] = l.Beat()
	}
	s.Loops["watch of the cluster"] = d.watcher.Beat()
	s.Loops["poll"] = d.consumer.Beat()
	pauses, since := d.backpressure.pausedSince()
	for _, p := range pauses {
		s.Pauses = append(s.Pauses, admin.Pause{Reason: p.Reason, Target: p.Target})
	}
	s.PausedSince = since
	health := d.watcher.Health()
	s.Kafka = admin.Kafka{Answering: health.Answering, Since: health.Since, OthersAnswer: health.OthersAnswer, Err: health.Err, Faults: health.Missing, Unusable: d.unusable(), Warnings: health.Warnings}
	for _, t := range health.Unusable {
		s.Kafka.Topics = append(s.Kafka.Topics, admin.TopicState{Name: t.Name, State: t.State.String(), Since: t.Since})
		if t.State == cluster.Missing {
			s.Kafka.Missing = append(s.Kafka.Missing, t.Name)
		}
	}
	s.Connection = d.connection.Status()
	for _, m := range d.mismatches() {
		s.Kafka.Faults, s.Kafka.Topics = append(s.Kafka.Faults, m.Detail), append(s.Kafka.Topics, m)
	}
	s.Names = admin.Names{Known: health.Names.Known, Limit: health.Names.Limit, Refused: health.Names.Refused}
	s.Group = admin.Group{
		ID: d.cfg.GroupID, InstanceID: d.cfg.GroupInstanceID, MemberID: group.MemberID, Generation: group.Generation,
		Joined: group.Joined, Rebalances: group.Rebalances, LastError: group.LastError, LeaseValid: d.consumer.LeaseValid(),
	}
	leaderless := d.leaderless()
	for _, p := range group.Partitions {
		s.Group.Partitions = append(s.Group.Partitions, admin.Assignment{Topic: p.Topic, Partition: p.Partition, Loaded: p.Loaded, Stopped: p.Stopped,
			Reason: string(p.Reason), Since: p.Since, Trying: p.Trying, Leaderless: leaderless[p.TopicPartition], Next: p.Next, End: p.End, OldestUnread: p.OldestUnread, OpenSince: p.Open.Since, OpenAt: p.Open.Offset})
	}
	s.Journal, s.Runs = d.journalSample()
	s.Replay = d.replay.sample()
	s.Preflight = d.preflight.sample()
	s.CaughtUp = d.ready.Load()
	return s
}

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

// principal is what brokers call this process, as far as its settings tell.
func (d *Daemon) principal() string {
	status := d.connection.Status()
	return doctor.Principal(d.cfg, &status)
}

func (d *Daemon) adminSettings() admin.Settings {
	c := d.cfg
	s := admin.Settings{
		Ingress: c.IngressTopics, Egress: c.EgressTopic, DeadLetter: c.DLQTopic, Events: c.EventsTopic, OnInvalid: string(c.OnInvalid),
		Lanes: c.Lanes, CommitInterval: c.CommitInterval, MaxDelay: c.MaxDelay,
		Retention: make(map[string]time.Duration), Deliverable: !slices.ContainsFunc(c.IngressTopics, func(t string) bool { return c.EgressOf(t) == "" }),
		Principal: d.principal, IngressFlags: make(map[string]string),
	}
	s.Targets = c.Allowed()
	had, most := make(map[string]int32), int32(1) // partitions of the ingress topics, also of one that is deleted
	for _, t := range c.IngressTopics {
		topic := d.watcher.Lookup(t)
		s.Retention[t], most = topic.Retention, max(most, topic.Partitions)
		had[t] = max(topic.Partitions, d.journal.Runs(t).Partitions) // of which each holds copies
	}
	for _, t := range c.IngressTopics {
		s.IngressFlags[t] = needs.IngressFlags(c.MaxDelay, c.HasRuns(t), cmp.Or(had[t], most))
	}
	for _, r := range delay.Reasons() {
		s.Reasons = append(s.Reasons, string(r))
	}
	return s
}
