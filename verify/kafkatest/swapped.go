package kafkatest

import (
	"bytes"
	"net"
)

// Swapped is a connection whose reader finds To where the broker sent From: something else
// in the log than the broker has. Both are as long.
type Swapped struct {
	net.Conn
	From, To []byte
	// Off reports whether nothing is changed now; nil: it is all the time. It is asked once something was read.
	Off func() bool
}

func (c Swapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.Off != nil && c.Off() {
		return n, err
	}
	for err == nil && n < len(b) && c.begins(b[:n]) { // the rest is on its way: a client asks for as much as an answer has
		var more int
		more, err = c.Conn.Read(b[n:])
		n += more
	}
	if at := bytes.Index(b[:n], c.From); at >= 0 {
		copy(b[at:], c.To)
	}
	return n, err
}

// begins reports whether From may begin at the end of what was read.
func (c Swapped) begins(b []byte) bool {
	for n := min(len(c.From)-1, len(b)); n > 0; n-- {
		if bytes.HasSuffix(b, c.From[:n]) {
			return true
		}
	}
	return false
}
