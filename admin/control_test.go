package admin

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	played "layover/verify/long"
)

// logged is a log whose level can be changed.
type logged struct {
	level slog.LevelVar
	log   *slog.Logger
	mu    sync.Mutex
	lines bytes.Buffer
}

func newLogged() *logged {
	l := new(logged)
	l.log = slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: &l.level}))
	return l
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(b)
}

// take returns the lines since the last call.
func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.lines.String()
	l.lines.Reset()
	return text
}

func secretIs(token string) func() (string, error) {
	return func() (string, error) { return token, nil }
}

// request asks a control's handler. The path may have a host in front.
func request(t *testing.T, c *Control, method, url string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	if strings.HasPrefix(url, "/") {
		url = "http://127.0.0.1:9847" + url
	}
	req := httptest.NewRequestWithContext(t.Context(), method, url, nil)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.http.Handler.ServeHTTP(w, req)
	return w
}

func TestTheLogLevelChangesWithALineThatSaysWhoDidIt(t *testing.T) {
	l := newLogged()
	c := NewControl(&l.level, nil, l.log)
	for _, step := range []struct {
		ask, want string
		level     slog.Level
	}{
		{"debug", "debug (was info)\n", slog.LevelDebug},
		{"debug", "debug (was debug)\n", slog.LevelDebug},
		{"ERROR", "error (was debug)\n", slog.LevelError},
		{"warn", "warn (was error)\n", slog.LevelWarn},
		{"error", "error (was warn)\n", slog.LevelError},
		{"info", "info (was error)\n", slog.LevelInfo},
	} {
		was := l.level.Level()
		w := request(t, c, http.MethodPost, "/log-level?level="+step.ask)
		if w.Code != http.StatusOK || w.Body.String() != step.want || l.level.Level() != step.level {
			t.Errorf("%s: %d %q, and the level is %v", step.ask, w.Code, w.Body, l.level.Level())
		}
		lines := l.take()
		if was == step.level && lines != "" || was != step.level && (strings.Count(lines, "\n") != 1 ||
			!strings.Contains(lines, `msg="log level changed"`) || !strings.Contains(lines, "remote=192.0.2.1:1234") || !strings.Contains(lines, "to="+strings.ToLower(step.ask))) {
			t.Errorf("%v to %s: log %q", was, step.ask, lines)
		}
		if w := request(t, c, http.MethodGet, "/log-level"); w.Body.String() != strings.ToLower(step.ask)+"\n" {
			t.Errorf("GET: %q", w.Body)
		}
	}
}

func TestALogLevelThatIsNoneIsRefused(t *testing.T) {
	l := newLogged()
	c := NewControl(&l.level, nil, l.log)
	for _, query := range []string{"", "?level=", "?level=INFO%2B2", "?level=trace", "?level=debug&level=info", "?Level=debug", "?level=debug;"} {
		w := request(t, c, http.MethodPost, "/log-level"+query)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "want debug, info, warn or error, as in POST /log-level?level=debug") {
			t.Errorf("%q: %d %q", query, w.Code, w.Body)
		}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions} {
		if w := request(t, c, method, "/log-level?level=debug"); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	if l.level.Level() != slog.LevelInfo || l.take() != "" {
		t.Errorf("the level is %v", l.level.Level())
	}
}

func TestWithATokenEachRequestNeedsIt(t *testing.T) {
	l := newLogged()
	c := NewControl(&l.level, secretIs("tok-en"), l.log)
	for header, want := range map[string]int{
		"":               http.StatusUnauthorized,
		"Bearer":         http.StatusUnauthorized,
		"Bearer ":        http.StatusUnauthorized,
		"Bearer tok-e":   http.StatusUnauthorized,
		"Bearer tok-en1": http.StatusUnauthorized,
		"Bearer TOK-EN":  http.StatusUnauthorized,
		"Basic tok-en":   http.StatusUnauthorized,
		"tok-en":         http.StatusUnauthorized,
		"Bearer tok-en":  http.StatusOK,
		"bearer tok-en":  http.StatusOK, // RFC 7235: case does not matter
	} {
		for _, path := range []string{"/", "/log-level", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine"} {
			w := request(t, c, http.MethodGet, path, "Authorization", header)
			if w.Code != want || want == http.StatusUnauthorized != strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%q %s: %d %v", header, path, w.Code, w.Header())
			}
		}
		if w := request(t, c, http.MethodPost, "/log-level?level=debug", "Authorization", header); (w.Code == http.StatusOK) != (want == http.StatusOK) {
			t.Errorf("POST with %q: %d", header, w.Code)
		}
	}
	if w := request(t, c, http.MethodGet, "/none"); w.Code != http.StatusUnauthorized {
		t.Errorf("without the token a path that is not there: %d", w.Code)
	}
	// A page cannot know the token, so that any host and origin may ask with it.
	if w := request(t, c, http.MethodGet, "http://layover.example/log-level", "Authorization", "Bearer tok-en", "Origin", "https://ops.example"); w.Code != http.StatusOK {
		t.Errorf("through a proxy: %d", w.Code)
	}
}

