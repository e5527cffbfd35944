package dev

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/admin"
	"layover/cli/process"
	"layover/config"
	"layover/daemon"
)

// dev runs until ctx ends, which is not an error, and returns the exit code.
func dev(ctx context.Context, p *process.Process, f *devFlags) int {
	err := run(ctx, p, f)
	switch {
	case isUserError(err):
		return p.FailUsage(err)
	case err != nil && ctx.Err() == nil:
		return p.Fail(err)
	}
	return process.ExitOK
}

// run takes the folder and the ports. The deferred calls here and in
// onBroker are the order of the shutdown: the client, the broker, the ports,
// the lock. Before them all, stack.run has ended the daemon.
func run(ctx context.Context, p *process.Process, f *devFlags) error {
	began := time.Now()
	if err := errors.Join(f.check(), p.ReadEnvFiles()); err != nil {
		return userError{err}
	}
	h, l, err := reserve(f)
	if err != nil {
		return err
	}
	defer h.Close()
	defer l.Close() // the broker closes it too, once it has it
	environ, ignored := compose(p.Environ, l.Addr().String(), f.ingress...)
	cfg, warnings, err := config.Load(environ)
	if err != nil {
		return userError{err}
	}
	log, level := process.NewLogger(cfg.LogLevel, cfg.LogFormat, p.Stderr)
	for _, warning := range warnings {
		log.Warn("configuration", "warning", warning)
	}
	web, err := admin.Listen(cfg.HTTPAddr)
	if err != nil {
		return err
	}
	defer web.Close() // as does the daemon
	broker, err := startBroker(l, h.brokerDir())
	if err != nil {
		return err
	}
	defer broker.Close()
	scheme := "http://"
	if cfg.HTTP.TLS.On() {
		scheme = "https://"
	}
	printStart(p.Stdout, l.Addr().String(), ingressTopics(f.ingress), h.dir, scheme+web.Addr().String(), ignored, cfg.AddedHeaders)
	version, revision := p.Build()
	return onBroker(ctx, cfg, daemon.Options{
		Log: log, Level: level, Warnings: warnings, Version: version, Revision: revision,
		Listen: func(string) (net.Listener, error) { return web, nil },
	}, &stack{
		out: p.Stdout, began: began, maxDelay: cfg.MaxDelay, log: log, addr: l.Addr().String(), web: web.Addr().String(), tls: cfg.HTTP.TLS.On(),
		ingress: ingressTopics(f.ingress), empty: f.empty, added: cfg.AddedHeaders,
	})
}

// onBroker completes s, whose broker serves already, and runs it.
func onBroker(ctx context.Context, cfg *config.Config, o daemon.Options, s *stack) error {
	var err error
	s.cl, err = kgo.NewClient(kgo.SeedBrokers(s.addr), kgo.ClientID("layover-dev"), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer s.cl.Close()
	if err := prepare(ctx, s.cl, s.ingress); err != nil {
		return err
	}
	if s.daemon, err = daemon.New(cfg, o); err != nil {
		return err
	}
	return s.run(ctx)
}

// reserve takes the data directory and the port, which only one process can
// have. A second dev has neither, and is told of both at once.
func reserve(f *devFlags) (*home, net.Listener, error) {
	dir, err := f.dir()
	if err != nil {
		return nil, nil, err
	}
	h, errHome := openHome(dir)
	if h != nil {
		h.temporary = f.empty
	}
	l, errListen := listen(f.addr)
	if err := errors.Join(errHome, errListen); err != nil {
		if h != nil {
			h.Close()
		}
		if l != nil {
			l.Close()
		}
		return nil, nil, err
	}
	return h, l, nil
}
