package send

import (
	"bufio"
	"bytes"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/cli/clitest"
	"layover/cli/kafka"
	"layover/cli/process"
	"layover/config"
)

// screen is what a terminal shows after what was written to it: its lines, the
// last of which the counter may have painted over.
func screen(written string) []string {
	lines := strings.Split(written, "\n")
	for i, line := range lines {
		if at := strings.LastIndex(line, "\r\x1b[K"); at >= 0 {
			lines[i] = line[at+len("\r\x1b[K"):]
		}
	}
	return lines
}

// terminal remembers its output. Its lock is for the race detector,
// which does not know that in a bubble the printer stands while the test reads.
type terminal struct {
	mu      sync.Mutex
	written bytes.Buffer
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written.Write(p)
}

func (t *terminal) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written.String()
}

// printing runs the printer of a sender without a broker. Records are fed as if
// brokers had taken them, and the terminal is read between times.
type printing struct {
	*sender
	stdout   bytes.Buffer
	terminal terminal
	failure  chan error
}

func startPrinting(stdoutToo bool) *printing {
	delay := time.Second
	via, err := kafka.Connect(config.Kafka{Brokers: []string{"none:1"}}, "test")
	if err != nil {
		panic(err)
	}
	p := &printing{sender: newSender(&options{lines: true, delay: &delay}, &connection{kafka: via}), failure: make(chan error, 1)}
	p.counter = newCounter(&p.terminal, stdoutToo)
	p.out = bufio.NewWriter(p.counter.above(&p.stdout))
	if stdoutToo {
		p.out = bufio.NewWriter(p.counter.above(&p.terminal))
	}
	go func() { p.failure <- p.print() }() // ended by closing sent
	return p
}

// feed sends n records that are there already.
func (p *printing) feed(n int) {
	for range n {
		p.counter.sawRead()
		done := make(chan error, 1)
		done <- nil
		p.sent <- &sentRecord{record: &kgo.Record{Topic: "delayed", Timestamp: time.Now()}, done: done}
	}
}

func (p *printing) end(t *testing.T) {
	close(p.sent)
	if err := <-p.failure; err != nil {
		t.Error(err)
	}
	p.out.Flush()
	p.counter.stop()
}

func TestTheCounterShowsHowFarItIsFourTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPrinting(false)
		p.feed(1000)
		synctest.Wait()
		if p.terminal.String() != "" {
			t.Errorf("painted at once: %q", p.terminal.String())
		}
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		if got := p.terminal.String(); got != "\r\x1b[Kwritten 1,000 of 1,000 read, 4,000/s" {
			t.Errorf("after a quarter of a second: %q", got)
		}
		p.counter.sawRead() // read, and not written yet
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		if got := screen(p.terminal.String()); len(got) != 1 || got[0] != "written 1,000 of 1,001 read, 2,000/s" {
			t.Errorf("after half a second: %q", got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := screen(p.terminal.String()); len(got) != 1 || got[0] != "written 1,000 of 1,001 read, 0/s" {
			t.Errorf("after a pause: %q", got)
		}
		if n := strings.Count(p.terminal.String(), "\r"); n != 42 {
			t.Errorf("painted %d times in 10.5 s, want 42", n)
		}
		p.feed(2500)
		synctest.Wait()
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		if got := screen(p.terminal.String()); got[0] != "written 3,500 of 3,501 read, 2,500/s" {
			t.Errorf("after another 2,500, over the last second: %q", got)
		}
		p.end(t)
		if got := screen(p.terminal.String()); len(got) != 2 || got[0] != "written 3,500 of 3,501 read in 10.8 s, 326/s" || got[1] != "" {
			t.Errorf("at the end: %q", got)
		}
		if n := strings.Count(p.stdout.String(), "\n"); n != 3500 || strings.Contains(p.stdout.String(), "written") {
			t.Errorf("%d lines on stdout", n)
		}
	})
}

