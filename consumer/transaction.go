package consumer

import (
	"context"
	"time"

	"layover/cluster"
	"layover/offsets"
)

// openTransaction is a transaction behind which a partition's records wait: a reader of committed records gets
// none from its first offset on until it ends. It holds for one read position.
type openTransaction struct {
	next   int64     // read position that the rest is of
	since  time.Time // records were seen unread there, or behind that transaction; zero: none were
	offset int64     // of its first record, below 0 while none is known
}

// OpenTransaction is a transaction behind which records wait unread. Its zero value is none.
type OpenTransaction struct {
	Offset int64 // of its first record
	Since  time.Time
}

// askOpen looks for transactions that keep partitions from being read. ends are those that leaders just told. It
// returns the stable ends of partitions whose position has not moved.
func (c *Consumer) askOpen(ctx context.Context, ends map[offsets.TopicPartition]int64) map[offsets.TopicPartition]int64 {
	still := c.table.still(c.fetching.isPaused(), time.Now())
	parts := make([]offsets.TopicPartition, 0, len(still))
	for _, a := range still {
		if _, answered := ends[a.TopicPartition]; answered {
			parts = append(parts, a.TopicPartition)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, endsTimeout)
	defer cancel()
	stable, err := cluster.StableEnds(ctx, c.client, parts)
	if err != nil {
		c.cfg.Log.Debug("not all stable ends were read", "err", err)
	}
	for _, a := range still {
		if end, answered := stable[a.TopicPartition]; answered {
			c.table.while(a, func(o *owned) { o.isStableTo(end, time.Now()) })
		}
	}
	return stable
}

// still returns the assignments whose position has not moved since the last look although records are behind it.
// While reading is paused that says nothing, and it returns those alone of which a transaction is known.
func (t *ownership) still(paused bool, now time.Time) (out []offsets.Assignment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.rows {
		seen := o.open.next == o.next && !o.open.since.IsZero()
		switch {
		case !o.loaded || o.stopped() || o.end <= o.next || paused && !(seen && o.open.offset >= 0):
			o.open = openTransaction{}
		case !seen:
			o.open = openTransaction{next: o.next, since: now, offset: -1}
		default:
			out = append(out, o.Assignment)
		}
	}
	return out
}

// isStableTo takes the end of what a reader of committed records gets. Where it has moved, or is the log's, records
// wait for another transaction, or for none, from now on.
func (o *owned) isStableTo(stable int64, now time.Time) {
	switch open := &o.open; {
	case open.next != o.next || open.since.IsZero(): // it was read on
	case stable >= o.end:
		open.since, open.offset = now, -1
	case open.offset < 0:
		open.offset = stable
	case open.offset != stable:
		open.since, open.offset = now, stable
	}
}

// behind returns the transaction behind which records wait unread.
func (o *owned) behind() OpenTransaction {
	if o.open.next != o.next || o.open.since.IsZero() || o.open.offset < 0 || o.end <= o.next || o.stopped() {
		return OpenTransaction{}
	}
	return OpenTransaction{Offset: o.open.offset, Since: o.open.since}
}
