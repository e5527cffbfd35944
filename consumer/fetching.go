package consumer

import (
	"log/slog"
	"sync"
	"time"

	"layover/offsets"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fetching tells the client which of the assigned partitions it fetches. Any goroutine
// may use it.
type fetching struct {
	client *kgo.Client
	table  *ownership
	topics []string
	log    *slog.Logger

	mu      sync.Mutex
	paused  bool // all topics are
	resumed time.Time
}

// pause stops fetching of a partition while it is of that assignment.
func (f *fetching) pause(a offsets.Assignment) {
	f.table.while(a, func(*owned) { f.client.PauseFetchPartitions(only(a)) })
}

// resume fetches a partition again, unless it was stopped meanwhile.
func (f *fetching) resume(a offsets.Assignment) {
	f.table.while(a, func(o *owned) {
		if !o.stopped() {
			f.client.ResumeFetchPartitions(only(a))
		}
	})
}

// stop ends reading of a partition at an offset, for the rest of the assignment, unless
// it is stopped already.
func (f *fetching) stop(a offsets.Assignment, at int64, code Reason, reason string) {
	f.table.while(a, func(o *owned) {
		if !o.stopped() {
			o.stop(code, reason, at, time.Now())
			f.client.PauseFetchPartitions(only(a))
		}
	})
}

// giveUp stops a partition at its position and says why, in the log as in status.
func (f *fetching) giveUp(a offsets.Assignment, code Reason, reason string) {
	f.stop(a, f.table.position(a), code, reason)
	f.log.Error("partition stops reading", "topic", a.Topic, "partition", a.Partition, "offset", f.table.position(a), "err", reason)
}

// setPaused stops or resumes fetching of everything.
func (f *fetching) setPaused(paused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused == paused {
		return
	}
	f.paused = paused
	if paused {
		f.client.PauseFetchTopics(f.topics...)
	} else {
		f.resumed = time.Now()
		f.client.ResumeFetchTopics(f.topics...)
	}
}

// nudgeAfter is how long after positions were set the client is told to go on fetching.
const nudgeAfter = 100 * time.Millisecond

// set sets positions of partitions, one map after the other, and has the client fetch again a moment later. A fetching
// goroutine of it that begins just as positions are set ends at once, and takes with it what was to wake it for the new
// ones. Nothing of its broker would be fetched until something else does.
func (f *fetching) set(positions ...map[string]map[int32]kgo.EpochOffset) {
	for _, p := range positions {
		f.client.SetOffsets(p)
	}
	time.AfterFunc(nudgeAfter, f.nudge)
}

// nudge has the client look whether there is something to fetch of each broker.
func (f *fetching) nudge() { f.client.ResumeFetchPartitions(nil) }

// isPaused reports whether fetching of everything is stopped.
func (f *fetching) isPaused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.paused
}

// readingSince returns since when everything is fetched, zero for the start; false: it is not.
func (f *fetching) readingSince() (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resumed, !f.paused
}

// rejoin makes the client look at a topic afresh.
func (f *fetching) rejoin(topic string) {
	f.client.PurgeTopicsFromClient(topic)
	f.client.AddConsumeTopics(topic)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused {
		f.client.PauseFetchTopics(topic)
	}
}

// only names one partition to the client.
func only(a offsets.Assignment) map[string][]int32 {
	return map[string][]int32{a.Topic: {a.Partition}}
}
