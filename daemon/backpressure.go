package daemon

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"layover/admin"
	"layover/consumer"
	"layover/lane"
	"layover/purgatory"
)

// backpressure pauses reading when memory is used up, and while the dead-letter topic
// fails. Without that topic, a target whose share is used up pauses it as well. What is
// parked goes on being delivered, which is what frees memory.
type backpressure struct {
	limit    func() int64  // used bytes at which reading pauses
	runs     bool          // an eighth of the limit is for what is read from runs topics
	names    func() int64  // bytes of the names that headers chose
	holding  *lane.Holding // what is wrong with targets, as all lanes say it
	log      *slog.Logger
	lanes    []*lane.Lane
	consumer *consumer.Consumer

	mu     sync.Mutex
	full   bool  // over the mark, and not yet a tenth of the limit below it again
	floor  int64 // used when records last had little of it
	paused []purgatory.Pause
	since  time.Time // of the present pause, whatever its reasons; zero: reading goes on

	saidFull time.Time // when the log last had that memory pauses reading
	unsaid   int       // pauses for memory since that it has not
}

// sayFullEvery is the least time between two lines that memory pauses reading: with a small bound it does so
// several times a second.
const sayFullEvery = 30 * time.Second

func (b *backpressure) start(lanes []*lane.Lane, c *consumer.Consumer) {
	b.lanes, b.consumer = lanes, c
}

// used returns the memory that counts against the bound: what is parked, what was
// handed over, and the names that headers chose. Responses that the client holds ready are
// in the reserve below the limit and not counted here. A pause throws them away. Counting
// them would fetch a batch larger than a small bound again and again.
func (b *backpressure) used() int64 {
	used, _ := b.look()
	return used
}

// left returns the bytes that are not used; negative: so many are too many.
func (b *backpressure) left() int64 { return b.limit() - b.used() }

// look returns used, and what of it is given back with the records in memory at most. What was handed over is looked at
// first: what a lane takes meanwhile is counted twice rather than not at all.
func (b *backpressure) look() (used, records int64) {
	records = b.consumer.Unread()
	used = records + b.names()
	for _, l := range b.lanes {
		records += l.Resting()
		used += l.Bytes()
	}
	return used, records
}

// kept returns what of the limit ingress never gets: the share of what is read from runs topics.
func (b *backpressure) kept(limit int64) int64 {
	if !b.runs {
		return 0
	}
	return limit / 8
}

// apart returns what is used of that share.
func (b *backpressure) apart(limit int64) (used int64) {
	for _, l := range b.lanes {
		used += l.Loaded()
	}
	return min(used, b.kept(limit))
}

// pauseAt returns the used memory at which ingress is read no further, and that above which
// records are moved to runs.
func (b *backpressure) pauseAt() (pauses, moves int64) {
	limit := b.limit()
	return limit - b.kept(limit) + b.apart(limit), limit / 2
}

// check is called by every lane in every turn. It looks under the lock: a look from before
// another lane's would undo what that lane has decided since.
func (b *backpressure) check() {
	b.mu.Lock()
	defer b.mu.Unlock()
	limit := b.limit()
	used, records := b.look()
	b.full = b.isFull(used-b.apart(limit), limit-b.kept(limit), records)
	var pauses []purgatory.Pause
	if b.full {
		pauses = append(pauses, purgatory.Pause{Reason: admin.PauseBytes})
	}
	for _, l := range b.lanes {
		for _, p := range l.Pauses() {
			if !slices.Contains(pauses, p) {
				pauses = append(pauses, p)
			}
		}
	}
	if slices.Equal(pauses, b.paused) {
		if b.full && b.unsaid > 0 { // this one lasts
			b.sayFull(used, limit-b.kept(limit)+b.apart(limit))
		}
		return
	}
	before := b.paused
	b.paused = pauses
	switch {
	case len(pauses) == 0:
		b.since = time.Time{}
	case b.since.IsZero():
		b.since = time.Now()
	}
	b.consumer.SetPaused(len(pauses) > 0)
	b.say(before, used, limit-b.kept(limit)+b.apart(limit))
}

// littleShare is the part of the limit up to which records are little.
const littleShare = 8

// isFull reports whether memory pauses reading. Where records take little of it, the rest, such as the wheel and queues
// kept for reuse, no delivery gives back. With a small bound that may be more than the limit, and a record that waits for
// an hour, or for a missing target, would keep reading paused. The mark is a tenth of the limit above that then.
func (b *backpressure) isFull(used, limit, records int64) bool {
	if records <= limit/littleShare {
		b.floor = used
		return false
	}
	mark := max(limit, b.floor+limit/10)
	if b.full {
		mark -= limit / 10
	}
	return used > mark
}

// pausesForMemory reports whether the last check has found memory full.
func (b *backpressure) pausesForMemory() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.full
}

// say logs what reading pauses for and did not before, or that it goes on. Memory is
// named where it is what reading paused for, and else what is wrong with the target.
func (b *backpressure) say(before []purgatory.Pause, used, limit int64) {
	if len(b.paused) == 0 {
		var memory []any
		if slices.ContainsFunc(before, func(p purgatory.Pause) bool { return p.Reason == admin.PauseBytes }) {
			memory = []any{"used", used, "limit", limit}
			if b.unsaid > 0 && len(before) == 1 { // nor is that it ends
				return
			}
		}
		b.log.Info("reading goes on", memory...)
		return
	}
	type told struct{ reason, label string } // a name may be a header's
	said := make(map[told]bool)
	for _, p := range before {
		said[told{p.Reason, p.Label}] = true
	}
	for _, p := range b.paused {
		if said[told{p.Reason, p.Label}] {
			continue
		}
		said[told{p.Reason, p.Label}] = true
		if p.Reason == admin.PauseBytes {
			b.unsaid++
			b.sayFull(used, limit)
			continue
		}
		b.log.Warn("reading pauses, what is parked goes on", append([]any{"reason", p.Reason, "target", p.Label}, b.holding.Why(p.Label).Attrs()...)...)
	}
}

// sayFull logs that memory pauses reading, and how often it has since the last such line, unless that was
// a moment ago.
func (b *backpressure) sayFull(used, limit int64) {
	now := time.Now()
	if now.Sub(b.saidFull) < sayFullEvery {
		return
	}
	line := []any{"reason", admin.PauseBytes, "used", used, "limit", limit}
	if b.unsaid > 1 {
		line = append(line, "times", b.unsaid)
	}
	b.log.Warn("reading pauses, what is parked goes on", line...)
	b.saidFull, b.unsaid = now, 0
}

// pauses returns why reading is paused; empty: it is not.
func (b *backpressure) pauses() []purgatory.Pause {
	pauses, _ := b.pausedSince()
	return pauses
}

// pausedSince returns why reading is paused, and since when; zero: it is not.
func (b *backpressure) pausedSince() ([]purgatory.Pause, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.paused), b.since
}
