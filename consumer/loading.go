package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"layover/cluster"
	"layover/facts"
	"layover/offsets"
)

// Times of a loading.
const (
	// loadGrace is how long an assignment waits for all of its partitions. Those that
	// cannot be begun by then are begun later, one by one.
	loadGrace = 3 * time.Second
	// loadRetry is the pause before a question is asked again, sickRetry the same for
	// partitions that could not be begun in loadGrace.
	loadRetry = 200 * time.Millisecond
	sickRetry = time.Second
	// journalGrace is how long a journal may take to be read until that is called sick.
	journalGrace = 10 * time.Second
	// askTimeout is for one question.
	askTimeout = 5 * time.Second
)

// loading finds out where the partitions of one assignment begin. Each goes its own way
// through the stages, so that one that is sick holds up no other:
//
//	unbounded ─► unfetched ─► startless ─► restoring ─► unchecked ─► ready
//	  id, log      committed     start       journal      leader
//	  bounds       offset        offset                   epoch
//
// Its goroutine owns the beginnings. It ends when all are ready, stopped or revoked.
type loading struct {
	c       *Consumer
	began   time.Time
	tenures []offsets.Assignment // of all its partitions
	open    map[offsets.TopicPartition]*beginning
	answers chan func() // what a question came to; its goroutine runs them
	asking  sync.WaitGroup
	over    chan struct{} // closed when run has ended
	// starting: it is being asked where partitions without an offset start, which is asked
	// next at startDue where no partition has come so far.
	starting bool
	startDue time.Time

	// Under Consumer.mu: what is ready, until load takes it; then late is set, and what
	// becomes ready enters through the poll loop.
	ready []*beginning
	late  bool
}

// stage is what a beginning waits for.
type stage uint8

const (
	unbounded stage = iota // topic id and log bounds
	unfetched              // what the group has committed
	startless              // a start, because nothing is committed
	restoring              // what its journal says
	unchecked              // whether the log still is the one that was read
)

// beginning is a partition on its way to the handler.
type beginning struct {
	facts.Assigned
	id    facts.Identity
	at    cluster.Bounds
	named offsets.Journal // what its commit names

	stage   stage
	fetched bool // what is committed is known, or that nothing is
	was     *offsets.Committed
	// outdated: the topic may have been deleted and made again since its committed offset
	// was told, so that the offset is asked for once more, by the id that bounds came with.
	outdated bool
	asked    bool      // an answer is awaited
	due      time.Time // of the next question
	err      error     // the last one
	told     string    // of err, what the table says
	checked  bool      // its leader epoch is

	code   Reason // why it is not to be read
	reason string
}

// newLoading begins with what the client fetched. A partition that is assigned and not
// in it is asked about here: the client leaves it alone after an error.
func (c *Consumer) newLoading(fetched map[offsets.TopicPartition]int32) *loading {
	l := &loading{c: c, began: time.Now(), open: make(map[offsets.TopicPartition]*beginning), answers: make(chan func()), over: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	for tp, o := range c.table {
		if o.loaded || o.loading || o.stopped != "" && !o.trying {
			continue
		}
		o.loading = true
		b := &beginning{Assigned: facts.Assigned{Assignment: o.Assignment}}
		if epoch, ok := fetched[tp]; ok {
			b.fetched = true
			if was, ok := c.committed[tp]; ok {
				was.LeaderEpoch = epoch
				b.was = &was
			}
		}
		l.open[tp] = b
		l.tenures = append(l.tenures, o.Assignment)
	}
	return l
}

// run goes on until nothing is open or the context ends.
func (l *loading) run(ctx context.Context) {
	defer close(l.over)
	asking, cancel := context.WithCancel(ctx)
	timer := time.NewTimer(loadRetry)
	defer timer.Stop()
	for l.live() {
		for l.turn(asking, time.Now()) { // until all that can be asked is
		}
		select {
		case took := <-l.answers:
			took()
		case <-timer.C:
			timer.Reset(loadRetry)
		case <-ctx.Done():
			clear(l.open)
		}
	}
	cancel()
	l.asking.Wait()
}

// live lets go of what is not assigned any more, and says whether anything is left.
func (l *loading) live() bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	for tp, b := range l.open {
		if l.c.row(b.Assignment) == nil {
			delete(l.open, tp)
		}
	}
	return len(l.open) > 0
}

