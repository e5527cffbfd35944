package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"layover/cluster"
	"layover/journal/facts"
	"layover/journal/logs"
	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// holdsWait is how long Holds waits for a partition that gives no sign.
const holdsWait = 2 * time.Second

// Holds says which partitions have a record in their journal, of any incarnation of their
// offset. A partition that could not be asked about is in unknown, with the reason, and
// not in held. The cost is reading each journal up to its first such record. A topic
// counts as missing after two seconds: a broker that has just started knows none.
func (j *Journal) Holds(ctx context.Context, ids map[offsets.TopicPartition]offsets.Identity) (held map[offsets.TopicPartition]bool, unknown map[offsets.TopicPartition]error) {
	of := make(map[offsets.TopicPartition]offsets.TopicPartition, len(ids)) // ingress partition by journal partition
	parts := make([]offsets.TopicPartition, 0, len(ids))
	for tp := range ids {
		of[j.at(tp)] = tp
		parts = append(parts, j.at(tp))
	}
	began := time.Now()
	ends, failed := logBounds(ctx, j.cfg.Client, parts)
	for missesAny(failed) && time.Since(began) < missingWait && ctx.Err() == nil {
		cluster.Pause(ctx, restoreRetry)
		ends, failed = logBounds(ctx, j.cfg.Client, parts)
	}
	held = make(map[offsets.TopicPartition]bool, len(ids))
	left, err := scanFirst(ctx, j.cfg.Options, ends, func(at offsets.TopicPartition, r *kgo.Record) bool {
		tp := of[at]
		rec, err := facts.Read(r.Value)
		held[tp] = held[tp] || err == nil && rec.Of(facts.Identity{Identity: ids[tp], Group: j.cfg.Group})
		return !held[tp]
	})
	maps.Copy(failed, left)
	unknown = make(map[offsets.TopicPartition]error)
	for _, at := range parts {
		why := cmp.Or(failed[at], err)
		// Nobody has written to a topic that is not there, or that we may not read.
		if why != nil && !errors.Is(why, cluster.ErrMissing) && !errors.Is(why, kerr.TopicAuthorizationFailed) {
			unknown[of[at]] = fmt.Errorf("its journal: %w", why)
			delete(held, of[at])
		} else if !held[of[at]] {
			held[of[at]] = false
		}
	}
	return held, unknown
}

// missesAny says whether one of the errors is that a topic does not exist.
func missesAny(failed map[offsets.TopicPartition]error) bool {
	for _, err := range failed {
		if errors.Is(err, cluster.ErrMissing) {
			return true
		}
	}
	return false
}

// scanFirst reads partitions, each until f returns false.
func scanFirst(ctx context.Context, options func() []kgo.Opt, ends map[offsets.TopicPartition][2]int64, f func(offsets.TopicPartition, *kgo.Record) (more bool)) (left map[offsets.TopicPartition]error, err error) {
	if len(ends) == 0 {
		return nil, nil
	}
	client, err := logs.NewClient(options())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return logs.Scan(ctx, client, limits(), ends, holdsWait, func(at offsets.TopicPartition, r *kgo.Record) (bool, error) { return f(at, r), nil })
}

// logBounds returns start and stable end of logs. A partition without an answer is in
// failed, with the reason.
func logBounds(ctx context.Context, cl *kgo.Client, parts []offsets.TopicPartition) (ends map[offsets.TopicPartition][2]int64, failed map[offsets.TopicPartition]error) {
	ctx, cancel := context.WithTimeout(ctx, holdsWait)
	defer cancel()
	ends, failed = make(map[offsets.TopicPartition][2]int64), make(map[offsets.TopicPartition]error)
	for at, b := range cluster.BoundsOf(ctx, cl, parts) {
		if b.Err != nil {
			failed[at] = b.Err
		} else {
			ends[at] = [2]int64{b.Start, b.Stable}
		}
	}
	return ends, failed
}
