package facts

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"layover/offsets"
)

// TestFreshOffsetsWaitForARecordUpToTheirBound, and are given up for a snapshot above it.
func TestFreshOffsetsWaitForARecordUpToTheirBound(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	at := int64(1)
	for round := range int64(2) {
		l.Use(testTopic, 1000)
		for o := 5 + 100_000*round; ; o += 3 {
			note(l, w, o)
			if size := l.unwritten.fresh.size(); l.unwritten.gap {
				break
			} else if size > maxFresh*1000 {
				t.Fatalf("round %d: %d bytes wait", round, size)
			} else if s := l.Status(); s.Unwritten < 0 {
				t.Fatalf("round %d: with %d bytes that wait %+v", round, size, s)
			}
		}
		if n := l.unwritten.lost; n < maxFresh*1000/2 {
			t.Errorf("round %d: %d offsets were given up, and more had room", round, n)
		}
		l.Use(testTopic, 1<<20)
		at = acknowledge(l, at, cutAll(l, 5, true, 1)...)
		if s := l.Status(); s.Unwritten != 0 {
			t.Errorf("round %d, after a snapshot: %+v", round, s)
		}
	}
}

// TestASnapshotThatNothingWasLostForKeepsWhatIsFresh, until a record has it.
func TestASnapshotThatNothingWasLostForKeepsWhatIsFresh(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	l.Use(testTopic, 400)
	at, next := int64(1), int64(5)
	for l.written.facts <= int64(l.limit) { // then a snapshot is due
		note(l, w, next)
		next += 3
		at = acknowledge(l, at, l.Cut(nil, 5, true, 1)...)
		if l.written.snap.active {
			t.Fatal("a snapshot is begun before it is due")
		}
	}
	note(l, w, next)
	if cut := l.Cut(nil, 5, false, 1); len(cut) != 0 || !l.WantsPart() {
		t.Fatalf("%d records, a snapshot is begun: %v", len(cut), l.WantsPart())
	}
	if s := l.Status(); s.Unwritten != 1 {
		t.Errorf("one offset has finished since, and %d are unwritten", s.Unwritten)
	}
	acknowledge(l, at, cutAll(l, 5, true, 1)...)
	if s := l.Status(); s.Unwritten != 0 || s.Stats.Snapshots != 1 {
		t.Errorf("after the snapshot: %+v", s)
	}
}

// TestASnapshotBeginsAtItsFirstPart, at the beginning of a journal too.
func TestASnapshotBeginsAtItsFirstPart(t *testing.T) {
	for _, start := range []int64{0, 1, 50} {
		w := offsets.NewWindow(0)
		for o := int64(1); o < 9000; o += 2 {
			w.Finish(o)
		}
		l := NewWriter(testID, 9, Restored{}, w)
		l.Use(testTopic, 1000)
		l.Encode(300, 300, 0, offsets.RunsState{})
		at, parts := start, 0
		for l.Status().Unwritten != 0 {
			cut := cutAll(l, 5, true, 1)
			if parts += len(cut); len(cut) == 0 {
				t.Fatalf("nothing is cut: %+v", l.Status())
			}
			at = acknowledge(l, at, cut...)
		}
		if _, named := l.Encode(300, 300, 0, offsets.RunsState{}); parts < 3 || named != (offsets.JournalRange{TopicID: testTopic, From: start, To: at - 1, Sum: named.Sum}) {
			t.Errorf("%d parts from %d on, and a commit names %+v", parts, start, named)
		}
	}
}

