package far

import (
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
	if !ok || v != (Visit{From: 1, To: 3, DueMs: 11}) {
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
	if b := x.Bytes(); b < 4097*entrySize {
		t.Errorf("it takes %d bytes", b)
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
