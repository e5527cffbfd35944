package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"layover/admin"
	"layover/consumer"
	"layover/offsets"
	"layover/purgatory"
)

// Intervals of the look at a replay, and over how many looks its rate is taken.
const (
	lookAtReplay = time.Second
	sayReplay    = 10 * time.Second
	rateOver     = 10
)

// replay is the reading of what was in the log when partitions were assigned. Its
// loop changes it; Sample may be called from any goroutine.
type replay struct {
	log *slog.Logger

	mu sync.Mutex
	replaying
}

// replaying is one replay; the zero value is none.
type replaying struct {
	now    admin.Replay
	from   int64   // records restored when it began
	counts []int64 // records restored at the last looks, oldest first, at most rateOver+1
	saidAt time.Time
	said   int64 // records, in the last line; one about the end follows it
	left   map[consumer.Tenure]int64
	given  bool // a partition that is read no more had something left
}

// run looks once a second, until the context ends, at what look returns: how many
// offsets are left of each partition, and how many records were read in replays since
// the start.
func (r *replay) run(ctx context.Context, look func() (remaining map[consumer.Tenure]int64, restored int64)) {
	ticker := time.NewTicker(lookAtReplay)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			remaining, restored := look()
			r.look(now, remaining, restored)
		}
	}
}

// look takes one look. Of partitions that are read no more, left has nothing.
func (r *replay) look(now time.Time, left map[consumer.Tenure]int64, restored int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var remaining int64
	for _, n := range left {
		remaining += n
	}
	for t, n := range r.left {
		if _, there := left[t]; !there && n > 0 {
			r.given = true
		}
	}
	if r.left = left; remaining == 0 {
		r.end(now, restored)
		return
	}
	if r.now.Since.IsZero() {
		r.now.Since, r.from, r.saidAt = now, restored, now
	}
	if len(r.counts) > rateOver {
		r.counts = append(r.counts[:0], r.counts[1:]...)
	}
	r.counts = append(r.counts, restored)
	r.now.Remaining, r.now.Records, r.now.Rate = remaining, restored-r.from, 0
	if n := len(r.counts) - 1; n > 0 {
		r.now.Rate = float64(restored-r.counts[0]) / (time.Duration(n) * lookAtReplay).Seconds()
	}
	if now.Sub(r.saidAt) >= sayReplay && r.now.Records > r.said { // a pause says so itself
		r.saidAt, r.said = now, r.now.Records
		r.log.Info("reading what was in the log", "records", r.now.Records, "per_second", int64(r.now.Rate), "remaining", remaining)
	}
}

// end ends a replay, and says how if anything was said of it.
func (r *replay) end(now time.Time, restored int64) {
	if r.said > 0 {
		how := "read what was in the log"
		if r.given {
			how = "read what was in the log, but for what is not read here any more"
		}
		r.log.Info(how, "records", restored-r.from, "took", now.Sub(r.now.Since).Round(time.Second).String())
	}
	r.replaying = replaying{left: r.left}
}

// sample returns where the replay is; all is 0 where there is none.
func (r *replay) sample() admin.Replay {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// left says how many offsets are left of what was in the log of each partition that is
// read, and how many records of such were read since the start.
func (d *Daemon) left() (remaining map[consumer.Tenure]int64, restored int64) {
	lanes := make([]*purgatory.Snapshot, len(d.lanes))
	for i, l := range d.lanes {
		lanes[i] = l.Snapshot()
		restored += lanes[i].Restored
	}
	return unread(d.consumer.Status(), lanes), restored
}

// unread returns what is left to be read of each partition up to the stable end that it
// was assigned with, which is 0 in the end. One that is not read any more is not there.
func unread(group consumer.Status, lanes []*purgatory.Snapshot) map[consumer.Tenure]int64 {
	out := make(map[consumer.Tenure]int64)
	stopped := make(map[offsets.TopicPartition]bool)
	for _, p := range group.Partitions {
		stopped[p.TopicPartition] = p.Stopped != ""
	}
	for _, l := range lanes {
		for i := range l.Partitions {
			if p := &l.Partitions[i]; p.Halted == "" && !stopped[p.TopicPartition] {
				out[consumer.Tenure{TopicPartition: p.TopicPartition, Epoch: p.Epoch}] = max(p.StableEnd-p.Next, 0)
			}
		}
	}
	return out
}
