package daemon

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"layover/admin"
	"layover/consumer"
	"layover/lane"
	"layover/offsets"
	"layover/purgatory"
)

// Intervals of the look at a replay, and over how long its rate is taken.
const (
	lookAtReplay = 250 * time.Millisecond
	sayReplay    = 10 * time.Second
	rateOver     = 10 * time.Second
)

// replay is the reading of what was in the log when partitions were assigned. Its
// loop changes it; Sample may be called from any goroutine.
type replay struct {
	log *slog.Logger

	mu sync.Mutex
	replaying
}

// replaying is one replay; the zero value is none, before the first look.
type replaying struct {
	now   admin.Replay
	idle  glance   // the last look at which nothing was left: what was read since is of this replay
	looks []glance // those of the last 10 s, oldest first, at most rateOver/lookAtReplay+1
	last  glance   // as of the last line, or idle; a line about the end follows a line
	left  map[offsets.Assignment]int64
	given bool // a partition that is read no more had something left
}

// glance is how many records were restored at a time.
type glance struct {
	at       time.Time
	restored int64
}

// perSecond is the rate since an earlier glance.
func (g glance) perSecond(since glance) float64 {
	if took := g.at.Sub(since.at).Seconds(); took > 0 {
		return float64(g.restored-since.restored) / took
	}
	return 0
}

// run calls look four times a second, until the context ends. look returns how many
// offsets are left of each partition, and how many records were read in replays since the
// start.
func (r *replay) run(ctx context.Context, turns *atomic.Int64, look func() (remaining map[offsets.Assignment]int64, restored int64)) {
	every(ctx, lookAtReplay, turns, func(now time.Time) {
		remaining, restored := look()
		r.look(now, remaining, restored)
	})
}

// look takes one look. Of partitions that are read no more, left has nothing.
func (r *replay) look(now time.Time, left map[offsets.Assignment]int64, restored int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var remaining int64
	for _, n := range left {
		remaining += n
	}
	for a, n := range r.left {
		if _, there := left[a]; !there && n > 0 {
			r.given = true
		}
	}
	seen := glance{now, restored}
	if r.left = left; remaining == 0 {
		r.end(seen)
		return
	}
	if r.now.Since.IsZero() {
		if r.idle.at.IsZero() {
			r.idle = seen
		}
		// From the last look without anything, not from this one: a fast disk gives
		// tens of thousands of records between the two.
		r.now.Since, r.last, r.looks = r.idle.at, r.idle, append(r.looks, r.idle)
	}
	for len(r.looks) > 1 && now.Sub(r.looks[1].at) >= rateOver || len(r.looks) > int(rateOver/lookAtReplay) {
		r.looks = append(r.looks[:0], r.looks[1:]...)
	}
	r.now.Remaining, r.now.Records, r.now.Rate = remaining, restored-r.idle.restored, seen.perSecond(r.looks[0])
	r.looks = append(r.looks, seen)
	// A look is not on time to the millisecond, so the line does not wait for one that
	// may be too late. A pause says so itself.
	if now.Sub(r.last.at) >= sayReplay-lookAtReplay && restored > r.last.restored {
		r.log.Info("reading what was in the log", "records", r.now.Records, "per_second", int64(seen.perSecond(r.last)), "remaining", remaining)
		r.last = seen
	}
}

// end ends a replay, and says how if anything was said of it.
func (r *replay) end(seen glance) {
	if r.last.restored > r.idle.restored {
		how := "read what was in the log"
		if r.given {
			how = "read what was in the log, but for what is not read here any more"
		}
		r.log.Info(how, "records", seen.restored-r.idle.restored, "took", seen.at.Sub(r.idle.at).Round(time.Second).String())
	}
	r.replaying = replaying{left: r.left, idle: seen}
}

// sample returns where the replay is; all is 0 where there is none.
func (r *replay) sample() admin.Replay {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// left says how many offsets are left of the log that each partition had at its assignment. It
// also says how many records of these logs were read. What was read once stays read, so lanes
// are only asked for more than they last published while something is left by that.
func (d *Daemon) left() (remaining map[offsets.Assignment]int64, restored int64) {
	group := d.consumer.Status()
	lanes := d.looks((*lane.Lane).Published)
	if !caughtUp(group, lanes, func(offsets.TopicPartition) bool { return false }) {
		lanes = d.looks((*lane.Lane).Snapshot)
	}
	for _, l := range lanes {
		restored += l.Restored
	}
	return unread(group, lanes), restored
}

// looks takes one look at each lane.
func (d *Daemon) looks(look func(*lane.Lane) *purgatory.Snapshot) []*purgatory.Snapshot {
	out := make([]*purgatory.Snapshot, len(d.lanes))
	for i, l := range d.lanes {
		out[i] = look(l)
	}
	return out
}

// unread returns what is left to be read of each partition up to the stable end that it
// was assigned with. In the end it is 0. One that is not read any more is not there.
func unread(group consumer.Status, lanes []*purgatory.Snapshot) map[offsets.Assignment]int64 {
	out := make(map[offsets.Assignment]int64)
	stopped := make(map[offsets.TopicPartition]bool)
	for _, p := range group.Partitions {
		stopped[p.TopicPartition] = p.Stopped != ""
	}
	for _, l := range lanes {
		for i := range l.Partitions {
			if p := &l.Partitions[i]; p.Halted == "" && !stopped[p.TopicPartition] {
				out[offsets.Assignment{TopicPartition: p.TopicPartition, Epoch: p.Epoch}] = max(p.StableEnd-p.Next, 0)
			}
		}
	}
	return out
}
