package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// maxControlBody bounds a request's body in bytes: pprof's symbol look-up takes one.
const maxControlBody = 1 << 20

// Control serves operators: profiles, and the log level of the running process. It is
// the only part of HTTP that changes anything. Its methods may be called from several
// goroutines.
type Control struct {
	*endpoint
	token func() (string, error) // nil: no request needs one
	log   *slog.Logger

	mu      sync.Mutex // one change of the level at a time
	level   *slog.LevelVar
	tokenMu sync.Mutex
	failed  string // the last error of token that was logged; "" since it was read
}

// NewControl returns a server that is not listening yet. token is read for each request
// and has to be in it; without one, requests that a browser's page may have made are
// refused. Through level the log level of the process is changed.
func NewControl(level *slog.LevelVar, token func() (string, error), log *slog.Logger) *Control {
	c := &Control{token: token, log: log, level: level}
	c.endpoint = newEndpoint(c.allow(http.MaxBytesHandler(c.routes(), maxControlBody)), log)
	return c
}

// routes has a mux of its own. That of net/http has pprof too, and nobody serves it.
func (c *Control) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		text(w, http.StatusOK, "/debug/pprof/  profiles\n/log-level     the log level; POST /log-level?level=debug changes it")
	})
	mux.HandleFunc("GET /debug/pprof/", long(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", long(pprof.Profile))
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol) // as go tool pprof asks
	mux.HandleFunc("GET /debug/pprof/trace", long(pprof.Trace))
	mux.HandleFunc("GET /log-level", func(w http.ResponseWriter, _ *http.Request) {
		text(w, http.StatusOK, levelName(c.level.Level()))
	})
	mux.HandleFunc("POST /log-level", c.changeLevel)
	return mux
}

// long lets a profile take its time. To net/http a client is gone when the time is over
// that a request may take to arrive.
func long(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // of a recorder in a test there is none
		h(w, r)
	}
}

// changeLevel answers with the new level and the old one.
func (c *Control) changeLevel(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()["level"]
	to, ok := levels[strings.ToLower(strings.Join(asked, ","))]
	if !ok {
		text(w, http.StatusBadRequest, fmt.Sprintf("level %.100q: want debug, info, warn or error, as in POST /log-level?level=debug", asked))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.level.Level()
	if from != to {
		// The line is logged while the lower of the two levels lets it through.
		lower := min(from, to)
		c.level.Set(lower)
		c.log.Log(r.Context(), max(lower, slog.LevelInfo), "log level changed", "from", levelName(from), "to", levelName(to), "remote", r.RemoteAddr)
		c.level.Set(to)
	}
	text(w, http.StatusOK, fmt.Sprintf("%s (was %s)", levelName(to), levelName(from)))
}

// levels are the choices of LAYOVER_LOG_LEVEL.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

func levelName(level slog.Level) string { return strings.ToLower(level.String()) }

// allow passes on the requests that may be answered.
func (c *Control) allow(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.token == nil && !fromPage(r) || c.token != nil && c.authorized(w, r) {
			next.ServeHTTP(w, r)
			return
		}
		if c.token == nil {
			text(w, http.StatusForbidden, "without LAYOVER_ADMIN_TOKEN requests of pages in a browser are refused, and the host has to be localhost or an IP address")
		}
	})
}

// fromPage reports whether a page in a browser may have made the request. Pages of other
// origins send one of two headers, those that rebind a name in DNS send that name.
func fromPage(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	site := r.Header.Get("Sec-Fetch-Site")
	return err != nil && !strings.EqualFold(host, "localhost") ||
		r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin"
}

// authorized reports whether the request has the token; if not it has its answer.
func (c *Control) authorized(w http.ResponseWriter, r *http.Request) bool {
	token, err := c.token()
	c.sayToken(err)
	if err != nil || token == "" {
		text(w, http.StatusServiceUnavailable, "LAYOVER_ADMIN_TOKEN cannot be read; the log has the reason")
		return false
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// Of equal length, so that not even the token's length is told by the time it takes.
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(strings.TrimLeft(given, " ")))
	if subtle.ConstantTimeCompare(want[:], got[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="layover admin"`)
	text(w, http.StatusUnauthorized, "want the header Authorization: Bearer and the token of LAYOVER_ADMIN_TOKEN")
	return false
}

// sayToken logs once that the token cannot be read, and again when the reason changes.
func (c *Control) sayToken(err error) {
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	c.tokenMu.Lock()
	defer c.tokenMu.Unlock()
	if reason != c.failed && reason != "" {
		c.log.Warn("LAYOVER_ADMIN_TOKEN cannot be read; requests to LAYOVER_ADMIN_ADDR are refused", "err", err)
	}
	c.failed = reason
}
