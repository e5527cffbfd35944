package far

import (
	"fmt"
	"testing"

	"layover/offsets"
)

// own is a copy as index 1 has it acknowledged.
func own(offset, origin int64) Found {
	return Found{Offset: offset, DeadlineMs: 1000 + offset, Bytes: 1, Origin: origin, Writer: 1, Run: 1}
}

// acked is an index 1 of leader epoch 3 that has the copies 0 to n acknowledged, whose origins are the same.
func acked(t *testing.T, n int64) *Index {
	x := New(Beginning{Writer: 1, Window: offsets.NewWindow(0), LeaderEpoch: 3})
	x.Log(offsets.Bounds{})
	for o := range n {
		if !x.Acked(own(o, o)) {
			t.Fatal(o)
		}
	}
	return x
}

// TestWhatWasCutOffAndWrittenAnewIsCounted: copies 0 to 100 were acknowledged, the log was cut at 60, and
// others stand there now. A cut is told by a later leader epoch alone, whoever wrote them.
func TestWhatWasCutOffAndWrittenAnewIsCounted(t *testing.T) {
	const n, cut = 100, 60
	for name, c := range map[string]struct {
		asked bool                // the log was asked for its end before it was cut
		stand func(o int64) Found // what stands at an offset from the cut on
		lost  int64
	}{
		"all of it was sure":             {true, nil, n - cut},
		"an election, and no cut":        {false, func(o int64) Found { return own(o, o) }, 0},
		"own copies of other records":    {false, func(o int64) Found { return own(o, 500+o) }, n - cut},
		"another's copies of the same":   {false, func(o int64) Found { f := own(o, o); f.Writer = 2; return f }, n - cut},
		"half of it, and half was there": {false, func(o int64) Found { return own(o, o+o%2) }, (n - cut) / 2},
	} {
		t.Run(name, func(t *testing.T) {
			x := acked(t, n)
			if c.asked {
				x.Ends(n, x.End())
			}
			lost, truncated := x.Raise(4, cut)
			if truncated != c.asked {
				t.Fatalf("truncated: %t", truncated)
			}
			if !truncated {
				var found []Found
				for o := range int64(n) {
					if found = append(found, own(o, o)); o >= cut {
						found[o] = c.stand(o)
					}
				}
				for at := int64(0); at < n; at += 20 { // an answer ends where it is full
					x.Read(at, at+20, found[at:at+20], 0, 0, nil)
				}
				lost = x.Lost()
			}
			if again := x.Lost(); lost != c.lost || again != 0 {
				t.Errorf("%d are lost, and then %d, want %d", lost, again, c.lost)
			}
		})
	}
}

// TestWhatIsInDoubtIsCountedOnce: copies 60 to 100 are in doubt, and another thing happens before
// they are read.
func TestWhatIsInDoubtIsCountedOnce(t *testing.T) {
	const n, cut = 100, 60
	for name, c := range map[string]struct {
		then func(x *Index) (lost int64, over bool) // over: nothing is read any more
		lost int64
	}{
		"the log begins behind some":    {func(x *Index) (int64, bool) { return x.Start(80), false }, n},
		"others are acknowledged there": {func(x *Index) (int64, bool) { x.Acked(own(cut, 700)); x.Acked(own(cut+1, 701)); return 0, false }, n - cut},
		"a directory is acknowledged":   {func(x *Index) (int64, bool) { x.Listed(x.epoch, cut); return 0, false }, n - cut},
		"it ends below":                 {func(x *Index) (int64, bool) { return x.Ends(cut, n) }, n - cut},
		"it ends in the middle":         {func(x *Index) (int64, bool) { return x.next(t, 80, 80, func() (int64, bool) { return x.Ends(80, n) }) }, n - cut},
		"it is cut again": {func(x *Index) (int64, bool) {
			return x.next(t, 80, 90, func() (int64, bool) { x.Ends(n, n); return x.Raise(5, 80) })
		}, n - cut},
		"it is cut again, below": {func(x *Index) (int64, bool) {
			return x.next(t, 10, 90, func() (int64, bool) { x.Ends(n, n); return x.Raise(5, 10) })
		}, n - 10},
		"the topic is made again": {func(x *Index) (int64, bool) { return x.Beyond(0), true }, n},
		"they have ended":         {func(x *Index) (int64, bool) { x.note(cut, n); return 0, false }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			x := acked(t, n)
			if _, truncated := x.Raise(4, cut); truncated {
				t.Fatal("truncated")
			}
			lost, over := c.then(x)
			for from, to, ok := x.Gap(); ok && !over; from, to, ok = x.Gap() {
				var found []Found
				for o := from; o < min(cut, to); o++ {
					found = append(found, own(o, o))
				}
				x.Read(from, to, found, 0, 0, nil)
			}
			if lost += x.Lost(); lost != c.lost {
				t.Errorf("%d are lost, want %d", lost, c.lost)
			}
		})
	}
}

