package daemon

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// door is a proxy in front of the brokers, such as a load balancer: it takes connections
// whether they are there or not. While they are away it closes each once something was
// sent over it.
type door struct {
	next dialer

	mu    sync.Mutex
	away  bool
	shut  int // connections that were taken and closed
	conns []net.Conn
}

func (d *door) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		near, far := net.Pipe()
		d.shut++
		go func() { // ends with the first request, or with the client's end
			far.Read(make([]byte, 64<<10))
			far.Close()
		}()
		return near, nil
	}
	c, err := d.next(ctx, network, addr)
	if err == nil {
		d.conns = append(d.conns, c)
	}
	return c, err
}

// leave takes the brokers away, and brings them back.
func (d *door) leave(away bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.away = away
	for _, c := range d.conns {
		c.Close()
	}
	d.conns = nil
}

func (d *door) closed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shut
}

// A broker that restarts behind a proxy looks like one that closes every connection at
// once. The Kafka client takes that for wrong settings unless it is told otherwise.
func TestARestartBehindAProxyThatTakesConnectionsCostsNoPartition(t *testing.T) {
	inBubble(t, func(w *fixture) {
		front := &door{next: w.Net.DialContext}
		w.dial = front.dial
		in := w.start()
		in.ready()
		w.sendMany(0, 0, 300, delays(time.Minute, 300))
		w.sendMany(1, 0, 300, delays(time.Minute, 300))
		for range 3 {
			time.Sleep(10 * time.Second)
			joined, before := len(in.logs.Lines("group joined")), w.count(egress)
			front.leave(true)
			time.Sleep(5 * time.Second) // less than the session timeout of 10 s
			front.leave(false)
			w.Until(5*time.Second, "deliveries go on", func() bool { return w.count(egress) > before })
			time.Sleep(5 * time.Second)
			if again := len(in.logs.Lines("group joined")) - joined; again != 0 {
				t.Errorf("the group was joined %d times again", again)
			}
		}
		if front.closed() < 3 {
			t.Errorf("%d connections were taken and closed", front.closed())
		}
		w.Until(time.Minute, "all are delivered", func() bool { return w.count(egress) >= 600 })
		time.Sleep(5 * time.Second)
		w.notEarly(w.Records(egress))
		w.exactly(egress, 0, 300, 0)
		w.exactly(egress, 1, 300, 0)
		for _, lost := range in.logs.Lines("partitions lost") {
			t.Error(lost)
		}
		for _, refused := range in.logs.Lines("Kafka refuses the connection") {
			t.Error(refused)
		}
		in.stop()
		w.committed(0, 300)
		w.committed(1, 300)
	})
}
