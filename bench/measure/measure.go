// Package measure takes the figures of one structure, one kind of delays and
// one size, in a process that does nothing else.
//
// There are three parts, each for a process of its own, because a structure
// that has once been full is not what it was. Its memory is there already, and
// the runtime's heap of timers never shrinks.
//
//	hold     park n into an empty structure, then look at what that takes
//	churn    with n parked, let a quarter go and park another: warm memory;
//	         then cancel
//	expire   with n parked, pass through all deadlines
//
// Random data comes from seeded generators and is made before a measurement
// begins. It is in no figure of memory.
package measure

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"layover/bench/rival"
)

// Spec says what to measure.
type Spec struct {
	Rival   string
	Delays  string
	Pending int
	Part    string

	// Run seeds the random data: each run has other data, and in each run all
	// structures have the same.
	Run int

	// Again is that the first attempt failed. It gives the machine more time.
	Again bool
}

func (s Spec) String() string {
	return fmt.Sprintf("%s, %s, %d pending, %s", s.Rival, s.Delays, s.Pending, s.Part)
}

// The parts.
const (
	Hold   = "hold"
	Churn  = "churn"
	Expire = "expire"
)

// Parts are all of them.
func Parts() []string { return []string{Hold, Churn, Expire} }

// Figure names what was measured. Those of time are nanoseconds of CPU for each
// record, spent by the thread that uses the structure. The work of a structure
// on goroutines of its own is not included; see Wall, All and Allocs.
type Figure string

// The figures. A structure that cannot be measured in one way lacks the figure.
const (
	Fresh        Figure = "insert, fresh memory"
	Warm         Figure = "insert, warm memory"
	Cancel       Figure = "cancel"
	CancelRest   Figure = "cancel, the rest"
	CancelAtOnce Figure = "insert and cancel at once"
	Expiry       Figure = "expire"

	LiveBytes  Figure = "live bytes"               // a record, by the Go heap
	OwnBytes   Figure = "own bytes"                // a record, by the structure's own account
	Collection Figure = "collection"               // CPU ms of marking and pauses
	Sweeping   Figure = "collection with sweeping" // CPU ms, all that the process spends
	Early      Figure = "early"                    // records
	EarlyOf    Figure = "looked at"                // records, to see whether they were early
	P999       Figure = "advance p99.9"            // µs
	Longest    Figure = "advance max"              // µs
	LongestCPU Figure = "advance max, CPU"         // µs

	JumpRate   Figure = "jump, records a second"
	JumpBefore Figure = "jump, bytes before"
	JumpMost   Figure = "jump, bytes at most"
	JumpAfter  Figure = "jump, bytes after"
)

// Same is the same figure of a jump for records that are due in one millisecond.
func (f Figure) Same() Figure { return f + ", one ms" }

// Wall is the same figure by the clock on the wall.
func (f Figure) Wall() Figure { return f + ", wall" }

// All is the same figure by the CPU time of the whole process, its garbage
// collector included.
func (f Figure) All() Figure { return f + ", whole process" }

// Allocs is how many allocations a record took.
func (f Figure) Allocs() Figure { return f + ", allocations" }

// Result has what was measured.
type Result map[Figure]float64

// startMs is the clock of a structure when it is made. It is an instant of our
// time, because a structure may keep only a part of it.
const startMs = 1_767_225_600_000

// settleMs is by how much all delays are longer in a structure that fires by
// itself. So nothing fires while parking and cancelling are measured.
const settleMs = 120_000

// bench is one measurement under way.
type bench struct {
	kind   rival.Kind
	delays Delays
	n      int
	again  bool
	random *rand.Rand
	result Result
}

// Run measures. An error means that the structure did not do what it should, or
// that the machine was too slow for the figure to mean anything.
func Run(s Spec) (Result, error) {
	kinds, delays := rival.Kinds(), AllDelays()
	kind := slices.IndexFunc(kinds, func(k rival.Kind) bool { return k.Name == s.Rival })
	delay := slices.IndexFunc(delays, func(d Delays) bool { return d.Name == s.Delays })
	if kind < 0 || delay < 0 || s.Pending < 1 {
		return nil, fmt.Errorf("measure: no such thing: %+v", s)
	}
	// The thread's CPU time is the caller's only if nothing else runs on it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := &bench{
		kind:   kinds[kind],
		delays: delays[delay],
		n:      s.Pending,
		again:  s.Again,
		random: rand.New(rand.NewPCG(uint64(s.Run), uint64(s.Pending))),
		result: Result{},
	}
	switch s.Part {
	case Hold:
		return b.result, b.hold()
	case Churn:
		return b.result, b.churn()
	case Expire:
		return b.result, b.expire()
	}
	return nil, fmt.Errorf("measure: no part %q", s.Part)
}

// empty returns a new structure with room for the handles of so many records.
func (b *bench) empty(handles int) rival.Rival {
	if b.kind.ByItself {
		return b.kind.New(startMs-settleMs, handles) // delays count from there
	}
	return b.kind.New(startMs, handles)
}

// payload is the deadline itself. So a record that comes out says whether it
// is early, without a look at memory that a program would not have.
func payload(deadlineMs int64) uint64 { return uint64(deadlineMs) }
