package facts

import (
	"math"
	"slices"
	"testing"

	"layover/offsets"
)

// acknowledge answers records in their order, from a journal offset on.
func acknowledge(l *Writer, at int64, cut ...Write) (next int64) {
	for _, c := range cut {
		l.Written(Result{Seq: c.Seq, Offset: at}, 1)
		at++
	}
	return at
}

// TestCuttingKeepsWhatWasCutBefore, whatever there is to cut.
func TestCuttingKeepsWhatWasCutBefore(t *testing.T) {
	before := []Write{{Seq: 77, Value: []byte("of another partition")}}
	for name, set := range map[string]func(l *Writer, w *offsets.Window){
		"nothing":                  func(*Writer, *offsets.Window) {},
		"a fact":                   func(l *Writer, w *offsets.Window) { note(l, w, 10) },
		"a snapshot":               func(l *Writer, w *offsets.Window) { note(l, w, 10); l.Lose() },
		"a journal that is away":   func(l *Writer, w *offsets.Window) { note(l, w, 10); l.Stop(false) },
		"a snapshot that must not": func(l *Writer, w *offsets.Window) { l.Lose(); l.Cut(nil, 5, true, 1); l.Stop(false) },
	} {
		w := offsets.NewWindow(0)
		l := journalled(testID, w)
		set(l, w)
		for _, out := range [][]Write{l.Cut(slices.Clone(before), 5, true, 1), l.CutPart(slices.Clone(before), 5)} {
			if len(out) == 0 || out[0].Seq != 77 {
				t.Errorf("%s: what was cut before is gone: %d records", name, len(out))
			}
		}
	}
}

// TestAnswersInAnyOrderCountForTheirOwnRecords.
func TestAnswersInAnyOrderCountForTheirOwnRecords(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	at := int64(1)
	for round := range int64(3) {
		var cut []Write
		for i := range int64(4) {
			for n := range 1 + i { // 1, 2, 3 and 4 offsets
				note(l, w, 1000*round+100*i+2*n+10)
			}
			cut = append(cut, cutAll(l, 5, true, 1)...)
		}
		left := int64(10)
		for _, i := range []int{2, 0, 3, 1} {
			l.Written(Result{Seq: cut[i].Seq + 100, Offset: at + 50}, 1) // nobody's
			at = acknowledge(l, at, cut[i])
			l.Written(Result{Seq: cut[i].Seq, Offset: at + 60}, 1) // twice
			if left -= int64(1 + i); l.Status().Unwritten != left {
				t.Errorf("round %d: %d are unwritten after the answer to record %d, want %d", round, l.Status().Unwritten, i, left)
			}
		}
		if s := l.Status(); s.InFlight != 0 || s.Stats.Records != 4*(round+1) || cap(l.flights.records) != 0 {
			t.Errorf("round %d: %+v", round, s)
		}
	}
}

// TestRecordsAndBytesThatTheJournalTookAreCounted, and no others.
func TestRecordsAndBytesThatTheJournalTookAreCounted(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	want := Stats{}
	at := int64(1)
	for round := range int64(4) {
		note(l, w, 10+2*round)
		if round == 2 {
			l.Lose() // so that a snapshot is written
			want.Snapshots++
		}
		cut := cutAll(l, 5, true, 1)
		if len(cut) != 1 {
			t.Fatalf("round %d: %d records", round, len(cut))
		}
		at = acknowledge(l, at, cut...)
		want.Records++
		want.Bytes += int64(len(cut[0].Value))
		if got := l.Status().Stats; got != want {
			t.Errorf("round %d: %+v, want %+v", round, got, want)
		}
	}
}

// TestASnapshotThatWasGivenUpIsNotCompletedByItsLateAnswers, though no other was begun.
func TestASnapshotThatWasGivenUpIsNotCompletedByItsLateAnswers(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	at := int64(1)
	for round := range int64(2) {
		note(l, w, 10+2*round)
		l.Lose()
		old := cutAll(l, 5, true, 1)
		l.Lose()
		at = acknowledge(l, at, old...)
		if s := l.Status(); len(old) != 1 || s.Unwritten != -1 || s.Stats.Snapshots != round {
			t.Errorf("round %d: %d parts of a snapshot that was given up count: %+v", round, len(old), s)
		}
		at = acknowledge(l, at, cutAll(l, 5, true, 1)...)
		if s := l.Status(); s.Unwritten != 0 || s.Stats.Snapshots != round+1 {
			t.Errorf("round %d, after the next: %+v", round, s)
		}
	}
}

