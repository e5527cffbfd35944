package dev

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"layover/cli/clitest"
	"layover/cli/process"
	"layover/cli/send"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// anyPorts lets a test run beside others and beside a real dev.
var anyPorts = []string{"LAYOVER_HTTP_ADDR=127.0.0.1:0", "LAYOVER_SHUTDOWN_TIMEOUT=5s"}

// running is a dev whose output is read line by line.
type running struct {
	t      *testing.T
	lines  *bufio.Scanner
	stop   context.CancelFunc
	code   chan int
	stderr *bytes.Buffer // of a dev that has ended
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	return startWith(t, nil, args...)
}

// startWith starts dev with settings.
func startWith(t *testing.T, settings []string, args ...string) *running {
	t.Helper()
	out, stdout := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	d := &running{t, bufio.NewScanner(out), cancel, make(chan int, 1), new(bytes.Buffer)}
	go func() { // ended by stop
		d.code <- clitest.Run(ctx, &process.Process{Args: args, Environ: slices.Concat(anyPorts, settings), Stdout: stdout, Stderr: d.stderr}, Command)
		stdout.Close()
	}()
	t.Cleanup(cancel)
	return d
}

// until reads on to the line that matches, and returns its groups.
func (d *running) until(pattern string) []string {
	d.t.Helper()
	want := regexp.MustCompile(pattern)
	for d.lines.Scan() {
		if m := want.FindStringSubmatch(d.lines.Text()); m != nil {
			return m
		}
	}
	d.t.Fatalf("no line %q; code %d, stderr %q", pattern, <-d.code, d.stderr)
	return nil
}

// end stops dev, expects that it ends well, and returns the rest of its output.
func (d *running) end() string {
	d.t.Helper()
	d.stop()
	var rest strings.Builder
	for d.lines.Scan() {
		rest.WriteString(d.lines.Text() + "\n")
	}
	if code := <-d.code; code != process.ExitOK || d.stderr.Len() > 0 {
		d.t.Errorf("ended with code %d, stderr %q", code, d.stderr)
	}
	return rest.String()
}

func TestDevFromStartToEnd(t *testing.T) {
	dir := t.TempDir()
	d := start(t, "--addr", "127.0.0.1:0", "--data-dir", dir)
	d.until("not for production")
	addr := d.until(`broker  (127\.0\.0\.1:\d+), topics delayed, ready and dead-letters`)[1]
	d.until("Parked 5 records")
	for i := range 5 {
		m := d.until(`^  (delayed-\d-\d+)  due [\d:.]{12}  lateness (\d+) ms  "sample (\d)`)
		lateness, err := strconv.Atoi(m[2])
		// The bound only tells late from lost: a busy machine may be slow.
		if err != nil || lateness > 10_000 || m[3] != strconv.Itoa(i+1) {
			t.Errorf("got %q as the sample %d", m[0], i+1)
		}
	}
	d.until(`kcat -P -b ` + addr + ` -t delayed -H x-delay=10s$`)
	d.until(`kcat -C .*-b ` + addr + ` -t ready `)
	line := d.until(` send (--brokers ` + addr + ` --topic delayed --delay 10s hello)$`)[1]
	d.until("Ctrl-C")

	line = strings.Replace(line, "10s", "50ms", 1)
	var id bytes.Buffer
	if code := clitest.Run(t.Context(), &process.Process{Args: strings.Fields(line), Stdout: &id, Stderr: &id}, send.Command); code != process.ExitOK {
		t.Fatalf("send: code %d, %s", code, &id)
	}
	d.until(`^  ` + strings.Fields(id.String())[0] + `  due .* lateness \d+ ms  "hello"$`)
	if rest := d.end(); strings.TrimSpace(rest) != "" {
		t.Errorf("more came out: %q", rest)
	}

	// Again on the same data: delivered records do not come again.
	again := start(t, "--addr", addr, "--data-dir", dir)
	again.until("Parked 5 records")
	again.until(`"sample 1`)
	if rest := again.end(); strings.Contains(rest, "hello") {
		t.Errorf("came out again: %q", rest)
	}
}

func TestWhatIsTakenIsNamed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	takenAddr := taken.Addr().String()
	takenDir := t.TempDir()
	h, err := openHome(takenDir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()

	tests := map[string]struct {
		addr, dir, http string
		stderr          []string
	}{
		"port":               {takenAddr, t.TempDir(), "127.0.0.1:0", []string{"--addr", takenAddr}},
		"data directory":     {"127.0.0.1:0", takenDir, "127.0.0.1:0", []string{"--data-dir", takenDir}},
		"both":               {takenAddr, takenDir, "127.0.0.1:0", []string{"--addr", "--data-dir"}},
		"http port":          {"127.0.0.1:0", t.TempDir(), takenAddr, []string{"LAYOVER_HTTP_ADDR", takenAddr}},
		"an address of none": {"192.0.2.1:0", t.TempDir(), "127.0.0.1:0", []string{"--addr"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			code := clitest.Run(t.Context(), &process.Process{
				Args:    []string{"--addr", test.addr, "--data-dir", test.dir},
				Environ: []string{"LAYOVER_HTTP_ADDR=" + test.http}, Stdout: io.Discard, Stderr: &stderr,
			}, Command)
			if code != process.ExitRuntime {
				t.Errorf("code %d", code)
			}
			for _, word := range test.stderr {
				if !strings.Contains(stderr.String(), word) {
					t.Errorf("stderr %q lacks %q", &stderr, word)
				}
			}
		})
	}
}

func TestTheDataDirectoryIsFreeAgain(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		h, err := openHome(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openHome(dir); err == nil {
			t.Error("locked twice")
		}
		h.Close()
	}
}

func TestWrongUsageOfDev(t *testing.T) {
	tests := map[string]struct{ args, environ []string }{
		"unknown flag":  {args: []string{"--port", "9092"}},
		"an operand":    {args: []string{"now"}},
		"no port":       {args: []string{"--addr", "127.0.0.1"}},
		"a large port":  {args: []string{"--addr", "127.0.0.1:65536"}},
		"no topic":      {args: []string{"--ingress", "a/b"}},
		"a target":      {args: []string{"--ingress", "ready"}},
		"a topic twice": {args: []string{"--ingress", "retry", "--ingress", "retry"}},
		"two folders":   {args: []string{"--empty"}},
		"a bad setting": {args: []string{"--addr", "127.0.0.1:0"}, environ: []string{"LAYOVER_LANES=0"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			code := clitest.Run(t.Context(), &process.Process{
				Args: append(test.args, "--data-dir", t.TempDir()), Environ: test.environ,
				Stdout: io.Discard, Stderr: &stderr,
			}, Command)
			if code != process.ExitUsage || stderr.Len() == 0 {
				t.Errorf("code %d, stderr %q", code, &stderr)
			}
		})
	}
}
