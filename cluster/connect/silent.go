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
	at      time.Time // when an attempt last ended in silence
	setting bool      // it was asked without a broker's id: KAFKA_BROKERS has it
	node    bool      // a broker advertises it: that broker's clients need it, and are not kept from it
	// slow: it has answered since, and took longer than a quick attempt may. Clients make connections again and again,
	// and none of these begins with an attempt in vain.
	slow bool
}

// cut is the error of an attempt whose question ended at once. It says nothing of the address.
type cut struct{ error }

// Unwrap returns the error itself.
func (c cut) Unwrap() error { return c.error }

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
	if s == nil || s.slow || s.node || c.settingsSilent() || time.Since(s.at) >= silentPause || time.Since(c.heard) >= othersAnswer {
		return nil
	}
	return temporary{&silence{s.at}}
}

// settingsSilent reports whether all addresses of KAFKA_BROKERS are silent. Others that brokers advertise do not count.
// Callers hold mu.
func (c *Connection) settingsSilent() bool {
	n := 0
	for _, s := range c.silent {
		if s.setting && !s.slow {
			n++
		}
	}
	return n >= len(c.cfg.Kafka.Brokers)
}

// tried notes the end of an attempt and how long it took, login included. It reports whether the attempt was made.
func (c *Connection) tried(b kgo.BrokerMetadata, took time.Duration, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	addr := address(b)
	s := c.silent[addr]
	if s != nil {
		s.node, s.setting = s.node || b.NodeID >= 0, s.setting || b.NodeID < 0
	}
	if _, skipped := errors.AsType[*silence](err); skipped {
		return false
	}
	switch {
	case err == nil && s != nil && took > reachTimeout:
		s.slow = true
	case err == nil:
		delete(c.silent, addr)
	case !isSilence(err):
	case s != nil:
		s.at, s.slow = time.Now(), false
	default:
		if len(c.silent) >= maxPeers {
			clear(c.silent)
		}
		c.silent[addr] = &seed{at: time.Now(), setting: b.NodeID < 0, node: b.NodeID >= 0}
	}
	return true
}

// isSilence reports whether an attempt ended in silence. To a group's member a refusal looks like that.
func isSilence(err error) bool {
	if _, ok := errors.AsType[cut](err); ok {
		return false
	}
	if member, ok := errors.AsType[timedOut](err); ok {
		err = member.error
	}
	failed, ok := errors.AsType[net.Error](err)
	return ok && failed.Timeout()
}

// isSilent reports whether an attempt at an address has ended in silence, and none has been quick since.
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
