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
	snapshot atomic.Pointer[purgatory.Snapshot]
	bytes    atomic.Int64
	loaded   atomic.Int64
	some     atomic.Bool // records are in memory
	paused   atomic.Pointer[[]purgatory.Pause]
	beat     atomic.Pointer[time.Time] // of the loop's last turn
	turns    atomic.Int64              // of the loop

	next        time.Time // when a change may be published
	nextOutlook time.Time
	outlook     purgatory.Outlook // as of the last look
	pace        purgatory.RunsPace
	changed     bool // something happened since the last snapshot
	outdated    bool // something happened since the last look ahead
}

// note notes whether something happened that is to be seen.
func (p *published) note(something bool) { p.changed = p.changed || something }

// news returns when the snapshot is to be followed by another; ok is false while
// nothing has happened.
func (p *published) news() (at time.Time, ok bool) {
	switch {
	case p.changed && p.outdated && p.nextOutlook.Before(p.next):
		return p.nextOutlook, true
	case p.changed:
		return p.next, true
	}
	return p.nextOutlook, p.outdated
}

// turn publishes the state where the last snapshot is too old. Even while nothing happens,
// the number of due records and their waiting go on changing.
func (p *published) turn(core *purgatory.Core, now time.Time, wake *alarm) {
	at, ok := p.news()
	if ok && !now.Before(at) || !now.Before(p.next.Add(maxSleep-publishEvery)) {
		p.publish(core, now)
		at, ok = p.news()
	}
	if ok {
		wake.by(at)
	}
}

// publish makes the state visible to probes, metrics and status.
func (p *published) publish(core *purgatory.Core, now time.Time) {
	s := core.Snapshot()
	p.changed, p.next = false, now.Add(publishEvery)
	if p.outdated = now.Before(p.nextOutlook); !p.outdated {
		p.outlook, p.nextOutlook = core.Outlook(), now.Add(outlookEvery)
	}
	s.Outlook, s.Pace = p.outlook, p.pace
	s.Outlook.Runs.Partitions = slices.Clone(p.outlook.Runs.Partitions)
	p.snapshot.Store(&s)
}

// report makes the loop's bytes and pauses known where reading is governed.
func (p *published) report(core *purgatory.Core, beside int64) {
	p.some.Store(!core.Empty()) // first: whoever sees the bytes of a record sees that there is one
	p.bytes.Store(core.Bytes() + beside)
	_, loaded := core.Runs().Bytes()
	p.loaded.Store(loaded)
	pauses := core.Pauses()
	p.paused.Store(&pauses)
}

// Snapshot returns the last published state, which is not to be changed.
func (l *Lane) Snapshot() *purgatory.Snapshot { return l.seen.snapshot.Load() }

// Bytes returns the memory that the lane's records take.
func (l *Lane) Bytes() int64 { return l.seen.bytes.Load() }

// Loaded returns how much of it records take that were read from runs topics.
func (l *Lane) Loaded() int64 { return l.seen.loaded.Load() }

// Empty reports whether the lane has no record in memory.
func (l *Lane) Empty() bool { return !l.seen.some.Load() }

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
