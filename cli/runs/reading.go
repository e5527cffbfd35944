package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/journal/copies"
	"layover/journal/logs"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory/far"
)

const (
	// together is how many records the index takes at once.
	together = 4096
	// readWait is how long no record may come.
	readWait = 30 * time.Second
)

// limits bound a request that reads copies. Members write batches of 64 KiB, but for large
// records, which have batches of their own.
var limits = logs.Limits{Answer: 8 << 20, Partition: 4 << 20, Batch: 128 << 20, Together: true}

// reader reads the log of a runs partition from an offset on, and tells an index of it.
type reader struct {
	findings *findings
	index    *far.Index
	id       runs.Identity
	now      time.Time

	at    int64       // the first offset that the index does not know
	found []far.Found // copies from there on
	newer []bool      // which of them are of a newer release
}

// read reads what the index does not know.
func (c *command) read(ctx context.Context, p *partition, index *far.Index, from int64, f *findings) error {
	r := &reader{findings: f, index: index, at: from, now: c.now,
		id: runs.Identity{Owner: runs.OwnerOf(p.id.ClusterID, c.cfg.GroupID, p.Topic), Partition: p.Partition}}
	ends := map[offsets.TopicPartition][2]int64{p.runs: {from, f.stable}}
	left, err := logs.Scan(ctx, c.reading, limits, ends, readWait, func(_ offsets.TopicPartition, rec *kgo.Record) (bool, error) {
		if len(r.found) == together {
			r.learn(rec.Offset)
		}
		r.take(rec)
		return true, nil
	})
	if err = cmp.Or(left[p.runs], err); err != nil { // which names the ACL where one is missing
		r.learn(r.next())
		return fmt.Errorf("reading its runs: %w", c.brokers.Via.Explain(err))
	}
	r.learn(f.stable)
	return nil
}

// take takes a record.
func (r *reader) take(rec *kgo.Record) {
	f, err := copies.Find(r.id, rec)
	switch {
	case errors.Is(err, runs.ErrDamaged):
		r.findings.damaged++
	case errors.Is(err, runs.ErrNoCopy):
		r.noCopy(rec)
	default:
		r.found, r.newer = append(r.found, f), append(r.newer, errors.Is(err, runs.ErrNewer))
	}
}

// noCopy takes a record that is no copy: a directory, as long as it is sound.
func (r *reader) noCopy(rec *kgo.Record) {
	switch _, err := runs.ReadDirectory(r.id, rec.Key, rec.Value, rec.Headers); {
	case errors.Is(err, runs.ErrDamaged):
		r.findings.damaged++
	case errors.Is(err, runs.ErrNoDirectory), errors.Is(err, runs.ErrForeign):
		r.findings.strange++
	}
}

// next returns the offset behind the last copy.
func (r *reader) next() int64 {
	if n := len(r.found); n > 0 {
		return r.found[n-1].Offset + 1
	}
	return r.at
}

// learn tells the index of all below an offset, and counts the copies that are not finished.
func (r *reader) learn(below int64) {
	if below <= r.at {
		return
	}
	r.index.Read(r.at, below, r.found, math.MinInt64, 0, nil) // which takes none
	for i := range r.found {
		if f := &r.found[i]; !r.index.Finished(f.Offset) {
			r.findings.meet(f, r.newer[i], r.now)
		}
	}
	r.at, r.found, r.newer = below, r.found[:0], r.newer[:0]
}

// meet counts a copy that was read and is not finished.
func (f *findings) meet(copied *far.Found, newer bool, now time.Time) {
	switch {
	case newer:
		f.newer++
		return
	case copied.DeadlineMs == math.MaxInt64:
		f.foreign++
		return
	}
	f.count(run{copied.Writer, copied.Run}, runs.Amount{Copies: 1, Bytes: copied.Bytes}, copied.DeadlineMs, copied.DeadlineMs)
	for i, span := range spans {
		if copied.DeadlineMs <= now.Add(span).UnixMilli() {
			f.within[i]++
		}
	}
}
