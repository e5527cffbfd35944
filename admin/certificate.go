package admin

import (
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
)

// certificateAge is how old the last look at the certificate's files may be: a crowd of
// connections reads them once.
const certificateAge = time.Second

// Certificate is the certificate that HTTP is served with. A handshake looks whether its
// files have changed. Its methods may be called from several goroutines.
type Certificate struct {
	load func(now time.Time) (*tls.Certificate, error)
	log  *slog.Logger

	mu      sync.Mutex
	inForce *tls.Certificate
	looked  time.Time
	refused string // the last error that was logged; "" since the files were right
}

// NewCertificate loads a certificate, and keeps load to load it again. The result of
// load has its Leaf.
func NewCertificate(load func(now time.Time) (*tls.Certificate, error), log *slog.Logger) (*Certificate, error) {
	now := time.Now()
	pair, err := load(now)
	if err != nil {
		return nil, err
	}
	return &Certificate{load: load, log: log, inForce: pair, looked: now}, nil
}

// Over returns a listener whose connections are TLS over those of l.
func (c *Certificate) Over(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"}, // the bounds of the server are of its connections
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(time.Now()), nil },
	})
}

// get returns the certificate in force. What is in the files and cannot be used leaves
// the old one there, and gives a line once.
func (c *Certificate) get(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < certificateAge {
		return c.inForce
	}
	c.looked = now
	pair, err := c.load(now)
	switch {
	case err != nil && err.Error() != c.refused:
		c.refused = err.Error()
		c.log.Warn("certificate of HTTP cannot be used; the last good one stays in force", "err", err, "expires", c.inForce.Leaf.NotAfter)
	case err == nil:
		c.refused = ""
		if !slices.EqualFunc(pair.Certificate, c.inForce.Certificate, slices.Equal) {
			c.log.Info("certificate of HTTP was read again", "serial", pair.Leaf.SerialNumber.String(), "expires", pair.Leaf.NotAfter)
		}
		c.inForce = pair
	}
	return c.inForce
}
