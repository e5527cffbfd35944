package far

import (
	"errors"
	"math"
	"testing"

	"layover/journal/facts"
	"layover/journal/runs"
	"layover/offsets"
)

var topic = offsets.TopicID{7}

// directoryOf returns the directory of an index with two copies, the first of which has ended.
func directoryOf(t *testing.T, epoch int32) *runs.Directory {
	t.Helper()
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0), LeaderEpoch: epoch})
	for o := range int64(3) {
		x.Acked(Found{Offset: o, DeadlineMs: 100 + o, Bytes: 1, Run: 1})
	}
	x.Finish(0)
	d, err := x.Directory()
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

func opening() *Opening {
	return &Opening{
		Writer: 2, TopicID: topic, LeaderEpoch: 4, Log: offsets.Bounds{End: 10},
		Said: offsets.RunsState{TopicID: topic, Low: 1, Known: 4, DueMs: 50, LeaderEpoch: 4, DirectoryEnd: 4}, SaidEnd: 10, Window: offsets.NewWindow(1),
	}
}

func TestADirectorySpeaksWhileTheLogOfItsLeaderEpochReachesItsEnd(t *testing.T) {
	for end, known := range map[int64]int64{10: 3, 3: 3, 2: 1} {
		o := opening()
		o.Directory, o.DirectoryEnd = directoryOf(t, 3), end
		x, lost := Open(o)
		if from, to, ok := x.Gap(); lost != 0 || x.Known() != known || !ok || from != known || to != 10 {
			t.Errorf("the log of its epoch ends at %d: known up to %d, want %d; to be read are %d to %d, lost %d", end, x.Known(), known, from, to, lost)
		}
	}
}

func TestWhatACommitCallsDueHoldsUpToTheEndOfItsLeaderEpoch(t *testing.T) {
	for end, finished := range map[int64]bool{10: true, 3: false} {
		o := opening()
		o.SaidEnd = end
		x, lost := Open(o)
		x.Read(1, 10, []Found{{Offset: 3, DeadlineMs: 40, Bytes: 1, Writer: 9}}, 0, 0, nil)
		if x.Finished(3) != finished || lost != 0 {
			t.Errorf("its log ends at %d: the copy at 3 is finished: %t, want %t; lost %d, though the log has all", end, x.Finished(3), finished, lost)
		}
	}
}

func TestWhatALogDoesNotReachAnyMoreIsLost(t *testing.T) {
	o := opening()
	o.Log.End, o.SaidEnd = 3, 3
	if x, lost := Open(o); lost != 1 || x.Known() > 3 {
		t.Errorf("lost %d, want the offset 3; known up to %d", lost, x.Known())
	}
}

// TestACutThatIsWrittenOverWhileNobodyLooksIsCounted: copies 0 to 10 were acknowledged, and three of them have
// ended. The log is cut at an offset, and others have written on beyond 10 since.
func TestACutThatIsWrittenOverWhileNobodyLooksIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		asked int64 // the log was asked for its end with so many copies
		found int64 // where it ended when the assignment began
		cut   int64
		lost  int64
	}{
		"all of it was sure":                {10, 0, 6, 4},
		"half of it was":                    {8, 0, 6, 2},
		"an election, and no cut":           {6, 0, 6, 0},
		"below what has ended":              {10, 0, 1, 7},
		"what others wrote was not read":    {10, 14, 6, 8},
		"nobody has asked":                  {0, 0, 6, 0},
		"the next leader knows nothing new": {10, 0, 10, 0},
	} {
		x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0), LeaderEpoch: 3})
		x.Log(offsets.Bounds{})
		for o := range int64(10) {
			x.Acked(own(o, o))
			if x.End() == c.asked {
				x.Ends(c.asked, c.asked)
			}
		}
		if c.found > 0 {
			x.Log(offsets.Bounds{End: c.found})
		}
		for o := range int64(3) {
			x.Finish(o)
		}
		said := x.State()
		said.TopicID = topic
		y, lost := Open(&Opening{Writer: 2, TopicID: topic, LeaderEpoch: 4, Log: offsets.Bounds{End: 20}, Said: said, SaidEnd: c.cut, Window: Finished(&said, c.cut)})
		if from, to, _ := y.Gap(); lost != c.lost || from > c.cut || to != 20 {
			t.Errorf("%s: %d are lost, want %d; read are %d to %d", name, lost, c.lost, from, to)
		}
	}
}

