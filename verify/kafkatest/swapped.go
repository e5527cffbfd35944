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
}

func (c Swapped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if at := bytes.Index(b[:n], c.From); at >= 0 {
		copy(b[at:], c.To)
	}
	return n, err
}
