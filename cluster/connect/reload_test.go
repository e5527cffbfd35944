package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"layover/config"
)

// reload is a bubble with a broker whose certificate can be changed, and files.
type reload struct {
	*fixture
	ca     *authority
	served atomic.Pointer[tls.Config]
	peer   atomic.Pointer[string] // subject of the last client certificate
	conn   *Connection
	client issued
}

// reloading runs f with mutual TLS from files, and with Run.
func reloading(t *testing.T, f func(r *reload)) {
	inBubble(t, func(w *fixture) {
		r := &reload{fixture: w, ca: newAuthority(t, "first")}
		r.client = r.ca.issue("client 1", false, year)
		r.serve(r.ca)
		w.start(kfake.TLS(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.served.Load(), nil }}))
		r.conn = w.connect(config.Kafka{TLS: config.TLS{
			Enabled: config.ToggleTrue, CA: w.file("ca", r.ca.pem), Cert: w.file("cert", r.client.cert), Key: w.file("key", r.client.key),
		}})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.conn.Run(ctx)
		}()
		defer func() {
			cancel()
			<-ended
		}()
		synctest.Wait() // the first look at the files is over
		f(r)
	})
}

// serve has the broker use a certificate of an authority from now on.
func (r *reload) serve(ca *authority) {
	conf := server(ca.issue("localhost", true, 3*year), r.ca)
	conf.VerifyConnection = func(s tls.ConnectionState) error {
		name := s.PeerCertificates[0].Subject.CommonName
		r.peer.Store(&name)
		return nil
	}
	r.served.Store(conf)
}

// connects wants a new connection as a client.
func (r *reload) connects(as string) {
	r.Helper()
	if err := r.ping(r.conn); err != nil || *r.peer.Load() != as {
		r.Fatalf("error %v as %q, want a connection as %q", err, *r.peer.Load(), as)
	}
}

// problem returns that of the status for a variable.
func (r *reload) problem(variable string) string {
	for _, c := range r.conn.Status().Certificates {
		if c.Variable == variable {
			return c.Problem
		}
	}
	return absent
}

const (
	absent    = "no certificate"
	wrongFile = "a certificate was changed to something wrong, and the one from before stays in force"
	rightFile = "certificates are in force as they are in their files"
	endsSoon  = "a certificate ends soon"
	hasEnded  = "a certificate has expired"
)

func TestNewConnectionsUseTheFilesOfNow(t *testing.T) {
	reloading(t, func(r *reload) {
		r.connects("client 1")
		kept := r.fixture.client(r.conn)
		if err := kept.Ping(context.Background()); err != nil {
			t.Fatal(err)
		}
		second := newAuthority(t, "second")
		r.write("ca", second.pem)
		if err := r.ping(r.conn); err == nil {
			t.Error("a certificate of the CA from before is still taken")
		}
		r.serve(second)
		time.Sleep(time.Minute + time.Second) // of pauses, and no look at the files is just now
		next := r.ca.issue("client 2", false, year)
		r.write("cert", next.cert)
		r.write("key", next.key)
		r.connects("client 2")
		subject := r.conn.Status().Certificates[0].Subject
		if subject != "CN=second" {
			t.Errorf("the status has %s, want CN=second", subject)
		}
		if err := kept.Ping(context.Background()); err != nil {
			t.Errorf("a connection from before ends: %v", err)
		}
		if lines := r.logs.with(wrongFile); len(lines) > 0 {
			t.Errorf("log lines %v, want none of right files", lines)
		}
		time.Sleep(time.Minute)
		if lines := r.logs.with(rightFile); len(lines) != 2 {
			t.Errorf("log lines %v, want one for each change", lines)
		}
	})
}

func TestABadFileLeavesTheOldCertificateInForce(t *testing.T) {
	for name, bad := range map[string]struct {
		variable, reason string
		change           func(r *reload)
	}{
		"no PEM":              {"KAFKA_TLS_CA", "PEM", func(r *reload) { r.write("ca", "nothing") }},
		"an empty CA":         {"KAFKA_TLS_CA", "is empty", func(r *reload) { r.write("ca", "") }},
		"no CA":               {"KAFKA_TLS_CA", "the file", func(r *reload) { os.Remove(r.dir + "/ca") }},
		"no key":              {"KAFKA_TLS_KEY", "the file", func(r *reload) { os.Remove(r.dir + "/key") }},
		"a key that does not": {"KAFKA_TLS_KEY", "does not fit", func(r *reload) { r.write("key", r.ca.issue("x", false, year).key) }},
		"an expired one": {"KAFKA_TLS_CERT", "has expired", func(r *reload) {
			old := r.ca.issue("client 0", false, -day)
			r.write("cert", old.cert)
			r.write("key", old.key)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			reloading(t, func(r *reload) {
				r.connects("client 1")
				bad.change(r)
				r.connects("client 1")
				time.Sleep(9 * time.Second)
				synctest.Wait()
				if lines := r.logs.with(wrongFile); len(lines) > 0 {
					t.Errorf("log lines %v before two looks", lines)
				}
				time.Sleep(5 * time.Minute)
				r.connects("client 1")
				lines := r.logs.with(wrongFile)
				if len(lines) != 1 || !strings.Contains(fmt.Sprint(lines[0]["err"]), bad.variable+" ") || !strings.Contains(fmt.Sprint(lines[0]["err"]), bad.reason) {
					t.Errorf("log lines %v, want one of %s: %s", lines, bad.variable, bad.reason)
				}
				if p := r.problem(bad.variable); !strings.Contains(p, bad.reason) {
					t.Errorf("the status has the problem %q, want %q", p, bad.reason)
				}
				next := r.ca.issue("client 2", false, year)
				r.write("ca", r.ca.pem)
				r.write("cert", next.cert)
				r.write("key", next.key)
				r.connects("client 2")
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if p := r.problem(bad.variable); p != "" && p != absent || len(r.logs.with(rightFile)) != 1 {
					t.Errorf("problem %q, log lines %v, want none and one", p, r.logs.with(rightFile))
				}
			})
		})
	}
}