// turn asks what it is time for. It returns true when a partition is in another stage
// without an answer from anybody.
func (l *loading) turn(ctx context.Context, now time.Time) (more bool) {
	l.say(now)
	var by [unchecked + 1][]*beginning
	for _, b := range l.open {
		if !b.asked && !now.Before(b.due) {
			by[b.stage] = append(by[b.stage], b)
		}
	}
	for stage, ask := range [...]func(context.Context, []*beginning){l.askBounds, l.askCommitted, l.askStarts, l.restore, l.askEpochs} {
		if len(by[stage]) > 0 {
			for _, b := range by[stage] {
				b.asked = true
			}
			ask(ctx, by[stage])
		}
	}
	if l.mayStart(now) {
		l.askStarts(ctx, nil)
	}
	for _, b := range l.open {
		more = more || !b.asked && !now.Before(b.due)
	}
	return more
}

// mayStart says whether this member may have to start the group though no partition of its
// own can be asked about: the others wait for the one that has the first partition.
func (l *loading) mayStart(now time.Time) bool {
	if l.starting || now.Before(l.startDue) || now.Sub(l.began) < loadGrace {
		return false
	}
	for _, b := range l.open {
		if b.stage == unbounded && b.fetched && b.was == nil {
			return true
		}
	}
	return false
}

// ask runs a question beside the loop. It ends with the question's own time limit, or
// with ctx.
func (l *loading) ask(question func()) { l.asking.Go(question) }

// tell has the loop take an answer.
func (l *loading) tell(ctx context.Context, took func()) {
	select {
	case l.answers <- took:
	case <-ctx.Done():
	}
}

// again notes why a question has to be asked again.
func (l *loading) again(b *beginning, err error) {
	b.asked, b.err = false, err
	retry := loadRetry
	if time.Since(l.began) >= loadGrace {
		retry = sickRetry
	}
	b.due = time.Now().Add(retry)
}

// next moves a partition on to a stage.
func (b *beginning) next(s stage) { b.stage, b.asked, b.err, b.due = s, false, nil, time.Time{} }

// askBounds asks for cluster, topic ids and log bounds.
func (l *loading) askBounds(ctx context.Context, parts []*beginning) {
	names := make([]offsets.TopicPartition, len(parts))
	for i, b := range parts {
		names[i] = b.TopicPartition
	}
	l.ask(func() {
		cluster.AskBounds(ctx, l.c.client, names, func(found cluster.Located) {
			l.tell(ctx, func() {
				for tp, at := range found {
					if b := l.open[tp]; b != nil {
						l.bounded(b, at)
					}
				}
			})
		})
	})
}

func (l *loading) bounded(b *beginning, at cluster.Bounds) {
	if at.Err != nil {
		b.outdated = true
		l.again(b, at.Err)
		return
	}
	id := offsets.Identity{ClusterID: at.ClusterID, TopicID: at.TopicID, Partition: b.Partition}
	if b.Facts != nil && id == b.id.Identity { // only its leader was asked for
		b.at = at
		b.next(unchecked)
		return
	}
	b.outdated = b.outdated || b.id.TopicID != (offsets.TopicID{}) && b.id.TopicID != id.TopicID
	b.at, b.id = at, facts.Identity{Identity: id, Group: l.c.cfg.Group}
	b.StableEnd, b.TopicID, b.ClusterID = at.Stable, at.TopicID, at.ClusterID
	l.located(b)
}

// located goes on with a partition whose bounds are known.
func (l *loading) located(b *beginning) {
	switch {
	case !b.fetched || b.outdated:
		b.next(unfetched)
	case b.was == nil || b.was.Metadata == offsets.Unstarted:
		b.next(startless)
	default:
		l.resume(b)
	}
}

