package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// wire is an instance's network, which can be cut.
type wire struct {
	next  dialer
	mu    sync.Mutex
	cut   bool
	down  bool // the brokers are, and not the cable: their host refuses each connection
	conns []net.Conn
}

func (n *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	cut, down := n.cut, n.down
	n.mu.Unlock()
	if cut && down {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	if cut {
		time.Sleep(time.Millisecond) // the client's requests for an id try again at once, and time would stand still
		return nil, fmt.Errorf("the cable is out")
	}
	c, err := n.next(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut {
		c.Close()
		return nil, fmt.Errorf("the cable is out")
	}
	n.conns = append(n.conns, c)
	return c, nil
}

func (n *wire) sever() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = true
	for _, c := range n.conns {
		c.Close()
	}
	n.conns = nil
}

// refuse ends all connections, as a broker does whose process ends.
func (n *wire) refuse() {
	n.mu.Lock()
	n.down = true
	n.mu.Unlock()
	n.sever()
}

func (n *wire) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = false
}

// hole is a network in which one port can fall silent: nothing that is sent there
// arrives, and no connection is refused or closed.
type hole struct {
	net  *kfake.VirtualNetwork
	mu   sync.Mutex
	port string // with its colon; empty: all answer
}

func (h *hole) silence(port string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.port = port
}

func (h *hole) swallows(addr string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.port != "" && strings.HasSuffix(addr, h.port)
}

func (h *hole) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if h.swallows(addr) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // which is kgo's own dialer's
		defer cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c, err := h.net.DialContext(ctx, network, addr)
	return &holed{c, h, addr}, err
}

type holed struct {
	net.Conn
	hole *hole
	addr string
}

func (c *holed) Write(b []byte) (int, error) {
	if c.hole.swallows(c.addr) {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// slow makes each write over a connection take a while. Otherwise the embedded broker
// would at once answer a fetch of a partition that is no more, and time would stand
// still for ever.
func slow(dial dialer, each time.Duration) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &lagging{c, each}, err
	}
}

type lagging struct {
	net.Conn
	each time.Duration
}

func (c *lagging) Write(b []byte) (int, error) {
	time.Sleep(c.each)
	return c.Conn.Write(b)
}
