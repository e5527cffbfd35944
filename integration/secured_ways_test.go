package integration

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// tokenEndpoint is an endpoint of OAuth client credentials that the test can spoil.
type tokenEndpoint struct {
	*httptest.Server
	life  time.Duration
	spoil atomic.Pointer[http.HandlerFunc]
	asked atomic.Int64
}

func newTokenEndpoint(t *testing.T, life time.Duration) *tokenEndpoint {
	e := &tokenEndpoint{life: life}
	e.Server = httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(e.Close)
	return e
}

func (e *tokenEndpoint) serve(w http.ResponseWriter, r *http.Request) {
	e.asked.Add(1)
	if h := e.spoil.Load(); h != nil {
		(*h)(w, r)
		return
	}
	e.answer(w, r)
}

func (e *tokenEndpoint) answer(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("grant_type") != "client_credentials" || r.PostFormValue("client_id") != "layover" || r.PostFormValue("client_secret") != "s3cret" || r.URL.RawQuery != "" {
		http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"access_token": unsecured(e.life), "token_type": "Bearer", "expires_in": int(e.life.Seconds())})
}

// unsecured is a token without a signature, of the user layover.
func unsecured(life time.Duration) string {
	part := func(v map[string]any) string {
		b, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(b)
	}
	now := time.Now().Unix()
	return part(map[string]any{"alg": "none"}) + "." + part(map[string]any{"sub": "layover", "iat": now, "exp": now + int64(life.Seconds())}) + "."
}

// TestEveryWayToConnectDelivers: each record that is written through `layover send` in a
// way comes out of a Layover that is connected in the same way.
func TestEveryWayToConnectDelivers(t *testing.T) {
	t.Parallel()
	f, s := onSecuredBroker(t, false)
	f.setPassword(kadm.ScramSha256, "sha-256-password")
	f.setPassword(kadm.ScramSha512, " sha-512, with = and spaces ")
	cert, key := s.ca.issue(t, "layover", time.Now().Add(time.Hour))
	file := func(name, content string) string {
		path := filepath.Join(s.dir, name)
		write(t, path, []byte(content))
		return path
	}
	endpoint := newTokenEndpoint(t, 20*time.Second)
	oauth := []string{"KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_TOKEN_ENDPOINT=" + endpoint.URL, "KAFKA_SASL_OAUTH_CLIENT_ID=layover"}
	binding := filepath.Join(s.dir, "bindings")
	for name, content := range map[string]string{
		"type": "kafka", "provider": "strimzi", "bootstrap.servers": s.login, "security.protocol": "SASL_SSL", "ssl.truststore.crt": string(s.ca.pem),
		"username": "layover", "password": "sha-256-password", "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": "none of ours",
	} {
		if err := os.MkdirAll(filepath.Join(binding, "kafka-binding"), 0o700); err != nil {
			t.Fatal(err)
		}
		file("bindings/kafka-binding/"+name, content)
	}
	for name, settings := range map[string][]string{
		"TLS":                    {"KAFKA_BROKERS=" + s.tls, s.trust()},
		"TLS by the protocol":    {"KAFKA_BROKERS=" + s.tls, "KAFKA_SECURITY_PROTOCOL=SSL", "KAFKA_TLS_CA=" + base64.StdEncoding.EncodeToString(s.ca.pem)},
		"mutual TLS":             {"KAFKA_BROKERS=" + s.mtls, s.trust(), "KAFKA_TLS_CERT_FILE=" + file("tls.crt", string(cert)), "KAFKA_TLS_KEY_FILE=" + file("tls.key", string(key))},
		"PLAIN over TLS":         {"KAFKA_BROKERS=" + s.login, s.trust(), "KAFKA_SASL_MECHANISM=PLAIN", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=" + plainPassword},
		"SCRAM-SHA-256":          {"KAFKA_BROKERS=" + s.login, s.trust(), "KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD_FILE=" + file("password", "sha-256-password\n")},
		"SCRAM-SHA-512":          {"KAFKA_BROKERS=" + s.login, s.trust(), "KAFKA_SASL_MECHANISM=SCRAM-SHA-512", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD= sha-512, with = and spaces "},
		"SCRAM without TLS":      {"KAFKA_BROKERS=" + s.clear, "KAFKA_SASL_MECHANISM=SCRAM-SHA-256", "KAFKA_SASL_USERNAME=layover", "KAFKA_SASL_PASSWORD=sha-256-password"},
		"OAUTHBEARER":            append([]string{"KAFKA_BROKERS=" + s.login, s.trust(), "KAFKA_SASL_OAUTH_CLIENT_SECRET=s3cret"}, oauth...),
		"a token file":           {"KAFKA_BROKERS=" + s.login, s.trust(), "KAFKA_SASL_MECHANISM=OAUTHBEARER", "KAFKA_SASL_OAUTH_TOKEN_FILE=" + file("token", unsecured(time.Hour))},
		"a binding":              {"KAFKA_BROKERS=", "SERVICE_BINDING_ROOT=" + binding},
		"any certificate at all": {"KAFKA_BROKERS=" + s.tls, "KAFKA_TLS_INSECURE_SKIP_VERIFY=true"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, s.broker, 1)
			settings := f.settings(settings...)
			p := start(t, settings...)
			p.ready(30 * time.Second)
			for range 3 {
				verb(t, settings, "send", "--delay", "1s", name)
			}
			eventually(t, 30*time.Second, "three deliveries", func() bool {
				ends, err := f.ends(f.egress)
				return err == nil && ends[0] == 3
			})
			verb(t, settings, "journal", "show")
			p.terminate()
		})
	}
}

// verb runs a verb that has to end with 0, and returns what it printed.
func verb(t *testing.T, settings []string, args ...string) string {
	t.Helper()
	out, code := try(t, settings, args...)
	if code != 0 {
		t.Fatalf("layover %s: exit code %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// try runs a verb and returns what it printed, and its exit code.
func try(t *testing.T, settings []string, args ...string) (out string, code int) {
	t.Helper()
	code, stdout, stderr := words(t, settings, args...)
	return stdout + stderr, code
}
