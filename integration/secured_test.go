package integration

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/twmb/franz-go/pkg/kadm"

	"layover/integration/engine"
)

// secured is a broker with a listener for each way to connect. Its listener PLAINTEXT is
// for the test alone, which may do everything there.
type secured struct {
	*broker
	ca, other *authority // the broker's, and one that nobody trusts
	dir       string     // of ca.pem and other.pem

	mtls  string // TLS, and a certificate of the client
	login string // TLS and SASL; logs in again every reauthenticate
	clear string // SASL without TLS
	tls   string // TLS alone
}

// reauthenticate is how long a login holds.
const reauthenticate = 8 * time.Second

// passwords of the users that are in the broker's configuration: PLAIN.
const plainPassword = "plain-0pen-sesame"

// onSecuredBroker makes a fixture on a broker of its own with TLS and SASL. Authorized:
// nobody may do anything without an ACL, but the test.
func onSecuredBroker(t *testing.T, authorized bool) (*fixture, *secured) {
	t.Helper()
	need(t, shared.broker) // where there is no engine, that was found out once
	need(t, shared.binary)
	s := &secured{dir: t.TempDir(), ca: newAuthority(t, "Test CA"), other: newAuthority(t, "Other CA")}
	s.ca.writeTo(t, filepath.Join(s.dir, "ca.pem"))
	s.other.writeTo(t, filepath.Join(s.dir, "other.pem"))
	s.broker = need(t, func() (*broker, error) {
		return startBroker(shared, func(b *broker, r *testcontainers.ContainerRequest) { s.edit(t, b, r, authorized) })
	})
	t.Cleanup(func() {
		if err := s.terminate(); err != nil {
			t.Error(err)
		}
	})
	return newFixture(t, s.broker, 2), s
}

// edit adds the listeners to a container's request.
func (s *secured) edit(t *testing.T, b *broker, r *testcontainers.ContainerRequest, authorized bool) {
	host, _, _ := net.SplitHostPort(b.addr)
	publish := r.HostConfigModifier
	ports := network.PortMap{}
	for port, addr := range map[string]*string{"9096": &s.mtls, "9097": &s.login, "9098": &s.clear, "9099": &s.tls} {
		free, err := engine.FreePort()
		if err != nil {
			t.Fatal(err)
		}
		*addr = net.JoinHostPort(host, strconv.Itoa(free))
		ports[network.MustParsePort(port+"/tcp")] = []network.PortBinding{{HostIP: netip.IPv4Unspecified(), HostPort: strconv.Itoa(free)}}
		r.ExposedPorts = append(r.ExposedPorts, port+"/tcp")
	}
	r.HostConfigModifier = func(c *container.HostConfig) {
		publish(c)
		for port, at := range ports {
			c.PortBindings[port] = at
		}
	}
	put := func(path string, content []byte) {
		r.Files = append(r.Files, testcontainers.ContainerFile{Reader: bytes.NewReader(content), ContainerFilePath: path, FileMode: 0o644})
	}
	cert, key := s.ca.issue(t, "broker", time.Now().Add(24*time.Hour), "127.0.0.1", "localhost", host)
	put("/tmp/broker.pem", append(key, cert...))
	put("/tmp/ca.pem", s.ca.pem)
	env := map[string]string{
		"LISTENERS":                      "PLAINTEXT://:9092,CONTROLLER://:9093,SELF://:9094,VIA://:9095,MTLS://:9096,LOGIN://:9097,CLEAR://:9098,ENCRYPTED://:9099",
		"ADVERTISED_LISTENERS":           r.Env["KAFKA_ADVERTISED_LISTENERS"] + ",MTLS://" + s.mtls + ",LOGIN://" + s.login + ",CLEAR://" + s.clear + ",ENCRYPTED://" + s.tls,
		"LISTENER_SECURITY_PROTOCOL_MAP": r.Env["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"] + ",MTLS:SSL,LOGIN:SASL_SSL,CLEAR:SASL_PLAINTEXT,ENCRYPTED:SSL",
		"SSL_KEYSTORE_TYPE":              "PEM", "SSL_KEYSTORE_LOCATION": "/tmp/broker.pem",
		"SSL_TRUSTSTORE_TYPE": "PEM", "SSL_TRUSTSTORE_LOCATION": "/tmp/ca.pem",
		"LISTENER_NAME_MTLS_SSL_CLIENT_AUTH":            "required",
		"SASL_ENABLED_MECHANISMS":                       "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
		"LISTENER_NAME_LOGIN_CONNECTIONS_MAX_REAUTH_MS": strconv.FormatInt(reauthenticate.Milliseconds(), 10),
	}
	for _, listener := range []string{"LOGIN", "CLEAR"} {
		env["LISTENER_NAME_"+listener+"_PLAIN_SASL_JAAS_CONFIG"] = `org.apache.kafka.common.security.plain.PlainLoginModule required user_layover="` + plainPassword + `";`
		for _, sha := range []string{"256", "512"} {
			env["LISTENER_NAME_"+listener+"_SCRAM___SHA___"+sha+"_SASL_JAAS_CONFIG"] = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
		}
		env["LISTENER_NAME_"+listener+"_OAUTHBEARER_SASL_JAAS_CONFIG"] = `org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`
	}
	if authorized {
		env["AUTHORIZER_CLASS_NAME"], env["SUPER_USERS"] = "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "User:ANONYMOUS"
	}
	for name, value := range env {
		r.Env["KAFKA_"+name] = value
	}
}

// setPassword gives the user layover a password for SCRAM.
func (f *fixture) setPassword(mechanism kadm.ScramMechanism, password string) {
	f.Helper()
	f.setPasswordOf("layover", mechanism, password)
}

// setPasswordOf gives a user a password for SCRAM.
func (f *fixture) setPasswordOf(user string, mechanism kadm.ScramMechanism, password string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 30*time.Second)
	defer cancel()
	done, err := f.admin.AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{{User: user, Mechanism: mechanism, Iterations: 4096, Password: password}})
	if err == nil {
		err = done.Error()
	}
	if err != nil {
		f.Fatal(err)
	}
}

// trust are the settings of TLS without more.
func (s *secured) trust() string { return "KAFKA_TLS_CA_FILE=" + filepath.Join(s.dir, "ca.pem") }

// authority issues certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	a.cert = template(name, time.Now().Add(24*time.Hour))
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	a.pem = a.sign(t, a.cert, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func template(name string, until time.Time) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: until}
}

// issue returns a certificate and its key, in PEM, for hosts and as a client's.
func (a *authority) issue(t *testing.T, name string, until time.Time, hosts ...string) (cert, key []byte) {
	t.Helper()
	c := template(name, until)
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, host)
		}
	}
	private := newKey(t)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return a.sign(t, c, private), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func (a *authority) sign(t *testing.T, c *x509.Certificate, of *ecdsa.PrivateKey) []byte {
	t.Helper()
	by := a.cert
	der, err := x509.CreateCertificate(rand.Reader, c, by, of.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (a *authority) writeTo(t *testing.T, path string) { write(t, path, a.pem) }

// write replaces a file in one step, as a mounted Secret is.
func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// says waits until the log has all of the words in one line.
func (p *process) says(within time.Duration, words ...string) {
	p.t.Helper()
	eventually(p.t, within, "a line with "+strings.Join(words, ", "), func() bool {
		for line := range strings.Lines(p.log()) {
			if containsAll(line, words) {
				return true
			}
		}
		return false
	})
}

func containsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
