package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/plugin/kslog"
	"go.uber.org/goleak"

	"layover/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// brokerAddr is where the broker of a virtual network is.
const brokerAddr = "localhost:9092"

// fixture is one bubble, with virtual time and a virtual network; or this machine.
type fixture struct {
	*testing.T
	network *kfake.VirtualNetwork // nil: TCP on this machine
	broker  *kfake.Cluster
	logs    *logs
	dir     string // of files with secrets and certificates

	mu     sync.Mutex
	logins []login // as a broker with judge saw them
}

// login is one attempt.
type login struct {
	at   time.Time
	auth string // what was sent
}

// inBubble runs f in a bubble.
func inBubble(t *testing.T, f func(w *fixture)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f(&fixture{T: t, network: new(kfake.VirtualNetwork), logs: new(logs), dir: dir})
	})
}

// overTCP returns a fixture of this machine.
func overTCP(t *testing.T) *fixture { return &fixture{T: t, logs: new(logs), dir: t.TempDir()} }

// start starts the broker, in a bubble at brokerAddr.
func (w *fixture) start(opts ...kfake.Opt) {
	w.Helper()
	opts = append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(1, "topic")}, opts...)
	if w.network != nil {
		opts = append(opts, kfake.Ports(9092), kfake.ListenFn(w.network.Listen))
	}
	var err error
	if w.broker, err = kfake.NewCluster(opts...); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(w.broker.Close)
}

// judge has the broker answer logins by f, with a real broker's words: kfake itself
// closes the connection of whoever it does not take. A challenge that is not empty is
// sent back.
func (w *fixture) judge(f func(auth string) (code int16, message, challenge string)) {
	w.broker.ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		return r.ResponseKind(), nil, true
	})
	w.broker.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.broker.KeepControl()
		auth := string(r.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes)
		w.mu.Lock()
		w.logins = append(w.logins, login{time.Now(), auth})
		w.mu.Unlock()
		resp := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		var message, challenge string
		resp.ErrorCode, message, challenge = f(auth)
		if resp.ErrorCode != 0 {
			resp.ErrorMessage = &message
		}
		resp.SASLAuthBytes = []byte(challenge)
		return resp, nil, true
	})
}

const notTaken = 58 // SASL_AUTHENTICATION_FAILED

// wants has the broker take one login alone, by what password returns.
func (w *fixture) wants(password func() string) {
	w.judge(func(auth string) (int16, string, string) {
		if auth == "\x00layover\x00"+password() {
			return 0, "", ""
		}
		return notTaken, "Authentication failed: Invalid username or password", ""
	})
}

// seen returns the logins so far.
func (w *fixture) seen() []login {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.logins)
}

// connect returns a Connection of settings.
func (w *fixture) connect(k config.Kafka) *Connection {
	w.Helper()
	if k.Brokers == nil {
		k.Brokers = []string{brokerAddr}
		if w.network == nil {
			k.Brokers = w.broker.ListenAddrs()
		}
	}
	cfg := Config{Kafka: k, DialTimeout: 5 * time.Second, Log: w.logs.logger()}
	if w.network != nil {
		cfg.Dial = w.network.DialContext
	}
	c, err := New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// client makes a client as the daemon does with its log at debug.
func (w *fixture) client(c *Connection, opts ...kgo.Opt) *kgo.Client {
	w.Helper()
	cl, err := kgo.NewClient(append(append(c.Options(),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }), kgo.MetadataMinAge(250*time.Millisecond),
		kgo.DisableClientMetrics(), kgo.WithLogger(kslog.New(w.logs.logger()))), opts...)...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(cl.Close)
	return cl
}

// ping asks the broker something by a new client, and closes it.
func (w *fixture) ping(c *Connection) error {
	w.Helper()
	cl := w.client(c, kgo.RequestRetries(0))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	return cl.Ping(ctx)
}

// write writes a file and returns its path.
func (w *fixture) write(name, content string) string {
	w.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

func (w *fixture) file(name, content string) config.Secret {
	return config.SecretFile(w.write(name, content))
}

// serve serves http at an address of the virtual network.
func (w *fixture) serve(addr string, h http.HandlerFunc) {
	w.Helper()
	l, err := w.network.Listen("tcp", addr)
	if err != nil {
		w.Fatal(err)
	}
	var running sync.WaitGroup
	s := &http.Server{ErrorLog: discard(), Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		h(rw, r)
	})}
	go s.Serve(l)
	w.Cleanup(func() {
		s.Close()
		running.Wait()
	})
}

// logs keeps the lines of a log. Any goroutine may use it.
type logs struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

// Write implements io.Writer.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *logs) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (l *logs) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// with returns the lines with a message.
func (l *logs) with(message string) []map[string]any {
	var all []map[string]any
	for line := range strings.Lines(l.text()) {
		var m map[string]any
		if json.Unmarshal([]byte(line), &m) == nil && m["msg"] == message {
			all = append(all, m)
		}
	}
	return all
}

const (
	refusedLine = "Kafka refuses the connection"
	takenLine   = "Kafka takes the connection"
)
