package dlq

import (
	"fmt"
	"io"
	"time"
)

// paintEvery is the time between two sights of the meter: as often as a person reads a
// number.
const paintEvery = 250 * time.Millisecond

// eraseLine goes back to the beginning of the terminal's line and clears it.
const eraseLine = "\r\x1b[K"

// meter is a line on a terminal with the progress, painted over itself:
//
//	read 12,345 of 20,000 offsets, written 12,001
//
// The methods of a nil meter do nothing.
type meter struct {
	terminal io.Writer
	painted  time.Time
	visible  bool
}

func newMeter(terminal io.Writer) *meter { return &meter{terminal: terminal} }

// paint shows the text, unless it is too early for that.
func (m *meter) paint(now time.Time, text func() string) {
	if m == nil || now.Sub(m.painted) < paintEvery {
		return
	}
	fmt.Fprint(m.terminal, eraseLine, text())
	m.painted, m.visible = now, true
}

func (m *meter) hide() {
	if m != nil && m.visible {
		io.WriteString(m.terminal, eraseLine)
		m.visible = false
	}
}
