package daemon

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"layover/admin"
	"layover/config"

	"github.com/prometheus/client_golang/prometheus"
)

// servers are the HTTP servers of the process: one for all, and one for operators where
// LAYOVER_ADMIN_ADDR is set. They are served and shut down once.
type servers struct {
	all     *admin.Server
	control *admin.Control // nil without LAYOVER_ADMIN_ADDR
	log     *slog.Logger

	allOn     net.Listener
	controlOn net.Listener // nil as control is
}

// listen opens the ports. After an error none is open.
func listen(cfg *config.Config, o Options) (*servers, error) {
	s := &servers{log: o.Log}
	over, err := transport(cfg, o.Log)
	if err != nil {
		return nil, err
	}
	if s.allOn, err = open(o.Listen, admin.Listen, cfg.HTTPAddr); err != nil {
		return nil, err
	}
	if cfg.AdminAddr == "" {
		s.allOn = over(s.allOn)
		return s, nil
	}
	if s.controlOn, err = open(o.ListenControl, admin.ListenControl, cfg.AdminAddr); err != nil {
		s.allOn.Close()
		return nil, err
	}
	s.allOn, s.controlOn = over(s.allOn), over(s.controlOn)
	var token func() (string, error)
	if cfg.AdminToken.IsSet() {
		token = cfg.AdminToken.Read
	}
	s.control = admin.NewControl(o.Level, token, o.Log)
	return s, nil
}

func open(given, usual func(addr string) (net.Listener, error), addr string) (net.Listener, error) {
	if given != nil {
		return given(addr)
	}
	return usual(addr)
}

// transport returns the step from a listener of TCP to one of TLS, where it is asked for.
func transport(cfg *config.Config, log *slog.Logger) (func(net.Listener) net.Listener, error) {
	if !cfg.HTTP.TLS.On() {
		return func(l net.Listener) net.Listener { return l }, nil
	}
	certificate, err := admin.NewCertificate(cfg.HTTP.TLS.Load, log)
	if err != nil {
		return nil, err
	}
	return certificate.Over, nil
}

// addresses are those that are listened on; the second may be "".
func (s *servers) addresses() (all, control string) {
	if s.controlOn != nil {
		control = s.controlOn.Addr().String()
	}
	return s.allOn.Addr().String(), control
}

// serve answers requests until shutdown. A server that ends before gives its error to
// the channel, which takes two.
func (s *servers) serve(source admin.Source, reg *prometheus.Registry, ended chan<- error) {
	s.all = admin.New(source, reg, s.log)
	go func() { ended <- s.all.Serve(s.allOn) }() // ended by shutdown
	if s.control != nil {
		go func() { ended <- s.control.Serve(s.controlOn) }() // ended by shutdown
	}
}

// remember keeps looks at the process for the page's lines, until the context ends.
func (s *servers) remember(ctx context.Context, turns *atomic.Int64) {
	s.all.Remember(time.Now())
	every(ctx, admin.HistoryStep, turns, s.all.Remember)
}

// close closes the ports of servers that do not serve yet.
func (s *servers) close() {
	s.allOn.Close()
	if s.controlOn != nil {
		s.controlOn.Close()
	}
}

// shutdown ends both servers until ctx ends. A profile under way is cut off: it may take
// as long as it likes.
func (s *servers) shutdown(ctx context.Context) {
	if s.control != nil {
		now, cancel := context.WithCancel(ctx)
		cancel()
		_ = s.control.Shutdown(now)
	}
	if err := s.all.Shutdown(ctx); err != nil {
		s.log.Debug("http server stopped hard", "err", err)
	}
}