// TestTheJournalIsLeftByTheCommitThatNamesItsLastSnapshot, and by none before.
func TestTheJournalIsLeftByTheCommitThatNamesItsLastSnapshot(t *testing.T) {
	w := offsets.NewWindow(0)
	for o := int64(1); o < 9000; o += 2 {
		w.Finish(o)
	}
	l := journalled(testID, w)
	w.FinishRange(0, 8900)
	size := len(offsets.Encode(w, testID.Identity, offsets.Extension{Incarnation: testID.Incarnation, Journal: l.written.named(testTopic)}, 4096).Metadata)
	l.Encode(4096, 2*size-1, 0, offsets.RunsState{})
	if cut := cutAll(l, 5, true, 1); len(cut) != 0 {
		t.Errorf("the set takes more than half of what is large, and %d records are cut", len(cut))
	}
	_, before := l.Encode(4096, 2*size, 0, offsets.RunsState{})
	cut := cutAll(l, 5, true, 1)
	if len(cut) != 1 {
		t.Fatalf("the set takes half of what is large, and %d records are cut", len(cut))
	}
	acknowledge(l, 7, cut...)
	if l.Committed(before, math.MaxInt64, 1); l.Status().Mode != InJournal {
		t.Error("a commit that does not name the last snapshot leaves the journal")
	}
	_, named := l.Encode(4096, 4096, 0, offsets.RunsState{})
	if l.Committed(named, math.MaxInt64, 1); named.From != 7 || l.Status().Mode != InMetadata {
		t.Errorf("a commit that names %+v does not leave the journal", named)
	}
}

// TestASetThatDoesNotFitDoesNotLeaveTheJournal, however little metadata may hold.
func TestASetThatDoesNotFitDoesNotLeaveTheJournal(t *testing.T) {
	w := offsets.NewWindow(0)
	for o := int64(1); o < 9000; o += 2 {
		w.Finish(o)
	}
	l := journalled(testID, w)
	for range 2 {
		if _, named := l.Encode(300, 4096, 0, offsets.RunsState{}); named.IsZero() {
			t.Error("the journal is not named")
		}
		if cut := cutAll(l, 5, true, 1); len(cut) != 0 {
			t.Errorf("%d records are cut, and nothing has finished", len(cut))
		}
	}
}

// TestAJournalThatNoMetadataCouldNameIsNotEntered: a restart would not find it.
func TestAJournalThatNoMetadataCouldNameIsNotEntered(t *testing.T) {
	w := offsets.NewWindow(0)
	for o := int64(1); o < 9000; o += 2 {
		w.Finish(o)
	}
	l := NewWriter(testID, 9, Restored{}, w)
	for range 2 {
		l.Encode(0, 0, 0, offsets.RunsState{})
		l.Use(testTopic, 1<<20)
		if cut := cutAll(l, 5, true, 1); len(cut) != 0 || l.Status().Mode != InPrefix || l.mode != InMetadata {
			t.Errorf("%d records are cut: %+v", len(cut), l.Status())
		}
	}
}

// TestRunsComeBackAsTheyWereAdded, closed or not, and as many as are wanted.
func TestRunsComeBackAsTheyWereAdded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 300 {
		var r runs
		var want []Run
		count := int64(0)
		for range rng.IntN(20) {
			from := rng.Int64N(1000)
			if n := len(want); n > 0 && rng.IntN(3) == 0 {
				from = want[n-1].To
			}
			to := from + 1 + rng.Int64N(300)
			r.add(from, to)
			count += to - from
			if n := len(want); n > 0 && from == want[n-1].To && r.open.From == want[n-1].From {
				want[n-1].To = to
			} else {
				want = append(want, Run{from, to})
			}
			if rng.IntN(5) == 0 {
				r.close()
			}
		}
		for most := range len(want) + 3 {
			got := r.appendTo(nil, most)
			if !slices.Equal(got, want[:min(most, len(want))]) {
				t.Fatalf("at most %d: %v, want of %v", most, got, want)
			}
		}
		if r.count != count {
			t.Fatalf("%d offsets, want %d", r.count, count)
		}
		if r.reset(); r.size() != 0 || r.count != 0 || len(r.appendTo(nil, 9)) != 0 {
			t.Fatalf("after a reset: %+v", r)
		}
	}
}
