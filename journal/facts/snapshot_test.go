package facts

import (
	"errors"
	"testing"

	"layover/offsets"
)

// TestOnlyTheLastPartOfASnapshotSaysSo: a reader knows by it that nothing is missing.
func TestOnlyTheLastPartOfASnapshotSaysSo(t *testing.T) {
	for parts, maxBytes := range map[string]int{"one part": 1 << 20, "several": 1000} {
		w := offsets.NewWindow(0)
		for o := int64(1); o < 3000; o += 2 {
			w.Finish(o)
		}
		l := journalled(testID, w)
		at := int64(1)
		for round := range byte(2) {
			l.Use(offsets.TopicID{7, round}, maxBytes)
			u := NewReader(testID, offsets.NewWindow(0), -1, 1<<40, offsets.JournalRange{})
			records, size := int64(0), int64(0)
			for l.unwritten.gap || l.WantsPart() {
				for _, c := range cutAll(l, 5, true, 1) {
					if u.Complete() {
						t.Fatalf("%s: complete before the last part", parts)
					}
					add := u.Add(at, c.Value, func(int32) (int64, error) { return -1, nil })
					if add != nil {
						t.Fatal(add)
					}
					l.Written(Result{Seq: c.Seq, Offset: at}, 1)
					at, records, size = at+1, records+1, size+int64(len(c.Value))
				}
			}
			if !u.Complete() || (records > 1) != (maxBytes == 1000) {
				t.Errorf("%s: complete is %v after %d records", parts, u.Complete(), records)
			}
			same(t, u.window, w)
			if s := l.Status(); s.Live != size || s.Unwritten != 0 {
				t.Errorf("%s: %+v, want %d bytes that live", parts, s, size)
			}
		}
	}
}

func TestAnAnswerForASnapshotThatWasGivenUpCompletesNoOther(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	note(l, w, 10, 12, 14)
	l.Lose()
	old := cutAll(l, 5, true, 1)
	l.Lose()
	fresh := cutAll(l, 5, true, 1)
	if len(old) != 1 || len(fresh) != 1 {
		t.Fatalf("%d and %d parts, want one each", len(old), len(fresh))
	}
	l.Written(Result{Seq: old[0].Seq, Offset: 1}, 1)
	if s := l.Status(); s.Unwritten != -1 || s.Stats.Snapshots != 0 {
		t.Errorf("after the answer for the first: %+v", s)
	}
	l.Written(Result{Seq: fresh[0].Seq, Offset: 2}, 1)
	if s := l.Status(); s.Unwritten != 0 || s.Stats.Snapshots != 1 {
		t.Errorf("after the answer for the second: %+v", s)
	}
}

// TestTheJournalIsEnteredWhereMetadataIsTooSmallOrTooLarge, and left at once where nobody
// can write to it.
func TestTheJournalIsEnteredWhereMetadataIsTooSmallOrTooLarge(t *testing.T) {
	for name, test := range map[string]struct {
		runs, limit, large int
		want               Mode
	}{
		"it fits":                           {10, 4096, 4096, InMetadata},
		"it does not fit":                   {2000, 300, 4096, InJournal},
		"it fits, and is more than allowed": {100, 4096, 200, InJournal},
	} {
		w := offsets.NewWindow(0)
		l := NewWriter(testID, 9, Restored{}, w)
		l.Use(testTopic, 1<<20)
		for i := range int64(test.runs) {
			note(l, w, 1+2*i)
		}
		if l.Encode(test.limit, test.large, 0, offsets.RunsState{}); l.Status().Mode != test.want {
			t.Errorf("%s: %v, want %v", name, l.Status().Mode, test.want)
		}
		l.Stop(false)
		w.FinishRange(0, 10_000)
		if l.Encode(4096, 4096, 0, offsets.RunsState{}); l.Status().Mode != InMetadata {
			t.Errorf("%s: %v once nothing is left and nobody can write", name, l.Status().Mode)
		}
	}
}

func TestATopicThatTakesTooLittleIsNotUsed(t *testing.T) {
	id := testID
	id.Group = "a group whose name needs some room"
	least := minRecord + len(id.Group)
	for maxBytes, used := range map[int]bool{0: false, least - 1: false, least: true, least + 1: true} {
		w := offsets.NewWindow(0)
		l := NewWriter(id, 9, Restored{Named: offsets.JournalRange{TopicID: testTopic}, Whole: true}, w)
		l.Use(testTopic, maxBytes)
		note(l, w, 10)
		if cut := cutAll(l, 5, true, 1); (len(cut) == 1) != used {
			t.Errorf("records of %d bytes: %d are cut", maxBytes, len(cut))
		}
	}
}

// TestOfTheCommitsOffsetsOnlyThoseStillFinishedAreFresh: what reading took back is gone,
// and what is finished behind it is in the journal.
func TestOfTheCommitsOffsetsOnlyThoseStillFinishedAreFresh(t *testing.T) {
	for name, test := range map[string]struct {
		still []Run
		want  int64
	}{
		"all":                 {[]Run{{20, 22}, {95, 120}}, 27},
		"the first":           {[]Run{{20, 22}, {200, 210}}, 2},
		"a part of the last":  {[]Run{{95, 100}, {119, 130}}, 6},
		"one that touches it": {[]Run{{120, 130}}, 0},
		"none":                {nil, 0},
	} {
		l := journalled(testID, finished(test.still...), Run{20, 22}, Run{95, 120})
		if got := l.Status().Unwritten; got != test.want {
			t.Errorf("%s: %d are unwritten, want %d", name, got, test.want)
		}
	}
}

func TestTheFirstRecordOfAJournalCanBeNamed(t *testing.T) {
	u := NewReader(testID, finished(), 0, 500, offsets.JournalRange{})
	if !u.Name(testTopic, 0).IsZero() {
		t.Error("records are named of an empty journal")
	}
	v := value(LastPart, 0, 1, 10, Run{30, 32})
	add(t, u, ends(), v)
	r, _ := Read(v)
	if got := u.Name(testTopic, 0); got != (offsets.JournalRange{TopicID: testTopic, Sum: r.Sum}) {
		t.Errorf("%+v", got)
	}
}

func TestARecordWhoseExtensionIsCutShortIsDamaged(t *testing.T) {
	header := testID.appendHeader(nil, Header{Writer: 5, Kind: Fact, Low: 10})
	for length := range byte(4) {
		v := append(append([]byte{}, header[:len(header)-1]...), length, 0, 0)
		_, err := Read(testID.seal(v))
		if whole := length <= 2; (err == nil) != whole || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("an extension of %d bytes in 2: %v", length, err)
		}
	}
}