// resume decides where a partition goes on that has a committed offset, or why it cannot.
func (l *loading) resume(b *beginning) {
	from, err := offsets.Resume(*b.was, b.id.Identity, offsets.Bounds{Start: b.at.Start, End: b.at.End})
	switch {
	case errors.Is(err, offsets.ErrBeyondEnd):
		l.refuse(b, Truncated, fmt.Sprintf("%v: the log was truncated or is another one; set the group's offset for this partition, then restart", err))
		return
	case err != nil:
		l.refuse(b, NewerVersion, fmt.Sprintf("its committed metadata cannot be read by this version: %v", err))
		return
	}
	l.c.sayStart(b.TopicPartition, b.was.Offset, from)
	b.Window, b.Next, b.LeaderEpoch = from.Window, from.Next, from.LeaderEpoch
	b.id.Incarnation, b.named = from.Incarnation, from.Journal
	b.next(restoring)
}

// start begins a partition without a committed offset at one.
func (l *loading) start(b *beginning, offset int64) {
	b.Window, b.Next, b.LeaderEpoch = offsets.NewWindow(offset), offset, -1
	b.next(restoring)
}

// refuse ends a beginning: an operator has to act.
func (l *loading) refuse(b *beginning, code Reason, reason string) {
	b.code, b.reason = code, reason
	l.done(b)
}

// askEpochs asks whether the logs of partitions that begin late still are the ones that
// were read. For those that begin with the assignment the client asks.
func (l *loading) askEpochs(ctx context.Context, parts []*beginning) {
	asks := make(map[offsets.TopicPartition]cluster.EpochAsk)
	for _, b := range parts {
		if b.LeaderEpoch < 0 || !l.isLate() {
			b.checked = b.LeaderEpoch < 0
			l.done(b)
			continue
		}
		asks[b.TopicPartition] = cluster.EpochAsk{Leader: b.at.Leader, Epoch: b.LeaderEpoch}
	}
	if len(asks) == 0 {
		return
	}
	l.ask(func() {
		cluster.EpochEnds(ctx, l.c.client, asks, func(ends map[offsets.TopicPartition]cluster.EpochEnd) {
			l.tell(ctx, func() {
				for tp, end := range ends {
					if b := l.open[tp]; b != nil {
						l.check(b, end)
					}
				}
			})
		})
	})
}

func (l *loading) check(b *beginning, end cluster.EpochEnd) {
	switch {
	case end.TooOld: // the client does not ask such a broker either
		b.checked = true
		l.done(b)
	case end.Err != nil: // another broker may lead it by now
		b.stage = unbounded
		l.again(b, end.Err)
	case end.Offset >= 0 && end.Offset < b.Next:
		l.refuse(b, Truncated, truncatedBelow(end.Offset, b.Next))
	default:
		b.checked = true
		l.done(b)
	}
}

// isLate says whether load has returned.
func (l *loading) isLate() bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.late
}

// done gives a partition that is complete to load, or, checked, to the poll loop.
func (l *loading) done(b *beginning) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	switch {
	case !l.late:
		l.ready = append(l.ready, b)
	case b.checked || b.reason != "":
		l.c.arrived = append(l.c.arrived, b)
		if l.c.polling != nil {
			l.c.polling() // it enters with the next turn of the poll loop
		}
	default:
		b.next(unchecked)
		return
	}
	delete(l.open, b.TopicPartition)
}

// say puts into the table what a partition waits for that is not begun in time, and what
// it waits for instead where that changes. The log has it from there.
func (l *loading) say(now time.Time) {
	if now.Sub(l.began) < loadGrace {
		return
	}
	for _, b := range l.open {
		err := b.err
		if err == nil && b.stage == restoring && now.Sub(l.began) >= journalGrace {
			err = errJournal
		}
		if err == nil || b.told == err.Error() {
			continue
		}
		b.told = err.Error()
		l.c.notBegun(b.Assignment, b.told)
		l.c.cfg.Log.Debug("partition cannot be begun, trying again", "topic", b.Topic, "partition", b.Partition, "err", err)
	}
}

// errJournal is what a partition waits for that has waited for journalGrace.
var errJournal = errors.New("its journal is not read yet")
