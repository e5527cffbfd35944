package facts

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"layover/offsets"
)

// TestARestoredWriterNamesWhatWasRestored in its first commit, and itself in its records.
func TestARestoredWriterNamesWhatWasRestored(t *testing.T) {
	named := offsets.JournalRange{TopicID: testTopic, From: 7, To: 19, Sum: 0xfeed}
	for _, number := range []uint64{9, 1 << 60} {
		w := offsets.NewWindow(0)
		for o := int64(1); o < 9000; o += 2 {
			w.Finish(o)
		}
		l := NewWriter(testID, number, Restored{Named: named, Whole: true, SnapshotBytes: 1000, Facts: 10}, w)
		l.Use(testTopic, 1<<20)
		if _, got := l.Encode(4096, 4096, 0, offsets.RunsState{}); got != named {
			t.Errorf("the first commit names %+v, want %+v", got, named)
		}
		note(l, w, 20_000)
		cut := cutAll(l, 5, true, 1)
		if len(cut) != 1 {
			t.Fatalf("%d records, want one", len(cut))
		}
		if r, err := Read(cut[0].Value); err != nil || r.Writer != number || r.LeaderEpoch != 5 || r.Low != 0 || r.Kind != Fact || r.Partition != testID.Partition || r.Group != testID.Group {
			t.Errorf("writer %d writes %+v, %v", number, r, err)
		}
		if l.Incarnation() != testID.Incarnation {
			t.Errorf("incarnation %d", l.Incarnation())
		}
		l.Written(Result{Seq: cut[0].Seq, Offset: named.To}, 1) // where the named record stood
		if s := l.Status(); !l.TakeRewrite() || s.Live != 0 || s.Unwritten != -1 || s.Mode != InJournal {
			t.Errorf("a journal that was truncated: %+v", s)
		}
	}
}

// TestAJournalThatWasNotReadWholeIsWrittenAnew, beginning with a snapshot.
func TestAJournalThatWasNotReadWholeIsWrittenAnew(t *testing.T) {
	w := offsets.NewWindow(0)
	for o := int64(1); o < 9000; o += 2 {
		w.Finish(o)
	}
	l := NewWriter(testID, 9, Restored{Named: offsets.JournalRange{TopicID: testTopic, From: 7, To: 19}, Tail: []Run{{1, 2}}, SnapshotBytes: 1000, Facts: 10}, w)
	if s := l.Status(); s.Mode != InPrefix || s.Unwritten != -1 || s.Live != 0 {
		t.Errorf("while nobody can write: %+v", s)
	}
	l.Use(testTopic, 1<<20)
	if enc, named := l.Encode(300, 300, 0, offsets.RunsState{}); !named.IsZero() || enc.Complete || enc.Left != w.Above()-enc.Covered {
		t.Errorf("a commit names %+v, and leaves %d of %d out", named, enc.Left, w.Above())
	}
	cut := cutAll(l, 5, true, 1)
	for i, c := range cut {
		if r, err := Read(c.Value); err != nil || r.Kind == Fact {
			t.Errorf("record %d is %+v, %v; want a part of a snapshot", i, r, err)
		}
		l.Written(Result{Seq: c.Seq, Offset: int64(i)}, 1)
	}
	if s := l.Status(); len(cut) == 0 || s.Mode != InJournal || s.Unwritten != 0 || s.Stats.Snapshots != 1 {
		t.Errorf("after %d parts: %+v", len(cut), s)
	}
}

// TestAnEmptyLogOfALeaderEpochEndsAtItsFirstOffset: 0 is an end, and -1 is none.
func TestAnEmptyLogOfALeaderEpochEndsAtItsFirstOffset(t *testing.T) {
	w := offsets.NewWindow(0)
	w.FinishRange(20, 40)
	u := NewReader(testID, w, 0, 500, offsets.JournalRange{})
	add(t, u, ends(0, 0, 300), value(Fact, 1, 0, 0, Run{50, 60}))
	if w.Above() != 0 || w.Low() != 0 {
		t.Errorf("%d offsets above %d are finished in logs that were cut off at 0", w.Above(), w.Low())
	}
	add(t, u, ends(0, 0, 300), value(Fact, 2, 0, 0, Run{290, 310}))
	if !w.Finished(299) || w.Finished(300) || w.Finished(55) {
		t.Error("of a later epoch not what is below its end is finished")
	}
}