// next replaces an index, as how has told that its log was cut at an offset. It ends at another one now, and
// nothing in it is a copy from 60 on. It returns how many copies are gone.
func (x *Index) next(t *testing.T, cut, end int64, how func() (int64, bool)) (lost int64, over bool) {
	t.Helper()
	lost, truncated := how()
	if !truncated {
		t.Fatal("no truncation")
	}
	y, more := Open(&Opening{Writer: 2, LeaderEpoch: 5, Log: offsets.Bounds{End: end}, Window: x.Left(cut)})
	lost += more + y.Doubt(x.Doubts())
	y.Read(0, end, nil, 0, 0, nil)
	return lost + y.Lost(), true
}

// TestADirectoryInAnUnknownEpochHidesNoLoss: everything else was finished, so the low offset stands behind
// it, and the log was cut in front of it.
func TestADirectoryInAnUnknownEpochHidesNoLoss(t *testing.T) {
	x := acked(t, 10)
	for o := range int64(10) {
		x.Finish(o)
	}
	x.Ends(10, 10)
	x.Listed(x.epoch, 10)
	for o := int64(11); o < 20; o++ {
		x.Acked(own(o, o))
	}
	if lost, _ := x.next(t, 10, 15, func() (int64, bool) { return x.Raise(4, 10) }); lost != 9 {
		t.Errorf("%d are lost, want 9", lost)
	}
}

// TestACopyIsSureOnceTheLogWasAsked, and what was acknowledged meanwhile is not.
func TestACopyIsSureOnceTheLogWasAsked(t *testing.T) {
	x := acked(t, 10)
	before := x.End()
	for o := int64(10); o < 15; o++ {
		x.Acked(own(o, o))
	}
	if x.Ends(15, before); x.Unsure() != 5 {
		t.Errorf("%d are unsure, want the 5 that came after the question", x.Unsure())
	}
	if got := fmt.Sprint(x.Raise(4, 12)); got != "0 false" {
		t.Errorf("cut behind what is sure: %s", got)
	}
}

// TestWhatIsSureTakesNoMemory: of a partition that moves nothing more it would stay.
func TestWhatIsSureTakesNoMemory(t *testing.T) {
	const n = 5000
	x := acked(t, n)
	before := x.Bytes()
	x.Ends(n, n)
	if freed := before - x.Bytes(); x.Unsure() > 0 || freed < n*DoubtSize {
		t.Errorf("%d bytes are free with %d copies that are sure, want %d for each; %d are unsure", freed, n, DoubtSize, x.Unsure())
	}
}

// TestADoubtThatHasEndedTakesNoMemory either.
func TestADoubtThatHasEndedTakesNoMemory(t *testing.T) {
	const n = 5000
	x := acked(t, n)
	x.Raise(4, 0)
	before := x.doubts.bytes()
	for at := int64(0); at < n; at += 50 {
		found := make([]Found, 50)
		for i := range found {
			found[i] = own(at+int64(i), at+int64(i))
		}
		x.Read(at, at+50, found, 0, 0, nil)
	}
	if after := x.doubts.bytes(); before < n*DoubtSize || after > 0 || x.Lost() > 0 {
		t.Errorf("%d doubts take %d bytes, and %d when they have ended", n, before, after)
	}
}

