package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"layover/cli/process"
	"layover/verify/long"
)

// canary is a token whose every form would be recognised: the URL form differs.
const canary = "canary+/%41&3f9c~token"

// output is what a process writes, while it writes.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // a signal at each write
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await returns the first object of the log from an offset on that is wanted.
func (o *output) await(t *testing.T, from int, wanted func(line map[string]any) bool) map[string]any {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		for line := range strings.Lines(o.String()[from:]) {
			var v map[string]any
			if json.Unmarshal([]byte(line), &v) == nil && wanted(v) {
				return v
			}
		}
		select {
		case <-o.more:
		case <-deadline:
			t.Fatalf("no such line in\n%s", o)
		}
	}
}

// started is a process that runs without a broker.
type started struct {
	*testing.T
	stderr        *output
	public, admin string // URLs
}

// start runs the verb run until the test ends.
func start(t *testing.T, environ ...string) *started {
	t.Helper()
	s := &started{T: t, stderr: &output{more: make(chan struct{}, 1)}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() { // ends with stop
		ended <- Run(ctx, &process.Process{Args: []string{"run"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: s.stderr, Environ: append([]string{
			"KAFKA_BROKERS=127.0.0.1:1", "LAYOVER_INGRESS_TOPICS=delayed", "LAYOVER_EGRESS_TOPIC=ready", "LAYOVER_ON_INVALID=halt",
			"LAYOVER_HTTP_ADDR=127.0.0.1:0", "LAYOVER_ADMIN_ADDR=127.0.0.1:0", "LAYOVER_GOMAXPROCS=off", "LAYOVER_GOMEMLIMIT=off",
			"LAYOVER_SHUTDOWN_TIMEOUT=1s", "LAYOVER_LOG_FORMAT=json",
		}, environ...)})
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != process.ExitOK {
			t.Errorf("exit code %d\n%s", code, s.stderr)
		}
	})
	line := s.stderr.await(t, 0, func(line map[string]any) bool { return line["msg"] == "layover starts" })
	s.public, s.admin = "http://"+line["http"].(string), "http://"+line["admin"].(string)
	return s
}

// ask returns the status and all of the answer: header and body, unpacked too.
func (s *started) ask(method, url, token string) (int, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, url, nil)
	if err != nil {
		s.Fatal(err)
	}
	req.Close = true
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	var all strings.Builder
	if err := resp.Header.Write(&all); err != nil {
		s.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	all.Write(body)
	if packed, err := gzip.NewReader(bytes.NewReader(body)); err == nil { // a profile
		if _, err := io.Copy(&all, packed); err != nil {
			s.Fatal(err)
		}
	}
	return resp.StatusCode, all.String()
}

// forms are the ways in which a secret may be written.
func forms(secret string) map[string]string {
	quoted, _ := json.Marshal(secret)
	return map[string]string{
		"plain": secret, "quoted": strings.Trim(string(quoted), `"`), "query": url.QueryEscape(secret), "path": url.PathEscape(secret), "hex": hex.EncodeToString([]byte(secret)),
		"base64": strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="),
		"of URL": strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(secret)), "="),
	}
}

