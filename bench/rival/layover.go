package rival

import (
	"sync"

	"layover/wheel"
)

// layover is Layover's wheel in the geometry the daemon uses.
type layover struct {
	mu sync.Mutex
	handles[wheel.Handle]
	w *wheel.TimingWheel
}

func newLayover(startMs int64, n int) Rival {
	return &layover{
		handles: newHandles[wheel.Handle](n),
		w:       wheel.New(startMs, wheel.DefaultGeometry()),
	}
}

func (l *layover) Add(i int, deadlineMs int64, payload uint64) {
	l.mu.Lock()
	handle := l.w.Add(deadlineMs, payload)
	l.mu.Unlock()
	l.keep(i, handle)
}

func (l *layover) Cancel(i int) bool {
	l.mu.Lock()
	cancelled := l.w.Cancel(l.kept[i])
	l.mu.Unlock()
	return cancelled
}

func (l *layover) Advance(nowMs int64, budget int, due []uint64) (out []uint64, nextMs int64, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	due, more = l.w.AdvanceClock(nowMs, budget, due)
	nextMs, ok := l.w.NextDeadline()
	if !ok {
		nextMs = Never
	}
	return due, nextMs, more
}

func (l *layover) Bytes() int64 { return l.w.Bytes() }
