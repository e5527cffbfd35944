package far

import (
	"slices"
	"testing"

	"layover/journal/runs"
	"layover/offsets"
)

func TestAGapIsReadBeforeADirectoryIsWritten(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	x.Acked(Found{Offset: 0, DeadlineMs: 10, Bytes: 1, Run: 1})
	x.Acked(Found{Offset: 3, DeadlineMs: 20, Bytes: 1, Run: 1})
	if from, to, ok := x.Gap(); !ok || from != 1 || to != 3 {
		t.Fatalf("the gap is %d to %d, %v", from, to, ok)
	}
	if _, err := x.Directory(); err == nil || err.Error() != "the offsets 1 to 2 were not read" {
		t.Errorf("the error is %v", err)
	}
	x.Read(1, 3, []Found{{Offset: 1, DeadlineMs: 5, Bytes: 1, Writer: 7, Run: 1}}, 0, 0, nil)
	d, err := x.Directory()
	if err != nil || d.End != 4 || len(d.Runs) != 2 || !x.Finished(2) {
		t.Errorf("the directory is %+v, error %v", d, err)
	}
	if ms := x.DueMs(); ms != 4 {
		t.Errorf("finished is what is due by %d, want 4", ms)
	}
}

func TestWhatDoesNotFitIsVisitedAgain(t *testing.T) {
	x := New(Beginning{Writer: 2, Window: offsets.NewWindow(0)})
	found := []Found{{Offset: 0, DeadlineMs: 10, Bytes: 30, Writer: 1}, {Offset: 1, DeadlineMs: 11, Bytes: 30, Writer: 1}, {Offset: 2, DeadlineMs: 12, Bytes: 5, Writer: 1}}
	if take := x.Read(0, 3, found, 100, 50, nil); len(take) != 1 || take[0] != 0 {
		t.Fatalf("taken are %v", take)
	}
	v, ok := x.Next(100)
	if !ok || v != (Visit{From: 1, To: 3, Bytes: 44, DueMs: 11}) {
		t.Fatalf("the next visit is %+v, %v", v, ok)
	}
	if take := x.Read(1, 3, found[1:], 100, 50, nil); len(take) != 2 {
		t.Errorf("taken are %v", take)
	}
	if v, ok := x.Next(100); ok {
		t.Errorf("one visit more: %+v", v)
	}
	for offset := range int64(3) {
		x.Finish(offset)
	}
	if d, err := x.Directory(); err != nil || len(d.Runs) != 0 || x.Low() != 3 {
		t.Errorf("left are %+v, low %d, error %v", d, x.Low(), err)
	}
}

func TestMoreRunsThanADirectoryListsEndMoves(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	for n := range int64(runs.MaxRuns + 1) {
		if full := n >= runs.MaxRuns; x.Full() != full {
			t.Fatalf("%d runs: full is %v", n, !full)
		}
		x.Acked(Found{Offset: n, DeadlineMs: 10, Bytes: 1, Run: uint64(n)})
		x.Seal()
	}
	if _, err := x.Directory(); err == nil || err.Error() != "4097 runs, want at most 4096" {
		t.Errorf("the error is %v", err)
	}
	if b := x.Bytes(); b < 4097*RunSize {
		t.Errorf("it takes %d bytes", b)
	}
}

func TestMemoryOfRunsThatAreOverIsGivenBack(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	for n := range int64(1000) {
		x.Acked(Found{Offset: n, DeadlineMs: 10, Bytes: 1, Run: uint64(n)})
		x.Seal()
	}
	for n := range int64(999) {
		x.Finish(n)
	}
	before := x.Bytes()
	if _, runs := x.Waiting(); runs != 1 || before-x.Bytes() < 900*RunSize {
		t.Errorf("of %d bytes for 1000 runs %d are used for %d", before, x.Bytes(), runs)
	}
}

// TestOneVisitTakesRunsThatAreNearEachOther, over what is not due or no copy, and begins with what is due first.
func TestOneVisitTakesRunsThatAreNearEachOther(t *testing.T) {
	const each, soonMs, laterMs = 10, 100, 10_000
	dueMs := func(ms int64) []int64 { return slices.Repeat([]int64{ms}, each) }
	for name, test := range map[string]struct {
		runs  [][]int64 // deadlines by run; between two is a directory
		bytes int64     // of a copy
		want  Visit
	}{
		"all are due":                {[][]int64{dueMs(50), dueMs(60), dueMs(70)}, 100, Visit{From: 0, To: 32, DueMs: 50}},
		"the second is due first":    {[][]int64{dueMs(60), dueMs(50), dueMs(70)}, 100, Visit{From: 11, To: 32, DueMs: 50}},
		"one between is due later":   {[][]int64{dueMs(50), dueMs(laterMs), dueMs(70)}, 100, Visit{From: 0, To: 32, DueMs: 50}},
		"the last is due later":      {[][]int64{dueMs(50), dueMs(60), dueMs(laterMs)}, 100, Visit{From: 0, To: 21, DueMs: 50}},
		"each ends with what is not": {[][]int64{append(dueMs(50), dueMs(laterMs)...), append(dueMs(60), dueMs(laterMs)...)}, 100, Visit{From: 0, To: 31, DueMs: 50}},
		"a batch is between":         {[][]int64{dueMs(50), dueMs(laterMs), dueMs(70)}, nearBytes/12 - 1, Visit{From: 0, To: 32, DueMs: 50}},
		"more than a batch is":       {[][]int64{dueMs(50), dueMs(laterMs), dueMs(70)}, nearBytes / 12, Visit{From: 0, To: 10, DueMs: 50}},
	} {
		t.Run(name, func(t *testing.T) {
			x, at := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)}), int64(0)
			for n, deadlines := range test.runs {
				for _, ms := range deadlines {
					x.Acked(Found{Offset: at, DeadlineMs: ms, Bytes: test.bytes, Run: uint64(n)})
					at++
				}
				x.Seal()
				x.Listed(0, at)
				at++
			}
			x.Acked(Found{Offset: at + 1, DeadlineMs: soonMs, Bytes: 1, Run: 9}) // behind the known end: a gap is read first
			x.Seal()
			want := test.want
			want.Bytes = (want.To - want.From) * (test.bytes + 1)
			if v, ok := x.Next(soonMs); !ok || v != want {
				t.Errorf("the visit is %+v, want %+v", v, want)
			}
		})
	}
}

func BenchmarkNextAmong4096Runs(b *testing.B) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	for n := range int64(runs.MaxRuns) {
		x.Acked(Found{Offset: n, DeadlineMs: 10 + n, Bytes: 1, Run: uint64(n)})
		x.Seal()
	}
	for b.Loop() {
		x.Next(0)
	}
}
