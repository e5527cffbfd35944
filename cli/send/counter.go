package send

import (
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"
)

// paintInterval is the time between two sights of the counter: as often as a
// person reads a number.
const paintInterval = 250 * time.Millisecond

// eraseLine goes back to the beginning of the terminal's line and clears it.
const eraseLine = "\r\x1b[K"

// counter is a line on a terminal with the progress of send, painted over
// itself:
//
//	written 12,345 of 12,345 read, 4,100/s
//
// It belongs to the printer, but for read, which the feeder counts. The methods of a
// nil counter do nothing.
type counter struct {
	terminal io.Writer
	shared   bool // stdout is the same terminal: its lines would join this one
	read     atomic.Int64
	written  int64
	began    time.Time
	ticker   *time.Ticker
	visible  bool

	// recent is the count at the paintings of the last second, oldest first: the
	// shown rate is the present one.
	recent []sight
}

// sight is the count at one painting.
type sight struct {
	at      time.Time
	written int64
}

// maxSights is how many paintings make a second.
const maxSights = int(time.Second / paintInterval)

// newCounter returns a counter that begins now. stop ends it.
func newCounter(terminal io.Writer, shared bool) *counter {
	now := time.Now()
	return &counter{terminal: terminal, shared: shared, began: now, ticker: time.NewTicker(paintInterval), recent: []sight{{at: now}}}
}

// due ticks when it is time to paint; a nil counter's never does.
func (c *counter) due() <-chan time.Time {
	if c == nil {
		return nil
	}
	return c.ticker.C
}

// paintIfDue paints if that is due, and does not wait.
func (c *counter) paintIfDue() {
	select {
	case <-c.due():
		c.paint()
	default:
	}
}

// paint shows the progress.
func (c *counter) paint() {
	now := time.Now()
	oldest := c.recent[0]
	c.recent = append(c.recent, sight{now, c.written})
	if len(c.recent) > maxSights {
		c.recent = c.recent[1:]
	}
	fmt.Fprintf(c.terminal, "%swritten %s of %s read, %s/s", eraseLine, grouped(c.written), grouped(c.read.Load()),
		rate(c.written-oldest.written, now.Sub(oldest.at)))
	c.visible = true
}

// sawRead counts a value from the source.
func (c *counter) sawRead() {
	if c != nil {
		c.read.Add(1)
	}
}

// sawWritten counts a record that the brokers have.
func (c *counter) sawWritten() {
	if c != nil {
		c.written++
	}
}

// stop replaces the counter by a closing line.
func (c *counter) stop() {
	if c == nil {
		return
	}
	c.ticker.Stop()
	c.hide()
	took := time.Since(c.began)
	fmt.Fprintf(c.terminal, "written %s of %s read in %.1f s, %s/s\n", grouped(c.written), grouped(c.read.Load()), took.Seconds(), rate(c.written, took))
}

func (c *counter) hide() {
	if c.visible {
		io.WriteString(c.terminal, eraseLine)
		c.visible = false
	}
}

// above returns a writer to stdout whose lines stand above the counter. On a
// terminal of its own the counter need not get out of the way.
func (c *counter) above(stdout io.Writer) io.Writer {
	if c == nil || !c.shared {
		return stdout
	}
	return &aboveCounter{stdout, c}
}

type aboveCounter struct {
	stdout  io.Writer
	counter *counter
}

func (w *aboveCounter) Write(p []byte) (int, error) {
	w.counter.hide()
	return w.stdout.Write(p)
}

// rate returns n in took as a whole number a second, "0" where no time passed.
func rate(n int64, took time.Duration) string {
	if took <= 0 {
		return "0"
	}
	return grouped(int64(float64(n)/took.Seconds() + 0.5))
}

// grouped returns n with a comma before each three digits: 12,345.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
