package integration

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// changing is a Layover on a secured broker through which records flow while a login or a
// certificate changes.
type changing struct {
	*fixture
	*process
	ledger *ledger
	out    *collector
	stream *stream
}

// flow starts a Layover with the settings, and records through it.
func (f *fixture) flow(settings ...string) *changing {
	f.Helper()
	c := &changing{fixture: f, process: start(f.T, f.settings(settings...)...), ledger: f.newLedger(), out: f.collect(f.egress)}
	c.ready(30 * time.Second)
	c.stream = f.stream(c.ledger, 200, 3*time.Second)
	c.more(400)
	return c
}

// more waits until records that are sent from now on come out.
func (c *changing) more(n int) {
	c.fixture.Helper()
	all, _ := c.out.count()
	c.out.await(all+n, time.Minute)
}

// judged ends the flow: nothing is lost or early. The group may have given the partitions
// up each time that the connection was refused. Records in flight, and those finished after
// the last commit, come again.
func (c *changing) judged(refusals int) {
	c.fixture.Helper()
	c.stream.finish()
	c.out.await(c.ledger.Len(), time.Minute)
	c.reachesEnd(30 * time.Second)
	c.terminate()
	c.out.settle()
	c.ledger.judge(c.out.all(), refusals*2*1000)
}

const (
	refuses = "Kafka refuses the connection"
	takes   = "Kafka takes the connection"
)

// TestAPasswordThatChangesLosesNothing: the broker asks for the login again, and takes the
// old password no more, until the new one is in its file.
func TestAPasswordThatChangesLosesNothing(t *testing.T) {
	long(t)
	t.Parallel()
	f, s := onSecuredBroker(t, false)
	f.setPassword(kadm.ScramSha512, "first")
	password := filepath.Join(s.dir, "password")
	write(t, password, []byte("first"))
	c := f.flow("KAFKA_BROKERS="+s.login, s.trust(), "KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD_FILE="+password)

	f.setPassword(kadm.ScramSha512, "second")
	c.says(time.Minute, refuses, "KAFKA_SASL_PASSWORD")
	time.Sleep(20 * time.Second) // every connection has had to log in again
	if code, _ := c.get("/livez"); code != http.StatusOK {
		t.Error("not alive")
	}
	write(t, password, []byte("second"))
	c.says(time.Minute, takes)
	c.more(2000)
	c.judged(1)
}

// TestTokensThatEndAreFetchedAgain: a login holds as long as its token, and the endpoint
// is slow, wrong and down meanwhile.
func TestTokensThatEndAreFetchedAgain(t *testing.T) {
	long(t)
	t.Parallel()
	f, s := onSecuredBroker(t, false)
	endpoint := newTokenEndpoint(t, 12*time.Second)
	c := f.flow("KAFKA_BROKERS="+s.login, s.trust(), "KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT="+endpoint.URL,
		"KAFKA_SASL_OAUTH_CLIENT_ID=layover", "KAFKA_SASL_OAUTH_CLIENT_SECRET=s3cret")
	asked := endpoint.asked.Load()
	eventually(t, time.Minute, "tokens are fetched again", func() bool { return endpoint.asked.Load() > asked+2 })
	c.more(200)

	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(3 * time.Second):
		case <-r.Context().Done():
			return
		}
		endpoint.answer(w, r)
	})
	endpoint.spoil.Store(&slow)
	time.Sleep(15 * time.Second)
	c.more(200)

	wrong := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":"server_error","error_description":"s3cret"}`, http.StatusInternalServerError)
	})
	endpoint.spoil.Store(&wrong)
	c.says(time.Minute, refuses, "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT", "500")
	time.Sleep(20 * time.Second) // no token is left
	endpoint.spoil.Store(nil)
	c.says(time.Minute, takes)
	c.more(2000)
	c.judged(3)
}

// TestACertificateThatIsRenewedIsUsed: files that are wrong leave the old certificate in
// force, and connections from after its end use the new one.
func TestACertificateThatIsRenewedIsUsed(t *testing.T) {
	long(t)
	t.Parallel()
	f, s := onSecuredBroker(t, false)
	certFile, keyFile := filepath.Join(s.dir, "tls.crt"), filepath.Join(s.dir, "tls.key")
	ends := time.Now().Add(70 * time.Second)
	cert, key := s.ca.issue(t, "layover", ends)
	write(t, certFile, cert)
	write(t, keyFile, key)
	c := f.flow("KAFKA_BROKERS="+s.mtls, s.trust(), "KAFKA_TLS_CERT_FILE="+certFile, "KAFKA_TLS_KEY_FILE="+keyFile)
	c.says(15*time.Second, "a certificate ends soon", "KAFKA_TLS_CERT")

	write(t, certFile, []byte("-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n"))
	c.says(time.Minute, "stays in force", "KAFKA_TLS_CERT")
	c.more(200)

	renewed, renewedKey := s.ca.issue(t, "layover", time.Now().Add(time.Hour))
	write(t, keyFile, renewedKey)
	write(t, certFile, renewed)
	c.says(time.Minute, "certificates are in force as they are in their files")
	time.Sleep(max(0, time.Until(ends)))
	if err := f.broker.stop(); err != nil {
		t.Fatal(err)
	}
	if err := f.broker.start(); err != nil {
		t.Fatal(err)
	}
	f.answers(time.Minute)
	c.more(1000)
	c.judged(1)
}