// A record that does not come through is waited for, and so is the next line: the
// counter goes on meanwhile.
func TestTheCounterGoesOnWhileAnAnswerIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPrinting(false)
		p.counter.sawRead()
		p.sent <- &sentRecord{line: 1, record: &kgo.Record{}, done: make(chan error)}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := screen(p.terminal.String()); got[0] != "written 0 of 1 read, 0/s" || strings.Count(p.terminal.String(), "\r") != 4 {
			t.Errorf("got %q", got)
		}
		if err := <-p.failure; err == nil || !strings.Contains(err.Error(), "line 1: no answer for 8s") {
			t.Errorf("got %v", err)
		}
		p.counter.stop()
	})
}

func TestPrintedLinesStandAboveTheCounterOnTheSameTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := startPrinting(true)
		p.feed(1)
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		if got := screen(p.terminal.String()); len(got) != 2 || !strings.HasPrefix(got[0], "delayed-0-0 due ") || got[1] != "written 1 of 1 read, 4/s" {
			t.Errorf("got %q", got)
		}
		p.feed(2)
		synctest.Wait()
		p.end(t)
		got := screen(p.terminal.String())
		if len(got) != 5 || !strings.HasPrefix(got[1], "delayed-") || !strings.HasPrefix(got[2], "delayed-") || got[3] != "written 3 of 3 read in 0.2 s, 12/s" {
			t.Errorf("got %q", got)
		}
	})
}

func TestNumbersAreGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	if got := rate(5, 0); got != "0" {
		t.Errorf("in no time: %s", got)
	}
}

var closingLine = regexp.MustCompile(`^written (\d+) of (\d+) read in \d+\.\d s, [\d,]+/s$`)

func TestOnlyLinesOnATerminalAreCounted(t *testing.T) {
	_, environ := startKafka(t, 1)
	lines := func(args ...string) clitest.Call {
		return clitest.Call{Environ: environ, Args: append([]string{"--delay", "1h"}, args...), Stdin: strings.NewReader("a\nb\nc\n"), OnATerminal: true}
	}
	got := lines("-").Do(t, Command)
	last := screen(strings.TrimSuffix(got.Stderr, "\n"))
	if m := closingLine.FindStringSubmatch(last[len(last)-1]); got.Code != process.ExitOK || m == nil || m[1] != "3" || m[2] != "3" {
		t.Errorf("got %+v", got)
	}
	if ids, _ := parsePrinted(t, got.Stdout); len(ids) != 3 {
		t.Errorf("printed %q", ids)
	}
	if got := lines("v").Do(t, Command); got.Code != process.ExitOK || got.Stderr != "" {
		t.Errorf("a single record is counted: %+v", got)
	}
	away := lines("-")
	away.OnATerminal = false
	if got := away.Do(t, Command); got.Code != process.ExitOK || got.Stderr != "" {
		t.Errorf("nobody watches: %+v", got)
	}
	var stdout, stderr bytes.Buffer
	code := clitest.Run(t.Context(), &process.Process{Args: away.Args, Environ: environ, Stdin: strings.NewReader("a\n"), Stdout: &stdout, Stderr: &stderr,
		StdinIsTerminal: true, StdoutIsTerminal: true, StderrIsTerminal: true}, Command)
	if code != process.ExitOK || stderr.Len() > 0 {
		t.Errorf("what is typed is painted over: %q", &stderr)
	}
}

func TestTheClosingLineStandsBeforeAnError(t *testing.T) {
	_, environ := startKafka(t, 1)
	in := &failing{text: strings.NewReader("a\nb\n")}
	got := clitest.Call{Environ: environ, Args: []string{"--delay", "1h", "-"}, Stdin: in, OnATerminal: true}.Do(t, Command)
	lines := screen(strings.TrimSuffix(got.Stderr, "\n"))
	if got.Code != process.ExitRuntime || len(lines) != 2 || !closingLine.MatchString(lines[0]) || !strings.Contains(lines[1], "line 3: stdin: it broke") {
		t.Errorf("got %+v", got)
	}
}

// failing is a source that breaks where its text ends.
type failing struct{ text *strings.Reader }

func (f *failing) Read(p []byte) (int, error) {
	if f.text.Len() == 0 {
		return 0, errors.New("it broke")
	}
	return f.text.Read(p)
}
