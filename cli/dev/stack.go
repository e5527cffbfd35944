package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/health"
	"layover/daemon"
	"layover/delay"
)

const (
	// startTimeout bounds every step of the start. After a kill the group
	// waits for the former member, a session timeout of 10 s by default.
	startTimeout = 30 * time.Second
	readyEvery   = 20 * time.Millisecond
	// patience is how long the samples are waited for before the commands are
	// printed without them.
	patience = 15 * time.Second
)

// stack is the daemon and the reader of its output, on the broker.
type stack struct {
	out    io.Writer // written by run's goroutine alone
	log    *slog.Logger
	addr   string // of the broker
	web    string // where the daemon serves HTTP
	tls    bool   // over TLS
	empty  bool   // no samples
	cl     *kgo.Client
	daemon *daemon.Daemon

	ingress  []string      // delayed, and those of --ingress
	began    time.Time     // before the broker served
	maxDelay time.Duration // LAYOVER_MAX_DELAY
	added    delay.Added   // LAYOVER_ADDED_HEADERS
	missed   missed        // run's goroutine alone
}

// run runs the daemon and prints delivered records, until ctx ends or the daemon
// fails. When it returns, both have ended.
func (s *stack) run(ctx context.Context) error {
	serving, stopServing := context.WithCancel(ctx)
	var daemonErr error
	ended := make(chan struct{})
	go func() { // ended by stopServing, or by itself
		defer close(ended)
		daemonErr = s.daemon.Run(serving)
	}()
	reading, stopReading := context.WithCancel(context.Background())
	arrivals := make(chan arrival, 64) // a screenful: the rest waits in the broker
	w := watcher{cl: s.cl, began: s.began, maxDelay: s.maxDelay, log: s.log, ingress: s.ingress}
	go w.watch(reading, arrivals) // ended by stopReading

	failed := s.serve(ctx, ended, arrivals)
	stopServing()
	<-ended
	stopReading()
	for a := range arrivals {
		s.show(a)
	}
	s.missed.print(s.out)
	if daemonErr != nil {
		return daemonErr
	}
	return failed
}

// serve parks the samples once the daemon is ready, so that its start makes none
// late, and prints delivered records.
func (s *stack) serve(ctx context.Context, ended <-chan struct{}, arrivals <-chan arrival) error {
	if err := s.awaitReady(ctx, ended); err != nil {
		return err
	}
	waiting, err := s.begin(ctx)
	if err != nil {
		return err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	quiet := time.NewTicker(missedQuiet)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
			return nil
		case <-timer.C:
			if len(waiting) > 0 {
				fmt.Fprintf(s.out, "\n%d of the samples are not out yet: the log on stderr may say why.\n", len(waiting))
				clear(waiting)
				printNext(s.out, s.addr, command(os.Args[0]))
			}
		case <-quiet.C:
			s.missed.print(s.out)
		case a := <-arrivals:
			if s.show(a) {
				quiet.Reset(missedQuiet)
			}
			if waiting[a.id] {
				delete(waiting, a.id)
				if len(waiting) == 0 {
					printNext(s.out, s.addr, command(os.Args[0]))
				}
			}
		}
	}
}

// begin sends the samples, and returns their ids. The commands are printed at once where
// there are no samples, or where no record says by its id that it is one.
func (s *stack) begin(ctx context.Context) (waiting map[string]bool, err error) {
	if s.empty {
		printNext(s.out, s.addr, command(os.Args[0]))
		return nil, nil
	}
	if waiting, err = park(ctx, s.cl); err != nil {
		return nil, err
	}
	lateness := ""
	if s.added.Has(delay.AddDue) {
		lateness = ", with the time from due to read"
	}
	fmt.Fprintf(s.out, "\nParked %d records in %s, due in 1 to %d s. Out of %s%s:\n\n", samples, ingressTopic, samples, egressTopic, lateness)
	if !s.added.Has(delay.AddID) {
		printNext(s.out, s.addr, command(os.Args[0]))
		return nil, nil
	}
	return waiting, nil
}

// show prints an arrival, or counts it as missed, which it reports.
func (s *stack) show(a arrival) (missed bool) {
	if a.missed {
		s.missed.add(a.due)
		return true
	}
	a.print(s.out)
	return false
}

// awaitReady waits until the daemon has its partitions, as its probe says.
func (s *stack) awaitReady(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	probe, err := health.ProbeURL(s.web, "/readyz", s.tls)
	if err != nil {
		return err
	}
	tick := time.NewTicker(readyEvery)
	defer tick.Stop()
	for {
		notReady := health.Ask(ctx, probe, io.Discard)
		if notReady == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ended:
			return errors.New("layover ended while it started")
		case <-ctx.Done():
			return fmt.Errorf("layover is not ready: %w", notReady)
		}
	}
}
