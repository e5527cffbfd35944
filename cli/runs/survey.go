package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"layover/cli/kafka"
	"layover/cluster"
	"layover/journal/copies"
	"layover/offsets"
	"layover/purgatory/far"
)

// partition is a partition of an ingress topic, with the group's commit of it.
type partition struct {
	offsets.TopicPartition // of the ingress topic
	id                     offsets.Identity
	runs                   offsets.TopicPartition // that of the runs topic
	orphan                 bool                   // the ingress topic, which has only so many partitions, does not have it
	ingressHas             int32
	uncounted              bool // all are selected, and no broker has told how many the runs topic has

	committed *offsets.Committed // nil: none
	said      offsets.RunsState  // what the commit says of runs
	unsaid    error              // why its metadata does not count
}

// String names the partition as all messages do.
func (p *partition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Partition) }

const (
	// agreeTries is how often brokers are asked that do not agree whether a runs topic exists: one has just started, or the
	// topic was just made.
	agreeTries = 4
	agreePause = 250 * time.Millisecond
)

// known returns the selected partitions, and what members know of their runs. Problems and err are those of survey.
func (c *command) known(ctx context.Context) (parts []*partition, all []copies.Looked, problems []error, err error) {
	for try := 1; ; try++ {
		if parts, problems, err = c.survey(ctx); err != nil {
			return nil, nil, nil, err
		}
		all = c.look(ctx, parts)
		disagree := uncounted(parts, all)
		if len(disagree) == 0 || try == agreeTries || cluster.Pause(ctx, agreePause) != nil {
			return parts, all, append(problems, disagree...), nil
		}
	}
}