// TestWhatHadEndedIsNoLoss where the log ends below it.
func TestWhatHadEndedIsNoLoss(t *testing.T) {
	o := opening()
	o.Said.Low, o.Log.End, o.SaidEnd = 4, 3, 3
	if _, lost := Open(o); lost != 0 {
		t.Errorf("lost %d, though all below 4 had ended", lost)
	}
}

func TestATopicThatIsMadeAgainBeginsWithNothing(t *testing.T) {
	o := opening()
	o.TopicID, o.Said.Holds = offsets.TopicID{8}, true
	said := SaidOf(o.Said, o.TopicID)
	o.Window = Finished(&said, 10)
	x, lost := Open(o)
	if x.Low() != 0 || x.Known() != 0 || lost != 3 {
		t.Errorf("low %d, known up to %d, lost %d; want 0, 0, 3", x.Low(), x.Known(), lost)
	}
	o.Said.Holds = false
	if _, lost := Open(o); lost != 0 {
		t.Errorf("lost %d of a topic that held nothing", lost)
	}
}

func TestWhatIsGoneBelowTheLogStartIsCountedWhereItWasSaid(t *testing.T) {
	o := opening()
	o.Said.Known, o.Log.Start = 6, 8
	x, lost := Open(o)
	if lost != 5 || x.Low() != 8 {
		t.Errorf("lost %d, low %d; want 5 from 1 to 5, and 8", lost, x.Low())
	}
}

func TestALeaderEpochThatBeginsBelowWhatIsKnownIsATruncation(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0), LeaderEpoch: 4})
	var found []Found
	for o := range int64(6) {
		found = append(found, Found{Offset: o, DeadlineMs: 100, Bytes: 1, Run: 1, Writer: 9})
	}
	x.Read(0, 6, found, 0, 0, nil)
	if _, truncated := x.Raise(4, 0); truncated {
		t.Error("the same epoch is a truncation")
	}
	if lost, truncated := x.Raise(5, 2); !truncated || lost != 4 || x.LeaderEpoch() != 4 {
		t.Errorf("truncated: %t, lost %d, epoch %d", truncated, lost, x.LeaderEpoch())
	}
	if _, truncated := x.Raise(5, 6); truncated || x.LeaderEpoch() != 5 {
		t.Errorf("truncated: %t, epoch %d; the log reached up to what is known", truncated, x.LeaderEpoch())
	}
}

// TestOwnCopiesOfAnUnknownEpochAreReadAgain: acknowledgements do not tell the leader epoch, and
// epoch 5 begins below some. Another record may stand at their offsets.
func TestOwnCopiesOfAnUnknownEpochAreReadAgain(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0), LeaderEpoch: 4})
	for _, o := range []int64{0, 1, 2, 3} {
		x.Acked(Found{Offset: o, DeadlineMs: 100 + o, Bytes: 1, Run: 1})
	}
	x.Listed(x.epoch, 4)
	x.Acked(Found{Offset: 7, DeadlineMs: 200, Bytes: 1, Run: 2})
	if lost, truncated := x.Raise(5, 3); truncated || lost > 0 || x.LeaderEpoch() != 5 {
		t.Fatalf("truncated: %t, lost %d, epoch %d", truncated, lost, x.LeaderEpoch())
	}
	if from, to, ok := x.Gap(); !ok || from != 0 || to != 8 || x.Finished(4) {
		t.Fatalf("read again are %d to %d, want 0 to 8, as a run begins at 0; the directory is finished: %t", from, to, x.Finished(4))
	}
	// 4 is a copy of another writer now, and 5 to 6 are nothing.
	log := []Found{{Offset: 0, DeadlineMs: 100, Writer: 1, Run: 1}, {Offset: 1, DeadlineMs: 101, Writer: 1, Run: 1}, {Offset: 2, DeadlineMs: 102, Writer: 1, Run: 1},
		{Offset: 3, DeadlineMs: 103, Writer: 1, Run: 1}, {Offset: 4, DeadlineMs: 300, Writer: 9, Run: 1}, {Offset: 7, DeadlineMs: 200, Writer: 1, Run: 2}}
	for i := range log {
		log[i].Bytes = 1
	}
	got := make(map[int64]bool)
	for _, i := range x.Read(0, 8, log, 101, 100, nil) {
		got[log[i].Offset] = true
	}
	if d, err := x.Directory(); err != nil || len(d.Runs) != 3 || len(got) != 2 || x.Known() != 8 {
		t.Errorf("%d runs, %d taken, known up to %d, %v; want 3, 2, 8", len(d.Runs), len(got), x.Known(), err)
	}
	for range 10 {
		v, ok := x.Next(1000)
		if !ok {
			break
		}
		var found []Found
		for _, f := range log {
			if v.From <= f.Offset && f.Offset < v.To {
				found = append(found, f)
			}
		}
		for _, i := range x.Read(v.From, v.To, found, 1000, 100, nil) {
			if got[found[i].Offset] {
				t.Errorf("%d is taken twice", found[i].Offset)
			}
			got[found[i].Offset] = true
		}
	}
	if len(got) != 6 {
		t.Errorf("taken are %v, want all six", got)
	}
}

