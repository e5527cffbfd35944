package consumer

import (
	"context"
	"maps"
	"slices"
	"time"

	"layover/cluster"
	"layover/offsets"
)

// Every endsEvery the ends of the assigned partitions' logs are asked for. Fetches
// tell them too, but none comes from a partition that is paused or has no leader.
const (
	endsEvery   = 5 * time.Second
	endsTimeout = 4 * time.Second
)

// WatchEnds keeps the log ends in Status fresh until the context ends. With them it keeps the transactions behind which
// records wait, the partitions that stand still, and while reading is paused the age of the oldest unread records. The
// group's lag does not tell how far reading is behind, as it counts parked records. The client is nudged as often: a wake
// that it loses by itself, as in fetching.set, costs endsEvery at most. Before Start it waits.
func (c *Consumer) WatchEnds(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-c.started:
	}
	ticker := time.NewTicker(endsEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.turns.ends.Add(1)
			c.fetching.nudge()
			ends := c.askEnds(ctx)
			c.askStanding(ctx, ends, c.askOpen(ctx, ends))
			if c.fetching.isPaused() {
				c.askOldest(ctx)
			}
		}
	}
}

func (c *Consumer) askEnds(ctx context.Context) map[offsets.TopicPartition]int64 {
	loaded := c.table.loaded()
	if len(loaded) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endsTimeout)
	defer cancel()
	ends, err := cluster.Ends(ctx, c.client, slices.Collect(maps.Keys(loaded)))
	if err != nil { // of one of several brokers, the others' answers are there
		c.cfg.Log.Debug("not all log ends were read", "err", err)
	}
	for tp, end := range ends {
		c.table.noteEnd(loaded[tp], end)
	}
	return ends
}
