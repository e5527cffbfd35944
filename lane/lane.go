package lane

import (
	"cmp"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"layover/delay"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Deliverer produces records.
type Deliverer interface {
	purgatory.Router
	// Deliver produces r without blocking and calls done exactly once, from any
	// goroutine, when it is known how it went. alone: in a batch of its own.
	Deliver(r *kgo.Record, alone bool, done func(*kgo.Record, error))
	// Classify says what an error of Deliver means for the record and its target.
	Classify(err error) purgatory.Result
}

// Committer commits offsets.
type Committer interface {
	// Commit checks ownership and fills in the identity of each commit before it
	// returns, sends them in order, and calls done exactly once, from another
	// goroutine, with an answer for each.
	Commit(commits []offsets.Commit, done func([]purgatory.CommitResult))
}

// Reading is what a lane asks of the consumer.
type Reading interface {
	Jump(purgatory.Jump)
	Halt(purgatory.HaltNotice)
	// LeaseValid says whether the group still counts on this member: the last
	// good heartbeat or commit is younger than the session timeout less a margin.
	LeaseValid() bool
	// Consumed gives back bytes of the reading budget.
	Consumed(bytes int64)
}

// Config is what a lane needs.
type Config struct {
	Core           purgatory.Config
	Rules          func(ingress string) *delay.Rules
	Group          string // for the error headers
	OriginalTime   bool   // delivered records keep their timestamps; dead letters do not
	CommitInterval time.Duration
	Journal        Journal  // nil: no ingress topic has one, and nothing says so
	Holding        *Holding // shared by all lanes; nil: one of its own
	// PatienceClock is the time in which brokers answered, which never goes back.
	PatienceClock func() time.Duration
	// Changed is called by the loop after its bytes or pauses may have changed.
	Changed func()
	Log     *slog.Logger
}

// Bounds of one turn of the loop, so that intake and due work take turns.
const (
	intakeBudget = 512  // records read
	tickBudget   = 1024 // records moved by the wheel
	offerBudget  = 1024 // records produced

	// offerEvery is how often records are offered while answers are owed: a request
	// for each millisecond costs the broker more than the delay saves the receiver.
	offerEvery = 2 * time.Millisecond

	maxSleep      = time.Second            // what a stepped clock or a suspended machine costs at most
	soon          = 100 * time.Millisecond // to look again at held targets and refused commits
	publishEvery  = 20 * time.Millisecond
	outlookEvery  = 200 * time.Millisecond // it may cost a third of a millisecond
	drainTimeout  = 5 * time.Second        // a revoke waits this long for what is in flight
	settleTimeout = time.Second            // then this long for the journal
	commitTimeout = 3 * time.Second        // and this long for its final commit

	refusalsToSay   = 5 // commits refused in a row: a rebalance alone refuses fewer
	sayEvery        = 30 * time.Second
	maxRefusalPause = 2 * time.Second
)

// Lane is one core with its loop. All methods but Run may be called from any
// goroutine; the fields below mailbox belong to the loop.
type Lane struct {
	cfg     Config
	deliver Deliverer
	commit  Committer
	reading Reading

	began    time.Time // where the monotonic clock begins
	box      mailbox
	done     chan struct{}
	snapshot atomic.Pointer[purgatory.Snapshot]
	bytes    atomic.Int64
	paused   atomic.Pointer[[]purgatory.Pause]
	beat     atomic.Pointer[time.Time] // of the loop's last turn

	core       *purgatory.Core
	intake     []fetched // not yet read, oldest first
	intakeAt   int       // index of the next record within intake[0]
	slots      []slot    // of deliveries in flight, by id
	deliveries []purgatory.Delivery
	results    []purgatory.Result
	body       body // scratch of the intake
	scratch    []kgo.RecordHeader
	stamped    []kgo.RecordHeader

	revoking    []*revoking
	suspended   bool
	nextCommit  time.Time
	settleBy    time.Time // a commit waits for the journal until then; zero: none does
	nextOffer   time.Time
	paced       bool // the last turn left the offering to nextOffer
	refusals    int  // in a row
	refusalSaid time.Time
	nextPublish time.Time
	nextOutlook time.Time
	outlook     purgatory.Outlook // as of the last look
	outdated    bool              // something happened since that look
	changed     bool              // something happened since the last snapshot

	stopping bool
	stopBy   time.Time
	drainBy  time.Time
}

// New returns a lane; Run starts it.
func New(cfg Config, d Deliverer, c Committer, r Reading) *Lane {
	if cfg.Holding == nil {
		cfg.Holding = NewHolding()
	}
	l := &Lane{began: time.Now(), cfg: cfg, deliver: d, commit: c, reading: r, done: make(chan struct{})}
	l.box.wake = make(chan struct{}, 1)
	l.core = purgatory.New(cfg.Core, d, l.clock(time.Now()))
	now := time.Now()
	l.beat.Store(&now)
	l.publish(now)
	return l
}

// clock turns an instant into the core's time. The wall clock is meant, with all
// its steps; the monotonic one plays no part in deadlines.
func (l *Lane) clock(now time.Time) purgatory.Clock {
	return purgatory.Clock{WallMs: now.UnixMilli(), PatienceMs: l.cfg.PatienceClock().Milliseconds(), MonotonicMs: now.Sub(l.began).Milliseconds()}
}

// Run is the loop. It ends after Stop, and Done is closed then.
func (l *Lane) Run() {
	defer close(l.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	var spent mail
	for {
		mail := l.box.take(spent.empty())
		now := time.Now()
		l.beat.Store(&now)
		more := l.turn(now, &mail)
		spent = mail
		if l.stopping && l.stopped(now) {
			break
		}
		if l.unseen(now) {
			l.publish(now)
		}
		if !more {
			l.sleep(timer)
		}
	}
	l.abandon()
}

// unseen says whether what is published is too old: while nothing happens, and whatever
// the loop is awake for, what is due and how long it waits goes on changing.
func (l *Lane) unseen(now time.Time) bool {
	return l.changed && !now.Before(l.nextPublish) || l.outdated && !now.Before(l.nextOutlook) ||
		!now.Before(l.nextPublish.Add(maxSleep-publishEvery))
}

// turn deals with the mail and does one budget's worth of everything that waits;
// more says that something is left that need not be waited for.
func (l *Lane) turn(now time.Time, m *mail) (more bool) {
	l.changed = l.changed || len(m.orders)+len(m.fetched)+len(m.ended)+len(m.committed) > 0
	l.land(now, m.ended)
	for _, c := range m.committed {
		l.committed(c)
	}
	for _, order := range m.orders {
		order()
	}
	l.intake = append(l.intake, m.fetched...)
	due := l.core.Tick(l.clock(now), tickBudget)
	l.lease()
	if l.stopping {
		l.dropIntake()
		l.paced = false
	} else {
		l.read()
		l.offer(now)
	}
	parts := l.core.Cut(false)
	l.effects()
	l.revokes(now)
	l.commits(now)
	l.report()
	return parts || !l.stopping && (due || len(l.intake) > 0 || len(l.deliveries) == offerBudget)
}

// lease stops offering when the group may have given this member up: from then on
// each partition delivers again after a commit of its own was accepted.
func (l *Lane) lease() {
	if l.reading.LeaseValid() {
		l.suspended = false
		return
	}
	if !l.suspended {
		l.suspended = true
		l.core.Suspend()
		l.nextCommit = time.Time{}
	}
}

// effects passes on what the core asks for.
func (l *Lane) effects() {
	e := l.core.Take()
	l.journal(e)
	for _, j := range e.Jumps {
		l.reading.Jump(j)
	}
	for _, h := range e.Halts {
		line := []any{"topic", h.Topic, "partition", h.Partition, "offset", h.Offset, "err", cmp.Or(h.Code, h.Reason)}
		command := fmt.Sprintf("layover skip %s/%d@%d", h.Topic, h.Partition, h.Offset)
		switch {
		case h.Truncated:
			l.cfg.Log.Error("partition stops reading", line...)
		case h.Unreadable:
			l.cfg.Log.Error("partition stops reading; with all instances stopped this command leaves out what stands there", append(line, "command", command)...)
		default:
			l.cfg.Log.Error("partition stops reading; /status has the reason, and a restart with another LAYOVER_ON_INVALID goes on, "+
				"or with all instances stopped this command, which leaves out what stands there", append(line, "command", command)...)
		}
		l.reading.Halt(h)
	}
	for i := range e.Holds {
		l.cfg.Holding.note(&e.Holds[i])
	}
	l.changed = l.changed || len(e.Jumps)+len(e.Halts)+len(e.Holds) > 0
}

// sleep waits for mail, the next deadline or the next commit, a second at most:
// after every wake the wall clock is read again.
func (l *Lane) sleep(timer *time.Timer) {
	now := time.Now()
	d := maxSleep
	if ms, ok := l.core.NextDeadline(); ok {
		d = min(d, time.UnixMilli(ms).Sub(now.Round(0)))
	}
	if l.core.Unsettled() || len(l.revoking) > 0 || l.stopping {
		d = min(d, soon)
	}
	if l.stopping {
		d = min(d, l.stopBy.Sub(now))
	}
	switch {
	case !l.settleBy.IsZero():
		d = min(d, l.settleBy.Sub(now))
	case l.core.Dirty() && !l.draining(now):
		d = min(d, l.nextCommit.Sub(now))
	}
	if l.changed {
		d = min(d, l.nextPublish.Sub(now))
	}
	if l.outdated {
		d = min(d, l.nextOutlook.Sub(now))
	}
	if l.paced {
		d = min(d, l.nextOffer.Sub(now))
	}
	if d <= 0 {
		return
	}
	if d == maxSleep {
		l.core.Trim()
	}
	timer.Reset(d)
	select {
	case <-l.box.wake:
	case <-timer.C:
		l.changed = l.changed || d == maxSleep
	}
}

// report makes the loop's bytes and pauses known where reading is governed.
func (l *Lane) report() {
	l.bytes.Store(l.core.Bytes() + int64(cap(l.slots))*slotSize)
	pauses := l.core.Pauses()
	l.paused.Store(&pauses)
	l.cfg.Changed()
}

// publish makes the state visible to probes, metrics and status.
func (l *Lane) publish(now time.Time) {
	s := l.core.Snapshot()
	l.changed, l.nextPublish = false, now.Add(publishEvery)
	if l.outdated = now.Before(l.nextOutlook); !l.outdated {
		l.outlook, l.nextOutlook = l.core.Outlook(), now.Add(outlookEvery)
	}
	s.Outlook = l.outlook
	l.snapshot.Store(&s)
}

// Snapshot returns the last published state, which is not to be changed.
func (l *Lane) Snapshot() *purgatory.Snapshot { return l.snapshot.Load() }

// Bytes returns the memory that the lane's records take.
func (l *Lane) Bytes() int64 { return l.bytes.Load() }

// Pauses returns why this lane wants reading to pause.
func (l *Lane) Pauses() []purgatory.Pause {
	if p := l.paused.Load(); p != nil {
		return *p
	}
	return nil
}

// Beat returns when the loop last turned; an idle one turns once a second.
func (l *Lane) Beat() time.Time { return *l.beat.Load() }

// Done is closed when the loop has ended.
func (l *Lane) Done() <-chan struct{} { return l.done }