func TestTheTokenIsReadForEachRequest(t *testing.T) {
	l := newLogged()
	token, failure := "old", error(nil)
	c := NewControl(&l.level, func() (string, error) { return token, failure }, l.log)
	ask := func(given string) int {
		return request(t, c, http.MethodGet, "/log-level", "Authorization", "Bearer "+given).Code
	}
	if got := ask("old"); got != http.StatusOK {
		t.Errorf("the token: %d", got)
	}
	token = "new"
	if got := []int{ask("old"), ask("new")}; got[0] != http.StatusUnauthorized || got[1] != http.StatusOK {
		t.Errorf("after a change the old and the new one: %v", got)
	}
	token, failure = "", errors.New(`the file "/token" is empty`)
	if got := []int{ask("new"), ask("")}; got[0] != http.StatusServiceUnavailable || got[1] != http.StatusServiceUnavailable {
		t.Errorf("without a token in the file: %v", got)
	}
	if lines := l.take(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "LAYOVER_ADMIN_TOKEN cannot be read") || !strings.Contains(lines, "/token") {
		t.Errorf("log %q, want one line", lines)
	}
	failure = nil
	if got := ask(""); got != http.StatusServiceUnavailable {
		t.Errorf("an empty token: %d", got)
	}
	token = "new"
	if got := ask("new"); got != http.StatusOK {
		t.Errorf("once it is there again: %d", got)
	}
}

func TestWithoutATokenPagesInABrowserAreRefused(t *testing.T) {
	l := newLogged()
	c := NewControl(&l.level, nil, l.log)
	for name, q := range map[string]struct {
		host   string
		header []string
		want   int
	}{
		"curl":                        {"http://127.0.0.1:9847", nil, http.StatusOK},
		"curl by name":                {"http://localhost:9847", nil, http.StatusOK},
		"a name in capitals":          {"http://LocalHost", nil, http.StatusOK},
		"IPv6":                        {"http://[::1]:9847", nil, http.StatusOK},
		"IPv6 without a port":         {"http://[::1]", nil, http.StatusOK},
		"typed into a browser":        {"http://localhost:9847", []string{"Sec-Fetch-Site", "none"}, http.StatusOK},
		"a link of pprof's own page":  {"http://localhost:9847", []string{"Sec-Fetch-Site", "same-origin"}, http.StatusOK},
		"a form of another page":      {"http://localhost:9847", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		"a form of a sandboxed page":  {"http://localhost:9847", []string{"Origin", "null"}, http.StatusForbidden},
		"an image of another page":    {"http://localhost:9847", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"another port of this host":   {"http://localhost:9847", []string{"Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		"a rebound name":              {"http://evil.example:9847", nil, http.StatusForbidden},
		"a rebound name of its own":   {"http://evil.example:9847", []string{"Sec-Fetch-Site", "same-origin"}, http.StatusForbidden},
		"a name that ends in ours":    {"http://evil.localhost:9847", nil, http.StatusForbidden},
		"a name that begins like one": {"http://127.0.0.1.evil.example", nil, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			for _, ask := range []struct{ method, path string }{{http.MethodGet, "/debug/pprof/cmdline"}, {http.MethodPost, "/log-level?level=info"}} {
				if w := request(t, c, ask.method, q.host+ask.path, q.header...); w.Code != q.want {
					t.Errorf("%s: %d %s, want %d", ask.method, w.Code, w.Body, q.want)
				}
			}
		})
	}
}

func TestEveryProfileIsThere(t *testing.T) {
	played.Only(t)
	l := newLogged()
	c := NewControl(&l.level, nil, l.log)
	for _, path := range []string{
		"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/heap", "/debug/pprof/allocs", "/debug/pprof/goroutine?debug=2",
		"/debug/pprof/block", "/debug/pprof/mutex", "/debug/pprof/threadcreate", "/debug/pprof/trace?seconds=0.01", "/debug/pprof/profile?seconds=1",
	} {
		if w := request(t, c, http.MethodGet, path); w.Code != http.StatusOK || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
	for _, path := range []string{"/debug/vars", "/metrics", "/status", "/debug/pprof/none"} {
		if w := request(t, c, http.MethodGet, path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, w.Code)
		}
	}
	if w := request(t, c, http.MethodPost, "/debug/pprof/profile"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// The mux of net/http has pprof from its import, and expvar from Prometheus'.
func TestNobodyServesTheMuxOfNetHTTP(t *testing.T) {
	serves := regexp.MustCompile(`[^.\w]http\.(DefaultServeMux|Handle|HandleFunc|ListenAndServe|ListenAndServeTLS|Serve|ServeTLS)\b`)
	for _, dir := range []string{"admin", "cli", "daemon", "lane", "consumer", "producer", "journal", "cluster", "config"} {
		err := filepath.WalkDir("../"+dir, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			if at := serves.Find(source); at != nil {
				t.Errorf("%s has %s", path, at)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A profile of half a minute outlasts each of the server's time-outs. The one here waits
// as that of the CPU does, and may be in a bubble.
func TestAProfileMayTakeLongerThanAnyTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogged()
		control := NewControl(&l.level, nil, l.log)
		client, stop := serveInBubble(t, control.endpoint)
		defer stop()
		for _, seconds := range []string{"5", "30", "120"} {
			began := time.Now()
			resp, err := client.Get("http://localhost:9847/debug/pprof/goroutine?seconds=" + seconds)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			took := time.Since(began).Truncate(time.Second)
			if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 || took.String() != (must(time.ParseDuration(seconds+"s"))).String() {
				t.Errorf("%s s: %d after %v, %d bytes, %v", seconds, resp.StatusCode, took, len(body), err)
			}
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
