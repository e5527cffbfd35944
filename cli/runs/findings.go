package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"layover/cluster"
	"layover/journal/copies"
	"layover/journal/runs"
	"layover/offsets"
	"layover/purgatory/far"
)

// spans are the distances from now within which due copies are counted.
var spans = [...]time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// findings is what is known of a runs partition.
type findings struct {
	absent error // why there is no such partition; nil: there is
	topic  offsets.TopicID
	log    offsets.Bounds
	stable int64 // nothing is read from here on: a transaction is open

	exact     bool  // every copy was read; without, the numbers of copies are upper bounds
	directory error // why the directory that the commit names is not used
	journal   error // the finished copies that the journal misses
	unread    error // why the rest was not read

	copies, bytes        int64 // that wait
	within               [len(spans)]int64
	earliestMs, latestMs int64 // deadlines of those that wait, in Unix milliseconds
	runs                 map[run]struct{}

	finished int64 // offsets that are finished and not deleted
	lost     int64 // offsets that are gone and were not finished
	// foreign and newer are copies that never become due here, and count as unfinished: of
	// another owner, or of a newer release. A directory does not tell these two apart, and
	// foreign has them all.
	foreign, newer int64
	damaged        int64 // copies and directories that were read and are damaged
	strange        int64 // records that are neither copy nor directory
}

// run names a run of copies.
type run struct{ writer, number uint64 }

// maxRuns bounds the runs that are counted: a partition has 4,096, and a stranger's copies
// may have any number of names.
const maxRuns = 16 * runs.MaxRuns

// tries is how often a partition is looked at whose records are deleted meanwhile.
const tries = 4

// find finds out all about a partition. What has been found before an error is returned with
// it. The partition's members may go on: where they delete what is to be read, it begins anew
// with their next commit.
func (c *command) find(ctx context.Context, p *partition, looked copies.Looked) (*findings, error) {
	for range tries {
		f, err := c.examine(ctx, p, &looked)
		gone := errors.Is(err, kerr.OffsetOutOfRange)
		if !gone && (f == nil || f.lost == 0) {
			return f, err
		}
		if changed, err := c.renew(ctx, p); err != nil || !changed && !gone {
			return f, err
		}
		looked = c.look(ctx, []*partition{p})[0]
	}
	return nil, errBusy
}

// examine finds out all about a partition, of which looked is known. Without findings nothing is known.
func (c *command) examine(ctx context.Context, p *partition, looked *copies.Looked) (*findings, error) {
	if errors.Is(looked.Err, cluster.ErrMissing) {
		f := &findings{absent: looked.Err, exact: true}
		if p.said.Holds {
			f.lost = p.said.Known - p.said.Low
		}
		return f, nil
	}
	if errors.Is(looked.Err, copies.ErrElsewhere) { // which a broker's answer says
		return nil, fmt.Errorf("its runs: %w", looked.Err)
	}
	if looked.Err != nil {
		return nil, c.brokers.Explain(looked.Err, "its runs", "Describe on topic "+p.runs.Topic)
	}
	o := looked.Opening
	f := &findings{topic: o.TopicID, log: o.Log, stable: min(looked.Bounds.Stable, o.Log.End), directory: looked.Directory, journal: looked.Journal, runs: make(map[run]struct{})}
	if c.exact {
		o.Directory = nil
	}
	listed := o.Directory != nil && o.DirectoryEnd >= o.Directory.End
	index, lost := far.Open(o)
	f.lost, f.exact = lost, !listed
	var failed error
	from := index.Known()
	if from < f.stable {
		failed = c.read(ctx, p, index, from, f)
	}
	if listed {
		f.list(o, from, c.now)
	}
	f.finished = max(min(o.Window.Low(), f.log.End)-f.log.Start, 0) + o.Window.Above()
	if cluster.Denied(f.journal) {
		failed = cmp.Or(failed, f.journal)
	}
	f.unread = failed
	return f, failed
}

// list adds the copies that a directory tells, at most so many as may be unfinished. From an offset on
// they were read.
func (f *findings) list(o *far.Opening, read int64, now time.Time) {
	known := min(o.Said.Known, o.SaidEnd)
	for _, r := range o.Directory.Runs {
		if r.First >= read {
			break
		}
		least := int64(math.MinInt64)
		if r.Last < known { // the commit says what of it is finished, where the journal does not
			if r.LatestMs <= o.Said.DueMs {
				continue
			}
			least = o.Said.DueMs + 1
			r.Position = max(r.Position, r.Begin(least))
		}
		if r.Position = o.Window.NextUnfinished(r.Position); r.Position > r.Last {
			continue
		}
		_, all := r.DueBy(math.MaxInt64)
		if r.LatestMs == math.MaxInt64 {
			f.foreign += all.Copies
			continue
		}
		earliest, _ := r.Next()
		f.count(run{r.Writer, r.Number}, all, max(earliest, least), r.LatestMs)
		for i, span := range spans {
			_, due := r.DueBy(now.Add(span).UnixMilli())
			f.within[i] += due.Copies
		}
	}
}

// count adds copies of a run that wait.
func (f *findings) count(of run, a runs.Amount, earliestMs, latestMs int64) {
	if f.copies == 0 {
		f.earliestMs, f.latestMs = earliestMs, latestMs
	}
	f.copies, f.bytes = f.copies+a.Copies, f.bytes+a.Bytes
	f.earliestMs, f.latestMs = min(f.earliestMs, earliestMs), max(f.latestMs, latestMs)
	if len(f.runs) < maxRuns {
		f.runs[of] = struct{}{}
	}
}

// writers returns how many assignments have written the runs that wait.
func (f *findings) writers() int {
	writers := make(map[uint64]struct{})
	for r := range f.runs {
		writers[r.writer] = struct{}{}
	}
	return len(writers)
}

// empty reports whether there is nothing at all in the log.
func (f *findings) empty() bool { return f.absent == nil && f.log.Start >= f.log.End }

// hidden returns how many offsets are behind an open transaction.
func (f *findings) hidden() int64 { return max(f.log.End-f.stable, 0) }

// mayWait reports whether there are copies that wait, or records of which that is not known.
func (f *findings) mayWait() bool {
	return f.absent != nil || f.unread != nil || f.hidden() > 0 || f.copies+f.foreign+f.newer+f.damaged+f.strange > 0
}
