package consumer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"layover/cluster/batches"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Bounds on a look at the oldest unread records. Partitions are asked about one after the
// other, so no broker has two of these requests, and one batch is in memory at a time.
const (
	oldestAtOnce = 32
	oldestHops   = 3 // batches without a record to read that are gone over
)

// unreadRecord is what is known of the first unread record of a partition. It holds for
// one read position; while reading is paused that does not change.
type unreadRecord struct {
	at        int64 // read position that the rest is of
	from      int64 // nothing before is to be read: the next look begins here
	timestamp time.Time
	asked     time.Time
}

// askOldest asks when the first unread records were written, while reading is paused. No
// fetch says it then. A partition is asked about until there is an answer.
func (c *Consumer) askOldest(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, endsTimeout)
	defer cancel()
	for _, a := range c.table.unaged(oldestAtOnce, time.Now()) {
		at, from := c.table.unagedFrom(a)
		timestamp, from, err := c.oldestFrom(ctx, a.TopicPartition, from)
		if errors.Is(err, kerr.OffsetOutOfRange) { // the log was truncated, or retention has passed it
			from = at
		}
		if err != nil {
			c.cfg.Log.Debug("age of the oldest unread record is not known", "topic", a.Topic, "partition", a.Partition, "err", err)
		}
		c.table.while(a, func(o *owned) { o.unread.at, o.unread.from, o.unread.timestamp = at, from, timestamp })
	}
}

// oldestFrom asks for the batch at an offset, and for later ones where nobody is to read
// it. The timestamp is zero where none of the records has one. next is where another look
// is to begin.
func (c *Consumer) oldestFrom(ctx context.Context, tp offsets.TopicPartition, from int64) (oldest time.Time, next int64, err error) {
	for range oldestHops {
		f, err := batches.At(ctx, c.cfg.Asking, tp, from)
		if err != nil {
			return time.Time{}, from, err
		}
		if f.Damage != nil {
			return time.Time{}, from, f.Damage
		}
		if !f.Passable() {
			if ms := f.TimestampFrom(from); ms > 0 {
				return time.UnixMilli(ms), from, nil
			}
			return time.Time{}, from, nil
		}
		from = f.Last + 1
	}
	return time.Time{}, from, batches.ErrNone
}

// unagedFrom returns the read position of an assignment, and where the next look at its
// first unread record begins.
func (t *ownership) unagedFrom(a offsets.Assignment) (at, from int64) {
	t.while(a, func(o *owned) {
		if at, from = o.next, o.next; o.unread.at == at {
			from = max(at, o.unread.from)
		}
	})
	return at, from
}

// unaged returns at most so many assignments with unread records of unknown age, and
// notes that they are asked about now. Those that were asked about least lately come
// first.
func (t *ownership) unaged(most int, now time.Time) (out []offsets.Assignment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var rows []*owned
	for _, o := range t.rows {
		if o.loaded && !o.stopped() && o.end > o.next && (o.unread.at != o.next || o.unread.timestamp.IsZero()) {
			rows = append(rows, o)
		}
	}
	slices.SortFunc(rows, func(a, b *owned) int {
		return cmp.Or(a.unread.asked.Compare(b.unread.asked), cmp.Compare(a.Epoch, b.Epoch))
	})
	for _, o := range rows[:min(most, len(rows))] {
		o.unread.asked = now
		out = append(out, o.Assignment)
	}
	return out
}

// oldestUnread returns when the first unread record was written; zero: that is not known,
// or there is none.
func (o *owned) oldestUnread() time.Time {
	if o.unread.at != o.next || o.end <= o.next {
		return time.Time{}
	}
	return o.unread.timestamp
}
