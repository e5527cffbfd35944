package daemon

import (
	"time"

	"layover/admin"
	"layover/config"
	"layover/consumer"
	"layover/delay"
	"layover/journal"
	"layover/journal/copies"
	"layover/lane"
	"layover/producer"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// runsBuffered is how many copies of all lanes may be unanswered, and runsListed how many
	// directories beside them. copyShare is how many bytes of the bound there are for each copy, which
	// takes half a KiB beside its record.
	runsBuffered = 1 << 16
	runsListed   = 1 << 13
	copyShare    = 16 << 10
	// runsLinger is how long a copy waits for others. A visit reads whole batches, so a batch
	// should not be of one copy; nobody waits for copies.
	runsLinger = 5 * time.Millisecond
	// mostVisits is how many visits read at a time, with a bound of visitShare for each; one of a slow broker may
	// read beside them. One visit takes some 3 MiB, and more where records are large.
	mostVisits = 4
	visitShare = 64 << 20
)

// makeRuns makes what reads and writes the runs topics. One producer writes for all lanes. It
// reads, too, where LAYOVER_RUNS is off: what was moved before is delivered.
func (d *Daemon) makeRuns(s sizes, kafka func(string, ...kgo.Opt) []kgo.Opt) error {
	together := func(topic string) int32 {
		if topic == "" {
			return copies.BatchBytes // asked for once, to check the configuration
		}
		return min(copies.BatchBytes, d.journal.MaxBatch(topic))
	}
	told := producer.NewTold(together)
	p, err := producer.New(producer.Config{
		MaxBatchBytes: told.Tell, MaxAloneBytes: d.journal.MaxBatch, Packer: d.packer,
		MaxBuffered: runsBuffered + runsListed, Compression: d.compression(), Linger: runsLinger,
		Options: func(suffix string) []kgo.Opt { return kafka("runs" + suffix) },
	})
	if err != nil {
		return err
	}
	d.producers = append(d.producers, p)
	d.copies, err = copies.New(copies.Config{
		Group: d.cfg.GroupID, Name: namesOf(d.cfg.IngressTopics, d.cfg.RunsName), Journal: d.journal, Client: d.asking, Options: d.clientOptions,
		Produce: p.Deliver, Visits: s.visits, Log: d.log,
		// A batch of ingress that is not compressed may be larger, and its copies are compressed.
		Batch:    func(topic string) int { return max(s.decompress, int(d.journal.MaxBatch(topic))) },
		Together: func(topic string) int { return int(told.Together(topic)) },
	})
	return err
}

// runsChanged passes on what is known about the runs topic of an ingress topic.
func (d *Daemon) runsChanged(ingress string, s journal.RunsTopic) {
	for _, l := range d.lanes {
		l.RunsChanged(ingress, lane.RunsTopic{TopicID: s.TopicID, Usable: s.Usable})
	}
}

// runsConfig is the part of a lane's settings that is about runs.
func (d *Daemon) runsConfig(s sizes) lane.RunsConfig {
	return lane.RunsConfig{
		Runs: d.copies, InFlight: int(clamp(d.cfg.MaxParkedBytes/copyShare/int64(d.cfg.Lanes), 64, int64(runsBuffered/d.cfg.Lanes))),
		Share:      func() int64 { return d.backpressure.limit() / int64(d.cfg.Lanes) },
		Beside:     (d.cfg.Lanes + s.visits - 1) / s.visits,
		Left:       func() int64 { return d.backpressure.left() / int64(d.cfg.Lanes) },
		Full:       d.backpressure.pausesForMemory,
		Retention:  func(ingress string) time.Duration { return d.watcher.Lookup(ingress).Retention },
		Partitions: d.router.partitions,
		Uniform:    func() bool { return d.consumer.NoneOlder() },
	}
}

// runsSample is the runs topics' part of a sample.
func (d *Daemon) runsSample(topics map[string]journal.Topic) admin.Runs {
	r := admin.Runs{OlderSince: d.consumer.OlderSince(), JoiningSince: d.consumer.JoiningSince(), JoinTakes: consumer.RebalanceTimeout(d.cfg.SessionTimeout)}
	troubles := d.copies.Troubles()
	for _, ingress := range d.cfg.IngressTopics {
		t, trouble := topics[ingress], troubles[ingress]
		r.Topics = append(r.Topics, admin.RunsTopic{Ingress: ingress, Name: t.Name, State: t.State, Warning: t.Warning, Err: t.Error,
			Off: d.runsOff(ingress), Refused: trouble.Moving, Unread: trouble.Reading,
			RefusedSince: trouble.MovingSince, UnreadSince: trouble.ReadingSince, Elsewhere: trouble.Elsewhere, Unreadable: t.Unreadable, There: t.Partitions > 0, Orphans: admin.Orphans(t.Orphans)})
	}
	return r
}

// runsOff names the setting for which nothing of an ingress topic is moved, "" for none.
func (d *Daemon) runsOff(ingress string) string {
	switch {
	case d.cfg.Runs == config.RunsOff:
		return "LAYOVER_RUNS=off"
	case d.cfg.Journal == config.JournalOff:
		return "LAYOVER_JOURNAL=off"
	case !d.cfg.HasRuns(ingress) && delay.IsTopicName(d.cfg.RunsName(ingress)): // else the topic's state says so
		return "LAYOVER_JOURNAL_TOPIC, which makes a name that no topic can have"
	}
	return ""
}

// namesOf returns name for topics that are known before: to fill in a name allocates, and each copy that is moved asks
// for one.
func namesOf(ingress []string, name func(ingress string) string) func(ingress string) string {
	names := make(map[string]string, len(ingress))
	for _, topic := range ingress {
		names[topic] = name(topic)
	}
	return func(ingress string) string {
		if known, ok := names[ingress]; ok {
			return known
		}
		return name(ingress)
	}
}
