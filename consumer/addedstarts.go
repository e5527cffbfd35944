package consumer

import (
	"context"
	"errors"
	"iter"
	"maps"
	"time"

	"layover/cluster"
	"layover/offsets"
)

// offsetsNow are a group's offsets, and the identity that the member had before it asked for them. A commit that
// follows from them is refused once the group has another generation.
type offsetsNow struct {
	known      map[offsets.TopicPartition]offsets.Committed
	unstable   map[offsets.TopicPartition]error
	member     string
	generation int32
}

// isNew says whether a partition is above all of its topic that have an offset. highest is that of highestOf.
func (now *offsetsNow) isNew(tp offsets.TopicPartition, highest map[string]int32) bool {
	h, any := highest[tp.Topic]
	return now.unstable[tp] == nil && (!any || tp.Partition > h)
}

// added returns the new ones up to the highest of some partitions, by topic and in their order. Numbers have no gaps,
// so that a partition which an answer leaves out is there as well.
func (now *offsetsNow) added(some map[offsets.TopicPartition]cluster.Bounds) map[string][]offsets.TopicPartition {
	highest := highestOf(maps.Keys(now.known))
	out := make(map[string][]offsets.TopicPartition)
	for topic, last := range highestOf(maps.Keys(some)) {
		for p := range last + 1 {
			if tp := (offsets.TopicPartition{Topic: topic, Partition: p}); now.isNew(tp, highest) {
				out[topic] = append(out[topic], tp)
			}
		}
	}
	return out
}

// highestOf returns the highest of some partitions, by topic.
func highestOf(some iter.Seq[offsets.TopicPartition]) map[string]int32 {
	highest := make(map[string]int32)
	for tp := range some {
		if h, ok := highest[tp.Topic]; !ok || tp.Partition > h {
			highest[tp.Topic] = tp.Partition
		}
	}
	return highest
}

// startAdded has the new partitions of a topic start in one request, before any of them begins. Had one begun alone,
// new ones below it would count as having lost their offsets. starts are those of missing; they get the reason to
// wait.
//
// The owner of the first new partition commits for all: of two members, one would take back what the other has finished
// since. A partition whose start is not known here is committed as not started. One with a journal has lost its offset,
// and is left out.
func (g *groupStart) startAdded(ctx context.Context, now *offsetsNow, missing map[offsets.TopicPartition]cluster.Bounds, starts map[offsets.TopicPartition]startAt) {
	topics, err := g.topicsNow(ctx)
	if err != nil {
		for _, added := range now.added(missing) {
			putOff(starts, added, err)
		}
		return
	}
	at := make(map[offsets.TopicPartition]cluster.Bounds)
	maps.Copy(at, missing)
	maps.Copy(at, topics)
	last := highestOf(maps.Keys(at))
	for topic, added := range now.added(at) {
		like := at[offsets.TopicPartition{Topic: topic, Partition: last[topic]}]
		switch added = g.withoutJournal(ctx, added, like); {
		case len(added) < 2: // below one alone none counts as lost
		case !g.table.owns(added[0]):
			if g.mayWait(added[0]) {
				putOff(starts, added, errOtherAdded)
			}
		default:
			g.commitAdded(ctx, now, added, like, missing, starts)
		}
	}
}

// addedGrace is how long new partitions wait for another member's commit: a rebalance is over by then, and so is an
// election. Its owner may have a partition that is sick, and begin nothing. Then each starts alone, though a lower one
// that is started later may count as having lost its offset.
const addedGrace = 30 * time.Second

// mayWait says whether new partitions may still wait for another member's commit. first is the first of them: others that
// are added within a minute have a first one of their own.
func (g *groupStart) mayWait(first offsets.TopicPartition) bool {
	since, ok := g.waits[first]
	if now := time.Now(); !ok || now.Sub(since) > 2*addedGrace { // of long ago
		if g.waits == nil {
			g.waits = make(map[offsets.TopicPartition]time.Time)
		}
		g.waits[first] = now
		return true
	}
	return time.Since(since) < addedGrace
}

// errOtherAdded is the reason to wait where another member commits the starts of new partitions.
var errOtherAdded = errors.New("the member with the first new partition of the topic has not committed where the new ones start")

// putOff has partitions that would start now wait, for a reason.
func putOff(starts map[offsets.TopicPartition]startAt, parts []offsets.TopicPartition, err error) {
	for _, tp := range parts {
		if s, ok := starts[tp]; ok && s.err == nil && s.reason == "" {
			starts[tp] = startAt{err: err}
		}
	}
}

// withoutJournal returns those of a topic's partitions of whose journal nothing is known. like has the topic's id.
func (g *groupStart) withoutJournal(ctx context.Context, parts []offsets.TopicPartition, like cluster.Bounds) (out []offsets.TopicPartition) {
	ids := make(map[offsets.TopicPartition]offsets.Identity, len(parts))
	for _, tp := range parts {
		ids[tp] = offsets.Identity{ClusterID: like.ClusterID, TopicID: like.TopicID, Partition: tp.Partition}
	}
	orphans, _ := g.orphaned(ctx, ids)
	for _, tp := range parts {
		if _, ok := orphans[tp]; !ok {
			out = append(out, tp)
		}
	}
	return out
}

// commitAdded commits the starts of a topic's new partitions. Those that are refused have the reason in starts.
func (g *groupStart) commitAdded(ctx context.Context, now *offsetsNow, added []offsets.TopicPartition, like cluster.Bounds, missing map[offsets.TopicPartition]cluster.Bounds, starts map[offsets.TopicPartition]startAt) {
	var commits []offsets.Commit
	for _, tp := range added {
		m := offsets.Commit{TopicPartition: tp, TopicID: like.TopicID, LeaderEpoch: -1, Metadata: offsets.Unstarted, MemberID: now.member, Generation: now.generation}
		switch s, ok := starts[tp]; {
		case !ok || s.err != nil:
		case missing[tp].TopicID != like.TopicID:
			putOff(starts, []offsets.TopicPartition{tp}, errAnotherTopic)
		default:
			m.Low = s.offset
			m.Metadata = offsets.NewWindow(m.Low).Encode(offsets.Identity{ClusterID: like.ClusterID, TopicID: like.TopicID, Partition: tp.Partition}, offsets.MaxMetadata).Metadata
		}
		commits = append(commits, m)
	}
	refused := make(map[offsets.TopicPartition]startAt)
	if err := g.sendStarts(ctx, commits, refused); err != nil {
		putOff(starts, added, err)
		return
	}
	g.log.Info("new partitions start", "group", g.group.name, "topic", added[0].Topic, "first", added[0].Partition, "partitions", len(added))
	for tp, s := range refused {
		putOff(starts, []offsets.TopicPartition{tp}, s.err)
	}
}

var errAnotherTopic = errors.New("the topic was deleted and made again meanwhile")
