package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"layover/integration/engine"
	played "layover/verify/long"
)

// suite is what all tests share. TestMain owns it: it makes it before the first
// test and closes it after the last one.
type suite struct {
	engine func() (engineCLI, error)
	image  func() (string, error) // made by the Dockerfile
	kafka  func() (string, error) // its image

	mu   sync.Mutex
	undo []func() error // what removes what is there, in the order of its making
}

// shared is the one package-level variable: the testing package has no other way
// from TestMain to a test. It is written once, before any test runs.
var shared *suite

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	shared = &suite{}
	shared.engine = sync.OnceValues(findEngine)
	shared.image = sync.OnceValues(buildLayover)
	shared.kafka = sync.OnceValues(findKafka)
	defer shared.close()

	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-interrupted
		shared.close()
		os.Exit(1)
	}()
	return m.Run()
}

// later has something removed when the tests end, however they end: what is left
// in a container engine takes memory until somebody sees it.
func (s *suite) later(undo func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undo = append(s.undo, undo)
}

// close removes everything, the last first. Removing what is gone already is no
// error.
func (s *suite) close() {
	s.mu.Lock()
	undo := s.undo
	s.undo = nil
	s.mu.Unlock()
	for i := len(undo) - 1; i >= 0; i-- {
		if err := undo[i](); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// need returns a part of the suite. It skips the test where this machine cannot
// have the part, and fails the test where the part should work and does not.
func need[T any](t *testing.T, part func() (T, error)) T {
	t.Helper()
	v, err := part()
	var u engine.Unavailable
	switch {
	case errors.As(err, &u):
		t.Skip("skipped: " + string(u))
	case err != nil:
		t.Fatal(err)
	}
	return v
}

// long skips a test that takes more than some seconds, where it is not asked for.
func long(t *testing.T) {
	t.Helper()
	played.Kafka(t)
}

// eventually polls until a condition holds, and fails the test when it does not
// within the time given.
func eventually(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", within, what)
		case <-tick.C:
		}
	}
}
