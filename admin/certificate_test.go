package admin

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"layover/config"
)

// files are the certificate and the key of a server, in files.
type files struct {
	*testing.T
	settings  config.HTTPTLS
	cert, key string
}

func newFiles(t *testing.T) *files {
	dir := t.TempDir()
	f := &files{T: t, cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key")}
	f.settings = config.HTTPTLS{Cert: config.SecretFile(f.cert), Key: config.SecretFile(f.key)}
	return f
}

// issue writes a new pair that expires at a time, and returns the certificate.
func (f *files) issue(serial int64, expires time.Time) []byte {
	f.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "layover"}, DNSNames: []string{"localhost"},
		NotBefore: expires.Add(-1000 * time.Hour), NotAfter: expires,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		f.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		f.Fatal(err)
	}
	f.write(f.cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	f.write(f.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	return der
}

func (f *files) write(path string, content []byte) {
	f.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		f.Fatal(err)
	}
}

func TestACertificateIsReadAgainAndABadOneLeavesTheOldOneInForce(t *testing.T) {
	f, l := newFiles(t), newLogged()
	now := time.Now()
	first := f.issue(1, now.Add(time.Hour))
	c, err := NewCertificate(f.settings.Load, l.log)
	if err != nil {
		t.Fatal(err)
	}
	// look asks some times, as connections would, and returns the log's lines.
	look := func(want []byte) string {
		t.Helper()
		for range 3 {
			now = now.Add(certificateAge)
			if got := c.get(now); !bytes.Equal(got.Certificate[0], want) || !bytes.Equal(got.Leaf.Raw, want) {
				t.Errorf("the certificate has serial %v", got.Leaf.SerialNumber)
			}
		}
		return l.take()
	}
	const inForce = "the last good one stays in force"
	if lines := look(first); lines != "" {
		t.Errorf("without a change: log %q", lines)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		t.Fatal(err)
	}
	f.write(f.cert, []byte("nonsense"))
	if lines := look(first); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, inForce) || !strings.Contains(lines, "LAYOVER_HTTP_TLS_CERT") {
		t.Errorf("bad PEM: log %q, want one line", lines)
	}
	f.issue(2, now.Add(-time.Hour))
	if lines := look(first); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "has expired on") {
		t.Errorf("an expired one: log %q, want one line", lines)
	}
	second := f.issue(3, now.Add(time.Hour))
	fits, err := os.ReadFile(f.key)
	if err != nil {
		t.Fatal(err)
	}
	f.write(f.key, key)
	if lines := look(first); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "LAYOVER_HTTP_TLS_KEY: does not fit") {
		t.Errorf("the key of another: log %q, want one line", lines)
	}
	f.write(f.key, fits)
	if lines := look(second); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "was read again") || !strings.Contains(lines, "serial=3") {
		t.Errorf("a good one: log %q, want one line", lines)
	}
	if err := os.Remove(f.key); err != nil {
		t.Fatal(err)
	}
	if lines := look(second); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, inForce) {
		t.Errorf("a file that is gone: log %q, want one line", lines)
	}
	f.write(f.key, fits)
	if lines := look(second); lines != "" {
		t.Errorf("the same as before: log %q", lines)
	}
}

func TestManyConnectionsReadTheFilesOnce(t *testing.T) {
	f, l := newFiles(t), newLogged()
	f.issue(1, time.Now().Add(time.Hour))
	loads := 0
	c, err := NewCertificate(func(now time.Time) (*tls.Certificate, error) {
		loads++
		return f.settings.Load(now)
	}, l.log)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for i := range 1000 {
		c.get(began.Add(time.Duration(i) * 5 * time.Millisecond))
	}
	if loads > 6 {
		t.Errorf("in 5 s the files were read %d times", loads)
	}
}

func TestBothServersSpeakTLSOfTheNewCertificateWithoutARestart(t *testing.T) {
	f, l := newFiles(t), newLogged()
	f.issue(1, time.Now().Add(time.Hour))
	for name, e := range map[string]*endpoint{"for all": newServer(sourceOf(busy(time.Now()))).endpoint, "for operators": NewControl(&l.level, nil, l.log).endpoint} {
		t.Run(name, func(t *testing.T) {
			c, err := NewCertificate(f.settings.Load, l.log)
			if err != nil {
				t.Fatal(err)
			}
			plain, err := Listen("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- e.Serve(c.Over(plain)) }() // ends with Shutdown
			addr := plain.Addr().String()

			before := dialTLS(t, addr, 0)
			was := before.ConnectionState().PeerCertificates[0]
			der := f.issue(was.SerialNumber.Int64()+1, time.Now().Add(time.Hour))
			c.mu.Lock()
			c.looked = time.Time{} // as if a second had passed
			c.mu.Unlock()
			after := dialTLS(t, addr, 0)
			if got := after.ConnectionState().PeerCertificates[0].Raw; !bytes.Equal(got, der) || bytes.Equal(was.Raw, der) {
				t.Error("a new connection has the old certificate")
			}
			for name, conn := range map[string]*tls.Conn{"old": before, "new": after} {
				if got := askOver(t, conn); !strings.Contains(got, "200 OK") {
					t.Errorf("the %s connection: %q", name, got)
				}
				conn.Close()
			}
			if conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
				conn.Close()
				t.Error("TLS 1.1 is spoken")
			}
			dialTLS(t, addr, tls.VersionTLS12).Close()
			resp, err := http.Get("http://" + addr + "/")
			if err != nil || resp.StatusCode != http.StatusBadRequest {
				t.Errorf("without TLS: %v, %v", resp, err)
			} else {
				resp.Body.Close()
			}
			http.DefaultClient.CloseIdleConnections()
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}

func dialTLS(t *testing.T, addr string, most uint16) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, MaxVersion: most})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// askOver makes one request, and returns the answer.
func askOver(t *testing.T, conn *tls.Conn) string {
	t.Helper()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
