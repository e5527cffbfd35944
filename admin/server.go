package admin

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	maxScrapes = 8 // at a time; others get a 503
	// maxMade is how many bodies of /status are made at a time; others wait. With
	// thousands of partitions each takes tens of MiB, and many tabs would take all memory.
	maxMade = 2
)

// Server answers over HTTP from the samples of its source. Its methods may be
// called from several goroutines.
type Server struct {
	*endpoint
	source  Source
	page    *page
	history history
	making  chan struct{} // a place for each body of /status that is being made
}

// Listen opens the address that probes, metrics and status are served on, such
// as ":9846"; port 0 takes any free port. A failure names LAYOVER_HTTP_ADDR.
func Listen(addr string) (net.Listener, error) { return listen("LAYOVER_HTTP_ADDR", addr) }

// ListenControl opens the address for operators. A failure names LAYOVER_ADMIN_ADDR.
func ListenControl(addr string) (net.Listener, error) { return listen("LAYOVER_ADMIN_ADDR", addr) }

func listen(variable, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w (choose another host:port; port 0 takes any free port)", variable, addr, err)
	}
	return l, nil
}

// New returns a server that is not listening yet, and registers in reg the
// series that it makes from samples. It panics where they are registered already.
func New(source Source, reg *prometheus.Registry, log *slog.Logger) *Server {
	reg.MustRegister(newCollector(source))
	s := &Server{source: source, page: newPage(), making: make(chan struct{}, maxMade)}
	s.endpoint = newEndpoint(s.routes(reg, errorLog(log)), log)
	return s
}

// routes: a pattern with GET matches HEAD too, and the mux answers any other
// method with 405 and the header Allow.
func (s *Server) routes(reg *prometheus.Registry, errorLog promhttp.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /livez", s.livez)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /startupz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "started") })
	mux.HandleFunc("GET /status", s.status)
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{
		ErrorLog:            errorLog,
		ErrorHandling:       promhttp.ContinueOnError, // one bad series must not blind us to the others
		Registry:            reg,                      // counts such errors
		MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics:   true,
	}))
	return mux
}

func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	if stuck := live(s.source.Sample(), time.Now()); len(stuck) > 0 {
		text(w, http.StatusServiceUnavailable, strings.Join(stuck, "\n"))
		return
	}
	text(w, http.StatusOK, "live")
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	code := http.StatusOK
	r := ready(look(s.source.Sample(), time.Now()))
	if !r.ready {
		code = http.StatusServiceUnavailable
	}
	text(w, code, r.String())
}

// status is JSON, and a page for clients that prefer HTML.
func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	wants, err := wishOf(r)
	if err != nil {
		text(w, http.StatusBadRequest, err.Error())
		return
	}
	select {
	case s.making <- struct{}{}:
	case <-r.Context().Done(): // nobody waits any more
		return
	}
	s.make(wants)(w, r)
}

// make returns an answer that is made already, and has only to be written. However slow
// the client takes it, its place in making is free again.
func (s *Server) make(wants wish) http.HandlerFunc {
	defer func() { <-s.making }()
	v := look(s.source.Sample(), time.Now())
	v.past = s.history.all()
	switch wants.form {
	case formHTML:
		return s.page.serve(v.report().page(), wants.refresh)
	case formContent:
		return s.page.serveContent(v.report().page())
	}
	body, err := statusJSON(v)
	return func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			text(w, http.StatusInternalServerError, err.Error())
			return
		}
		answer(w, http.StatusOK, "application/json", body)
	}
}

func text(w http.ResponseWriter, code int, body string) {
	answer(w, code, "text/plain; charset=utf-8", []byte(body+"\n"))
}

// answer writes the whole response. Its error means a client that has gone, and is
// nobody's. For HEAD the server itself leaves the body out.
func answer(w http.ResponseWriter, code int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = io.Writer(w).Write(body)
}