// TestACommitOfAFormerTopicDeletesNothing of the journal that is written to.
func TestACommitOfAFormerTopicDeletesNothing(t *testing.T) {
	l := journalled(testID, offsets.NewWindow(0))
	for name, j := range map[string]offsets.JournalRange{
		"a former topic": {TopicID: offsets.TopicID{9}, From: 5, To: 9},
		"no journal":     {},
	} {
		if below := l.Committed(j, math.MaxInt64, 1); below != -1 {
			t.Errorf("a commit that names %s deletes below %d", name, below)
		}
	}
	if below := l.Committed(offsets.JournalRange{TopicID: testTopic, From: 5, To: 9}, math.MaxInt64, 1); below != 5 {
		t.Errorf("a commit of this topic deletes below %d, want 5", below)
	}
}

// TestASetThatGrowsAgainKeepsTheJournal, though its last snapshot was written and named.
func TestASetThatGrowsAgainKeepsTheJournal(t *testing.T) {
	w := offsets.NewWindow(0)
	l := NewWriter(testID, 9, Restored{}, w)
	l.Use(testTopic, 1<<20)
	at := int64(0)
	for round := range int64(3) {
		for o := int64(1); o < 8000; o += 2 {
			note(l, w, o+100_000*round)
		}
		l.Encode(4096, 4096, 0, offsets.RunsState{})
		at = acknowledge(l, at, cutAll(l, 5, true, 1)...)
		w.FinishRange(w.Low(), 100_000*round+7900) // small: it is to be left
		l.Encode(4096, 4096, 0, offsets.RunsState{})
		at = acknowledge(l, at, cutAll(l, 5, true, 1)...)
		_, named := l.Encode(4096, 4096, 0, offsets.RunsState{}) // of the last snapshot
		for o := int64(1); o < 8000; o += 2 {
			note(l, w, o+100_000*round+50_000)
		}
		if enc, _ := l.Encode(4096, 4096, 0, offsets.RunsState{}); enc.Covered == w.Above() {
			t.Fatalf("round %d: the set fits", round)
		}
		l.Committed(named, math.MaxInt64, 1)
		if s := l.Status(); s.Mode != InJournal {
			t.Errorf("round %d: the journal is left with a set that is in no metadata: %+v", round, s)
		}
		at = acknowledge(l, at, cutAll(l, 5, true, 1)...)
		if enc, named := l.Encode(4096, 4096, 0, offsets.RunsState{}); !enc.Complete || named.IsZero() {
			t.Errorf("round %d: %+v, %+v", round, enc, named)
		}
	}
}

// TestAMetadataThatHoldsTheSetHoldsAllOfIt, beside the name of the journal.
func TestAMetadataThatHoldsTheSetHoldsAllOfIt(t *testing.T) {
	w := offsets.NewWindow(0)
	for o := int64(1); o < 2000; o += 2 {
		w.Finish(o)
	}
	l := journalled(testID, w)
	for range 2 {
		enc, named := l.Encode(4096, 1500, 0, offsets.RunsState{}) // more than half of what is large
		if !enc.Complete || enc.Covered != w.Above() || named.IsZero() || l.Status().Mode != InJournal {
			t.Errorf("%d of %d offsets, complete %v, %+v, %+v", enc.Covered, w.Above(), enc.Complete, named, l.Status())
		}
	}
}

// TestAJournalThatNobodyCouldWriteToIsNotEnteredForASetThatFits by the time that it is there.
func TestAJournalThatNobodyCouldWriteToIsNotEnteredForASetThatFits(t *testing.T) {
	for name, early := range map[string]func(l *Writer){
		"a commit":               func(*Writer) {},
		"cutting before another": func(l *Writer) { l.Cut(nil, 5, true, 1) },
	} {
		w := offsets.NewWindow(0)
		l := NewWriter(testID, 9, Restored{}, w)
		for o := int64(1); o < 9000; o += 2 {
			note(l, w, o)
		}
		for range 2 {
			l.Encode(4096, 4096, 0, offsets.RunsState{})
			early(l)
		}
		for len(offsets.Encode(w, testID.Identity, offsets.Extension{Incarnation: testID.Incarnation}, 1<<20).Metadata) > 3000 {
			w.FinishRange(w.Low(), w.Low()+100)
		}
		if enc, _ := l.Encode(4096, 4096, 0, offsets.RunsState{}); !enc.Complete || len(enc.Metadata) <= 2048 {
			t.Fatalf("%s: a set of %d characters", name, len(enc.Metadata))
		}
		l.Use(testTopic, 1<<20)
		if cut := cutAll(l, 5, true, 1); len(cut) > 0 || l.Status().Mode != InMetadata {
			t.Errorf("%s: %d records, %+v", name, len(cut), l.Status())
		}
	}
}

