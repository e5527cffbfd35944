package daemon

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// line is one connection between a client and a broker. In its middle every request and
// every answer is read, and may be kept, slowed or cut off.
//
//	client ─► up ─► broker ─► down ─► handOver ─► client
type line struct {
	rig            *rig
	who            *party
	client, broker net.Conn
	asked          chan *exchange // requests that the broker has, in order
	answers        chan *exchange // on their way to the client, in order
	cutOnce        sync.Once
	gone           chan struct{}
}

// exchange is one request with what becomes of it.
type exchange struct {
	key     kmsg.Key
	version int16
	request kmsg.Request // nil for kinds that the rig does not look into
	sent    time.Time
	fate    fate

	frame    []byte // the answer, with its size
	response kmsg.Response
	answered time.Time // by the broker
}

// fate is what the weather does to an exchange.
type fate struct {
	cut    bool          // the connection breaks before the broker has the request
	lose   bool          // the broker does as it is asked, and the answer is lost
	before time.Duration // the request is on its way for so long
	after  time.Duration // the answer is
}

// dial connects a party with a broker.
func (p *party) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if p.rig.unreachable(p, addr) {
		time.Sleep(usualTime) // some callers try again at once
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	broker, err := p.rig.Net.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	client, inner := net.Pipe()
	l := &line{
		rig: p.rig, who: p, client: inner, broker: broker, gone: make(chan struct{}),
		asked: make(chan *exchange, 64), answers: make(chan *exchange, 64),
	}
	p.rig.keep(l, addr)
	for _, part := range []func() error{l.up, l.down, l.handOver} { // each ends when the line is cut
		go func() {
			_ = part() // an error is the end of the connection and has no other meaning
			l.cut()
		}()
	}
	return client, nil
}

// cut ends the connection for both sides.
func (l *line) cut() {
	l.cutOnce.Do(func() {
		close(l.gone)
		l.client.Close()
		l.broker.Close()
		l.rig.drop(l)
	})
}

// up carries requests.
func (l *line) up() error {
	for {
		frame, err := readFrame(l.client)
		if err != nil {
			return err
		}
		x := &exchange{sent: time.Now()}
		if err := x.readRequest(frame[4:]); err != nil {
			return err
		}
		l.rig.onRequest(l.who, x)
		if x.fate.cut || !l.wait(x.fate.before) {
			return net.ErrClosed
		}
		select {
		case l.asked <- x:
		case <-l.gone:
			return net.ErrClosed
		}
		l.rig.onArrival(x)
		if _, err := l.broker.Write(frame); err != nil {
			return err
		}
	}
}

// down takes answers from the broker.
func (l *line) down() error {
	for {
		frame, err := readFrame(l.broker)
		if err != nil {
			return err
		}
		x := <-l.asked
		x.frame, x.answered = frame, time.Now()
		if err := x.readResponse(frame[4:]); err != nil {
			return err
		}
		l.rig.onAnswer(l.who, x)
		if x.fate.lose {
			return net.ErrClosed
		}
		select {
		case l.answers <- x:
		case <-l.gone:
			return net.ErrClosed
		}
	}
}

// handOver gives answers to the client.
func (l *line) handOver() error {
	for {
		select {
		case x := <-l.answers:
			if !l.wait(time.Until(x.answered.Add(x.fate.after))) {
				return net.ErrClosed
			}
			l.rig.onHandOver(l.who, x)
			if _, err := l.client.Write(x.frame); err != nil {
				return err
			}
			l.rig.onHeard(l.who, x)
		case <-l.gone:
			return net.ErrClosed
		}
	}
}

// wait returns false when the line was cut meanwhile.
func (l *line) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.gone:
		return false
	}
}

// readFrame reads a request or an answer with the four bytes of its size.
func readFrame(c net.Conn) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, 4+binary.BigEndian.Uint32(size[:]))
	copy(frame, size[:])
	_, err := io.ReadFull(c, frame[4:])
	return frame, err
}

// looked are the kinds of which the rig reads more than the name, and heard those whose
// answers it reads.
func looked(k kmsg.Key) bool {
	switch k {
	case kmsg.Heartbeat, kmsg.SyncGroup, kmsg.Fetch, kmsg.ListOffsets, kmsg.DeleteRecords:
		return true
	}
	return heard(k)
}

func heard(k kmsg.Key) bool {
	return k == kmsg.Produce || k == kmsg.OffsetCommit || k == kmsg.OffsetFetch
}

func (x *exchange) readRequest(b []byte) error {
	r := kbin.Reader{Src: b}
	x.key, x.version = kmsg.Key(r.Int16()), r.Int16()
	r.Int32() // correlation id: answers come in order
	r.NullableString()
	if !looked(x.key) {
		return nil
	}
	x.request = x.key.Request()
	x.request.SetVersion(x.version)
	if x.request.IsFlexible() {
		kmsg.SkipTags(&r)
	}
	return x.request.ReadFrom(r.Src)
}

func (x *exchange) readResponse(b []byte) error {
	if !heard(x.key) {
		return nil
	}
	r := kbin.Reader{Src: b}
	r.Int32()
	x.response = x.request.ResponseKind()
	x.response.SetVersion(x.version)
	if x.response.IsFlexible() {
		kmsg.SkipTags(&r)
	}
	return x.response.ReadFrom(r.Src)
}
