package connect

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// An address that is silent takes no whole question of 5 s, so that another one is asked within it. One that was silent
// has the client's own time at its next attempt: a broker may be slow.
const (
	// reachTimeout bounds an attempt to reach an address. One packet may get lost: it is sent again after 1 s.
	reachTimeout = 2 * time.Second
	// firstWords is how long a connection may say nothing before its first answer. The client itself waits 10 s.
	firstWords = 4 * time.Second
	// silentPause is how long no client asks an address of KAFKA_BROKERS that was silent, while others answer. Clients
	// ask each of them again and again, also once they know the brokers.
	silentPause = 30 * time.Second
	// othersAnswer is how long ago the last answer of others may be.
	othersAnswer = 10 * time.Second
)

// seed is an address that was silent.
type seed struct {
	at   time.Time // when an attempt last ended in silence
	node bool      // a broker advertises it: that broker's clients need it, and are not kept from it
}

// silence is why an attempt is not made.
type silence struct{ of time.Time }

// Error implements error.
func (s *silence) Error() string {
	return "silent since " + s.of.UTC().Format("15:04:05Z") + ", while others answer"
}

// skips returns why an address is not asked now; nil if it is. One address is left in any case.
func (c *Connection) skips(addr string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.silent[addr]
	if s == nil || s.node || len(c.silent) >= len(c.cfg.Kafka.Brokers) || time.Since(s.at) >= silentPause || time.Since(c.heard) >= othersAnswer {
		return nil
	}
	return temporary{&silence{s.at}}
}

// tried notes the end of an attempt, and reports whether it was made.
func (c *Connection) tried(b kgo.BrokerMetadata, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	addr := address(b)
	s := c.silent[addr]
	if s != nil && b.NodeID >= 0 {
		s.node = true
	}
	if _, skipped := errors.AsType[*silence](err); skipped {
		return false
	}
	failed, ok := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		delete(c.silent, addr)
	case !ok || !failed.Timeout():
	case s != nil:
		s.at = time.Now()
	default:
		c.silent[addr] = &seed{at: time.Now(), node: b.NodeID >= 0}
	}
	return true
}

// isSilent reports whether the last attempt at an address ended in silence.
func (c *Connection) isSilent(addr string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent[addr] != nil
}

// reach connects; a quick attempt has reachTimeout.
func (c *Connection) reach(ctx context.Context, network, addr string, quick bool) (net.Conn, error) {
	if quick {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, reachTimeout)
		defer cancel()
	}
	return c.cfg.Dial(ctx, network, addr)
}

// listener is a connection on which the first answer is waited for less long than later ones.
type listener struct {
	net.Conn
	heard atomic.Bool
}

// listening returns a connection of a quick attempt as a listener; nil stays nil.
func listening(conn net.Conn, quick bool) net.Conn {
	if conn == nil || !quick {
		return conn
	}
	return &listener{Conn: conn}
}

// Read notes the first answer.
func (l *listener) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 {
		l.heard.Store(true)
	}
	return n, err
}

// SetReadDeadline sets no later time than that of the first words, until they are there.
func (l *listener) SetReadDeadline(t time.Time) error {
	if first := time.Now().Add(firstWords); !l.heard.Load() && t.After(first) {
		t = first
	}
	return l.Conn.SetReadDeadline(t)
}