// TestTheJournalIsEnteredBeforeACommitIsTooLarge by one character, and not before: a writer
// foresees it with all that the metadata holds.
func TestTheJournalIsEnteredBeforeACommitIsTooLarge(t *testing.T) {
	type bounds struct{ limit, large int }
	for name, of := range map[string]func(size int) bounds{
		"more than the broker takes": func(size int) bounds { return bounds{size, size} },
		"more than is allowed":       func(size int) bounds { return bounds{4096, size} },
	} {
		for _, over := range []int{-1, 0, 1} {
			w := offsets.NewWindow(0)
			for o := int64(1); o < 800; o += 2 {
				w.Finish(o)
			}
			ext := offsets.Extension{Incarnation: testID.Incarnation}
			b := of(len(offsets.Encode(w, testID.Identity, ext, 1<<20).Metadata) - over)
			small := offsets.NewWindow(0)
			small.Finish(1)
			l := NewWriter(testID, 9, Restored{}, small)
			l.Use(testTopic, 1<<20)
			l.Encode(b.limit, b.large, 0, offsets.RunsState{}) // which is small
			w.EachFrom(0, func(from, to int64) bool { small.FinishRange(from, to); return true })
			if l.Cut(nil, 5, false, 1); l.Status().Mode != InMetadata {
				t.Errorf("%s, %d characters over: the journal is entered without a commit to come", name, over)
			}
			cut := cutAll(l, 5, true, 1)
			if entered := l.Status().Mode == InJournal; entered != (over > 0) || (len(cut) > 0) != entered {
				t.Errorf("%s, %d characters over: the journal is entered is %v, %d records", name, over, entered, len(cut))
			}
			// A commit that nobody foresaw enters it at the same size.
			sudden := NewWriter(testID, 9, Restored{}, w)
			sudden.Use(testTopic, 1<<20)
			if sudden.Encode(b.limit, b.large, 0, offsets.RunsState{}); (sudden.Status().Mode == InJournal) != (over > 0) {
				t.Errorf("%s, %d characters over: after the commit %+v", name, over, sudden.Status())
			}
		}
	}
}

// TestHalfARecordOfFactsIsCutWithoutACommit, and less than that waits for one.
func TestHalfARecordOfFactsIsCutWithoutACommit(t *testing.T) {
	for _, maxBytes := range []int{200, 1000, 1 << 20} {
		w := offsets.NewWindow(0)
		l := NewWriter(testID, 9, Restored{Named: offsets.JournalRange{TopicID: testTopic}, Whole: true, SnapshotBytes: 1 << 30}, w) // no snapshot is due for long
		l.Use(testTopic, maxBytes)
		half := l.limit / cutShare
		at, next := int64(1), int64(5)
		for round := range 3 {
			for l.unwritten.fresh.size() < half {
				if cut := cutAll(l, 5, false, 1); len(cut) > 0 {
					t.Fatalf("records of %d bytes, round %d: cut at %d bytes", maxBytes, round, l.unwritten.fresh.size())
				}
				note(l, w, next)
				next += 3
			}
			cut := cutAll(l, 5, false, 1)
			if len(cut) == 0 {
				t.Fatalf("records of %d bytes, round %d: nothing is cut", maxBytes, round)
			}
			at = acknowledge(l, at, cut...)
		}
		note(l, w, next)
		if cut := cutAll(l, 5, true, 1); len(cut) != 1 {
			t.Errorf("records of %d bytes: %d are cut of one offset before a commit", maxBytes, len(cut))
		}
	}
}

