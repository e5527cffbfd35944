package integration

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
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
	dir    string // holds the binary
	binary func() (string, error)
	broker func() (*broker, error)

	mu      sync.Mutex
	started []*broker // to be terminated when the tests are interrupted
}

// shared is the one package-level variable: the testing package has no other way
// from TestMain to a test. It is written once, before any test runs.
var shared *suite

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	// The tests terminate what they start, so that no reaper, and no image of one,
	// is needed. The library reads this when it is first called.
	if os.Getenv("TESTCONTAINERS_RYUK_DISABLED") == "" {
		os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
	}
	dir, err := os.MkdirTemp("", "layover-integration-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	shared = &suite{dir: dir}
	shared.binary = sync.OnceValues(func() (string, error) { return build(dir) })
	shared.broker = sync.OnceValues(func() (*broker, error) { return startBroker(shared) })
	defer shared.close()
	if _, err := engine.Find(); err != nil { // without brokers the tests wait for processes and clocks
		flag.Set("test.parallel", "16") // a flag that is given wins: it is parsed later
	}

	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the process
		<-interrupted
		shared.close()
		os.Exit(1)
	}()
	return m.Run()
}

// close terminates every broker that still runs.
func (s *suite) close() {
	s.mu.Lock()
	started := s.started
	s.started = nil
	s.mu.Unlock()
	for _, b := range started {
		if err := b.terminate(); err != nil {
			fmt.Fprintf(os.Stderr, "broker at %s: %v\n", b.addr, err)
		}
	}
	os.RemoveAll(s.dir)
}

// build compiles the program as it stands in the parent folder.
func build(dir string) (string, error) {
	if runtime.GOOS == "windows" {
		return "", engine.Unavailable("Windows has no SIGTERM to stop a process with")
	}
	binary := filepath.Join(dir, "layover")
	cmd := exec.Command("go", "build", "-o", binary, ".")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
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
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("not within %v: %s", within, what)
		case <-tick.C:
		}
	}
}
