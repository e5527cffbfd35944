// Package rival has the structures that are compared, all behind one small
// interface: Layover's wheel, and what a Go program would use in its place.
//
// Those that are made for one owner are given a mutex here, and each operation
// locks it once. Nobody else ever holds it: that is the least a program with more
// than one goroutine pays. time.AfterFunc and RussellLuo/timingwheel lock by
// themselves and get no further lock.
//
// Each keeps 64 bits for whoever parked a record. Where a structure takes a
// function instead, these are in its closure, as they would be in a program.
package rival

import (
	"math"
	"time"
)

// Never is the next deadline of an empty structure.
const Never = math.MaxInt64

// Kind is a structure before there is one.
type Kind struct {
	// Name is how tables call it.
	Name string

	// New returns an empty one whose clock is at startMs. It keeps the handles
	// of the records 0 to handles-1 in memory allocated here, so that they are
	// in no figure. With 0 it keeps none, and nothing can be cancelled.
	New func(startMs int64, handles int) Rival

	// Scans is whether it is a hashed wheel. A tick then reads everything in its
	// slot instead of what is due, so that passing through an hour is out of the
	// question.
	Scans bool

	// ByItself is whether it fires by the clock of the machine, in goroutines of
	// its own: it is a RealClock. All others are an Advancer.
	ByItself bool

	// Pointers is whether the garbage collector follows what is parked.
	Pointers bool
}

// The names that the goals speak of.
const (
	Layover    = "layover/wheel"
	RussellLuo = "RussellLuo/timingwheel"
	AfterFunc  = "time.AfterFunc"
	FourAry    = "4-ary heap, no pointers"
)

// Kinds are the structures, in the order of the tables.
func Kinds() []Kind {
	return []Kind{
		{Name: Layover, New: newLayover},
		{Name: FourAry, New: newFourAryHeap},
		{Name: "container/heap", New: newContainerHeap, Pointers: true},
		{Name: "hashed wheel, rounds", New: newHashedWheel, Scans: true, Pointers: true},
		{Name: AfterFunc, New: newAfterFunc, ByItself: true, Pointers: true},
		{Name: RussellLuo, New: newRussellLuo, ByItself: true, Pointers: true},
	}
}

// Rival is a structure that parks records.
type Rival interface {
	// Add parks payload until deadlineMs, in milliseconds on the clock that New
	// was given, and keeps the handle as that of record i.
	Add(i int, deadlineMs int64, payload uint64)

	// Cancel reports whether it kept record i from coming out.
	Cancel(i int) bool

	// Forget drops the handle of record i, which is no longer parked, so that
	// its memory is free.
	Forget(i int)

	// Pick makes the record order[k] the one with number k, for all k: those
	// who cancel read their handles in sequence, whatever they point to.
	Pick(order []int32)
}

// Advancer is a Rival whose clock is moved by hand.
type Advancer interface {
	Rival

	// Advance moves the clock to nowMs and appends what is due to due, at most
	// budget records. With more there is further work at this instant; if not,
	// nextMs is when to call again, or Never.
	Advance(nowMs int64, budget int, due []uint64) (out []uint64, nextMs int64, more bool)
}

// Sizer is a Rival that knows its memory.
type Sizer interface {
	Bytes() int64
}

// RealClock is a Rival that fires by itself, by the clock of the machine.
type RealClock interface {
	Rival

	// After calls f in a goroutine of its own when d has passed.
	After(d time.Duration, f func()) (cancel func() bool)

	// Stop ends the goroutines it has. What is parked need not come out.
	Stop()
}

// handles are what Cancel is to find its record by.
type handles[H any] struct{ kept []H }

func newHandles[H any](n int) handles[H] {
	if n == 0 {
		return handles[H]{}
	}
	return handles[H]{kept: make([]H, n)}
}

func (h *handles[H]) keep(i int, handle H) {
	if h.kept != nil {
		h.kept[i] = handle
	}
}

func (h *handles[H]) Forget(i int) {
	var none H
	h.kept[i] = none
}

func (h *handles[H]) Pick(order []int32) {
	picked := make([]H, len(order))
	for k, i := range order {
		picked[k] = h.kept[i]
	}
	copy(h.kept, picked)
}
