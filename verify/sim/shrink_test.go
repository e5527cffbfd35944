package sim

import (
	"slices"
	"testing"
)

func TestAShrunkRunHasNothingThatCanBeLeftOut(t *testing.T) {
	breaks := func(r Run) bool { // a crash somewhere after 40 milliseconds or more went by
		at := slices.IndexFunc(r.Trace, func(a Action) bool { return a.Kind == Pass && a.N >= 40 })
		return at >= 0 && slices.ContainsFunc(r.Trace[at:], func(a Action) bool { return a.Kind == Crash })
	}
	for seed := range uint64(20) {
		run, _ := Seeded(seed, 300, new(Tally))
		if !breaks(run) {
			continue
		}
		short := run.Shrink(100_000, breaks)
		if len(short.Trace) != 2 || !breaks(short) {
			t.Errorf("seed %d is shrunk to %v", seed, short.Trace)
		}
	}
}

func TestASeedMakesTheSameRunEveryTime(t *testing.T) {
	for seed := range uint64(20) {
		var tallies [2]Tally
		one, _ := Seeded(seed, 300, &tallies[0])
		two, _ := Seeded(seed, 300, &tallies[1])
		if !slices.Equal(one.Trace, two.Trace) || tallies[0] != tallies[1] || one.Tell() != two.Tell() {
			t.Errorf("seed %d makes two different runs", seed)
		}
	}
}
