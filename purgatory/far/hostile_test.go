package far

import (
	"testing"

	"layover/offsets"
)

// TestTwoStreamsOfAcknowledgementsAreFewRuns: large copies have batches of their own, so a flush lands as
// two streams. Each ascends by deadline, and they take turns in the log.
func TestTwoStreamsOfAcknowledgementsAreFewRuns(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	offset := int64(0)
	for batch := range int64(200) {
		for i := range int64(20) { // a batch of small ones, due every second millisecond
			x.Acked(Found{Offset: offset, DeadlineMs: 1000 + batch*40 + i*2, Bytes: 1000, Run: 1})
			offset++
		}
		x.Acked(Found{Offset: offset, DeadlineMs: 1000 + batch*40 + 1, Bytes: 70_000, Run: 1})
		offset++
	}
	x.Seal()
	if _, n := x.Waiting(); n > 4 {
		t.Errorf("one flush became %d runs", n)
	}
}

// TestWhatIsGoneBehindAGapIsCounted: own copies were acknowledged behind what others wrote, and the log
// begins behind them before that was read.
func TestWhatIsGoneBehindAGapIsCounted(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	x.Log(offsets.Bounds{})
	for o := int64(5); o < 15; o++ {
		x.Acked(Found{Offset: o, DeadlineMs: 1000, Bytes: 1, Run: 1})
	}
	if lost := x.Start(20); lost != 15 {
		t.Errorf("%d offsets are gone, want 15", lost)
	}
}

// TestCleaningEndsWhereDeletionIsForbidden: moving again frees nothing that cannot be deleted.
func TestCleaningEndsWhereDeletionIsForbidden(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	x.Log(offsets.Bounds{})
	o := int64(0)
	for ; o < 1000; o++ { // all of it is delivered
		x.Acked(Found{Offset: o, DeadlineMs: 1000, Bytes: 100, Run: 1})
	}
	for i := range o {
		x.Finish(i)
	}
	for range 10 {
		x.Acked(Found{Offset: o, DeadlineMs: 100_000, Bytes: 100, Run: 2})
		o++
	}
	x.Seal()
	if v, ok := x.Clean(Cleaning{Few: 64}, nothing); ok {
		t.Errorf("%+v is to be moved again, and nothing in front of it waits", v)
	}
}

// TestCleaningEndsBehindACopyOfOthers: a copy that is never due stays, and so does all behind it.
func TestCleaningEndsBehindACopyOfOthers(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	x.Log(offsets.Bounds{End: 1})
	x.Read(0, 1, []Found{{Offset: 0, DeadlineMs: nothing, Bytes: 100}}, 0, 0, nil)
	o := int64(1)
	for ; o < 1000; o++ {
		x.Acked(Found{Offset: o, DeadlineMs: 1000, Bytes: 100, Run: 1})
	}
	for i := int64(1); i < o; i++ {
		x.Finish(i)
	}
	for range 10 {
		x.Acked(Found{Offset: o, DeadlineMs: 100_000, Bytes: 100, Run: 2})
		o++
	}
	x.Seal()
	if v, ok := x.Clean(Cleaning{Few: 64}, nothing); ok {
		t.Errorf("%+v is to be moved again, and nothing can be deleted for it", v)
	}
}

// TestTheLogOfAnAssignmentBeginsWhereItBegins: what an earlier one has deleted takes no bytes.
func TestTheLogOfAnAssignmentBeginsWhereItBegins(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(1000)})
	x.Log(offsets.Bounds{Start: 1000, End: 1000})
	for o := int64(1000); o < 1010; o++ {
		x.Acked(Found{Offset: o, DeadlineMs: 1000, Bytes: 100, Run: 1})
	}
	x.Seal()
	if got := x.LogBytes(); got != 1000 {
		t.Errorf("the log takes %d bytes, want 1000", got)
	}
}

// TestWhatANewerReleaseWroteIsNotCalledFinished: nobody here knows when it is due.
func TestWhatANewerReleaseWroteIsNotCalledFinished(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	x.Log(offsets.Bounds{End: 1})
	x.Read(0, 1, []Found{{Offset: 0, DeadlineMs: nothing, Bytes: 100}}, 0, 0, nil)
	s := x.State()
	newer := New(Beginning{Writer: 2, Window: offsets.NewWindow(0), Said: Said{Known: s.Known, DueMs: s.DueMs}})
	newer.Log(offsets.Bounds{End: 1})
	taken := newer.Read(0, 1, []Found{{Offset: 0, DeadlineMs: 5000, Bytes: 100, Writer: 7}}, 6000, 1000, nil)
	if len(taken) != 1 {
		t.Errorf("the release that can read it takes it for finished: the commit says %+v", s)
	}
}

// TestWhatIsReadAgainIsNotRemembered: after an election own copies are read again, and no answer is owed to
// any of them.
func TestWhatIsReadAgainIsNotRemembered(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0), LeaderEpoch: 3})
	x.Log(offsets.Bounds{})
	const n = 10_000
	var log []Found
	for o := range int64(n) {
		log = append(log, Found{Offset: o, DeadlineMs: 1000 + o, Bytes: 1, Writer: 1, Run: 1})
		x.Acked(log[o])
	}
	x.Seal()
	x.Answered()
	x.Raise(4, 0)
	if from, to, ok := x.Gap(); !ok || from != 0 || to != n {
		t.Fatalf("the gap is %d to %d, %v", from, to, ok)
	}
	x.Read(0, n, log, 0, 0, nil)
	if len(x.early) > 0 {
		t.Errorf("%d copies are remembered", len(x.early))
	}
}