// TestOnlyTheCommitsOwnSetIsCutOffAtTheEndOfItsEpoch: facts of later epochs stay when a still
// later one is read.
func TestOnlyTheCommitsOwnSetIsCutOffAtTheEndOfItsEpoch(t *testing.T) {
	w := finished(Run{20, 40})
	u := NewReader(testID, w, 0, 500, offsets.JournalRange{})
	add(t, u, ends(30, 100, 200, 300), value(Fact, 1, 0, 0, Run{90, 110}), value(Fact, 2, 0, 0, Run{190, 210}), value(Fact, 3, 0, 0, Run{290, 310}))
	same(t, w, finished(Run{4, 10}, Run{20, 30}, Run{90, 100}, Run{190, 200}, Run{290, 300}))
	if u.LeaderEpoch() != 3 {
		t.Errorf("leader epoch %d", u.LeaderEpoch())
	}
}

// TestASnapshotIsCompleteWithAllPartsOfOneSnapshot, in their places, wherever it begins.
func TestASnapshotIsCompleteWithAllPartsOfOneSnapshot(t *testing.T) {
	part := func(writer uint64, kind Kind, number uint64, from int64, rs ...Run) []byte {
		return valueOf(testID, Header{Writer: writer, Kind: kind, LeaderEpoch: 1, Low: 10, Number: number, From: from}, rs...)
	}
	for name, test := range map[string]struct {
		values [][]byte
		want   bool
	}{
		"nothing":                         {nil, false},
		"one part":                        {[][]byte{part(5, LastPart, 1, 10, Run{20, 30})}, true},
		"an empty one":                    {[][]byte{part(5, LastPart, 1, 10)}, true},
		"two parts":                       {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30}), part(5, LastPart, 1, 30, Run{40, 50})}, true},
		"the first part alone":            {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30})}, false},
		"the last part alone":             {[][]byte{part(5, LastPart, 1, 30, Run{40, 50})}, false},
		"the last part of another number": {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30}), part(5, LastPart, 2, 30, Run{40, 50})}, false},
		"the last part of another writer": {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30}), part(6, LastPart, 1, 30, Run{40, 50})}, false},
		"a part between is missing":       {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30}), part(5, LastPart, 1, 50, Run{60, 70})}, false},
		"missing, and once more whole": {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30}), part(5, LastPart, 1, 50, Run{60, 70}),
			part(5, Snapshot, 2, 10, Run{20, 30}), part(5, LastPart, 2, 30, Run{60, 70})}, true},
		"missing, and what goes before":    {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30}), part(5, Snapshot, 1, 50, Run{60, 70}), part(5, LastPart, 1, 30, Run{40, 45})}, false},
		"missing, and its last part twice": {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30}), part(5, LastPart, 1, 50, Run{60, 70}), part(5, LastPart, 1, 50, Run{60, 70})}, false},
		"a part comes twice":               {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30}), part(5, Snapshot, 1, 10, Run{20, 30}), part(5, LastPart, 1, 30, Run{40, 50})}, true},
		"a fact between":                   {[][]byte{part(5, Snapshot, 1, 10, Run{20, 30}), part(5, Fact, 0, 10, Run{90, 91}), part(5, LastPart, 1, 30, Run{40, 50})}, true},
	} {
		for _, start := range []int64{0, 1, 1000} {
			u := NewReader(testID, finished(), 1, 500, offsets.JournalRange{})
			for i, v := range test.values {
				if err := u.Add(start+int64(i), v, ends()); err != nil {
					t.Fatal(err)
				}
			}
			if u.Complete() != test.want {
				t.Errorf("%s, from %d on: complete is %v", name, start, u.Complete())
			}
			if err := u.Complain(testTopic, start, start); err != nil {
				t.Errorf("%s: no commit names anything, and yet %v", name, err)
			}
		}
	}
}