func TestTheAdminTokenIsInNoAnswerOfEitherServer(t *testing.T) {
	long.Only(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, setting := range map[string]string{"the environment": "LAYOVER_ADMIN_TOKEN=" + canary, "a file": "LAYOVER_ADMIN_TOKEN_FILE=" + file} {
		t.Run(from, func(t *testing.T) {
			s := start(t, setting, "LAYOVER_LOG_LEVEL=debug")
			look := func(where, text string) {
				for form, secret := range forms(canary) {
					if strings.Contains(text, secret) {
						t.Errorf("%s has the token (%s)", where, form)
					}
				}
			}
			asked := 0
			for _, path := range []string{"/", "/livez", "/readyz", "/startupz", "/metrics", "/status", "/status?format=html", "/none", "/debug/pprof/", "/log-level"} {
				for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
					_, answer := s.ask(method, s.public+path, canary)
					look(method+" "+path, answer)
				}
			}
			for _, path := range []string{
				"/", "/log-level", "/none", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/heap", "/debug/pprof/heap?debug=1",
				"/debug/pprof/allocs", "/debug/pprof/goroutine", "/debug/pprof/goroutine?debug=1", "/debug/pprof/goroutine?debug=2", "/debug/pprof/block?debug=1",
				"/debug/pprof/mutex?debug=1", "/debug/pprof/threadcreate?debug=1", "/debug/pprof/profile?seconds=1", "/debug/pprof/trace?seconds=0.2",
			} {
				for _, token := range []string{canary, "", "no-" + canary, "another"} {
					code, answer := s.ask(http.MethodGet, s.admin+path, token)
					if (code == http.StatusUnauthorized) == (token == canary) {
						t.Errorf("%s with %q: %d", path, token, code)
					}
					look(path, answer)
					asked++
				}
				_, answer := s.ask(http.MethodPost, s.admin+path+"?level=warn", canary)
				look("POST "+path, answer)
			}
			look("the log", s.stderr.String())
			if asked == 0 || !strings.Contains(s.stderr.String(), "log level changed") {
				t.Errorf("nothing was asked, or the level did not change")
			}
		})
	}
}

// The clients of Kafka say much at debug and nothing otherwise.
func TestTheLogLevelOfTheRunningProcessChanges(t *testing.T) {
	s := start(t)
	debug := func(line map[string]any) bool { return line["level"] == "DEBUG" }
	if strings.Contains(s.stderr.String(), `"DEBUG"`) {
		t.Fatalf("debug lines at info\n%s", s.stderr)
	}
	if code, answer := s.ask(http.MethodPost, s.admin+"/log-level?level=debug", ""); code != http.StatusOK || !strings.HasSuffix(answer, "debug (was info)\n") {
		t.Fatalf("%d %s", code, answer)
	}
	s.stderr.await(t, 0, debug)
	s.stderr.await(t, 0, func(line map[string]any) bool { return line["broker"] != nil && line["level"] == "DEBUG" }) // a line of a Kafka client
	line := s.stderr.await(t, 0, func(line map[string]any) bool { return line["msg"] == "log level changed" })
	if line["from"] != "info" || line["to"] != "debug" || !strings.HasPrefix(line["remote"].(string), "127.0.0.1:") {
		t.Errorf("%v", line)
	}
}

// certificate returns a pair in PEM: that of the server of tests.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	pair := server.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestWithACertificateBothServersAndHealthSpeakTLS(t *testing.T) {
	cert, key := certificate(t)
	settings := []string{"LAYOVER_HTTP_TLS_CERT=" + cert, "LAYOVER_HTTP_TLS_KEY=" + base64.StdEncoding.EncodeToString([]byte(key))}
	s := start(t, settings...)
	for _, addr := range []string{s.public, s.admin} {
		if code, answer := s.ask(http.MethodGet, addr+"/", ""); code != http.StatusBadRequest {
			t.Errorf("without TLS: %d %s", code, answer)
		}
		conn, err := tls.Dial("tcp", strings.TrimPrefix(addr, "http://"), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw}); string(got) != cert {
			t.Errorf("%s has another certificate", addr)
		}
		conn.Close()
	}
	addr := "LAYOVER_HTTP_ADDR=" + strings.TrimPrefix(s.public, "http://")
	if code, stdout, stderr := do(append(settings, addr), "health"); code != process.ExitOK || stdout != "live\n" {
		t.Errorf("health: %d, %q, %q", code, stdout, stderr)
	}
	if code, _, stderr := do([]string{addr}, "health"); code != process.ExitRuntime {
		t.Errorf("health without the setting: %d, %q", code, stderr)
	}
}
