package copies

import (
	"context"
	"errors"
	"math"
	"slices"

	"layover/cluster/batches"
	"layover/offsets"
	"layover/purgatory/far"

	"github.com/twmb/franz-go/pkg/kgo"
)

// mostBroken bounds the offsets of a batch that cannot be read which one visit passes.
const mostBroken = 1 << 16

// leastRecord is the fewest bytes that a record takes in a batch.
const leastRecord = 7

// mostSuspects bounds the batches of a partition that could not be read once. Visits of what is due take turns
// with those of a gap or of a whole run, and each may stand before one.
const mostSuspects = 2

// isBroken notes that the batch at an offset of a runs partition could not be read. It reports whether
// this is the second time in a row: once may be the network's fault.
func (c *Copies) isBroken(at offsets.TopicPartition, offset int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	suspects := c.broken[at]
	if slices.Contains(suspects, offset) {
		return true
	}
	if len(suspects) == mostSuspects {
		suspects = suspects[1:]
	}
	c.broken[at] = append(slices.Clone(suspects), offset)
	return false
}

// isWhole notes that the offsets from from (included) to to (not included) could be read.
func (c *Copies) isWhole(at offsets.TopicPartition, from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if suspects, ok := c.broken[at]; ok {
		c.broken[at] = slices.DeleteFunc(suspects, func(offset int64) bool { return offset >= from && offset < to })
	}
}

// passBroken goes over the batch in front, which cannot be read. Each of its offsets may be a copy, so it
// is found as one that is never due. Such a copy is not delivered, not deleted, and stands in nobody's way.
func (r *reading) passBroken(ctx context.Context) error {
	end, size, err := r.endOfBroken(ctx)
	if err != nil {
		return err
	}
	for ; r.Until < end; r.Until++ {
		r.Found = append(r.Found, far.Found{Offset: r.Until, DeadlineMs: math.MaxInt64, Bytes: size})
		r.records = append(r.records, new(kgo.Record)) // nobody takes it
	}
	return r.raise(ctx)
}

// endOfBroken returns where the batch in front ends, up to the visit's end, and the bytes of each offset.
func (r *reading) endOfBroken(ctx context.Context) (end, size int64, err error) {
	found, err := batches.At(ctx, r.copies.cfg.Client, r.at, r.Until)
	for err == nil && found.Passable() {
		found, err = batches.At(ctx, r.copies.cfg.Client, r.at, found.Last+1)
	}
	if err != nil {
		return 0, 0, err
	}
	r.Highest = max(r.Highest, found.LeaderEpoch)
	last, room := found.Last, int64(found.Bytes/leastRecord)
	switch {
	case found.Damage == nil:
	case found.First > r.Until || last < r.Until || last-found.First >= room: // nothing of it is to be believed
		last = r.Until
	default: // the next batch says whether the last offset is right
		next, err := batches.At(ctx, r.copies.cfg.Client, r.at, last+1)
		switch {
		case err == nil && next.First > r.Until:
			last = min(last, next.First-1)
		case !errors.Is(err, batches.ErrNone):
			last = r.Until
		}
	}
	end = min(last+1, r.To, r.Until+mostBroken)
	return end, int64(found.Bytes) / max(last-found.First+1, 1), nil
}