func TestAnAcknowledgementOfAnOffsetThatIsKnownIsNotBelieved(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	x.Log(offsets.Bounds{End: 3})
	x.Read(0, 3, []Found{{Offset: 1, DeadlineMs: 9, Bytes: 1, Writer: 1}, {Offset: 2, DeadlineMs: 9, Bytes: 1, Writer: 8}}, 0, 0, nil)
	for o, want := range []bool{false, true, false, true} {
		if got := x.Acked(Found{Offset: int64(o), DeadlineMs: 9, Bytes: 1}); got != want {
			t.Errorf("the answer with offset %d is believed: %t", o, got)
		}
	}
	if x.Acked(Found{Offset: 1}) || x.Acked(Found{Offset: 3}) {
		t.Error("an answer is believed twice")
	}
}

func TestCopiesAreDeletedBelowWhatACommitAndTheJournalSay(t *testing.T) {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	for o := range int64(3) {
		x.Acked(Found{Offset: o, DeadlineMs: 100, Bytes: 1, Run: 1})
		x.Finish(o)
	}
	x.Seal()
	if _, ok := x.Delete(); ok || !x.State().Holds || x.State().DueMs != math.MaxInt64 {
		t.Errorf("deleted before a commit: %t; the state is %+v", ok, x.State())
	}
	x.Committed(2)
	below, ok := x.Delete()
	if _, again := x.Delete(); !ok || below != 2 || again {
		t.Errorf("deleted below %d, %t; again %t", below, ok, again)
	}
	x.Deleted(2, errors.New("refused"))
	if below, ok = x.Delete(); !ok || below != 2 {
		t.Errorf("a deletion that was refused is not asked for again: %d, %t", below, ok)
	}
	x.Deleted(2, nil)
	x.Committed(3)
	if below, ok = x.Delete(); !ok || below != 3 || !x.State().Holds {
		t.Errorf("deleted below %d, %t; the state is %+v", below, ok, x.State())
	}
	if x.Deleted(3, nil); x.State().Holds {
		t.Errorf("all is deleted, and the state is %+v", x.State())
	}
}

func TestNothingIsDeletedThatNoJournalRecordCallsFinished(t *testing.T) {
	window := offsets.NewWindow(0)
	w := facts.NewJournalOnly(facts.Identity{Group: "g"}, 1, facts.Restored{}, window)
	w.Use(offsets.TopicID{9}, 1<<20)
	x := New(Beginning{Writer: 1, Window: window, Facts: w})
	x.Acked(Found{Offset: 0, DeadlineMs: 100, Bytes: 1, Run: 1})
	x.Finish(0)
	x.Committed(1)
	writes := w.Cut(nil, 0, true, 1)
	for w.WantsPart() {
		writes = w.CutPart(writes, 0)
	}
	if _, ok := x.Delete(); ok || len(writes) != 1 {
		t.Errorf("deleted before any of %d records was acknowledged: %t", len(writes), ok)
	}
	w.Written(facts.Result{Seq: writes[0].Seq, Offset: 3}, 1)
	if below, ok := x.Delete(); !ok || below != 1 {
		t.Errorf("deleted below %d, %t", below, ok)
	}
	if s := x.State(); s.Journal.From != 3 || s.Journal.To != 3 {
		t.Errorf("a commit names %+v", s.Journal)
	}
}

