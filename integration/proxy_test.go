package integration

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
)

// proxy stands between Layover and a broker, whose second listener advertises it. It
// does not answer requests that hold certain bytes, such as a topic's id. For whoever
// asks, that topic does not answer, and everything else does.
type proxy struct {
	addr, behind string

	mu     sync.Mutex
	silent [][]byte
	over   chan struct{} // closed when the silence ends
}

// proxied starts a proxy to the fixture's broker, for as long as the test lasts.
func (f *fixture) proxied() *proxy {
	f.Helper()
	p := &proxy{addr: f.broker.via, behind: f.broker.behind, over: make(chan struct{})}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		f.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c) // ends with its connection
		}
	})
	f.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	broker, err := net.Dial("tcp", p.behind)
	if err != nil {
		return
	}
	defer broker.Close()
	go func() {
		io.Copy(client, broker)
		client.Close()
	}()
	size := make([]byte, 4)
	for {
		if _, err := io.ReadFull(client, size); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size))
		if _, err := io.ReadFull(client, frame); err != nil {
			return
		}
		if over := p.swallows(frame); over != nil {
			<-over // and then the connection is cut
			return
		}
		if _, err := broker.Write(append(size[:4:4], frame...)); err != nil {
			return
		}
	}
}

// swallows returns what to wait for where a request is not to be answered. Metadata is:
// a topic that does not answer is no topic that does not exist.
func (p *proxy) swallows(frame []byte) <-chan struct{} {
	const metadata = 3
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.silent {
		if bytes.Contains(frame, s) && len(frame) > 2 && binary.BigEndian.Uint16(frame) != metadata {
			return p.over
		}
	}
	return nil
}

// silence begins not to answer requests with any of these bytes, and speak ends it.
func (p *proxy) silence(what ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = what
}

func (p *proxy) speak(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = nil
	close(p.over)
	p.over = make(chan struct{})
}
