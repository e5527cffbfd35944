//go:build !race

package facts

import (
	"runtime"
	"testing"

	"layover/offsets"
	"layover/verify/long"
)

// TestTenMillionOffsetsTakeAtMostTwoBitsEach: the bits are for all that a partition
// needs to know of ten million offsets between low offset and head. The offsets finish
// in no order. Journal records that are not answered count, too. The bound is held by
// the account of the runtime too. There is one goroutine, for which the race detector
// would take half a minute.
func TestTenMillionOffsetsTakeAtMostTwoBitsEach(t *testing.T) {
	long.Only(t)
	const (
		n        = 10_000_000
		limit    = n * 2 / 8
		second   = 20_000 // finish between two commits
		heapEach = 25     // commits
		nothing  = n / 100
	)
	empty := heap()
	b := newBed(offsets.NewWindow(0))
	var counted, lives int64
	commits, done := 0, 0
	b.before = func() {
		counted = max(counted, b.w.Bytes()+b.l.Bytes())
		if commits++; commits%heapEach == 0 {
			lives = max(lives, heap()-empty)
		}
	}
	shuffled(n, func(o int64) {
		if o == 0 {
			return // holds the low offset
		}
		b.finish(o)
		if done++; done%second == 0 {
			b.commit()
		}
		if done == n/2 && b.l.Status().Mode != InJournal {
			t.Errorf("half of it is finished, mode %v", b.l.Status().Mode)
		}
	})
	if b.w.Low() != 0 || b.w.Above() != n-1 {
		t.Fatalf("low %d, %d above", b.w.Low(), b.w.Above())
	}
	t.Logf("at most %d bytes as counted and %d as the runtime has it: %.2f and %.2f bits an offset, in %d commits",
		counted, lives, float64(counted)*8/n, float64(lives)*8/n, commits)
	if counted > limit || lives > limit {
		t.Errorf("at most %d bytes as counted, %d as the runtime has it: want %d", counted, lives, limit)
	}
	if lives < n/8 {
		t.Errorf("the runtime has %d bytes for %d offsets: something was not looked at", lives, n)
	}
	b.finish(0)
	b.settle()
	if left := heap() - empty; left > nothing*2 {
		t.Errorf("all is finished, and the runtime has %d bytes", left)
	}
	// What is left is the room of the table of pages.
	if got := b.w.Bytes() + b.l.Bytes(); b.w.Low() != n || got > nothing {
		t.Errorf("all below %d is finished and takes %d bytes", b.w.Low(), got)
	}
	runtime.KeepAlive(b)
}
