package connect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

const (
	firstPause = time.Second      // after the first refusal; it doubles
	maxPause   = 30 * time.Second // between two attempts that are refused
	// crowdWait is how long an attempt waits for the end of another at the same broker.
	crowdWait = time.Second
	// trialTime is how long an attempt at a broker that refuses may take before the next
	// one no longer waits for its end.
	trialTime = 15 * time.Second
)

// gates keep attempts at each broker apart, whichever client makes them. A crowd of
// clients with a wrong password would otherwise lock an account at once.
type gates struct {
	alone bool // logins are made one at a time, also where none was refused

	mu sync.Mutex
	by map[string]*gate
}

// gate is one broker's, by host:port. One that is open has none.
type gate struct {
	refusals int           // in a row
	until    time.Time     // no attempt before
	trial    time.Time     // begin of the attempt under way; zero: none
	ended    chan struct{} // closed at the end of that attempt
	cause    Cause         // of the last refusal
}

// pause is why an attempt is not made.
type pause struct {
	cause Cause // of the last refusal
	again time.Duration
}

// Error repeats the last refusal: it is the reason as long as it lasts.
func (p *pause) Error() string {
	return fmt.Sprintf("refused a moment ago, and tried again within %v: %s; look at %s", p.again.Round(time.Second), p.cause.Message, p.cause.LookAt)
}

// isPause reports whether an attempt was not made.
func isPause(err error) bool {
	_, ok := errors.AsType[*pause](err)
	return ok
}

// enter is nil if an attempt may be made now; leave has to follow. It waits a moment for
// the attempt under way, whose refusal is the answer for both.
func (g *gates) enter(ctx context.Context, addr string) error {
	ended, err := g.try(addr, time.Now(), ctx.Err() == nil)
	if ended == nil { // as nearly always: no timer is made
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, crowdWait)
	defer cancel()
	for ; ended != nil; ended, err = g.try(addr, time.Now(), ctx.Err() == nil) {
		select {
		case <-ended:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) { // the client is closed
				return temporary{new(pause)}
			}
		}
	}
	return err
}

// try begins an attempt, or returns why not. Where it may wait and has to, it returns the
// end of the attempt under way.
func (g *gates) try(addr string, now time.Time, mayWait bool) (ended <-chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.by[addr]
	if b == nil {
		if !g.alone {
			return nil, nil
		}
		b = g.add(addr)
	}
	switch {
	case now.Before(b.until):
		return nil, temporary{&pause{b.cause, b.until.Sub(now)}}
	case b.trial.IsZero() || now.Sub(b.trial) >= trialTime:
		b.end()
		b.trial, b.ended = now, make(chan struct{})
		return nil, nil
	case mayWait:
		return b.ended, nil
	case b.refusals > 0:
		return nil, temporary{&pause{b.cause, trialTime}}
	}
	return nil, nil // the broker is silent there, and refused nobody
}

// pausing returns why no login may be made on an open connection now; nil if one may. A
// refused certificate is no reason: connections from before go on.
func (g *gates) pausing(addr string, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.by[addr]; b != nil && b.cause.Reason == ReasonLogin && now.Before(b.until) {
		return temporary{&pause{b.cause, b.until.Sub(now)}}
	}
	return nil
}

// leave notes the end of an attempt: cause is why it was refused, nil where it was not, and
// err is nil where it succeeded. Refusals of attempts that began together count once, and
// an attempt that came to neither end changes nothing.
func (g *gates) leave(addr string, err error, cause *Cause, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.by[addr]
	if b == nil {
		if cause == nil {
			return
		}
		b = g.add(addr)
	}
	b.end()
	switch {
	case err == nil || cause == nil && b.refusals == 0:
		delete(g.by, addr)
	case cause != nil && !now.Before(b.until):
		b.cause = *cause
		b.until = now.Add(min(firstPause<<min(b.refusals, 5), maxPause))
		b.refusals++
	}
	maps.DeleteFunc(g.by, func(_ string, b *gate) bool { return b.trial.IsZero() && now.Sub(b.until) > lasts }) // of brokers that are gone
}

func (g *gates) add(addr string) *gate {
	b := new(gate)
	if g.by == nil {
		g.by = make(map[string]*gate)
	}
	g.by[addr] = b
	return b
}

// end ends the attempt under way, if there is one.
func (b *gate) end() {
	if b.ended != nil {
		close(b.ended)
	}
	b.trial, b.ended = time.Time{}, nil
}
