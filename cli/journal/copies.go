package journal

import (
	"context"
	"fmt"

	"layover/cli/kafka"
	"layover/cli/process"
	"layover/cluster"
	"layover/journal/facts"
	"layover/offsets"
)

// A journal has facts about two sets: the finished offsets of the ingress partition, and the
// finished copies in its runs partition. The verb mends the first. The second it leaves as
// it is, and says what waits.

// runsBounds asks for the bounds of a runs topic, and returns them by partition. Without
// such a topic, or such a partition, nothing is in it.
func (c *command) runsBounds(ctx context.Context, name string, topics map[string]kafka.Topic) func(partition int32) cluster.Bounds {
	t := topics[name]
	if t.Err != nil && !cluster.IsMissing(t.Err) {
		err := c.brokers.Explain(t.Err, fmt.Sprintf("runs topic %q", name), "Describe on topic "+name)
		return func(int32) cluster.Bounds { return cluster.Bounds{Err: err} }
	}
	all := c.brokers.Bounds(ctx, name, t.Partitions)
	return func(n int32) (b cluster.Bounds) {
		if n < t.Partitions {
			b = all[n]
		}
		return b
	}
}

// aboutCopies reports whether a record of this partition and group is about the finished
// copies of its runs. The facts of copies have no incarnation, as they outlive the group's
// offset.
func (p *partition) aboutCopies(r *facts.Record) bool {
	return r.Incarnation == 0 && r.TopicID != p.id.TopicID && r.Group == p.id.Group && r.Partition == p.id.Partition
}

// beginCopies returns the life of the finished copies, as a commit says it, or none, before
// the journal is read.
func (p *partition) beginCopies(said offsets.RunsState) *life {
	id := p.id
	id.TopicID, id.Incarnation = p.runsID, 0
	if said.TopicID != p.runsID {
		said = offsets.RunsState{LeaderEpoch: -1}
	}
	w := offsets.NewWindow(min(said.Low, p.runsLog.End))
	return &life{window: w, reader: facts.NewReader(id, w, said.LeaderEpoch, p.runsLog.End, said.Journal)}
}

// holdsCopies reports whether something may be in the runs partition. An older release would
// pass over it, so that a commit has to hold it off.
func (p *partition) holdsCopies() bool {
	return p.runsLog.Err != nil || p.runsLog.Start < p.runsLog.End
}

// older is what a commit without facts about runs says of older releases.
func (p *partition) older() offsets.RunsState { return offsets.RunsState{Holds: p.holdsCopies()} }

// waiting returns how many copies wait, at most: directories between them count, too.
func (p *partition) waiting() int64 {
	from, end := p.runsLog.Start, p.runsLog.End
	if p.copied == nil || p.copied.err != nil {
		return end - from
	}
	return max(end-from-finishedIn(p.copied.window, from, end), 0)
}

// sayCopies prints what waits in runs. The partition is read again from an offset on, -1 for
// none.
func (c *command) sayCopies(p *partition, again int64) {
	const all = "delivered all the same"
	n, of := p.waiting(), fmt.Sprintf("%s/%d", p.runs.Topic, p.Partition)
	twice := ""
	if again >= 0 && again < p.log.End {
		twice = fmt.Sprintf("; records that were moved there from offset %d on may come twice", again)
	}
	switch {
	case p.runsLog.Err != nil:
		c.say("  runs: what waits in %s is not known, and is %s%s: %v\n", of, all, twice, p.runsLog.Err)
	case n == 1:
		c.say("  runs: at most 1 copy waits in %s, and is %s%s\n", of, all, twice)
	case n > 0:
		c.say("  runs: at most %s copies wait in %s, and are %s%s\n", process.Grouped(n), of, all, twice)
	}
}
