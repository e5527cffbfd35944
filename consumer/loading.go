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
	// loadGrace is how long an assignment waits for all of its partitions. Those that are
	// not ready by then begin later, one by one.
	loadGrace = 3 * time.Second
	// loadRetry is the pause before a question is asked again; after loadGrace it is
	// sickRetry.
	loadRetry = 200 * time.Millisecond
	sickRetry = time.Second
	// journalGrace is how long reading a journal may take before its partition is sick.
	journalGrace = 10 * time.Second
	// askTimeout is for one question.
	askTimeout = 5 * time.Second
)

// loading finds out where some partitions begin. Each goes its own way through the stages,
// so that one that is sick holds up no other:
//
//	needsBounds ─► needsOffset ─► needsStart ─► needsJournal ─► needsEpoch ─► ready
//	  id, log       committed      start          journal         leader
//	  bounds        offset         offset                         epoch
//
// Its goroutine owns the partitions. It ends when all are ready, stopped or revoked.
type loading struct {
	loader      *loader
	began       time.Time
	assignments []offsets.Assignment // of all its partitions
	open        map[offsets.TopicPartition]*partition
	answers     chan func() // of brokers, as functions that its goroutine runs
	asking      sync.WaitGroup
	over        chan struct{} // closed when run has ended
	// starting: the question for starts is underway. At startDue it is asked even where no
	// partition has come to it.
	starting bool
	startDue time.Time

	// Under loader.mu: the partitions that are ready, until load takes them; then late is
	// set, and those that become ready enter through the poll loop.
	ready []*partition
	late  bool
}

// stage is what a partition waits for.
type stage uint8

const (
	needsBounds  stage = iota // topic id and log bounds
	needsOffset               // the group's committed offset
	needsStart                // a start, because nothing is committed
	needsJournal              // what its journal says
	needsEpoch                // whether the log still is the one that was read
)