// TestALongRunIsCutWhereARecordEnds, and goes on in the next one.
func TestALongRunIsCutWhereARecordEnds(t *testing.T) {
	split := false
	for before := range 40 {
		w := offsets.NewWindow(0)
		l := journalled(testID, w)
		l.Use(testTopic, 135)
		for i := range int64(before) {
			note(l, w, 5+3*i)
		}
		const from, to = 1000, 1000 + 1<<30
		w.FinishRange(from, to)
		l.Note(from, to)
		var got []Run
		cut := cutAll(l, 5, true, 1)
		for _, c := range cut {
			r, err := Read(c.Value)
			if err != nil || len(c.Value) > l.limit {
				t.Fatalf("a record of %d bytes, want %d at most: %v", len(c.Value), l.limit, err)
			}
			r.Each(func(from, to int64) {
				if n := len(got); n > 0 && from < got[n-1].To {
					t.Errorf("%d is in two records", from)
				}
				got = append(got, Run{from, to})
			})
		}
		split = split || len(got) > before+1
		if got = merge(got, 0); len(got) != before+1 || got[before] != (Run{from, to}) {
			t.Errorf("%d runs before: %v", before, got)
		}
		if n := l.Status().Unwritten; n != int64(before)+to-from {
			t.Errorf("%d runs before: %d are unwritten", before, n)
		}
		acknowledge(l, 1, cut...)
		if s := l.Status(); s.Unwritten != 0 {
			t.Errorf("%d runs before, once all are answered: %+v", before, s)
		}
	}
	if !split {
		t.Error("no run was cut")
	}
}

// TestOnlyARecordThatFillsHalfOfItsBoundHalvesIt when it is too large, at the bound itself too.
func TestOnlyARecordThatFillsHalfOfItsBoundHalvesIt(t *testing.T) {
	for name, test := range map[string]struct {
		limit            func(size int) int
		tooLarge, halved bool
	}{
		"at the bound":           {func(size int) int { return size }, true, true},
		"below the bound":        {func(size int) int { return size + 1 }, true, true},
		"above the bound":        {func(size int) int { return size - 1 }, true, false},
		"just above half of it":  {func(size int) int { return 2*size - 1 }, true, true},
		"half of it":             {func(size int) int { return 2 * size }, true, false},
		"refused for its rights": {func(size int) int { return size }, false, false},
	} {
		w := offsets.NewWindow(0)
		l := journalled(testID, w)
		for i := range int64(400) {
			note(l, w, 10+2*i+i%7*1000)
		}
		cut := cutAll(l, 5, true, 1)
		if len(cut) != 1 || len(cut[0].Value) < 4*l.least() {
			t.Fatalf("%d records", len(cut))
		}
		limit := test.limit(len(cut[0].Value))
		l.Use(testTopic, limit)
		l.Written(Result{Seq: cut[0].Seq, Err: errRefused, TooLarge: test.tooLarge}, 1)
		if s := l.Status().Stats; s != (Stats{Failures: 1}) || l.TakeRewrite() {
			t.Errorf("%s: a refusal counts as %+v", name, s)
		}
		if halved := l.limit == limit/2; halved != test.halved || !halved && l.limit != limit {
			t.Errorf("%s: a record of %d bytes, the bound %d is %d now", name, len(cut[0].Value), limit, l.limit)
		}
	}
}

// TestNothingNewIsNoNews: an empty stretch takes no memory and makes no record.
func TestNothingNewIsNoNews(t *testing.T) {
	l := journalled(testID, offsets.NewWindow(0))
	l.Note(5, 5)
	l.Note(6, 5)
	if s := l.Status(); s.Unwritten != 0 || l.Bytes() != 0 {
		t.Errorf("%+v, %d bytes", s, l.Bytes())
	}
	if cut := cutAll(l, 5, true, 1); len(cut) > 0 || l.Status().Unwritten != 0 {
		t.Errorf("%d records, %+v", len(cut), l.Status())
	}
}

// TestAnswersAfterTheJournalWasLeftChangeNothingButCounts.
func TestAnswersAfterTheJournalWasLeftChangeNothingButCounts(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	note(l, w, 10)
	l.Lose()
	cut := cutAll(l, 5, true, 1)
	l.Encode(0, 4096, 0, offsets.RunsState{}) // no metadata at all: a restart would not find the journal
	before := l.Status()
	acknowledge(l, 1, cut...)
	before.InFlight, before.Stats.Records, before.Stats.Bytes = 0, 1, int64(len(cut[0].Value))
	if after := l.Status(); len(cut) != 1 || after != before || after.Mode == InJournal {
		t.Errorf("%+v after %d answers, want %+v", after, len(cut), before)
	}
}
