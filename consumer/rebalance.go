package consumer

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// onAssigned begins an assignment for each added partition. It is called after every
// join, with nothing added too, so the generation is the join's.
func (c *Consumer) onAssigned(_ context.Context, _ *kgo.Client, added map[string][]int32) {
	<-c.started
	c.table.identify(c.client.GroupMetadata())
	outlived := c.table.outlived()
	c.lose(outlived)
	for topic, partitions := range outlived {
		if slices.ContainsFunc(partitions, func(p int32) bool { return !slices.Contains(added[topic], p) }) {
			go c.Rejoin(topic) // it waits for the end of this callback, and ends with the topic's fresh assignment
		}
	}
	// A topic that was purged and added again can come back without having been
	// revoked: its earlier assignments end here.
	if stale := c.table.loadedOf(added); len(stale) > 0 {
		c.handler.Revoked(stale)
	}
	assigned := c.table.add(added)
	c.group.joined()
	c.beats.joined()
	c.client.ResumeFetchPartitions(added)
	_, generation := c.table.identity()
	c.cfg.Log.Info("group joined", "group", c.cfg.Group, "generation", generation, "added", total(added), "assigned", assigned)
}

// onRevoked ends assignments while the membership still holds. The partitions stay in
// the table until the handler is done with them: under the cooperative protocol
// nobody else has them before this returns.
func (c *Consumer) onRevoked(_ context.Context, _ *kgo.Client, revoked map[string][]int32) {
	<-c.started
	c.table.identify(c.client.GroupMetadata())
	if len(c.table.outlived()) > 0 { // the membership that they were assigned to is gone
		c.lose(revoked)
		return
	}
	if ending := c.table.loadedOf(revoked); len(ending) > 0 {
		c.handler.Revoked(ending)
		c.cfg.Log.Info("partitions revoked", "group", c.cfg.Group, "revoked", len(ending))
	}
	c.table.forget(revoked)
}

// onLost ends assignments whose membership is gone: nothing can be committed.
func (c *Consumer) onLost(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	<-c.started
	c.table.leave()
	c.protocol.joins()
	c.lose(lost)
}

func (c *Consumer) lose(lost map[string][]int32) {
	ending := c.table.loadedOf(lost)
	c.table.forget(lost)
	if len(ending) > 0 {
		c.handler.Lost(ending)
		c.cfg.Log.Warn("partitions lost", "group", c.cfg.Group, "lost", len(ending))
	}
}

func total(parts map[string][]int32) (n int) {
	for p := range maps.Values(parts) {
		n += len(p)
	}
	return n
}
