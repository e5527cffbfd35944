package wheel

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestAGeometryThatCannotBeIsToldWhatIsWrong(t *testing.T) {
	good := Geometry{TickMs: 1, Slots: 16, Factor: 4, Levels: 3}
	for name, test := range map[string]struct {
		change func(g *Geometry)
		words  string // "" where it can be
	}{
		"as it is":                     {func(*Geometry) {}, ""},
		"the usual one":                {func(g *Geometry) { *g = DefaultGeometry() }, ""},
		"no tick":                      {func(g *Geometry) { g.TickMs = 0 }, "tick 0 ms: want at least 1"},
		"a negative tick":              {func(g *Geometry) { g.TickMs = -5 }, "tick -5 ms: want at least 1"},
		"one slot":                     {func(g *Geometry) { g.Slots = 1 }, "1 slots: want a power of two"},
		"no power of two":              {func(g *Geometry) { g.Slots = 12 }, "12 slots: want a power of two"},
		"as many slots as there may":   {func(g *Geometry) { g.Slots, g.Factor = maxSlots, 256 }, ""},
		"more than that":               {func(g *Geometry) { g.Slots, g.Factor = 2*maxSlots, 512 }, "131072 slots: want a power of two from 2 to 65536"},
		"no factor":                    {func(g *Geometry) { g.Factor = 1 }, "factor 1: want a power of two"},
		"a factor of three":            {func(g *Geometry) { g.Factor = 3 }, "factor 3: want a power of two"},
		"a factor of all slots":        {func(g *Geometry) { g.Factor = 16 }, ""},
		"more than the slots":          {func(g *Geometry) { g.Factor = 32 }, "factor 32: want a power of two from 2 to the 16 slots"},
		"no level":                     {func(g *Geometry) { g.Levels = 0 }, "0 levels: want at least 1"},
		"one level":                    {func(g *Geometry) { g.Levels = 1 }, ""},
		"a level past the one above":   {func(g *Geometry) { g.Slots = 32 }, "32 slots of factor 4: a level would reach past the one above, want at most 16"},
		"that, where there is none":    {func(g *Geometry) { g.Slots, g.Levels = 32, 2 }, ""},
		"as many levels as there may":  {func(g *Geometry) { g.Levels = 1 + maxShift/2 }, ""},
		"a bucket wider than all time": {func(g *Geometry) { g.Levels = 2 + maxShift/2 }, "33 levels of factor 4: a bucket of the top level would span 2^64 ticks"},
		"levels without end":           {func(g *Geometry) { g.Levels = math.MaxInt }, "want at most 2^62"},
	} {
		g := good
		test.change(&g)
		err := g.validate()
		if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v, want %q in it", name, err, test.words)
		}
	}
}

func TestTicksBeyondTheEndsOfTimeAreThere(t *testing.T) {
	w := New(0, Geometry{TickMs: 10, Slots: 4, Factor: 4, Levels: 2})
	const limit = math.MaxInt64 / 10
	for tick, want := range map[int64]int64{
		0: 0, 7: 70, -7: -70, limit: 10 * limit, -limit: -10 * limit,
		limit + 1: math.MaxInt64, -limit - 1: math.MinInt64, math.MaxInt64: math.MaxInt64, math.MinInt64: math.MinInt64,
	} {
		if got := w.toMs(tick); got != want {
			t.Errorf("tick %d is at %d, want %d", tick, got, want)
		}
	}
}

// TestEarliestLooksIntoAllOfABucketThatIsHalfEmptied, where the record that is due first
// was added last.
func TestEarliestLooksIntoAllOfABucketThatIsHalfEmptied(t *testing.T) {
	w := New(0, DefaultGeometry())
	const n, last = 1500, int64(8_000_000) // in a bucket of two seconds, and within one
	parked := make(map[uint64]int64)
	for i := range uint64(n) {
		ms := last - int64(i)
		w.Add(ms, i)
		parked[i] = ms
	}
	for now := last - 10_000; len(parked) > 0; now += 7 {
		due, more := w.AdvanceClock(now, 40, nil)
		for more {
			if got, ok := w.Earliest(); len(parked) > len(due) && !ok || ok && got > least(parked, due) {
				t.Fatalf("at %d: earliest is %d %v, want %d", now, got, ok, least(parked, due))
			}
			due, more = w.AdvanceClock(now, 40, due)
		}
		for _, p := range due {
			delete(parked, p)
		}
		want := least(parked, nil)
		if got, ok := w.Earliest(); ok != (len(parked) > 0) || ok && got != max(want, now) {
			t.Fatalf("at %d: earliest is %d %v, want %d", now, got, ok, want)
		}
	}
}

// least is the least deadline of records without those that are out.
func least(parked map[uint64]int64, out []uint64) int64 {
	first := int64(math.MaxInt64)
	for p, ms := range parked {
		if ms < first && !slices.Contains(out, p) {
			first = ms
		}
	}
	return first
}

// TestWithinLooksAtABoundedNumberOfRecords: of all that an instant cuts, those beyond are
// counted in proportion to the time.
func TestWithinLooksAtABoundedNumberOfRecords(t *testing.T) {
	const width, each = int64(1) << 22, withinLooks * 5 / 8 // of a bucket of 70 minutes; one fits, two do not
	w := New(0, DefaultGeometry())
	var instants []int64
	for bucket := range int64(3) {
		start := (10 + 2*bucket) * width
		for i := range uint64(each) {
			w.Add(start+width-1, i) // all at its end
		}
		instants = append(instants, start+width/2-1, start+width-1)
	}
	counts := make([]int64, len(instants))
	for range 2 { // what one call has looked at is not taken from the next
		w.Within(instants, counts)
		want := []int64{0, each, each + each/2, 2 * each, 2*each + each/2, 3 * each}
		for i := range want {
			if math.Abs(float64(counts[i]-want[i])) > 2 {
				t.Fatalf("got %d, want %d", counts, want)
			}
		}
	}
}

// TestBytesIsWhatTheHeapHolds, by the account of the runtime, with many records and after
// they have left.
func TestBytesIsWhatTheHeapHolds(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	w := New(0, DefaultGeometry())
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"empty", func() {}},
		{"with records", func() {
			for i := range uint64(300_000) {
				w.Add(1+int64(i*7919%86_400_000), i)
			}
		}},
		{"with some far away", func() {
			for i := range uint64(100_000) {
				w.Add(math.MaxInt64/2+int64(i), i)
			}
		}},
		{"once most have left", func() {
			for more := true; more; {
				_, more = w.AdvanceClock(80_000_000, 10_000, nil)
			}
		}},
	} {
		step.do()
		took, says := heap()-before, w.Bytes()
		if math.Abs(float64(took-says)) > 0.05*float64(took)+64<<10 {
			t.Errorf("%s: the heap holds %d bytes, and the wheel says %d", step.what, took, says)
		}
	}
	runtime.KeepAlive(w)
}
