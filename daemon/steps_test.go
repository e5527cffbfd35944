package daemon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// point is one thing that passes between an instance and the brokers, for the nth time. It is
// a connection about to be made, a request about to reach a broker, or an answer about to
// reach a client.
type point struct {
	what string
	nth  int
}

func (s point) String() string { return fmt.Sprintf("%s, time %d", s.what, s.nth) }

// ending is what becomes of the point that a test is about.
type ending struct {
	name     string
	wait     time.Duration // until it is made
	vanishes bool          // it is not made, nor whatever comes behind it on its connection
	silences bool          // it is not made, nor whatever comes behind it on any connection
}

// once is the shortest wait. In a bubble it ends when everybody else waits for something. By
// then a test has done its part, and all has happened that follows from it.
const once = time.Millisecond

// answered are the endings where brokers go on answering.
var answered = []ending{{name: "goes on", wait: once}, {name: "is late", wait: 300 * time.Millisecond}}

// unanswered are those where they do not.
var unanswered = []ending{{name: "is later than a stop may take", wait: stopWithin + time.Second}, {name: "vanishes", wait: once, vanishes: true}, {name: "is the last", wait: once, silences: true}}

// steps is an instance's network. When the instance comes to one point it tells the test, and
// the point waits.
type steps struct {
	next   dialer
	at     point
	ending ending
	came   chan struct{} // closed when the instance has come to at

	mu      sync.Mutex
	made    map[string]int // points so far, since the test has begun to count
	armed   bool           // the test has begun to count
	silence bool
}

// stepsOf returns a network whose point at has that ending. Points count from the start.
func stepsOf(next dialer, at point, how ending) *steps {
	return &steps{next: next, at: at, ending: how, came: make(chan struct{}), made: make(map[string]int), armed: true}
}

// fromNow has points count from now on.
func (s *steps) fromNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made, s.armed = make(map[string]int), true
}

// all returns the points so far.
func (s *steps) all() (all []point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for what, n := range s.made {
		for nth := range n {
			all = append(all, point{what, nth + 1})
		}
	}
	slices.SortFunc(all, func(a, b point) int { return cmp.Or(cmp.Compare(a.nth, b.nth), cmp.Compare(a.what, b.what)) })
	return all
}

// make is called at each point. It returns true where the point is lost. It waits no longer
// than until gone is closed.
func (s *steps) make(what string, gone <-chan struct{}) bool {
	s.mu.Lock()
	s.made[what]++
	at := s.armed && s.at == point{what, s.made[what]}
	s.armed = s.armed && !at
	s.silence = s.silence || at && s.ending.silences
	silence := s.silence
	s.mu.Unlock()
	if at {
		close(s.came)
		select {
		case <-time.After(s.ending.wait):
		case <-gone:
		}
	}
	return silence || at && s.ending.vanishes
}

func (s *steps) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.make("connection", ctx.Done()) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c, err := s.next(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	conn := &stepped{Conn: c, steps: s, gone: make(chan struct{}), sent: make(chan []byte, 64)}
	go conn.carry() // ends with the connection
	return conn, nil
}

// stepped is one connection. Its client writes each request by one call, which does not wait
// for the broker. As on a network, requests are on their way for a while.
type stepped struct {
	net.Conn
	steps *steps
	sent  chan []byte   // requests on their way
	gone  chan struct{} // closed when the connection is
	close sync.Once

	mu    sync.Mutex
	dead  bool     // nothing passes any more, and nobody is told
	asked []string // requests without an answer yet

	// Of the one goroutine that reads.
	size []byte // of the answer that is being read, as far as it is known
	left int    // bytes of its body that are still to come
}

func (c *stepped) Write(b []byte) (int, error) {
	select {
	case c.sent <- bytes.Clone(b):
		return len(b), nil
	case <-c.gone:
		return 0, net.ErrClosed
	}
}

// carry brings requests to the broker, one after the other.
func (c *stepped) carry() {
	for {
		select {
		case b := <-c.sent:
			what := requestOf(b)
			if c.die(c.steps.make("request "+what, c.gone)) {
				continue
			}
			c.mu.Lock()
			c.asked = append(c.asked, what)
			c.mu.Unlock()
			_, _ = c.Conn.Write(b) // reading has the error, too
		case <-c.gone:
			return
		}
	}
}

// die notes whether the connection is dead from now on, and reports whether it is.
func (c *stepped) die(now bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = c.dead || now
	return c.dead
}

func (c *stepped) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if c.answers(b[:n]); err != nil || !c.die(false) {
			return n, err
		}
	}
}

// answers makes a step of each answer that begins in some bytes.
func (c *stepped) answers(b []byte) {
	for len(b) > 0 {
		if c.left > 0 {
			n := min(c.left, len(b))
			c.left, b = c.left-n, b[n:]
			continue
		}
		if len(c.size) == 0 {
			c.mu.Lock()
			what := c.asked[0]
			c.asked = c.asked[1:]
			c.mu.Unlock()
			c.die(c.steps.make("answer "+what, c.gone))
		}
		n := min(4-len(c.size), len(b))
		c.size, b = append(c.size, b[:n]...), b[n:]
		if len(c.size) == 4 {
			c.left, c.size = int(binary.BigEndian.Uint32(c.size)), c.size[:0]
		}
	}
}

func (c *stepped) Close() error {
	c.close.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

// requestOf returns the kind of a request, as its client writes it.
func requestOf(b []byte) string { return kmsg.Key(binary.BigEndian.Uint16(b[4:])).Name() }