// TestWhatCouldNotBeReadIsReadAgainAtTheNextBeginning, though a directory lists it: it may be readable by then. A
// copy of another group is not, and all behind it is read by the directory.
func TestWhatCouldNotBeReadIsReadAgainAtTheNextBeginning(t *testing.T) {
	for run, from := range map[uint64]int64{0: 2, Foreign: 6} { // a run reaches over it from 2 on
		x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
		log := []Found{own(0, 0), own(1, 1), own(2, 2), {Offset: 3, DeadlineMs: math.MaxInt64, Bytes: 1, Run: run}, own(4, 4), own(5, 5)}
		log[0].Run, log[1].Run = 7, 7
		x.Read(0, 6, log, 0, 0, nil)
		x.Finish(4)
		d, err := x.Directory()
		if err != nil {
			t.Fatal(err)
		}
		said := x.State()
		said.TopicID = topic
		y, lost := Open(&Opening{Writer: 2, TopicID: topic, Log: offsets.Bounds{End: 8}, Said: said, SaidEnd: 8, Window: offsets.NewWindow(0), Directory: &d, DirectoryEnd: 8})
		if at, to, _ := y.Gap(); at != from || to != 8 || lost != 0 {
			t.Errorf("run %d: read are %d to %d, want from %d on; lost %d", run, at, to, from, lost)
		}
		log[3] = Found{Offset: 3, DeadlineMs: 50, Bytes: 1, Writer: 1, Run: 9}
		took := y.Read(from, 8, log[from:], 50, 100, nil)
		if again := run != Foreign; (len(took) == 1) != again {
			t.Errorf("run %d: taken are %v", run, took)
		}
		if d, err := y.Directory(); err != nil || len(d.Runs) < 3 {
			t.Errorf("run %d: then there are %d runs, %v", run, len(d.Runs), err)
		}
	}
}

// TestWhatIsNeverDueIsNotCalledFinished: a copy of a newer release waits for that one, also where
// no other waits, and a restart reads it again.
func TestWhatIsNeverDueIsNotCalledFinished(t *testing.T) {
	log := []Found{{Offset: 0, DeadlineMs: 100, Bytes: 1, Writer: 1}, {Offset: 1, DeadlineMs: math.MaxInt64, Bytes: 1}}
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0)})
	x.Read(0, 2, log, 100, 10, nil)
	x.Seal()
	x.Finish(0)
	said := x.State()
	said.TopicID = topic
	o := &Opening{Writer: 2, TopicID: topic, Log: offsets.Bounds{End: 2}, Said: said, SaidEnd: 2, Window: offsets.NewWindow(said.Low)}
	x, _ = Open(o)
	x.Read(1, 2, log[1:], 100, 10, nil)
	if x.Finished(1) || x.Low() != 1 {
		t.Errorf("it counts as finished after the commit %+v; low %d", said, x.Low())
	}
}

// TestADirectoryThatIsOfAnEarlierEpochThanItsCopiesIsWrittenAgain: an election came before the flush, and is
// heard of behind it. A start would refuse the directory, and read all of the log.
func TestADirectoryThatIsOfAnEarlierEpochThanItsCopiesIsWrittenAgain(t *testing.T) {
	const n = 3
	x := acked(t, n)
	if _, err := x.Directory(); err != nil || !x.Listed(3, n) {
		t.Fatal(err)
	}
	if _, truncated := x.Raise(4, 0); truncated {
		t.Fatal("truncated")
	}
	for from, to, ok := x.Gap(); ok; from, to, ok = x.Gap() {
		x.Read(from, to, []Found{own(0, 0), own(1, 1), own(2, 2)}, 0, 0, nil)
	}
	if !x.WantsDirectory() {
		t.Error("no directory is wanted")
	}
	d, err := x.Directory()
	if err != nil || d.LeaderEpoch != 4 || d.End != n+1 || !x.Listed(4, n+1) {
		t.Errorf("%+v, %v", d, err)
	}
	if x.Raise(5, n+2); x.WantsDirectory() {
		t.Error("a directory that an election leaves sound is wanted again")
	}
}
