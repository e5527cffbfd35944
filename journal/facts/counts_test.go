package facts

import (
	"errors"
	"math"
	"testing"

	"layover/offsets"
)

func TestStatsAddUpFieldByField(t *testing.T) {
	s := Stats{Records: 1, Bytes: 2, Snapshots: 3, Deletions: 4, Failures: 5}
	s.Add(Stats{Records: 10, Bytes: 20, Snapshots: 30, Deletions: 40, Failures: 50})
	if want := (Stats{Records: 11, Bytes: 22, Snapshots: 33, Deletions: 44, Failures: 55}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	for mode, want := range map[Mode]string{InMetadata: "metadata", InJournal: "journal", InPrefix: "prefix"} {
		if mode.String() != want {
			t.Errorf("mode %d is %q, want %q", mode, mode, want)
		}
	}
}

func TestInFlightCountsRecordsUpAndBack(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	at := int64(1)
	for range 2 {
		var cut []Write
		for i := range 3 {
			note(l, w, 100*at+10*int64(i))
			cut = append(cut, cutAll(l, 5, true, 1)...)
			if n := l.Status().InFlight; n != i+1 {
				t.Errorf("%d in flight, want %d", n, i+1)
			}
		}
		for i, c := range cut {
			l.Written(Result{Seq: c.Seq, Offset: at}, 1)
			at++
			if n := l.Status().InFlight; n != 2-i {
				t.Errorf("%d in flight, want %d", n, 2-i)
			}
		}
		if cut := cutAll(l, 5, true, 1); len(cut) != 0 {
			t.Errorf("%d records of nothing", len(cut))
		}
	}
}

// TestWithoutAJournalFinishedOffsetsTakeNoMemory beside the window.
func TestWithoutAJournalFinishedOffsetsTakeNoMemory(t *testing.T) {
	w := offsets.NewWindow(0)
	l := NewWriter(testID, 9, Restored{}, w)
	for o := int64(1); o < 5000; o += 2 {
		note(l, w, o)
	}
	if l.Bytes() != 0 || l.Status().Unwritten != -1 {
		t.Errorf("%d bytes, %+v", l.Bytes(), l.Status())
	}
}

// TestALeftJournalIsNamedByNoCommit, and entered anew when it is needed again.
func TestALeftJournalIsNamedByNoCommit(t *testing.T) {
	w := offsets.NewWindow(0)
	l := NewWriter(testID, 9, Restored{}, w)
	l.Use(testTopic, 1<<20)
	at := int64(0)
	for round := range int64(3) {
		for o := int64(1); o < 8000; o += 2 {
			note(l, w, o+20_000*round)
		}
		enc, named := l.Encode(4096, 4096, 0, offsets.RunsState{})
		if enc.Complete || !named.IsZero() || l.Status().Mode != InJournal || l.Status().Unwritten != -1 {
			t.Fatalf("round %d: %+v, %+v, %+v: want a commit that names nothing, and the journal entered", round, enc, named, l.Status())
		}
		if enc, named := l.Encode(4096, 4096, 0, offsets.RunsState{}); enc.Complete || !named.IsZero() || enc.Left == 0 {
			t.Errorf("round %d: before the snapshot %+v, %+v", round, enc, named)
		}
		for _, c := range cutAll(l, 5, true, 1) {
			l.Written(Result{Seq: c.Seq, Offset: at}, 1)
			at++
		}
		if enc, named := l.Encode(4096, 4096, 0, offsets.RunsState{}); !enc.Complete || named.IsZero() || named.To != at-1 {
			t.Errorf("round %d: after the snapshot %+v, %+v", round, enc, named)
		}
		w.FinishRange(0, 20_000*(round+1))
		for range 3 { // a last snapshot, and the commit that names it
			_, named := l.Encode(4096, 4096, 0, offsets.RunsState{})
			for _, c := range cutAll(l, 5, true, 1) {
				l.Written(Result{Seq: c.Seq, Offset: at}, 1)
				at++
			}
			if below := l.Committed(named, math.MaxInt64, 1); below >= 0 {
				l.Deleted(below, nil, 1)
			}
		}
		if enc, named := l.Encode(4096, 4096, 0, offsets.RunsState{}); l.Status().Mode != InMetadata || !named.IsZero() || !enc.Complete || l.Status().Live != 0 {
			t.Errorf("round %d: left, and %+v, %+v, %+v", round, enc, named, l.Status())
		}
	}
}

// TestFactsBesideASnapshotStayWhenItIsComplete: they are behind its beginning.
func TestFactsBesideASnapshotStayWhenItIsComplete(t *testing.T) {
	w := offsets.NewWindow(0)
	for o := int64(1); o < 3000; o += 2 {
		w.Finish(o)
	}
	l := journalled(testID, w)
	at := int64(1)
	for range 2 {
		l.Lose()
		part := cutAll(l, 5, true, 1)
		note(l, w, 10_000+4*at, 10_002+4*at)
		fact := cutAll(l, 5, true, 1)
		if len(part) != 1 || len(fact) != 1 {
			t.Fatalf("%d parts and %d facts, want one each", len(part), len(fact))
		}
		l.Written(Result{Seq: fact[0].Seq, Offset: at}, 1) // answers of one partition may come in any order
		l.Written(Result{Seq: part[0].Seq, Offset: at + 1}, 1)
		at += 2
		if s := l.Status(); s.Live != int64(len(fact[0].Value)+len(part[0].Value)) {
			t.Errorf("%d bytes live, want %d and %d", s.Live, len(part[0].Value), len(fact[0].Value))
		}
	}
}

// TestARestoredWriterKnowsWhatTheJournalTakes, snapshots and facts apart.
func TestARestoredWriterKnowsWhatTheJournalTakes(t *testing.T) {
	snapshot, fact := value(LastPart, 0, 1, 10, Run{30, 32}), value(Fact, 0, 0, 0, Run{40, 42}, Run{50, 60})
	r, _ := Read(fact)
	u := NewReader(testID, finished(), 0, 500, offsets.JournalRange{TopicID: testTopic, To: 2, Sum: r.Sum})
	add(t, u, ends(), snapshot, fact, fact)
	got := u.Restored(true, 0, nil)
	if got.SnapshotBytes != int64(len(snapshot)) || got.Facts != int64(2*len(fact)) {
		t.Errorf("%+v, want %d bytes of a snapshot and %d of facts", got, len(snapshot), 2*len(fact))
	}
	if live := NewWriter(testID, 9, got, finished()).Status().Live; live != int64(len(snapshot)+2*len(fact)) {
		t.Errorf("%d bytes live", live)
	}
}

func TestWhatIsNoRecordOfAJournalIsForeign(t *testing.T) {
	good := value(Fact, 1, 7, 0)
	for _, v := range [][]byte{nil, {}, []byte("L"), []byte("LJ"), []byte("LJ1"), []byte("KJ\x01\x01 and more of somebody else's"), []byte("Lj\x01\x01")} {
		if _, err := Read(v); !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %v", v, err)
		}
		u := NewReader(testID, finished(), 0, 500, offsets.JournalRange{})
		if err := u.Add(0, v, ends()); err != nil || u.Others != 1 || u.Damaged != 0 {
			t.Errorf("%q: %v, %d others and %d damaged", v, err, u.Others, u.Damaged)
		}
	}
	if _, err := Read(good[:endKind-1]); !errors.Is(err, ErrDamaged) {
		t.Errorf("a record that is cut off: %v", err)
	}
}

// TestANewerRecordStopsTheReadingOnlyOfItsOwnTopic: its partition cannot be read.
func TestANewerRecordStopsTheReadingOnlyOfItsOwnTopic(t *testing.T) {
	for name, test := range map[string]struct {
		change func(id *Identity)
		stops  bool
	}{
		"ours":                 {func(*Identity) {}, true},
		"another partition's":  {func(id *Identity) { id.Partition++ }, true},
		"another topic's":      {func(id *Identity) { id.TopicID[3]++ }, false},
		"of another life":      {func(id *Identity) { id.Incarnation++ }, false},
		"of another cluster's": {func(id *Identity) { id.ClusterID += "x" }, false},
	} {
		id := testID
		test.change(&id)
		v := id.appendHeader(nil, Header{Writer: 5, Kind: Fact, Low: 10})
		v[2], v[3] = formatVersion+1, formatVersion+1
		u := NewReader(testID, finished(), 0, 500, offsets.JournalRange{})
		if err := u.Add(0, id.seal(v), ends()); errors.Is(err, ErrNewer) != test.stops || !test.stops && u.Others != 1 {
			t.Errorf("%s: %v, %d others", name, err, u.Others)
		}
	}
}