// TestTheShortestValuesOfAJournalAreDamaged and those that do not begin like its own foreign.
func TestTheShortestValuesOfAJournalAreDamaged(t *testing.T) {
	good := value(Fact, 1, 7, 0)
	for n := range endKind {
		u := NewReader(testID, finished(), 0, 500, offsets.JournalRange{})
		if err := u.Add(0, good[:n], ends()); err != nil {
			t.Fatal(err)
		}
		if ours := n >= endVersions; (u.Damaged == 1) != ours || (u.Others == 1) == ours {
			t.Errorf("%d bytes: %d damaged, %d others", n, u.Damaged, u.Others)
		}
	}
}

// TestAComplaintSaysWhatIsWrong where several things are: the first that explains the others.
func TestAComplaintSaysWhatIsWrong(t *testing.T) {
	first, fact := value(LastPart, 1, 3, 10, Run{20, 30}), value(Fact, 1, 0, 0, Run{60, 70})
	r, _ := Read(fact)
	named := offsets.JournalRange{TopicID: testTopic, From: 4, To: 5, Sum: r.Sum}
	for name, test := range map[string]struct {
		topic      offsets.TopicID
		start, end int64
		want       string
	}{
		"made again":                   {offsets.TopicID{9}, 0, 2, "the journal was deleted and made again: the commit names records up to 5 of one that is gone"},
		"it ends at the named one":     {testTopic, 0, 5, "the journal ends at 5 and the commit names its record at 5: it was truncated"},
		"it ends behind the named one": {testTopic, 0, 6, "the record at 5 is not the one that the commit names: the journal was truncated and written anew, or is damaged"},
		"it begins at the snapshot":    {testTopic, 4, 6, "the record at 5 is not the one that the commit names: the journal was truncated and written anew, or is damaged"},
		"it begins behind that":        {testTopic, 5, 6, "the journal begins at 5 and the commit names a snapshot at 4: its records were deleted, by its retention or by somebody"},
	} {
		u := NewReader(testID, finished(), 1, 500, named)
		if err := u.Complain(test.topic, test.start, test.end); err == nil || err.Error() != test.want {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	u := NewReader(testID, finished(), 1, 500, named)
	for at, v := range [][]byte{4: first, 5: fact} {
		if err := u.Add(int64(at), v, ends()); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.Complain(testTopic, 4, 6); err != nil {
		t.Errorf("all is there: %v", err)
	}
}

// TestAFactOfTheFirstLeaderEpochEndsWithItsLog, and takes nothing from the commit's own set.
func TestAFactOfTheFirstLeaderEpochEndsWithItsLog(t *testing.T) {
	w := finished(Run{20, 40})
	u := NewReader(testID, w, 0, 500, offsets.JournalRange{})
	add(t, u, ends(30), value(Fact, 0, 0, 0, Run{25, 60}))
	same(t, w, finished(Run{4, 10}, Run{20, 40}))
	u = NewReader(testID, finished(), 2, 500, offsets.JournalRange{})
	for _, epoch := range []int32{0, 1, 2} { // none is later than the commit's
		if err := u.Add(int64(epoch), value(Fact, epoch, 0, 0, Run{25, 60}), ends(3, 3, 3)); err != nil {
			t.Errorf("a fact of epoch %d beside a commit at 4: %v", epoch, err)
		}
	}
}

// TestAPartThatBeginsBeyondAllOffsetsIsDamaged: where it begins would be below its low offset.
func TestAPartThatBeginsBeyondAllOffsetsIsDamaged(t *testing.T) {
	v := slices.Clone(value(Snapshot, 1, 7, 10)[:endKind])
	for _, field := range []uint64{uint64(testID.Partition), 0, 2, 1 << 62, 7, 1<<63 - 1, 0} { // low offset, number, and where it begins
		v = binary.AppendUvarint(v, field)
	}
	if r, err := Read(testID.seal(v)); !errors.Is(err, ErrDamaged) {
		t.Errorf("%+v, %v", r.Header, err)
	}
}
