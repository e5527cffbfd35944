package daemon

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"layover/verify/long"
)

// TestNumbersOfCertificates of two settings: one ends soon, one late, one becomes wrong.
func TestNumbersOfCertificates(t *testing.T) {
	dir := t.TempDir()
	inBubble(t, func(w *fixture) {
		file := filepath.Join(dir, "ca.pem")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		soon, late := w.Authority(5*24*time.Hour), w.Authority(90*24*time.Hour)
		made := time.Now()
		write(soon)
		in := w.start("KAFKA_TLS_CA_FILE="+file, "KAFKA_TLS_INSECURE_SKIP_VERIFY=true", "KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=u", "KAFKA_SASL_PASSWORD=p")
		in.wire.sever()
		n := w.beside(in)
		set := expected{".connection.tls": true, ".connection.insecure_skip_verify": true, ".connection.mechanism": "PLAIN", ".connection.certificates[#]": 1,
			".connection.certificates[KAFKA_TLS_CA].variable": "KAFKA_TLS_CA", ".connection.certificates[KAFKA_TLS_CA].subject": "CN=authority"}
		ends := func(d time.Duration, problem any, failed, warnings int) expected {
			end := made.Add(d)
			return of(set, expected{".connection.certificates[KAFKA_TLS_CA].not_after": end, ".connection.certificates[KAFKA_TLS_CA].expires_in_seconds": secondsUntil(end),
				".connection.certificates[KAFKA_TLS_CA].problem": problem, ".connection.warnings[#]": warnings, ".connection.warnings[0]": has("KAFKA_TLS_INSECURE_SKIP_VERIFY"),
				m("certificate_expiry_timestamp_seconds", "variable", "KAFKA_TLS_CA"): end, m("certificate_reload_failed", "variable", "KAFKA_TLS_CA"): failed})
		}
		for range 2 {
			write(soon)
			time.Sleep(30 * time.Second)
			n.some("it ends soon", ends(5*24*time.Hour, "", 0, 2))
			write(soon + late)
			time.Sleep(30 * time.Second)
			n.some("the last of two ends late", ends(90*24*time.Hour, "", 0, 1))
			write("no PEM")
			time.Sleep(30 * time.Second)
			n.some("the file is wrong", ends(90*24*time.Hour, has("is neither PEM"), 1, 2))
			write(soon)
			time.Sleep(30 * time.Second)
			n.some("the file is right", ends(5*24*time.Hour, "", 0, 2))
		}
		n.done("certificates")
		in.kill()
	})
}

// TestNumbersOfAConnectionThatIsRefused: by the login.
func TestNumbersOfAConnectionThatIsRefused(t *testing.T) {
	long.Only(t)
	inGuardedBubble(t, allRights(), func(w *fixture) {
		in := w.start(login()...)
		in.ready()
		n := w.beside(in)
		none := expected{".connection.refused[#]": 0, "layover_connection_refused_brokers": 0, ".connection.tls": false, ".connection.mechanism": "SCRAM-SHA-512"}
		for _, reason := range []string{"tls", "credentials", "protocol"} {
			none[m("connection_refused_total", "reason", reason)] = 0
		}
		total := m("connection_refused_total", "reason", "login")
		var asked atomic.Int64
		refusals := judge{"as many as there were", func(v any) bool { return v == float64(asked.Load()) }}
		for range 2 {
			n.some("the connection is taken", of(none, well(), expected{total: refusals}))
			refused := time.Now()
			no := w.Refuse(kmsg.SASLAuthenticate, kfake.Fault{Err: kerr.SaslAuthenticationFailed, When: func(r kmsg.Request) bool {
				scram := bytes.HasPrefix(r.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes, []byte("n,,")) // the test's own client logs in otherwise
				if scram {
					asked.Add(1)
				}
				return scram
			}})
			in.wire.sever()
			in.wire.mend()
			time.Sleep(90 * time.Second)
			at := ".connection.refused[localhost:9092]."
			n.some("the connection is refused", of(sick(ailment{"kafka", "", "refused", nil, refused, has("The broker localhost:9092 refuses the connection")}), expected{
				".connection.refused[#]": 1, "layover_connection_refused_brokers": 1, at + "broker": "localhost:9092", at + "reason": "login", at + "look_at": has("KAFKA_SASL_PASSWORD"),
				at + "message": has("SASL_AUTHENTICATION_FAILED"), at + "since": around(refused), total: refusals,
			}))
			no.Remove()
			time.Sleep(2 * time.Minute)
		}
		n.some("the connection is taken", of(none, well(), expected{total: refusals}))
		time.Sleep(time.Minute)
		n.some("nothing happens", of(none, well(), expected{total: refusals}))
		n.done("refused")
		in.stop()
	})
}

// TestNumbersOfRefusalsByReason counts the connections that are tried while each is refused.
func TestNumbersOfRefusalsByReason(t *testing.T) {
	dir := t.TempDir()
	for reason, test := range map[string]struct {
		settings []string
		serve    func(c net.Conn) // the broker's side of a connection
	}{
		"tls":         {[]string{"KAFKA_TLS_ENABLED=true"}, strangersTLS(t)},
		"protocol":    {[]string{"KAFKA_TLS_ENABLED=true"}, func(c net.Conn) { c.Read(make([]byte, 1<<16)); c.Write([]byte("no TLS at all")) }},
		"credentials": {[]string{"KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=u", "KAFKA_SASL_PASSWORD_FILE=" + filepath.Join(dir, "password")}, nil},
	} {
		t.Run(reason, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "password"), []byte("p"), 0o600); err != nil {
				t.Fatal(err)
			}
			inBubble(t, func(w *fixture) {
				var tried atomic.Int64
				var up atomic.Bool
				in := w.startOver(func(ctx context.Context, network, addr string) (net.Conn, error) {
					if !up.Load() {
						return nil, errors.New("connection refused")
					}
					tried.Add(1)
					if test.serve == nil {
						return w.Net.DialContext(ctx, network, addr)
					}
					client, broker := net.Pipe()
					go func() { test.serve(broker); broker.Close() }()
					return client, nil
				}, nil, test.settings...)
				n := w.beside(in)
				counts := func() expected {
					e := make(expected)
					for _, one := range []string{"tls", "login", "credentials", "protocol"} {
						e[m("connection_refused_total", "reason", one)] = map[bool]int64{true: tried.Load()}[one == reason]
					}
					return e
				}
				n.some("nobody is there", counts())
				os.Remove(filepath.Join(dir, "password"))
				up.Store(true)
				time.Sleep(10 * time.Second)
				up.Store(false)
				time.Sleep(2 * time.Second)
				if tried.Load() == 0 {
					t.Error("no connection was tried")
				}
				n.some("it was refused", counts())
				n.some("nothing happens", counts())
				n.done("refused-by-" + reason)
				in.kill()
			})
		})
	}
}

// strangersTLS is a broker whose certificate is of an authority that nobody knows.
func strangersTLS(t *testing.T) func(net.Conn) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<34, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	return func(c net.Conn) { _ = tls.Server(c, config).Handshake() }
}