// partition is one assigned partition on its way to the handler.
type partition struct {
	facts.Assigned
	id    facts.Identity
	at    cluster.Bounds
	named offsets.Journal // what its commit names

	stage   stage
	fetched bool // the committed offset is known, or that there is none
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

// newLoading returns a loading of partitions that nobody else loads. run begins it.
func newLoading(d *loader, parts []*partition) *loading {
	l := &loading{loader: d, began: time.Now(), open: make(map[offsets.TopicPartition]*partition), answers: make(chan func()), over: make(chan struct{})}
	for _, p := range parts {
		l.open[p.TopicPartition] = p
		l.assignments = append(l.assignments, p.Assignment)
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

// live lets go of partitions that are not assigned any more. It returns false where none
// is left.
func (l *loading) live() bool {
	for tp, p := range l.open {
		if !l.loader.table.is(p.Assignment) {
			delete(l.open, tp)
		}
	}
	return len(l.open) > 0
}

// turn asks the questions that are due. It returns true when a partition has moved on to
// another stage without an answer.
func (l *loading) turn(ctx context.Context, now time.Time) (more bool) {
	l.say(now)
	var by [needsEpoch + 1][]*partition
	for _, p := range l.open {
		if !p.asked && !now.Before(p.due) {
			by[p.stage] = append(by[p.stage], p)
		}
	}
	for stage, ask := range [...]func(context.Context, []*partition){l.askBounds, l.askCommitted, l.askStarts, l.restore, l.askEpochs} {
		if len(by[stage]) > 0 {
			for _, p := range by[stage] {
				p.asked = true
			}
			ask(ctx, by[stage])
		}
	}
	if l.mayStart(now) {
		l.askStarts(ctx, nil)
	}
	for _, p := range l.open {
		more = more || !p.asked && !now.Before(p.due)
	}
	return more
}

// mayStart says whether this member may have to start the group although the bounds of its
// own partitions are not known: others wait for the owner of the first partition.
func (l *loading) mayStart(now time.Time) bool {
	if l.starting || now.Before(l.startDue) || now.Sub(l.began) < loadGrace {
		return false
	}
	for _, p := range l.open {
		if p.stage == needsBounds && p.fetched && p.was == nil {
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

// retry has a question asked again, because of err.
func (l *loading) retry(p *partition, err error) {
	p.asked, p.err = false, err
	wait := loadRetry
	if time.Since(l.began) >= loadGrace {
		wait = sickRetry
	}
	p.due = time.Now().Add(wait)
}

// next moves a partition on to a stage.
func (p *partition) next(s stage) { p.stage, p.asked, p.err, p.due = s, false, nil, time.Time{} }

// askBounds asks for cluster, topic ids and log bounds.
func (l *loading) askBounds(ctx context.Context, parts []*partition) {
	names := make([]offsets.TopicPartition, len(parts))
	for i, p := range parts {
		names[i] = p.TopicPartition
	}
	l.ask(func() {
		cluster.AskBounds(ctx, l.loader.client, names, func(found cluster.Located) {
			l.tell(ctx, func() {
				for tp, at := range found {
					if p := l.open[tp]; p != nil {
						l.bounded(p, at)
					}
				}
			})
		})
	})
}

func (l *loading) bounded(p *partition, at cluster.Bounds) {
	if at.Err != nil {
		p.outdated = true
		l.retry(p, at.Err)
		return
	}
	id := offsets.Identity{ClusterID: at.ClusterID, TopicID: at.TopicID, Partition: p.Partition}
	if p.Facts != nil && id == p.id.Identity { // only its leader was asked for
		p.at = at
		p.next(needsEpoch)
		return
	}
	p.outdated = p.outdated || p.id.TopicID != (offsets.TopicID{}) && p.id.TopicID != id.TopicID
	p.at, p.id = at, facts.Identity{Identity: id, Group: l.loader.group.name}
	p.StableEnd, p.TopicID, p.ClusterID = at.Stable, at.TopicID, at.ClusterID
	l.located(p)
}

// located goes on with a partition whose bounds are known.
func (l *loading) located(p *partition) {
	switch {
	case !p.fetched || p.outdated:
		p.next(needsOffset)
	case p.was == nil || p.was.Metadata == offsets.Unstarted:
		p.next(needsStart)
	default:
		l.resume(p)
	}
}

// resume decides where a partition goes on that has a committed offset, or why it cannot.
func (l *loading) resume(p *partition) {
	from, err := offsets.Resume(*p.was, p.id.Identity, offsets.Bounds{Start: p.at.Start, End: p.at.End})
	switch {
	case errors.Is(err, offsets.ErrBeyondEnd):
		l.refuse(p, Truncated, fmt.Sprintf("%v: the log was truncated or is another one; set the group's offset for this partition, then restart", err))
		return
	case err != nil:
		l.refuse(p, NewerVersion, fmt.Sprintf("its committed metadata cannot be read by this version: %v", err))
		return
	}
	l.loader.sayStart(p.TopicPartition, p.was.Offset, from)
	p.Window, p.Next, p.LeaderEpoch = from.Window, from.Next, from.LeaderEpoch
	p.id.Incarnation, p.named = from.Incarnation, from.Journal
	p.next(needsJournal)
}

// start begins a partition without a committed offset at one.
func (l *loading) start(p *partition, offset int64) {
	p.Window, p.Next, p.LeaderEpoch = offsets.NewWindow(offset), offset, -1
	p.next(needsJournal)
}

// refuse ends a partition: an operator has to act.
func (l *loading) refuse(p *partition, code Reason, reason string) {
	p.code, p.reason = code, reason
	l.done(p)
}

// askEpochs asks whether the logs of partitions that begin late still are the ones that
// were read. Of those that begin with the assignment the client asks it.
func (l *loading) askEpochs(ctx context.Context, parts []*partition) {
	asks := make(map[offsets.TopicPartition]cluster.EpochAsk)
	for _, p := range parts {
		if p.LeaderEpoch < 0 || !l.loader.isLate(l) {
			p.checked = p.LeaderEpoch < 0
			l.done(p)
			continue
		}
		asks[p.TopicPartition] = cluster.EpochAsk{Leader: p.at.Leader, Epoch: p.LeaderEpoch}
	}
	if len(asks) == 0 {
		return
	}
	l.ask(func() {
		cluster.EpochEnds(ctx, l.loader.client, asks, func(ends map[offsets.TopicPartition]cluster.EpochEnd) {
			l.tell(ctx, func() {
				for tp, end := range ends {
					if p := l.open[tp]; p != nil {
						l.check(p, end)
					}
				}
			})
		})
	})
}

func (l *loading) check(p *partition, end cluster.EpochEnd) {
	switch {
	case end.TooOld: // the client does not ask such a broker either
		p.checked = true
		l.done(p)
	case end.Err != nil: // another broker may lead it by now
		p.stage = needsBounds
		l.retry(p, end.Err)
	case end.Offset >= 0 && end.Offset < p.Next:
		l.refuse(p, Truncated, truncatedBelow(end.Offset, p.Next))
	default:
		p.checked = true
		l.done(p)
	}
}

// done lets go of a partition that is complete, or has it checked first.
func (l *loading) done(p *partition) {
	if l.loader.done(l, p) {
		delete(l.open, p.TopicPartition)
		return
	}
	p.next(needsEpoch)
}

// say puts into the table why partitions have not begun in time, each time the reason
// changes. The log of sick things takes it from there.
func (l *loading) say(now time.Time) {
	if now.Sub(l.began) < loadGrace {
		return
	}
	for _, p := range l.open {
		err := p.err
		if err == nil && p.stage == needsJournal && now.Sub(l.began) >= journalGrace {
			err = errJournal
		}
		if err == nil || p.told == err.Error() {
			continue
		}
		p.told = err.Error()
		l.loader.table.await(p.Assignment, p.told)
		l.loader.log.Debug("partition cannot be begun, trying again", "topic", p.Topic, "partition", p.Partition, "err", err)
	}
}

// errJournal is the reason of a partition whose journal is not read in journalGrace.
var errJournal = errors.New("its journal is not read yet")
