// Package turns says when a visit to a runs topic may read: so many do at a time, as each takes memory. Brokers that are
// slow or silent get some of the turns, and no other broker waits for theirs.
//
//	quick  ──────────────────────────────► one of all
//	slow   ──┬──where they have not most──► one of all
//	         └──────────────────────────► the one beside
//	silent ──────────────────────────────► the one of silent brokers, or none
package turns

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// leastSilence is how long a visit that fails has taken at least if its broker counts as silent. One that refuses
	// takes less.
	leastSilence = 5 * time.Second
	// leastSlow is how long a visit has taken at least if its broker counts as slow, which it does for slowFor. Others
	// take some hundredths of that. A broker may be slow now and then.
	leastSlow = time.Second
	slowFor   = time.Minute
)

var (
	// ErrSilent is a leader that did not answer the last visit, and that another visit asks already.
	ErrSilent = errors.New("the leader does not answer, and is asked about another partition")
	// ErrSlow is a slow leader, and a turn that others wait for.
	ErrSlow = errors.New("the leader is slow, and its visits wait for turns of their own")
)

// Turns are those of one process. Any goroutine may use them.
//
// Visits of brokers that do not answer take ten seconds each, and have one turn for all of them. Slow brokers leave
// one of all turns to others. So that they have as many where all brokers are slow, one beside them is theirs.
type Turns struct {
	// Each holds a token for each visit that reads:
	all    chan struct{}
	slow   chan struct{} // of those in all, the ones of slow brokers
	beside chan struct{} // of slow brokers; capacity 1
	silent chan struct{} // of silent ones; capacity 1

	mu      sync.Mutex
	brokers map[int32]standing
}

// standing is what the last visits of a broker have shown. Most have none.
type standing struct {
	silent    bool
	slowUntil time.Time
}

// pace is how a broker answers.
type pace uint8

const (
	quick pace = iota
	slow
	silent
)

// New returns turns for so many visits at a time, beside one of slow and one of silent brokers.
func New(visits int) *Turns {
	return &Turns{all: make(chan struct{}, visits), slow: make(chan struct{}, visits-1), beside: make(chan struct{}, 1), silent: make(chan struct{}, 1),
		brokers: make(map[int32]standing)}
}

// pace returns that of a broker. One that nobody knows is quick.
func (t *Turns) pace(broker int32) pace {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch s := t.brokers[broker]; {
	case s.silent:
		return silent
	case time.Now().Before(s.slowUntil):
		return slow
	}
	return quick
}

// Turn is that of one visit, and its owner's.
type Turn struct {
	turns  *Turns
	broker int32           // for which it waited, -1 for unknown
	held   []chan struct{} // it has a token in each
}

// Await waits for the turn of a visit that is about to ask a broker; -1 where nobody knows which. Without an error it is
// to be ended by End. It fails with the context, or at once as ErrSilent.
func (t *Turns) Await(ctx context.Context, broker int32) (*Turn, error) {
	one := &Turn{turns: t, broker: broker}
	for {
		as := t.pace(broker)
		if err := one.take(ctx, as); err != nil {
			return nil, err
		}
		if t.pace(broker) <= as {
			return one, nil
		}
		one.leave() // other visits have found it slow meanwhile, or silent
	}
}

func (one *Turn) take(ctx context.Context, as pace) error {
	t := one.turns
	switch as {
	case silent:
		return one.hush()
	case slow:
		select {
		case t.beside <- struct{}{}: // first: with the other it may have to wait for quick ones
			one.holds(t.beside)
			return nil
		default:
		}
		select {
		case t.beside <- struct{}{}:
			one.holds(t.beside)
			return nil
		case t.slow <- struct{}{}:
			one.holds(t.slow)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	select {
	case t.all <- struct{}{}:
		one.holds(t.all)
		return nil
	case <-ctx.Done():
		one.leave()
		return ctx.Err()
	}
}

func (one *Turn) holds(tokens chan struct{}) { one.held = append(one.held, tokens) }

// Asks comes before the visit asks a broker. Where that is silent, the visit gives its turn to others, for the one of
// silent brokers. With ErrSilent that is taken, and the visit is to end. With ErrSlow it has waited for another broker,
// and is to wait again for this one.
func (one *Turn) Asks(broker int32) error {
	as := one.turns.pace(broker)
	switch {
	case as == silent && one.held[0] != one.turns.silent:
		return one.hush()
	case as == slow && one.held[0] == one.turns.all && one.broker != broker:
		return ErrSlow
	}
	return nil
}

// hush changes the turn for that of silent brokers, unless it is taken.
func (one *Turn) hush() error {
	select {
	case one.turns.silent <- struct{}{}:
		one.leave()
		one.holds(one.turns.silent)
		return nil
	default:
		return ErrSilent
	}
}

func (one *Turn) leave() {
	for _, tokens := range one.held {
		<-tokens
	}
	one.held = one.held[:0]
}

// End ends the turn. It takes how the visit went that asked a broker last, -1 for none, and tells whether that is silent.
func (one *Turn) End(broker int32, took time.Duration, err error) (isSilent bool) {
	one.leave()
	if broker < 0 || errors.Is(err, ErrSilent) || errors.Is(err, ErrSlow) {
		return false
	}
	t := one.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	s, now := t.brokers[broker], time.Now()
	s.silent = err != nil && took >= leastSilence
	if took >= leastSlow {
		s.slowUntil = now.Add(slowFor)
	}
	if t.brokers[broker] = s; !s.silent && !now.Before(s.slowUntil) {
		delete(t.brokers, broker)
	}
	return s.silent
}
