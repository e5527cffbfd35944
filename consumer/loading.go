package consumer

import (
	"context"
	"errors"
	"sync"
	"time"

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
	// believeAfter is how long a leader of a lower epoch than the committed one is asked again, where brokers tell no
	// topic ids. A broker that is cut off from the controller loses its session after 9 s (KRaft) or 18 s (ZooKeeper).
	believeAfter = 30 * time.Second
	// askTimeout is for one question.
	askTimeout = 5 * time.Second
)

// loading finds out where some partitions begin. Each goes its own way through the stages,
// so that one that is sick holds up no other: a loading asks, the partition takes answers.
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
		l.loader.turns.Add(1)
		for l.turn(asking, time.Now()) { // until every due question is asked
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
// own partitions are not known. Others wait for the owner of the first partition.
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

// retry has a partition's question asked again, because of err.
func (l *loading) retry(p *partition, err error) {
	wait := loadRetry
	if time.Since(l.began) >= loadGrace {
		wait = sickRetry
	}
	p.retry(allow(err, l.loader.group.name, p.Topic), time.Now().Add(wait))
}

// took deals with a partition that has taken an answer. After an error its question is asked again.
func (l *loading) took(p *partition, err error) {
	if err != nil {
		l.retry(p, err)
	}
	l.moved(p)
}

// moved deals with a partition that an answer has moved on. A ready one leaves the
// loading, or has to be checked first.
func (l *loading) moved(p *partition) {
	if p.from != nil {
		l.loader.sayStart(p.TopicPartition, p.was.Offset, *p.from)
		p.from = nil
	}
	switch {
	case p.stage != ready:
	case l.loader.done(l, p):
		delete(l.open, p.TopicPartition)
	default:
		p.next(needsEpoch)
	}
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
