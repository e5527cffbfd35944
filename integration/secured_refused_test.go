package integration

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestARefusedConnectionNamesItsSetting: Layover lives, is not ready, and says one line in
// 30 s that names the setting. Its verbs end with 1 and name it, too.
func TestARefusedConnectionNamesItsSetting(t *testing.T) {
	t.Parallel()
	f, s := onSecuredBroker(t, false)
	f.setPassword(kadm.ScramSha512, "right")
	foreign, foreignKey := s.other.issue(t, "layover", time.Now().Add(time.Hour))
	write(t, filepath.Join(s.dir, "foreign.crt"), foreign)
	write(t, filepath.Join(s.dir, "foreign.key"), foreignKey)
	endpoint := newTokenEndpoint(t, time.Minute)
	scram := []string{"KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=layover"}
	oauth := []string{"KAFKA_BROKERS=" + s.login, s.trust(), "KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_CLIENT_ID=layover", "KAFKA_SASL_OAUTH_CLIENT_SECRET=n0t-it"}
	with := func(base []string, more ...string) []string { return append(append([]string(nil), base...), more...) }
	for name, c := range map[string]struct {
		settings []string
		lookAt   string
	}{
		"an expired broker":      {[]string{"KAFKA_BROKERS=" + s.startExpired(t), s.trust()}, "the broker's certificate"},
		"another CA":             {[]string{"KAFKA_BROKERS=" + s.tls, "KAFKA_TLS_CA_FILE=" + filepath.Join(s.dir, "other.pem")}, "KAFKA_TLS_CA"},
		"the system's CAs":       {[]string{"KAFKA_BROKERS=" + s.tls, "KAFKA_TLS_ENABLED=true"}, "KAFKA_TLS_CA"},
		"another host":           {[]string{"KAFKA_BROKERS=" + s.tls, s.trust(), "KAFKA_TLS_SERVER_NAME=kafka.example.com"}, "KAFKA_TLS_SERVER_NAME"},
		"plaintext to TLS":       {[]string{"KAFKA_BROKERS=" + s.tls}, "KAFKA_TLS_ENABLED"},
		"TLS to plaintext":       {[]string{"KAFKA_BROKERS=" + s.addr, s.trust()}, "KAFKA_TLS_ENABLED"},
		"no certificate":         {[]string{"KAFKA_BROKERS=" + s.mtls, s.trust()}, "KAFKA_TLS_CERT"},
		"a foreign certificate":  {[]string{"KAFKA_BROKERS=" + s.mtls, s.trust(), "KAFKA_TLS_CERT_FILE=" + filepath.Join(s.dir, "foreign.crt"), "KAFKA_TLS_KEY_FILE=" + filepath.Join(s.dir, "foreign.key")}, "KAFKA_TLS_CERT"},
		"no login":               {[]string{"KAFKA_BROKERS=" + s.login, s.trust()}, "KAFKA_SASL_MECHANISM"},
		"no login in plaintext":  {[]string{"KAFKA_BROKERS=" + s.clear}, "KAFKA_SASL_MECHANISM"},
		"a login nobody wants":   {with(scram, "KAFKA_BROKERS="+s.tls, s.trust(), "KAFKA_SASL_PASSWORD=right"), "KAFKA_SASL_MECHANISM"},
		"a wrong SCRAM password": {with(scram, "KAFKA_BROKERS="+s.login, s.trust(), "KAFKA_SASL_PASSWORD=n0t-it"), "KAFKA_SASL_PASSWORD"},
		"a wrong PLAIN password": {[]string{"KAFKA_BROKERS=" + s.login, s.trust(), "KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=n0t-it"}, "KAFKA_SASL_PASSWORD"},
		"another mechanism":      {[]string{"KAFKA_BROKERS=" + s.login, s.trust(), "KAFKA_SASL_MECHANISM=AWS_MSK_IAM", "KAFKA_SASL_AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=AKIAX", "AWS_SECRET_ACCESS_KEY=n0t-it"}, "KAFKA_SASL_MECHANISM"},
		"a wrong client secret":  {with(oauth, "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT="+endpoint.URL), "KAFKA_SASL_OAUTH_CLIENT_SECRET"},
		"no token endpoint":      {with(oauth, "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT=http://127.0.0.1:1/token"), "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT"},
	} {
		t.Run(name, func(t *testing.T) {
			waits := 13 * time.Second                                     // longer than a Kafka that is down is waited for
			if name != "another CA" && name != "a wrong SCRAM password" { // one of each kind of refusal
				long(t)
				waits = 3 * time.Second
			}
			t.Parallel()
			settings := f.settings(c.settings...)
			p := start(t, settings...)
			p.says(20*time.Second, "Kafka refuses the connection", c.lookAt)
			for end := time.Now().Add(waits); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				if code, body := p.get("/readyz"); code == http.StatusOK {
					t.Fatalf("ready: %s", body)
				}
			}
			if code, _ := p.get("/livez"); code != http.StatusOK {
				t.Error("not alive")
			}
			if n := strings.Count(p.log(), "Kafka refuses the connection"); n != 1 {
				t.Errorf("%d lines, want one in 30 s", n)
			}
			for _, args := range [][]string{{"send", "--delay", "1s", "x"}, {"journal", "show"}} {
				out, code := try(t, settings, args...)
				if code != 1 || !strings.Contains(out, c.lookAt) {
					t.Errorf("layover %s: exit code %d, %q, want 1 and %s", args[0], code, out, c.lookAt)
				}
			}
			if strings.Contains(p.log(), "n0t-it") {
				t.Error("the log has the secret")
			}
			p.terminate()
			t.Log(p.log())
		})
	}
}

// startExpired puts a listener in front of the broker whose certificate has expired. It
// returns its address.
func (s *secured) startExpired(t *testing.T) string {
	t.Helper()
	cert, key := s.ca.issue(t, "expired", time.Now().Add(-time.Hour), "127.0.0.1")
	return s.front(t, "127.0.0.1:0", cert, key)
}

func TestAnExpiredClientCertificateIsExitCode2(t *testing.T) {
	t.Parallel()
	need(t, shared.binary)
	ca, dir := newAuthority(t, "CA"), t.TempDir()
	cert, key := ca.issue(t, "layover", time.Now().Add(-time.Minute))
	write(t, filepath.Join(dir, "tls.crt"), cert)
	write(t, filepath.Join(dir, "tls.key"), key)
	out, code := try(t, minimal("KAFKA_TLS_CERT_FILE="+filepath.Join(dir, "tls.crt"), "KAFKA_TLS_KEY_FILE="+filepath.Join(dir, "tls.key")), "run")
	if code != 2 || !strings.Contains(out, "KAFKA_TLS_CERT has expired") && !strings.Contains(out, "KAFKA_TLS_CERT: has expired") {
		t.Errorf("exit code %d, %s, want 2 and KAFKA_TLS_CERT", code, out)
	}
}