func TestThePairMayBeWrittenOneAfterTheOther(t *testing.T) {
	reloading(t, func(r *reload) {
		next := r.ca.issue("client 2", false, year)
		time.Sleep(5 * time.Second)
		r.write("cert", next.cert)
		time.Sleep(9 * time.Second) // one look
		r.connects("client 1")
		r.write("key", next.key)
		time.Sleep(time.Minute)
		r.connects("client 2")
		if lines := r.logs.with(wrongFile); len(lines) > 0 {
			t.Errorf("log lines %v, want none", lines)
		}
		if lines := r.logs.with(rightFile); len(lines) != 1 {
			t.Errorf("log lines %v, want one", lines)
		}
	})
}

func TestAnEndIsSaidOnceADayFrom14DaysBefore(t *testing.T) {
	inBubble(t, func(w *fixture) {
		r := &reload{fixture: w, ca: newAuthority(t, "first")}
		client := r.ca.issue("client 1", false, 15*day)
		r.serve(r.ca)
		w.start(kfake.TLS(r.served.Load()))
		r.conn = w.connect(config.Kafka{TLS: config.TLS{
			Enabled: config.ToggleTrue, CA: w.file("ca", r.ca.pem), Cert: w.file("cert", client.cert), Key: w.file("key", client.key),
		}})
		watch := watch{c: r.conn}
		sleep := func(d time.Duration) { // with looks that are rarer than Run's: files are read in real time
			for end := time.Now().Add(d); time.Now().Before(end); {
				time.Sleep(min(time.Hour, time.Until(end)))
				watch.look(time.Now())
			}
		}
		soon := func() bool {
			return slices.ContainsFunc(r.conn.Status().Certificates, func(c Certificate) bool { return c.ExpiresSoon(time.Now()) })
		}
		want := func(when string, ends, ended int, now bool) {
			t.Helper()
			if e, d := len(r.logs.with(endsSoon)), len(r.logs.with(hasEnded)); e != ends || d != ended || soon() != now {
				t.Errorf("%s: %d lines of the coming end, %d of the end, in the status: %v; want %d, %d, %v", when, e, d, soon(), ends, ended, now)
			}
		}
		sleep(day - time.Minute)
		want("before 14 days", 0, 0, false)
		sleep(2 * time.Minute)
		want("14 days", 1, 0, true)
		sleep(day - 2*time.Minute)
		want("13 days and a minute", 1, 0, true)
		sleep(13*day - time.Hour)
		want("an hour", 14, 0, true)
		line := r.logs.with(endsSoon)[0]
		if line["variable"] != "KAFKA_TLS_CERT" || line["subject"] != "CN=client 1" || line["level"] != "WARN" {
			t.Errorf("log line %v, want it to name KAFKA_TLS_CERT and the client", line)
		}
		r.connects("client 1")
		sleep(2 * time.Hour)
		want("behind the end", 14, 1, true) // it is in force, as there is no other
		if err := r.ping(r.conn); err == nil {
			t.Error("the broker takes an expired certificate")
		}
		next := r.ca.issue("client 2", false, year)
		r.write("cert", next.cert)
		r.write("key", next.key)
		sleep(time.Minute)
		r.connects("client 2")
		want("with a new one", 14, 1, false)
	})
}

func TestTheLastCAToEndCounts(t *testing.T) {
	first, second := &x509.Certificate{NotAfter: time.Unix(10, 0)}, &x509.Certificate{NotAfter: time.Unix(20, 0)}
	for name, all := range map[string][]*x509.Certificate{"in order": {first, second}, "in the other": {second, first}} {
		bundle := config.Certificates{CAs: all}
		if bundle.LastCA() != second {
			t.Errorf("%s: not the last", name)
		}
	}
}