// survey asks about the selected partitions. Problems are of single topics, which are left
// out; an error is of all.
func (c *command) survey(ctx context.Context) (parts []*partition, problems []error, err error) {
	var names []string
	for _, name := range c.ingress {
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
	if c.wholeGroup() {
		if c.left, err = c.leftOut(ctx, committed); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range c.ingress {
		if err := c.present(name, topics); err != nil {
			problems = append(problems, err)
			if !errors.Is(topics[name].Err, kerr.UnknownTopicOrPartition) {
				continue
			}
		}
		for n := range c.partitions(name, topics) {
			if c.partition >= 0 && n != c.partition {
				continue
			}
			p := c.partitionOf(clusterID, name, n, topics)
			p.take(committed)
			parts = append(parts, p)
		}
	}
	return parts, problems, nil
}

// partitionOf returns a partition without what the group has committed.
func (c *command) partitionOf(clusterID, name string, n int32, topics map[string]kafka.Topic) *partition {
	in, runs := topics[name], c.cfg.RunsName(name)
	return &partition{
		TopicPartition: offsets.TopicPartition{Topic: name, Partition: n},
		id:             offsets.Identity{ClusterID: clusterID, TopicID: in.ID, Partition: n},
		runs:           offsets.TopicPartition{Topic: runs, Partition: n},
		orphan:         n >= in.Partitions, ingressHas: in.Partitions,
		uncounted: c.partition < 0 && topics[runs].Partitions == 0,
	}
}

// partitions returns how many partitions an ingress topic has, or its runs topic where that has more: copies may wait
// there.
func (c *command) partitions(name string, topics map[string]kafka.Topic) int32 {
	return max(topics[name].Partitions, topics[c.cfg.RunsName(name)].Partitions)
}

// uncounted returns an error for each runs topic of which the survey knew no partition, and that was looked into: it may
// have more than its ingress topic.
func uncounted(parts []*partition, looked []copies.Looked) (problems []error) {
	said := make(map[string]bool)
	for i, p := range parts {
		if p.uncounted && looked[i].Err == nil && !said[p.runs.Topic] {
			said[p.runs.Topic] = true
			problems = append(problems, fmt.Errorf("%s: brokers do not agree whether runs topic %s exists: ask once more", p.Topic, p.runs.Topic))
		}
	}
	return problems
}

// wholeGroup reports whether all partitions of the settings' topics are selected.
func (c *command) wholeGroup() bool {
	return c.partition < 0 && slices.Equal(c.ingress, c.cfg.IngressTopics)
}

// leftOut returns the topics that the settings do not have, where a commit of the group forbids older releases, or cannot
// be read, and those with records beside their partitions: copies of them may wait. A topic that is gone has none that
// anybody delivers.
func (c *command) leftOut(ctx context.Context, committed map[offsets.TopicPartition]offsets.Committed) (left []string, err error) {
	var names []string
	for tp := range committed {
		if !slices.Contains(c.ingress, tp.Topic) && !slices.Contains(names, tp.Topic) {
			names = append(names, tp.Topic)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	slices.Sort(names)
	asked := slices.Clone(names)
	for _, name := range names {
		asked = append(asked, c.cfg.RunsName(name))
	}
	clusterID, topics, err := c.brokers.Topics(ctx, asked)
	if err != nil {
		return nil, err
	}
	gone := make(map[string]bool)
	for _, name := range names {
		gone[name] = c.isGone(ctx, name, topics[name].Err)
	}
	for tp := range committed {
		p := partition{TopicPartition: tp, id: offsets.Identity{ClusterID: clusterID, TopicID: topics[tp.Topic].ID, Partition: tp.Partition}}
		p.take(committed)
		mayWait := topics[tp.Topic].Err != nil || p.said.Holds || p.unknown()
		if mayWait && !gone[tp.Topic] && !slices.Contains(left, tp.Topic) {
			left = append(left, tp.Topic)
		}
	}
	for _, name := range names {
		if topics[name].Err == nil && !slices.Contains(left, name) && c.mayHaveOrphans(ctx, clusterID, name, topics) {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return left, nil
}

// mayHaveOrphans reports whether copies may wait in runs of a topic beside its partitions. No commit is about these.
func (c *command) mayHaveOrphans(ctx context.Context, clusterID, name string, topics map[string]kafka.Topic) bool {
	has, runs := topics[name].Partitions, topics[c.cfg.RunsName(name)]
	if runs.Err != nil {
		return !c.isGone(ctx, c.cfg.RunsName(name), runs.Err)
	}
	var parts []*partition
	for n := has; n < runs.Partitions; n++ {
		parts = append(parts, c.partitionOf(clusterID, name, n, topics))
	}
	for i, looked := range c.look(ctx, parts) {
		if f, err := c.find(ctx, parts[i], looked); err != nil || f.mayWait() {
			return true
		}
	}
	return false
}

// isGone reports whether brokers agree that a topic does not exist. One of them has answered with err, and may have just
// started.
func (c *command) isGone(ctx context.Context, name string, err error) bool {
	return cluster.IsMissing(err) && errors.Is(c.brokers.Bounds(ctx, name, 1)[0].Err, cluster.ErrMissing)
}

// present is nil if the ingress topic is there, with the selected partition. A journal that
// may not be read is an error: its finished copies would count as waiting.
func (c *command) present(name string, topics map[string]kafka.Topic) error {
	t, journal := topics[name], c.cfg.JournalName(name)
	const keep = "neither make it again nor restart the instance: records that wait in memory would be lost. layover doctor says what to do"
	mend, runs := kafka.MissingIngress(c.cfg, name), topics[c.cfg.RunsName(name)]
	switch {
	case runs.Partitions > 0:
		mend = "it was deleted. While an instance runs, " + keep
	case runs.Err != nil && !cluster.IsMissing(runs.Err): // nobody knows whether it has runs
		mend += ". If it was deleted and an instance runs, " + keep
	}
	if err := c.brokers.Present(name, "ingress topic", mend, t.Err); err != nil {
		return err
	}
	if err := topics[journal].Err; cluster.Denied(err) {
		return c.brokers.Present(journal, "journal topic", "", err)
	}
	if c.partition >= c.partitions(name, topics) {
		return c.noPartition(name, t.Partitions, topics[c.cfg.RunsName(name)].Partitions)
	}
	return nil
}

// noPartition is the error of a selected partition that neither topic has.
func (c *command) noPartition(name string, has, runs int32) error {
	err := fmt.Errorf("--partition %d: ingress topic %q has the partitions 0 to %d", c.partition, name, has-1)
	if runs > has {
		err = fmt.Errorf("%w, and its runs topic 0 to %d", err, runs-1)
	}
	return err
}

// take takes the group's commit of the partition.
func (p *partition) take(all map[offsets.TopicPartition]offsets.Committed) {
	p.committed, p.said, p.unsaid = nil, offsets.RunsState{}, nil
	was, ok := all[p.TopicPartition]
	if !ok || was.Metadata == offsets.Unstarted {
		return
	}
	_, ext, err := offsets.DecodeAll(was.Metadata, p.id, was.Offset)
	p.committed, p.said, p.unsaid = &was, ext.Runs, err
}

// unknown reports whether the commit may say something that this release cannot read.
func (p *partition) unknown() bool {
	return p.unsaid != nil && !errors.Is(p.unsaid, offsets.ErrForeign)
}

// renew asks for the commit again, and reports whether it says something else of runs.
func (c *command) renew(ctx context.Context, p *partition) (changed bool, err error) {
	all, err := c.brokers.Committed(ctx, c.cfg.GroupID)
	if err != nil {
		return false, err
	}
	was := p.said
	p.take(all)
	return p.said != was, nil
}

// look finds out what members know of the partitions' runs when they begin with them.
func (c *command) look(ctx context.Context, parts []*partition) []copies.Looked {
	asks := make([]far.Ask, len(parts))
	for i, p := range parts {
		asks[i] = far.Ask{Assignment: offsets.Assignment{TopicPartition: p.TopicPartition}, Said: p.said}
	}
	return c.copies.Look(ctx, asks)
}
