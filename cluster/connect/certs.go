package connect

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"layover/config"
)

const (
	lookEvery = 10 * time.Second // at the files of certificates
	// ExpiresSoon is how long before a certificate's end it is reported.
	ExpiresSoon = 14 * 24 * time.Hour
	remindEvery = 24 * time.Hour // of a certificate that ends soon
)

// Certificate is one setting with certificates, as they are in force.
type Certificate struct {
	Variable string
	Subject  string
	NotAfter time.Time // of CAs the last to end: until then some are valid
	// Problem is why what is in the file now is not in force; empty if it is.
	Problem string
}

// ExpiresSoon reports whether a certificate ends within 14 days, or has.
func (c *Certificate) ExpiresSoon(now time.Time) bool { return now.After(c.NotAfter.Add(-ExpiresSoon)) }

// certs are the certificates in force. A file that was changed to something wrong leaves
// them as they were.
type certs struct {
	settings config.TLS

	mu       sync.Mutex
	inForce  *tls.Config
	loaded   *config.Certificates
	seen     [sha256.Size]byte // of the files' content at the last look
	problems []config.Problem  // of that content
	loads    int               // how often content was put in force
}

func newCerts(t config.TLS) *certs { return &certs{settings: t} }

// refresh reads the files, and puts their content in force if it changed and is right.
// The error is all that is wrong with it.
func (c *certs) refresh(now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Problems are looked at again: by a wrong clock, or files that were being written.
	if sum := c.sum(); c.inForce == nil || sum != c.seen || len(c.problems) > 0 {
		c.seen = sum
		loaded, problems := c.settings.Load(now)
		c.problems = problems
		if len(problems) == 0 {
			c.loaded, c.inForce = loaded, c.build(loaded)
			c.loads++
		}
	}
	if len(c.problems) == 0 {
		return nil
	}
	var all []string
	for _, p := range c.problems {
		all = append(all, p.Variable+" "+p.Reason)
	}
	return errors.New(strings.Join(all, "; "))
}

// sum stands for the content of all files, and for those that cannot be read.
func (c *certs) sum() [sha256.Size]byte {
	h := sha256.New()
	for _, s := range []config.Secret{c.settings.CA, c.settings.Cert, c.settings.Key} {
		text, err := s.Read()
		fmt.Fprintf(h, "%d %s %v\n", len(text), text, err)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// count returns how often content was put in force.
func (c *certs) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.loads
}

func (c *certs) build(loaded *config.Certificates) *tls.Config {
	built := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: loaded.Pool(),
		InsecureSkipVerify: c.settings.InsecureSkipVerify, // only where somebody asked for it by name
	}
	if loaded.Client != nil {
		// Sent whatever CAs the broker names: its answer tells what is wrong with it.
		built.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return loaded.Client, nil }
	}
	return built
}

// config returns the configuration of a new connection to host.
func (c *certs) config(now time.Time, host string) *tls.Config {
	_ = c.refresh(now) // what is in force stays; watch says what is wrong
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.inForce.Clone()
	conn.ServerName = host
	if c.settings.ServerName != "" {
		conn.ServerName = c.settings.ServerName
	}
	return conn
}

// state returns the certificates in force, and the problems of what is in the files.
func (c *certs) state() []Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Certificate
	add := func(variable string, in *x509.Certificate) {
		all = append(all, Certificate{Variable: variable, Subject: in.Subject.String(), NotAfter: in.NotAfter})
	}
	if last := c.loaded.LastCA(); last != nil {
		add("KAFKA_TLS_CA", last)
	}
	if c.loaded.Client != nil {
		add("KAFKA_TLS_CERT", c.loaded.Client.Leaf)
	}
	for _, p := range c.problems {
		i := 0
		for i < len(all) && all[i].Variable != p.Variable {
			i++
		}
		if i == len(all) {
			all = append(all, Certificate{Variable: p.Variable})
		}
		all[i].Problem = p.Reason
	}
	return all
}

// Run looks at the files of certificates until the context ends, and says what is wrong
// with them and which end soon.
func (c *Connection) Run(ctx context.Context) {
	if c.certs == nil {
		return
	}
	w := watch{c: c}
	w.look(time.Now())
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.look(time.Now())
		}
	}
}

// watch is what Run has said. One goroutine has it.
type watch struct {
	c        *Connection
	last     string // the problem at the last look
	said     string // the problem of the last line; "" when it is over
	loads    int    // at the last look; 0 before the first
	reminded map[reminder]time.Time
}

// reminder is a kind of line about a certificate's end.
type reminder struct {
	variable string
	notAfter time.Time
	expired  bool
}

// look says a problem that lasts for two looks: files of a pair may be written one after
// the other.
func (w *watch) look(now time.Time) {
	log := w.c.cfg.Log
	problem := ""
	if err := w.c.certs.refresh(now); err != nil {
		problem = err.Error()
	}
	before := w.loads
	w.loads = w.c.certs.count()
	switch {
	case problem == "" && (w.said != "" || before > 0 && w.loads > before):
		log.Info("certificates are in force as they are in their files")
		w.said = ""
	case problem != "" && problem == w.last && problem != w.said:
		log.Warn("a certificate was changed to something wrong, and the one from before stays in force", "err", problem)
		w.said = problem
	}
	w.last = problem
	w.remind(now)
}

// remind says once a day which certificates in force end soon, and at once which have.
func (w *watch) remind(now time.Time) {
	reminded := make(map[reminder]time.Time)
	for _, cert := range w.c.certs.state() {
		if cert.NotAfter.IsZero() || !cert.ExpiresSoon(now) {
			continue
		}
		r := reminder{cert.Variable, cert.NotAfter, now.After(cert.NotAfter)}
		reminded[r] = w.reminded[r]
		if now.Sub(reminded[r]) < remindEvery {
			continue
		}
		reminded[r] = now
		message := "a certificate ends soon"
		if r.expired {
			message = "a certificate has expired"
		}
		w.c.cfg.Log.Warn(message, "variable", cert.Variable, "subject", cert.Subject, "not_after", cert.NotAfter.UTC().Format(time.RFC3339))
	}
	w.reminded = reminded
}
