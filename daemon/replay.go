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
}

// run looks once a second, until the context ends, at what look returns: how many
// offsets are left, and how many records were read in replays since the start.
func (r *replay) run(ctx context.Context, look func() (remaining, restored int64)) {
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

// look takes one look.
func (r *replay) look(now time.Time, remaining, restored int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if remaining == 0 {
		if r.said > 0 {
			r.log.Info("read what was in the log", "records", restored-r.from, "took", now.Sub(r.now.Since).Round(time.Second).String())
		}
		r.replaying = replaying{}
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

// sample returns where the replay is; all is 0 where there is none.
func (r *replay) sample() admin.Replay {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// left says how many offsets are left of what was in the log of partitions that
// are read, and how many records of such were read since the start.
func (d *Daemon) left() (remaining, restored int64) {
	lanes := make([]*purgatory.Snapshot, len(d.lanes))
	for i, l := range d.lanes {
		lanes[i] = l.Snapshot()
		restored += lanes[i].Restored
	}
	return unread(d.consumer.Status(), lanes), restored
}

// unread adds up what is left to be read of each partition up to the stable end that
// it was assigned with. One that is not read any more has nothing left.
func unread(group consumer.Status, lanes []*purgatory.Snapshot) (offsetsLeft int64) {
	stopped := make(map[offsets.TopicPartition]bool)
	for _, p := range group.Partitions {
		stopped[p.TopicPartition] = p.Stopped != ""
	}
	for _, l := range lanes {
		for i := range l.Partitions {
			if p := &l.Partitions[i]; p.Halted == "" && !stopped[p.TopicPartition] {
				offsetsLeft += max(p.StableEnd-p.Next, 0)
			}
		}
	}
	return offsetsLeft
}
