package consumer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"layover/cluster"
	"layover/offsets"
)

// commitStarts commits the start of every partition of every ingress topic, in one request.
// With two, a crash or a look in between would find a known group. The partitions of the
// second would then count as having lost their offsets. The coordinator refuses a request
// for which it would write over 1 MiB, which is 150 bytes for a partition with short names.
// Such a group has to be given its offsets by hand.
//
// A partition whose bounds or journal could not be asked for is committed as not started.
// One with a journal is left out. known are bounds that are known already. An error
// leaves the group without an offset.
func (g *groupStart) commitStarts(ctx context.Context, known map[offsets.TopicPartition]cluster.Bounds) (map[offsets.TopicPartition]startAt, error) {
	at, err := g.topicsNow(ctx)
	if err != nil {
		return nil, err
	}
	ids := identities(at)
	var journals sync.WaitGroup
	var orphans, unknown map[offsets.TopicPartition]startAt
	journals.Go(func() { orphans, unknown = g.orphaned(ctx, ids) }) // ends with its time limit, beside the next question
	g.everything(ctx, at, known)
	journals.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	starts := orphans
	var commits []offsets.Commit
	member, generation := g.table.identity()
	for tp, b := range at {
		if _, ok := orphans[tp]; ok {
			continue
		}
		m := offsets.Commit{TopicPartition: tp, TopicID: b.TopicID, LeaderEpoch: -1, MemberID: member, Generation: generation}
		if b.Err == nil {
			if m.Low = b.Start; g.offset == "latest" {
				m.Low = b.End
			}
		}
		s, later := unknown[tp]
		if s.offset = m.Low; b.Err != nil || later {
			m.Metadata = offsets.Unstarted
		} else {
			m.Metadata = offsets.NewWindow(m.Low).Encode(ids[tp], offsets.MaxMetadata).Metadata
		}
		starts[tp] = s
		commits = append(commits, m)
	}
	if len(commits) == 0 { // each partition has a journal
		return starts, nil
	}
	if err := g.sendStarts(ctx, commits, starts); err != nil {
		return starts, err
	}
	g.log.Info("group starts", "group", g.group.name, "offset", g.offset)
	return starts, nil
}

// sendStarts commits starts. Those that are refused it commits again, for loadGrace. One
// that stays refused has no start, and delays its own partition alone.
func (g *groupStart) sendStarts(ctx context.Context, commits []offsets.Commit, starts map[offsets.TopicPartition]startAt) (failed error) {
	began, started := time.Now(), 0
	for len(commits) > 0 {
		var refused []offsets.Commit
		for _, r := range g.commit(ctx, commits) {
			if r.Err == nil {
				started++
				continue
			}
			refused = append(refused, r.Commit)
			failed = fmt.Errorf("start offset of %s/%d: %w", r.Topic, r.Partition, r.Err)
		}
		if commits = refused; started == 0 || time.Since(began) >= loadGrace || len(commits) > 0 && cluster.Pause(ctx, loadRetry) != nil {
			break
		}
	}
	for _, m := range commits {
		starts[m.TopicPartition] = startAt{err: failed}
	}
	if started == 0 {
		return failed
	}
	return nil
}

// topicsNow returns all partitions of all ingress topics that exist, without their bounds.
func (g *groupStart) topicsNow(ctx context.Context) (cluster.Located, error) {
	clusterID, topics, err := cluster.Describe(ctx, g.client, g.topics)
	if err != nil {
		return nil, fmt.Errorf("start offsets: %w", err)
	}
	out := make(cluster.Located)
	for _, t := range topics {
		for _, p := range t.Partitions {
			out[offsets.TopicPartition{Topic: *t.Topic, Partition: p.Partition}] = cluster.Bounds{ClusterID: clusterID, TopicID: t.TopicID, Err: cluster.ErrNoAnswer}
		}
	}
	return out, nil
}

// everything completes bounds from known, and by asking for loadGrace at most: one failed
// answer does not make a partition sick.
func (g *groupStart) everything(ctx context.Context, at cluster.Located, known map[offsets.TopicPartition]cluster.Bounds) {
	ctx, cancel := context.WithTimeout(ctx, loadGrace)
	defer cancel()
	var left []offsets.TopicPartition
	for tp, b := range at {
		if is, ok := known[tp]; ok && is.TopicID == b.TopicID {
			at[tp] = is
		} else {
			left = append(left, tp)
		}
	}
	for len(left) > 0 {
		if left = g.boundsOf(ctx, left, at); len(left) > 0 && cluster.Pause(ctx, loadRetry) != nil {
			return
		}
	}
}

// boundsOf asks for bounds once and puts them into at. It returns the partitions whose
// bounds stay unknown.
func (g *groupStart) boundsOf(ctx context.Context, parts []offsets.TopicPartition, at cluster.Located) (failed []offsets.TopicPartition) {
	var mu sync.Mutex
	cluster.AskBounds(ctx, g.client, parts, func(some cluster.Located) {
		mu.Lock()
		defer mu.Unlock()
		for tp, b := range some {
			if b.Err == nil && b.TopicID == at[tp].TopicID {
				at[tp] = b
			} else {
				failed = append(failed, tp)
			}
		}
	})
	return failed
}