// TestTwoCopiesAtOneOffsetAreOneLoss, though the answer to the second one comes when the first is in doubt.
func TestTwoCopiesAtOneOffsetAreOneLoss(t *testing.T) {
	x := acked(t, 3)
	x.Raise(4, 1)
	if !x.AckedOf(3, own(2, 47)) {
		t.Error("the second copy does not count")
	}
	from, to, ok := x.Gap()
	if !ok || from != 0 || to != 3 {
		t.Fatalf("read again are %d to %d", from, to)
	}
	x.Read(from, to, []Found{own(0, 0), own(1, 1), own(2, 47)}, 0, 0, nil)
	if lost := x.Lost(); lost != 1 {
		t.Errorf("%d are lost, want the first copy at 2", lost)
	}
}

// TestAnAnswerFromBeforeAnElectionIsReadAgain: the copy was sent in epoch 3.
func TestAnAnswerFromBeforeAnElectionIsReadAgain(t *testing.T) {
	for name, c := range map[string]struct {
		stands []Found
		lost   int64
	}{
		"it is there": {[]Found{own(10, 10)}, 0}, "another is": {[]Found{own(10, 11)}, 1}, "nothing is": {nil, 1},
	} {
		x := acked(t, 10)
		x.Ends(10, 10)
		x.Raise(4, 10)
		if !x.AckedOf(3, own(10, 10)) || x.Known() != 10 {
			t.Errorf("%s: known up to %d", name, x.Known())
		}
		from, to, ok := x.Gap()
		if !ok || from != 10 || to != 11 {
			t.Fatalf("%s: read again are %d to %d", name, from, to)
		}
		x.Read(from, to, c.stands, 0, 0, nil)
		if lost := x.Lost(); lost != c.lost {
			t.Errorf("%s: %d are lost", name, lost)
		}
		if x.Listed(3, 11); x.Finished(11) || x.End() != 12 {
			t.Errorf("%s: a directory from before it is believed", name)
		}
	}
}

// TestACopyThatIsReadAfterItsAnswerIsOwedNone: the log is cut there, and another copy of the record is
// acknowledged at its offset. That is about another log, and no late answer.
func TestACopyThatIsReadAfterItsAnswerIsOwedNone(t *testing.T) {
	x := acked(t, 1)
	if !x.AckedOf(2, own(1, 1)) { // sent before the leader epoch was known
		t.Fatal("it is not believed")
	}
	x.Answered()
	x.Read(1, 2, []Found{own(1, 1)}, 0, 0, nil)
	if x.Acked(own(1, 1)) {
		t.Error("a second answer at an offset is believed")
	}
}

// TestACutLeavesWhatWasAcknowledgedBelowIt: the copies 1 and 2 are acknowledged, 0 is not, and an election
// leaves nothing from 2 on. What has to be read next ends in front of 1 where that stands in a run of its own.
func TestACutLeavesWhatWasAcknowledgedBelowIt(t *testing.T) {
	for name, c := range map[string]struct {
		apart bool
		first int64 // end of the first visit
	}{"in one run": {false, 3}, "in two runs": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			x := acked(t, 0)
			x.Acked(own(1, 1))
			if c.apart {
				x.Seal()
			}
			x.Acked(own(2, 2))
			if lost, truncated := x.Raise(4, 2); lost > 0 || truncated {
				t.Fatal(lost, truncated)
			}
			var got []int64
			for begun := int64(0); len(got) < 3; begun++ {
				from, to := int64(0), c.first
				if v, ok := x.Next(2000); ok {
					from, to = v.From, v.To
				} else if f, until, gap := x.Gap(); gap {
					from, to = f, until
				}
				if begun == 0 && (from != 0 || to != c.first) || begun > 9 {
					t.Fatalf("visit %d is of %d to %d, %v are taken", begun, from, to, got)
				}
				var found []Found
				for o := from; o < to; o++ {
					found = append(found, own(o, 10+o))
				}
				for _, i := range x.Read(from, to, found, 2000, 1000, nil) {
					got = append(got, found[i].Offset)
				}
			}
			if fmt.Sprint(got) != "[0 1 2]" || x.Known() != 3 {
				t.Errorf("%v are taken, known end %d", got, x.Known())
			}
		})
	}
}
