package sim

import (
	"cmp"
	"flag"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"layover/purgatory"
	"layover/verify/long"
)

var explore = flag.Duration("explore", 0, "how long TestExplorer searches each of its worlds; 0: as long as fits into the kind of test")

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // little is kept of what is made
	os.Exit(m.Run())
}

// Numbers of Append: a record without a delay, one that is due in 3 s, and the marker
// of a transaction.
const (
	plain  = 2 * 9
	later  = 9*8 + 6
	marker = 7 * 9
)

// small returns a world of two instances, the first of which has all partitions.
func small(partitions int, records ...int) Run {
	r := Run{Config: Config{
		Instances: 2, Partitions: partitions, OnInvalid: purgatory.DeadLetter, DeadLetters: true, MaxInFlight: 8,
		MaxInFlightBytes: 1 << 20, HeldShare: 1 << 20, Patience: time.Hour, LargestChunk: 4 << 10, JumpOver: 1, MaxMetadata: 4096, Burst: 1,
	}}
	do := func(k Kind, i, p, n int) { r.Trace = append(r.Trace, Action{k, i, p, n}) }
	for p := range partitions { // the first two offsets of each log are a gap and a marker
		do(Append, 0, p, plain)
		do(Append, 0, p, marker)
		do(Compact, 0, p, 0)
	}
	for i, n := range records {
		do(Append, 0, i%partitions, n)
	}
	do(Start, 0, 0, 0)
	do(Start, 1, 0, 0)
	do(Sync, 0, 0, 0)
	for p := range partitions {
		do(Assign, 0, p, 0)
	}
	do(Build, 0, 0, 0)
	for range partitions {
		do(Arrive, 0, 0, 0)
		do(Answer, 0, 0, 0)
	}
	return r
}

// journalled gives a world a journal, to which every set goes that has something above
// its low offset. The text of an empty set takes 67 characters.
func journalled(r Run) Run {
	r.Config.Journal, r.Config.JournalAbove, r.Config.JournalMax = true, 68, 4096
	return r
}

// These are numbers of Append in a world with one id. They stand for a record of that id that
// is due at once, one that is due in 3 s, and a cancel of it.
const (
	timer      = 9 * (2 + 16*40)
	laterTimer = 9*(9+16*40) + 6
	cancel     = 9 * (2 + 16*40*3)
)

// identified gives a world one id.
func identified(r Run) Run {
	r.Config.IDs = 1
	return r
}

// told gives a world a topic for events.
func told(r Run) Run {
	r.Config.Events = true
	return r
}

// inFlight is a world whose first record is in flight when more are written.
func inFlight(r Run, records ...int) Run {
	do := func(k Kind, n int) { r.Trace = append(r.Trace, Action{k, 0, 0, n}) }
	do(Fetch, 4)
	do(Turn, 8)
	do(Turn, 8) // the barrier opens
	for _, n := range records {
		do(Append, n)
	}
	return r
}

// late is the number of Append for a record that is due at once, and asked for that.
const late = 9 * 9

// outage is a world in which nobody ran until what was written is late, and one of them a
// second goes on.
func outage(r Run) Run {
	r.Config.CatchUp = 1
	r.Trace = append(r.Trace, Action{Kind: Pass, N: 15_000})
	return r
}

// explored returns the worlds that a test explores, and nil for all. In the checks of a change, which set
// LAYOVER_TEST_LONG to a part, it is one of each kind. Without a part it is two of these.
func explored() []string {
	two := []string{"a journal, a record and its cancel", "three late records"}
	switch {
	case testing.Short(), long.Whole():
		return nil
	case long.Asked():
		return append(two, "one partition, three records", "events, what is in flight and two more")
	}
	return two
}

func TestExplorerFindsNothingBroken(t *testing.T) {
	for name, start := range map[string]Run{
		"one partition, three records":  small(1, plain, later, plain),
		"two partitions, three records": small(2, plain, later, plain),
		"a journal, three records":      journalled(small(1, later, plain, plain)),

		"a record and its cancel":                  identified(small(1, laterTimer, cancel)),
		"a journal, a record and its cancel":       journalled(identified(small(1, laterTimer, cancel))),
		"events, a record and its cancel":          told(identified(small(1, laterTimer, cancel))),
		"three of one id":                          identified(small(1, laterTimer, timer, laterTimer)),
		"a journal, three of one id":               journalled(identified(small(1, laterTimer, timer, laterTimer))),
		"a cancel of what is in flight":            inFlight(identified(small(1, timer)), cancel),
		"a journal, a cancel of what is in flight": journalled(inFlight(identified(small(1, timer)), cancel)),
		"events, what is in flight and two more":   told(inFlight(identified(small(1, timer)), timer, cancel)),

		"three late records":                   outage(small(1, late, late, late)),
		"events, a late record and its cancel": told(outage(identified(small(1, late, laterTimer, cancel)))),
	} {
		if worlds := explored(); worlds != nil && !slices.Contains(worlds, name) {
			continue
		}
		t.Log(name)
		all := Explore(start, cmp.Or(*explore, time.Duration(usually(2000, 2000, 5000))*time.Millisecond), runtime.GOMAXPROCS(0))
		if !all[0].Whole && all[0].Broken == nil || all[0].States < 1000 && start.Config.IDs+start.Config.CatchUp == 0 || all[0].States < 40 {
			t.Errorf("%s: what happens without an accident was not searched: %v", name, all[0])
		}
		for _, found := range all {
			t.Log(found)
			if found.Broken != nil {
				short := found.Trace.Shrink(2000, Breaks(found.Broken))
				t.Errorf("%v\n%s", found.Broken, short.Tell())
			}
		}
	}
}
