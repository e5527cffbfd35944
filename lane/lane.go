package lane

import (
	"log/slog"
	"time"

	"layover/delay"
	"layover/offsets"
	"layover/purgatory"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Deliverer produces records.
type Deliverer interface {
	// Lookup returns the present state of a target; one that is asked about for the first
	// time is looked for.
	Lookup(purgatory.TargetName) purgatory.TargetState
	// Deliver produces r without blocking and calls done exactly once, from any
	// goroutine, when it is known how it went. alone: in a batch of its own.
	Deliver(r *kgo.Record, alone bool, done func(*kgo.Record, error))
	// Classify returns the meaning of an error of Deliver for the record and its target.
	Classify(err error) purgatory.Result
}

// Committer commits offsets.
type Committer interface {
	// Commit checks ownership and fills in the identity of each commit before it
	// returns, and sends them in order. It calls done exactly once, from another
	// goroutine, with an answer for each.
	Commit(commits []offsets.Commit, done func([]offsets.CommitResult))
}

// Reading is the consumer, as a lane asks it.
type Reading interface {
	Jump(purgatory.Jump)
	Halt(purgatory.HaltNotice)
	// LeaseValid says whether the group still counts on this member: the last
	// good heartbeat or commit is younger than the session timeout less a margin.
	LeaseValid() bool
	// Paused says whether nothing is read at the moment, Stopped whether nothing more of an
	// assignment ever is.
	Paused() bool
	Stopped(offsets.Assignment) bool
	// Waits says after how long the first of the records that were read in a turn is due. It
	// is from 0, for one that is due already, to an hour, for all beyond.
	Waits(first time.Duration)
	// Consumed gives back bytes of the reading budget.
	Consumed(bytes int64)
}

// Config is the settings of a lane.
type Config struct {
	Core           purgatory.Config
	Rules          func(ingress string) *delay.Rules
	Group          string // for the error headers
	OriginalTime   bool   // delivered records keep their timestamps; dead letters do not
	CommitInterval time.Duration
	Journal        Journal  // nil: no ingress topic has one, and nothing says so
	Holding        *Holding // shared by all lanes; nil: one of its own
	CatchUp        *CatchUp // shared by all lanes; nil: late records leave at once
	Runs           RunsConfig
	// Answered is the time in which brokers answered, which never goes back.
	Answered func() time.Duration
	// Elsewhere takes the bytes of a share that wait in this lane, and returns those of all
	// other lanes; nil: there is but one lane.
	Elsewhere func(name purgatory.TargetName, own purgatory.ShareBytes) purgatory.ShareBytes
	// Wall is what the wall clock shows at an instant; nil: what the instant says.
	Wall func(time.Time) time.Time
	// Changed is called by the loop after its bytes or pauses may have changed.
	Changed func()
	Log     *slog.Logger
}

// Bounds of one turn of the loop, so that intake and due work take turns.
const (
	intakeBudget = 512  // records read
	tickBudget   = 1024 // records moved by the wheel
	offerBudget  = 1024 // records produced

	// offerEvery is how often records are offered while answers are owed. A request
	// for each millisecond costs the broker more than the receiver saves in delay.
	offerEvery = 2 * time.Millisecond

	maxSleep      = time.Second            // the most that a stepped clock or a suspended machine costs
	soon          = 100 * time.Millisecond // to look again at held targets and refused commits
	publishEvery  = 20 * time.Millisecond  // the age from which whoever looks has a new snapshot made
	outlookEvery  = 200 * time.Millisecond // it may cost a third of a millisecond
	drainTimeout  = 5 * time.Second        // a revoke waits this long for records in flight
	settleTimeout = time.Second            // then this long for the journal
	commitTimeout = 3 * time.Second        // and this long for its final commit

	refusalsToSay   = 5 // commits refused in a row: a rebalance alone refuses fewer
	sayEvery        = 30 * time.Second
	maxRefusalPause = 2 * time.Second
)

// Lane is one core with its loop. All methods but Run may be called from any
// goroutine; the fields below box belong to the loop.
type Lane struct {
	cfg     Config
	reading Reading
	began   time.Time // where the monotonic clock begins
	done    chan struct{}
	seen    published
	box     mailbox

	core      *purgatory.Core
	in        intake
	out       outbound
	commits   commits
	carrier   carrier
	moves     moves    // nothing of it is used without Config.Runs
	throttle  throttle // of copies, by the answers to deliveries
	revoking  []*revoking
	suspended bool // nothing is offered: the lease has run out
	stop      stopping
	wake      alarm
	shares    []purgatory.Share    // scratch of share
	replaying []offsets.Assignment // scratch of replays
}

// stopping is the end of a loop, once it was asked for.
type stopping struct {
	asked   bool
	by      time.Time
	drainBy time.Time // the rest is for the commit
}

// drains reports whether a stopping loop still waits for records in flight, so that one
// commit can say it all.
func (s *stopping) drains(now time.Time, inFlight int) bool {
	return s.asked && inFlight > 0 && now.Before(s.drainBy)
}

// alarm is when the loop turns next if no mail comes. Each step of a turn sets it by the
// condition for which it leaves something undone, so that no other place has to know.
type alarm struct {
	at   time.Time
	idle bool // no step has set it
}

// begin sets the alarm for when no step does: after every wake the wall clock is read again.
func (a *alarm) begin(now time.Time) { a.at, a.idle = now.Add(maxSleep), true }

// by lets the loop turn at an instant at the latest.
func (a *alarm) by(at time.Time) {
	if at.Before(a.at) {
		a.at, a.idle = at, false
	}
}

// New returns a lane; Run starts it.
func New(cfg Config, d Deliverer, c Committer, r Reading) *Lane {
	if cfg.Holding == nil {
		cfg.Holding = NewHolding()
	}
	if cfg.Wall == nil {
		cfg.Wall = func(now time.Time) time.Time { return now }
	}
	l := &Lane{began: time.Now(), cfg: cfg, reading: r, done: make(chan struct{})}
	l.box.wake = make(chan struct{}, 1)
	if cfg.CatchUp != nil {
		cfg.Core.CatchUp = cfg.CatchUp.of(l.began)
	}
	cfg.Core.MaxCopies = cfg.Runs.InFlight
	l.core = purgatory.New(cfg.Core, l.clock(time.Now()))
	l.in = intake{core: l.core, reading: r, rules: cfg.Rules, wall: cfg.Wall, onInvalid: cfg.Core.OnInvalid}
	l.out = outbound{core: l.core, deliver: d, box: &l.box, cfg: &l.cfg, throttle: &l.throttle}
	l.carrier = carrier{core: l.core, reading: r, box: &l.box, cfg: &l.cfg}
	l.commits = commits{core: l.core, committer: c, carrier: &l.carrier, box: &l.box, cfg: &l.cfg}
	l.moves = newMoves(l)
	now := time.Now()
	l.seen.beat.Store(&now)
	l.seen.publish(l.core, now)
	return l
}

// clock turns an instant into the core's time. The wall clock is meant, with all
// its steps; the monotonic one plays no part in deadlines.
func (l *Lane) clock(now time.Time) purgatory.Clock {
	return purgatory.Clock{WallMs: l.cfg.Wall(now).UnixMilli(), AnsweredMs: l.cfg.Answered().Milliseconds(), MonotonicMs: now.Sub(l.began).Milliseconds()}
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
		l.seen.beat.Store(&now)
		l.seen.turns.Add(1)
		more := l.turn(now, &mail)
		spent = mail
		if l.stop.asked && l.stopped(now) {
			break
		}
		l.seen.turn(l.core, now)
		if !more {
			l.sleep(timer)
		}
	}
	l.abandon()
}

