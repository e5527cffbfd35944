package copies

import (
	"context"
	"errors"
	"sync"
	"time"
)

// leastSilence is how long a visit that fails has taken at least if its broker counts as silent. One that refuses
// takes less.
const leastSilence = 5 * time.Second

// errSilent is a leader that did not answer the last visit, and that another visit asks already.
var errSilent = errors.New("the leader does not answer, and is asked about another partition")

// turns lets so many visits read at a time, as each takes memory. Visits of brokers that do not answer have one
// turn for all of them. They take ten seconds each, and others would wait for them again and again.
type turns struct {
	all    chan struct{} // holds a token for each visit that reads
	silent chan struct{} // the same, of silent brokers; capacity 1

	mu      sync.Mutex
	brokers map[int32]bool // those that are silent
}

func newTurns(visits int) turns {
	return turns{all: make(chan struct{}, visits), silent: make(chan struct{}, 1), brokers: make(map[int32]bool)}
}

// await waits for a turn.
func (r *reading) await(ctx context.Context) error {
	select {
	case r.copies.turns.all <- struct{}{}:
		r.turn = r.copies.turns.all
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// yield comes before the visit asks a broker. Where that is silent, it gives its turn to others, for the one of
// silent brokers. Where that is taken, it ends.
func (r *reading) yield(broker int32) error {
	t := &r.copies.turns
	t.mu.Lock()
	silent := t.brokers[broker]
	t.mu.Unlock()
	if r.broker = broker; !silent || r.turn == t.silent {
		return nil
	}
	select {
	case t.silent <- struct{}{}:
		<-r.turn
		r.turn = t.silent
		return nil
	default:
		return errSilent
	}
}

// leave ends the turn, and notes whether the broker that the visit asked last is silent.
func (r *reading) leave() {
	<-r.turn
	t := &r.copies.turns
	if r.broker < 0 || errors.Is(r.Err, errSilent) {
		return
	}
	silent := r.Err != nil && r.Took >= leastSilence
	t.mu.Lock()
	if delete(t.brokers, r.broker); silent {
		t.brokers[r.broker] = true
	}
	t.mu.Unlock()
	if silent {
		r.copies.doubtLeader(r.broker)
	}
}
