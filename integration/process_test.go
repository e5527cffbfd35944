package integration

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one running `layover run`.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	http   string // host:port
	exited chan struct{}
	code   int // valid when exited is closed; -1: killed by a signal

	mu    sync.Mutex
	lines []string // of stderr, the last ones
	keep  int      // how many
}

// maxLines is how much of a log is kept to be printed when the test fails.
const maxLines = 400

// environ returns the environment of a Layover: this process's without any
// setting that it would read, and those given as NAME=value.
func environ(settings ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "LAYOVER_") || strings.HasPrefix(pair, "KAFKA_")
	})
	return append(env, settings...)
}

// launch starts `layover run` and does not wait for anything.
func launch(t *testing.T, settings ...string) *process {
	t.Helper()
	binary := need(t, shared.binary)
	p := &process{t: t, cmd: exec.Command(binary, "run"), exited: make(chan struct{}), keep: maxLines}
	p.cmd.Env = environ(settings...)
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.watch(stderr) // ends with the process
	t.Cleanup(func() {
		if t.Failed() {
			p.tell()
		}
		p.cmd.Process.Kill()
		<-p.exited
	})
	return p
}

// start starts `layover run` and returns when it has said its HTTP address.
func start(t *testing.T, settings ...string) *process {
	t.Helper()
	p := launch(t, settings...)
	eventually(t, 15*time.Second, "the start line with the address", func() bool {
		select {
		case <-p.exited:
			t.Fatalf("ended with %d: %s", p.code, p.log())
		default:
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.http != ""
	})
	return p
}

// tell prints what is known about a process when its test failed.
func (p *process) tell() {
	state := "runs"
	select {
	case <-p.exited:
		state = fmt.Sprintf("ended with %d", p.code)
	default:
		if _, body := p.get("/status"); p.http != "" {
			p.t.Logf("status of process %d:\n%s", p.cmd.Process.Pid, body)
		}
	}
	p.t.Logf("log of process %d, which %s:\n%s", p.cmd.Process.Pid, state, p.log())
}

func (p *process) watch(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.took(lines.Text())
	}
	io.Copy(io.Discard, stderr) // after a line that is too long
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		p.code = exit.ExitCode()
	}
	close(p.exited)
}

func (p *process) took(line string) {
	var entry struct{ Msg, HTTP string }
	isStart := json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "layover starts"
	p.mu.Lock()
	defer p.mu.Unlock()
	if isStart {
		p.http = entry.HTTP
	}
	if len(p.lines) == p.keep {
		p.lines = slices.Delete(p.lines, 20, 21) // the beginning stays
	}
	p.lines = append(p.lines, line)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// wait returns the exit code, and fails the test when the process goes on.
func (p *process) wait(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(within):
		p.t.Fatalf("process %d has not ended within %v", p.cmd.Process.Pid, within)
	}
	return p.code
}

// terminate sends SIGTERM and asserts the exit code 0 within the default of
// LAYOVER_SHUTDOWN_TIMEOUT, with half a second for this machine.
func (p *process) terminate() {
	p.t.Helper()
	began := time.Now()
	p.signal(syscall.SIGTERM)
	if code := p.wait(8*time.Second + 500*time.Millisecond); code != 0 {
		p.t.Errorf("exit code %d after SIGTERM, want 0", code)
	}
	p.t.Logf("process %d: SIGTERM to exit took %v", p.cmd.Process.Pid, time.Since(began).Round(time.Millisecond))
}

// kill is kill -9.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.wait(10 * time.Second)
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// get asks the HTTP server. An error is code 0.
func (p *process) get(path string) (code int, body string) {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get("http://" + p.http + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// status is what the tests look at of /status.
type status struct {
	Parked struct {
		Records int64 `json:"records"`
	} `json:"parked"`
	InFlight   int64 `json:"in_flight"`
	Duplicates struct {
		Total int64 `json:"total"`
	} `json:"duplicates_after_a_kill"`
	Kafka struct {
		Answering bool              `json:"answering"`
		Warnings  map[string]string `json:"warnings"`
	} `json:"kafka"`
	Assignments []struct {
		Loaded bool   `json:"loaded"`
		Set    string `json:"finished_set_in"`
	} `json:"assignments"`
	Journal struct {
		Records   int64 `json:"records_written"`
		Bytes     int64 `json:"bytes_written"`
		Snapshots int64 `json:"snapshots"`
		Deletions int64 `json:"deletions"`
		Live      int64 `json:"live_bytes"`
		Restored  int64 `json:"restored_records"`
		LastMs    int64 `json:"last_restore_ms"`
	} `json:"journal"`
	Runs     runsStatus `json:"runs"`
	Counters struct {
		Delivered   int64 `json:"delivered"`
		Consumed    int64 `json:"consumed"`
		Skipped     int64 `json:"skipped"`
		Jumped      int64 `json:"jumped"`
		Commits     int64 `json:"commits"`
		Unaccounted int64 `json:"unaccounted"`
	} `json:"counters"`
}

// status returns /status, and its zero value where there is no answer.
func (p *process) status() (s status) {
	p.t.Helper()
	code, body := p.get("/status")
	if code != http.StatusOK {
		return status{}
	}
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		p.t.Fatalf("status: %v\n%s", err, body)
	}
	return s
}

// ready waits for /readyz and returns how long that took.
func (p *process) ready(within time.Duration) time.Duration {
	p.t.Helper()
	began := time.Now()
	var body string
	eventually(p.t, within, "ready", func() bool {
		var code int
		code, body = p.get("/readyz")
		return code == http.StatusOK
	})
	if strings.Contains(body, "degraded") {
		p.t.Logf("ready, but: %s", body)
	}
	return time.Since(began)
}

// parks waits until n records are parked.
func (p *process) parks(n int64, within time.Duration) {
	p.t.Helper()
	eventually(p.t, within, fmt.Sprintf("%d records parked", n), func() bool { return p.status().Parked.Records >= n })
}

// buffer takes what goes on in the background prints.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