// turn deals with the mail and does one budget's worth of everything that waits.
// more says that work is left that need not be waited for.
func (l *Lane) turn(now time.Time, m *mail) (more bool) {
	l.wake.begin(now)
	l.seen.note(len(m.orders)+len(m.fetched)+len(m.ended)+len(m.committed)+len(m.moved) > 0)
	l.out.land(l.clock(now), m.ended)
	l.moves.land(l.clock(now), m.moved)
	for _, c := range m.committed {
		l.commits.answered(c)
	}
	for _, o := range m.orders {
		o.carryOut(l)
	}
	l.in.fetched = append(l.in.fetched, m.fetched...)
	l.share(l.clock(now))
	l.replays()
	due := l.core.Tick(l.clock(now), tickBudget)
	l.lease()
	full := false
	if l.stop.asked {
		l.in.drop()
	} else {
		l.in.read()
		offered := l.out.offer(now, l.suspended, &l.wake)
		l.seen.note(offered > 0)
		full = offered == offerBudget || l.out.more
		full = l.moves.turn(now, l.suspended, &l.wake) || full
		if l.core.Runs().Crowded() {
			l.commits.hurry()
		}
	}
	parts := l.core.Journals().Cut(false)
	l.carrier.carryOut()
	l.revokes(now)
	l.commits.turn(now, &l.stop, &l.wake)
	l.rest(now)
	l.seen.note(l.carrier.news())
	l.seen.report(l.core, l.out.bytes()+l.moves.bytes()+int64(cap(l.shares))*shareSize)
	l.seen.pace = l.moves.visits.seen
	l.in.giveBack()
	l.cfg.Changed()
	l.await(now)
	return parts || !l.stop.asked && (due || len(l.in.fetched) > 0 || full)
}

