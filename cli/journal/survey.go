package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"layover/cli/kafka"
	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"
)

// partition is a partition of an ingress topic with its journal, as of the brokers.
type partition struct {
	offsets.TopicPartition                // of the ingress topic
	id                     facts.Identity // without an incarnation
	log                    offsets.Bounds // of the ingress topic

	journal   offsets.TopicPartition
	journalID offsets.TopicID
	absent    bool           // the journal topic has no such partition yet
	records   cluster.Bounds // of the journal; the error is of either log

	runs    offsets.TopicPartition // that of the runs topic
	runsID  offsets.TopicID        // zero: there is no such topic, or it is not known
	runsLog cluster.Bounds         // of the runs topic
	copied  *life                  // facts about finished copies, since count

	committed *offsets.Committed // nil: none
}

// String names the partition as all messages do.
func (p *partition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Partition) }

// survey asks about the selected partitions. Problems are of single topics and
// partitions, which are left out; an error is of all.
func (c *command) survey(ctx context.Context) (parts []*partition, problems []error, err error) {
	ingress := c.cfg.IngressTopics
	if c.topic != "" {
		ingress = []string{c.topic}
	}
	var names []string
	for _, name := range ingress {
		names = append(names, name, c.cfg.JournalName(name), c.cfg.RunsName(name))
	}
	clusterID, topics, err := c.brokers.Topics(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	committed, err := c.brokers.Committed(ctx, c.cfg.GroupID)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range ingress {
		some, err := c.surveyTopic(ctx, clusterID, name, topics)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		for _, p := range some {
			if p.records.Err != nil {
				problems = append(problems, p.records.Err)
				continue
			}
			if was, ok := committed[p.TopicPartition]; ok {
				p.committed = &was
			}
			parts = append(parts, p)
		}
	}
	return parts, problems, nil
}

// surveyTopic returns the selected partitions of an ingress topic, without their
// commits.
func (c *command) surveyTopic(ctx context.Context, clusterID, name string, topics map[string]kafka.Topic) (parts []*partition, err error) {
	journal := c.cfg.JournalName(name)
	t, j := topics[name], topics[journal]
	if err := c.present(name, "ingress topic", kafka.MissingIngress(c.cfg, name), t.Err); err != nil {
		return nil, err
	}
	if err := c.present(journal, "journal topic", fmt.Sprintf("Layover makes it when it runs with LAYOVER_JOURNAL=auto; "+
		"check that LAYOVER_JOURNAL_TOPIC (%s) and the group (%s) are those it runs with", c.cfg.JournalTopic, c.cfg.GroupID), j.Err); err != nil {
		return nil, err
	}
	if c.partition >= t.Partitions {
		return nil, fmt.Errorf("--partition %d: ingress topic %q has the partitions 0 to %d", c.partition, name, t.Partitions-1)
	}
	logs, records := c.brokers.Bounds(ctx, name, t.Partitions), c.brokers.Bounds(ctx, journal, j.Partitions)
	runs := c.runsBounds(ctx, c.cfg.RunsName(name), topics)
	for n := range t.Partitions {
		if c.partition >= 0 && n != c.partition {
			continue
		}
		p := c.partitionOf(clusterID, offsets.TopicPartition{Topic: name, Partition: n}, topics)
		p.take(logs, records)
		p.runsLog = runs(n)
		parts = append(parts, p)
	}
	return parts, nil
}

// partitionOf returns a partition without its bounds and its commit.
func (c *command) partitionOf(clusterID string, at offsets.TopicPartition, topics map[string]kafka.Topic) *partition {
	name, runs := c.cfg.JournalName(at.Topic), c.cfg.RunsName(at.Topic)
	t, journal := topics[at.Topic], topics[name]
	return &partition{
		runs: offsets.TopicPartition{Topic: runs, Partition: at.Partition}, runsID: topics[runs].ID,
		TopicPartition: at,
		id:             facts.Identity{Identity: offsets.Identity{ClusterID: clusterID, TopicID: t.ID, Partition: at.Partition}, Group: c.cfg.GroupID},
		journal:        offsets.TopicPartition{Topic: name, Partition: at.Partition}, journalID: journal.ID, absent: at.Partition >= journal.Partitions,
	}
}

// take takes the bounds of the partition and of its journal, of all that there are.
func (p *partition) take(logs, records []cluster.Bounds) {
	log := logs[p.Partition]
	p.log = offsets.Bounds{Start: log.Start, End: log.End}
	if !p.absent {
		p.records = records[p.Partition]
	}
	p.records.Err = cmp.Or(log.Err, p.records.Err)
}

// present is nil if there is such a topic. A journal's name may be one that Kafka refuses.
func (c *command) present(name, what, mend string, err error) error {
	if errors.Is(err, kerr.InvalidTopicException) {
		return fmt.Errorf("%s %.300q: no topic can have that name; set LAYOVER_JOURNAL_TOPIC", what, name)
	}
	return c.brokers.Present(name, what, mend, err)
}
