package lane

import (
	"slices"
	"sync/atomic"
	"time"

	"layover/purgatory"
)

// published is the side of a lane that other goroutines see. The atomic fields are for
// them, the others belong to the loop.
type published struct {
	snapshot atomic.Pointer[look]
	asked    atomic.Pointer[chan struct{}] // closed by the next snapshot; nil: nobody waits for one
	dirty    atomic.Bool                   // something happened since the last snapshot, or the last look ahead
	bytes    atomic.Int64
	loaded   atomic.Int64
	resting  atomic.Int64 // see purgatory.Core.Resting
	paused   atomic.Pointer[[]purgatory.Pause]
	beat     atomic.Pointer[time.Time] // of the loop's last turn
	turns    atomic.Int64              // of the loop

	core        int64 // bytes of the core, in bytes above
	nextOutlook time.Time
	outlook     purgatory.Outlook // as of the last look
	pace        purgatory.RunsPace
	changed     bool // something happened since the last snapshot
	outdated    bool // something happened since the last look ahead
}

// look is a snapshot and when it was made.
type look struct {
	purgatory.Snapshot
	at time.Time
}

// fresh reports whether the snapshot says what a new one would. Even while nothing happens,
// the number of due records and their waiting go on changing: the loop itself looks every second.
func (p *published) fresh(now time.Time) bool {
	age := now.Sub(p.snapshot.Load().at)
	return age < publishEvery || age < maxSleep+soon && !p.dirty.Load()
}

// ask returns the channel that the next snapshot closes. The loop has to be woken.
func (p *published) ask() <-chan struct{} {
	for {
		if waiting := p.asked.Load(); waiting != nil {
			return *waiting
		}
		if waiting := make(chan struct{}); p.asked.CompareAndSwap(nil, &waiting) {
			return waiting
		}
	}
}

// note notes whether something happened that is to be seen.
func (p *published) note(something bool) { p.changed = p.changed || something }

// turn publishes the state for whoever asks, and once a second for those that a hanging loop
// does not answer. Nobody looks at most states of a lane.
func (p *published) turn(core *purgatory.Core, now time.Time) {
	if asked := p.asked.Load(); asked != nil {
		p.asked.Store(nil) // first: who asks from here on waits for the next
		p.publish(core, now)
		close(*asked)
	} else if now.Sub(p.snapshot.Load().at) >= maxSleep {
		p.publish(core, now)
	}
	p.outdated = p.outdated || p.changed
	p.dirty.Store(p.outdated)
}

// publish makes the state visible to probes, metrics and status.
func (p *published) publish(core *purgatory.Core, now time.Time) {
	l := &look{core.Snapshot(), now}
	p.outdated, p.changed = p.outdated || p.changed, false
	if !now.Before(p.nextOutlook) {
		p.outlook, p.outdated, p.nextOutlook = core.Outlook(), false, now.Add(outlookEvery)
	}
	l.Outlook, l.Pace = p.outlook, p.pace
	l.Outlook.Runs.Partitions = slices.Clone(p.outlook.Runs.Partitions)
	p.snapshot.Store(l)
}

// report makes the loop's bytes and pauses known where reading is governed.
func (p *published) report(core *purgatory.Core, beside int64) {
	p.core = core.Bytes()
	p.resting.Store(core.Resting(p.core) + beside) // first: whoever sees the bytes of a record sees that there is one
	p.bytes.Store(p.core + beside)
	loaded := core.Runs().LoadedBytes()
	p.loaded.Store(loaded)
	pauses := core.Pauses()
	p.paused.Store(&pauses)
}

// Snapshot returns the state, which is not to be changed: publishEvery old at most, for which it
// waits for a turn of the loop. Of a loop that hangs, or does not run, it returns the last state.
func (l *Lane) Snapshot() *purgatory.Snapshot {
	now := time.Now()
	if l.seen.turns.Load() == 0 || now.Sub(l.Beat()) >= 2*maxSleep || l.seen.fresh(now) {
		return l.Published()
	}
	asked := l.seen.ask()
	l.box.poke()
	timer := time.NewTimer(soon)
	defer timer.Stop()
	select {
	case <-asked:
	case <-l.done:
	case <-timer.C:
	}
	return l.Published()
}

// Published returns the last state that was made, a second old at most while the loop turns, and
// asks for no other. It is not to be changed.
func (l *Lane) Published() *purgatory.Snapshot { return &l.seen.snapshot.Load().Snapshot }

// Bytes returns the memory that the lane's records take.
func (l *Lane) Bytes() int64 { return l.seen.bytes.Load() }

// Loaded returns how much of it records take that were read from runs topics.
func (l *Lane) Loaded() int64 { return l.seen.loaded.Load() }

// Resting returns what of Bytes is given back with the lane's records at most. While some are on their way it is Bytes.
func (l *Lane) Resting() int64 { return l.seen.resting.Load() }

// Pauses returns why this lane wants reading to pause.
func (l *Lane) Pauses() []purgatory.Pause {
	if p := l.seen.paused.Load(); p != nil {
		return *p
	}
	return nil
}

// Beat returns when the loop last turned; an idle one turns once a second.
func (l *Lane) Beat() time.Time { return *l.seen.beat.Load() }

// Turns returns how often the loop has turned.
func (l *Lane) Turns() int64 { return l.seen.turns.Load() }
