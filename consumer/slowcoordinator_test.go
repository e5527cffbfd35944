package consumer

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// farConn is a connection on whose way each write takes a while. Others may be on their way at the same time.
type farConn struct {
	net.Conn
	takes *atomic.Int64
	mu    sync.Mutex
	over  bool
	on    chan func()
}

func newFar(c net.Conn, takes *atomic.Int64) net.Conn {
	f := &farConn{Conn: c, takes: takes, on: make(chan func(), 1000)}
	go func() {
		for w := range f.on {
			w()
		}
	}()
	return f
}

func (f *farConn) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return 0, net.ErrClosed
	}
	b = append([]byte(nil), b...)
	at := time.Now().Add(time.Duration(f.takes.Load()))
	f.on <- func() { time.Sleep(time.Until(at)); f.Conn.Write(b) }
	return len(b), nil
}

func (f *farConn) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over {
		f.over = true
		close(f.on)
	}
	return f.Conn.Close()
}

// TestTheLeaseHoldsWithASlowCoordinator: each answer takes 3 s, of a session timeout of 10 s. The group keeps the member.
func TestTheLeaseHoldsWithASlowCoordinator(t *testing.T) {
	inGroup(t, func(g *group) {
		var takes atomic.Int64
		m := g.join(func(c *Config) {
			was := c.Options
			c.Options = func() []kgo.Opt {
				return append(was(), kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
					c, err := g.Net.DialContext(ctx, network, addr)
					if err != nil {
						return nil, err
					}
					return newFar(c, &takes), nil
				}))
			}
		})
		g.owns(m, 3)
		time.Sleep(10 * time.Second)
		takes.Store(int64(3 * time.Second))
		time.Sleep(10 * time.Second)
		generation := m.Status().Generation
		out := 0
		for range 1200 {
			time.Sleep(100 * time.Millisecond)
			if !m.LeaseValid() {
				out++
			}
		}
		if s := m.Status(); out > 0 || s.Generation != generation {
			t.Errorf("the lease does not hold in %d of 1200 tenths of seconds; generations %d, %d", out, generation, s.Generation)
		}
		takes.Store(0)
	})
}
