package rival

import "time"

// afterFunc is the runtime's own heap of timers, one for each P.
type afterFunc struct {
	handles[*time.Timer]
	startMs int64
}

func newAfterFunc(startMs int64, n int) Rival {
	return &afterFunc{handles: newHandles[*time.Timer](n), startMs: startMs}
}

// Add counts the delay from the clock New was given, and not from now: that
// clock does not move.
func (a *afterFunc) Add(i int, deadlineMs int64, payload uint64) {
	delay := time.Duration(deadlineMs-a.startMs) * time.Millisecond
	a.keep(i, time.AfterFunc(delay, func() { ignore(payload) }))
}

func (a *afterFunc) Cancel(i int) bool { return a.kept[i].Stop() }

func (a *afterFunc) After(d time.Duration, f func()) (cancel func() bool) {
	return time.AfterFunc(d, f).Stop
}

func (a *afterFunc) Stop() {}

// ignore is what a program does with a payload that has come out. It is a call,
// so that the closure has to hold the payload.
//
//go:noinline
func ignore(uint64) {}
