package daemon

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// stuck lets connections get stuck: what is written to them is on its way, and arrives when they are let go, also if the
// client has closed them meanwhile. Others are not affected.
type stuck struct {
	net dialer

	mu   sync.Mutex
	on   kmsg.Key // the next such request of a connection that had a heartbeat gets it stuck; nothing: none does
	all  bool     // every connection gets stuck with its next commit
	is   []*stuckConn
	over bool // one of them was closed by the client
}

// nothing is no kind of request.
const nothing kmsg.Key = -1

type stuckConn struct {
	net.Conn
	s            *stuck
	member       bool // it had a heartbeat
	stuck, ended bool
	held         [][]byte
}

func (s *stuck) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := s.net(ctx, network, addr)
	return &stuckConn{Conn: c, s: s}, err
}

func (c *stuckConn) Write(b []byte) (int, error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	key := nothing
	if len(b) >= 6 {
		key = kmsg.Key(binary.BigEndian.Uint16(b[4:]))
	}
	c.member = c.member || key == kmsg.Heartbeat
	if one := c.member && s.on == key && key != nothing; !c.stuck && (one || s.all && key == kmsg.OffsetCommit) {
		c.stuck, s.on = true, nothing
		s.is = append(s.is, c)
	}
	if c.stuck {
		c.held = append(c.held, append([]byte(nil), b...))
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *stuckConn) Close() error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.stuck && !c.ended {
		c.ended, c.s.over = true, true
		return c.Conn.SetReadDeadline(time.Now())
	}
	return c.Conn.Close()
}

// next has one connection get stuck with the next request of a kind.
func (s *stuck) next(key kmsg.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = key
}

// every has all connections get stuck with their next commits, or none any more.
func (s *stuck) every(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = is
}

// gaveUp says whether the client has closed a connection that is stuck.
func (s *stuck) gaveUp() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// letGo has what was written arrive, one connection after the other. Nobody waits for the answers.
func (s *stuck) letGo(w *fixture) {
	s.mu.Lock()
	stuck := s.is
	s.is = nil
	s.mu.Unlock()
	commits := 0
	for _, c := range stuck {
		s.mu.Lock()
		held := c.held
		c.stuck, c.held = false, nil
		s.mu.Unlock()
		c.Conn.SetReadDeadline(time.Time{})
		go func() { // ends with the connection
			for b := make([]byte, 1<<16); ; {
				if _, err := c.Conn.Read(b); err != nil {
					return
				}
			}
		}()
		for _, b := range held {
			if kmsg.Key(binary.BigEndian.Uint16(b[4:])) == kmsg.OffsetCommit {
				commits++
			}
			c.Conn.Write(b)
		}
		w.Cleanup(func() { c.Conn.Close() })
	}
	if commits == 0 {
		w.Fatal("no commit was stuck")
	}
}

// withStuck plays a test with connections that can get stuck.
func withStuck(t *testing.T, f func(w *fixture, s *stuck)) {
	t.Helper()
	inBubble(t, func(w *fixture) {
		s := &stuck{net: w.Net.DialContext, on: nothing}
		w.dial = s.dial
		f(w, s)
	})
}

// TestACommitOnAConnectionThatAnotherRequestGaveUpIsSaidAgain: a connection to the coordinator is stuck, and a heartbeat
// was sent first. The client waits 10 s for its answer, closes the connection then, and sends a commit that waited behind
// it on another one. All of that took the commit less than a second. Its first copy arrives behind a newer commit.
func TestACommitOnAConnectionThatAnotherRequestGaveUpIsSaidAgain(t *testing.T) {
	withStuck(t, func(w *fixture, s *stuck) {
		in := w.start("LAYOVER_SESSION_TIMEOUT=45s")
		in.ready()
		time.Sleep(20 * time.Second)
		w.send(0, "first")
		time.Sleep(20 * time.Second)
		s.next(kmsg.Heartbeat)
		w.Until(30*time.Second, "a connection is stuck", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.is) > 0 })
		time.Sleep(9400 * time.Millisecond)
		w.send(0, "second")
		time.Sleep(4 * time.Second)
		w.send(0, "third")
		time.Sleep(4 * time.Second)
		if !s.gaveUp() || w.commitOf(0).At != 3 {
			t.Fatalf("closed: %v, committed is %d", s.gaveUp(), w.commitOf(0).At)
		}
		s.letGo(w)
		time.Sleep(2 * time.Minute)
		w.committed(0, 3)
		in.kill()
		in = w.start("LAYOVER_SESSION_TIMEOUT=45s")
		in.ready()
		time.Sleep(time.Minute)
		if got := w.values(egress); got["third"] != 1 {
			t.Errorf("delivered %v: what was finished minutes before the kill came again", got)
		}
		in.stop()
	})
}

// TestACommitThatFailedAndArrivesLateIsSaidAgain: for half a minute no commit arrives, and the client gives one up. The
// next one is taken at once. The first one arrives behind it.
func TestACommitThatFailedAndArrivesLateIsSaidAgain(t *testing.T) {
	withStuck(t, func(w *fixture, s *stuck) {
		in := w.start("LAYOVER_SESSION_TIMEOUT=60s")
		in.ready()
		time.Sleep(20 * time.Second)
		w.send(0, "first")
		time.Sleep(20 * time.Second)
		s.every(true)
		w.send(0, "second")
		time.Sleep(29 * time.Second)
		s.every(false)
		w.Until(2*time.Minute, "a commit fails", func() bool {
			_, body := in.get("/metrics")
			return !strings.Contains(body, `layover_commits_total{outcome="error"} 0`)
		})
		time.Sleep(5 * time.Second)
		w.send(0, "third")
		time.Sleep(20 * time.Second)
		w.committed(0, 3)
		s.letGo(w)
		time.Sleep(2 * time.Minute)
		w.committed(0, 3)
		in.stop()
	})
}

// TestALateCommitOfStartsTakesNothingBackFromAnotherMember: a group is new. The member with the first partition commits all
// starts, on a connection that is stuck, and on another one 10 s later. The other member delivers and commits. Then the
// first copy of the starts arrives.
func TestALateCommitOfStartsTakesNothingBackFromAnotherMember(t *testing.T) {
	withStuck(t, func(w *fixture, s *stuck) {
		refused := w.Refuse(kmsg.OffsetFetch, kfake.Fault{Err: kerr.CoordinatorLoadInProgress})
		a, b := w.start("LAYOVER_SESSION_TIMEOUT=45s"), w.start("LAYOVER_SESSION_TIMEOUT=45s")
		time.Sleep(40 * time.Second)
		s.next(kmsg.OffsetCommit)
		refused.Remove()
		for p := range int32(2) {
			for i := range 5 {
				w.send(p, string(rune('a'+5*int(p)+i)))
			}
		}
		w.arrives(egress, 10, time.Minute)
		time.Sleep(5 * time.Second)
		if !s.gaveUp() || w.commitOf(0).At != 5 || w.commitOf(1).At != 5 {
			t.Fatalf("closed: %v, committed are %d and %d", s.gaveUp(), w.commitOf(0).At, w.commitOf(1).At)
		}
		s.letGo(w)
		time.Sleep(2 * time.Minute)
		w.committed(0, 5)
		w.committed(1, 5)
		a.kill()
		b.kill()
		in := w.start()
		time.Sleep(2 * time.Minute)
		if n := w.count(egress); n != 10 {
			t.Errorf("%d deliveries, want 10: all were finished minutes before the kill: %v", n, w.values(egress))
		}
		in.stop()
	})
}