// rest gives back what is kept for reuse where reading is paused, no answer is owed, and nothing was offered for a
// moment. It counts as used memory, for which reading may be paused.
func (l *Lane) rest(now time.Time) {
	if l.core.Owed() == 0 && now.Sub(l.out.busy) >= restAfter && l.reading.Paused() {
		l.out.slots = nil
		l.core.Trim()
	}
}

// share tells other lanes the bytes that wait here, and the core theirs.
func (l *Lane) share(now purgatory.Clock) {
	if l.cfg.Elsewhere == nil {
		return
	}
	l.shares = l.core.Shares(now, l.shares[:0])
	if len(l.shares) == 0 {
		return
	}
	for i := range l.shares {
		s := &l.shares[i]
		s.Elsewhere = l.cfg.Elsewhere(s.TargetName, s.Own)
	}
	l.core.Elsewhere(l.shares)
}

// replays tells the core whether what its replay barriers wait for is read at all.
func (l *Lane) replays() {
	r := l.core.Replays()
	l.replaying = r.Assignments(l.replaying[:0])
	if len(l.replaying) == 0 {
		return
	}
	r.Reading(l.reading.Paused() && len(l.in.fetched) == 0) // what is fetched is read all the same
	for _, a := range l.replaying {
		if !l.in.has(a) && l.reading.Stopped(a) {
			r.Stopped(a.TopicPartition, a.Epoch)
		}
	}
}

// await sets the alarm for all that no step of a turn deals with.
func (l *Lane) await(now time.Time) {
	if ms, ok := l.core.NextDeadline(); ok && !l.suspended { // what comes due without a lease is not offered
		l.wake.by(now.Add(time.UnixMilli(ms).Sub(l.cfg.Wall(now).Round(0))))
	}
	if l.core.Unsettled() || len(l.revoking) > 0 || l.stop.asked {
		l.wake.by(now.Add(soon))
	}
	if l.stop.asked {
		l.wake.by(l.stop.by)
	}
}

// lease stops offering when the group may have given this member up. From then on
// each partition delivers again after a commit of its own was accepted.
func (l *Lane) lease() {
	if l.reading.LeaseValid() {
		l.suspended = false
		return
	}
	if !l.suspended {
		l.suspended = true
		l.core.Suspend()
		l.commits.hurry()
	}
}

// sleep waits for mail or the alarm.
func (l *Lane) sleep(timer *time.Timer) {
	d := time.Until(l.wake.at)
	if d <= 0 {
		return
	}
	if l.wake.idle {
		l.core.Trim()
	}
	timer.Reset(d)
	select {
	case <-l.box.wake:
	case <-timer.C:
		l.seen.note(l.wake.idle)
	}
}

// Done is closed when the loop has ended.
func (l *Lane) Done() <-chan struct{} { return l.done }
