package admin

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Bounds on the cost of one client. A profile gets its own length on top of the last.
const (
	readHeaderTimeout = 5 * time.Second // the handshake of TLS as well
	readTimeout       = 10 * time.Second
	idleTimeout       = 2 * time.Minute // above the usual scrape interval of a minute
	maxHeaderBytes    = 16 << 10
	writeTimeout      = 30 * time.Second
)

// endpoint is an HTTP server within bounds.
type endpoint struct {
	http *http.Server
	log  *slog.Logger
}

func newEndpoint(handler http.Handler, log *slog.Logger) *endpoint {
	return &endpoint{log: log, http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          errorLog(log),
	}}
}

// Serve answers requests on l until Shutdown, and closes l. It returns nil after
// Shutdown was called, which may be before the last request has its answer.
func (e *endpoint) Serve(l net.Listener) error {
	if err := e.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("HTTP server on %s: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown stops listening and waits for the requests that are under way. When
// ctx ends first it cuts them off, and returns the context's error.
func (e *endpoint) Shutdown(ctx context.Context) error {
	err := e.http.Shutdown(ctx)
	if err == nil {
		return nil
	}
	if closeErr := e.http.Close(); closeErr != nil {
		e.log.Debug("http connections not closed", "err", closeErr)
	}
	return fmt.Errorf("stop of the HTTP server: %w", err)
}

// errorLog takes the errors of an HTTP server as warnings. A failed handshake is none:
// scanners and plain probes make one with every connection.
func errorLog(l *slog.Logger) *log.Logger {
	return log.New(serverErrors{l}, "", 0)
}

type serverErrors struct{ log *slog.Logger }

func (e serverErrors) Write(line []byte) (int, error) {
	level, text := slog.LevelWarn, strings.TrimSpace(string(line))
	if strings.Contains(text, "TLS handshake error") {
		level = slog.LevelDebug
	}
	e.log.Log(context.Background(), level, text)
	return len(line), nil
}
