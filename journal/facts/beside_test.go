package facts

import (
	"math"
	"testing"

	"layover/offsets"
)

// ofCopies is a writer of finished copies whose first set is written, with the records to name.
func ofCopies(t *testing.T) (*Writer, *offsets.Window) {
	t.Helper()
	window := offsets.NewWindow(0)
	w := NewJournalOnly(Identity{Group: "g"}, 1, Restored{}, window)
	w.Use(testTopic, 1<<20)
	if len(w.Cut(nil, 0, true, 1)) > 0 || w.WantsPart() || w.Needed(offsets.JournalRange{}) != math.MaxInt64 {
		t.Fatal("something is written before anything is finished")
	}
	window.Finish(0)
	w.Note(0, 1)
	writes := w.CutPart(w.Cut(nil, 0, true, 1), 0)
	if len(writes) != 1 || !w.Owns(writes[0].Seq) || w.Owns(1) {
		t.Fatalf("%d records are written", len(writes))
	}
	w.Written(Result{Seq: writes[0].Seq, Offset: 7}, 1)
	return w, window
}

func TestWhatIsInTheJournalAloneIsWrittenFromTheFirstOffsetOn(t *testing.T) {
	w, window := ofCopies(t)
	if named := w.Named(); named.From != 7 || named.To != 7 || named.TopicID != testTopic || w.Low() != 1 {
		t.Errorf("a commit names %+v, the low offset is %d", named, w.Low())
	}
	window.Finish(4)
	w.Note(4, 5)
	writes := w.Cut(nil, 0, true, 2)
	if len(writes) != 1 || w.WantsPart() {
		t.Fatalf("%d records are written, want one fact", len(writes))
	}
	r, err := Read(writes[0].Value)
	if err != nil || r.Kind != Fact || r.Low != 1 {
		t.Errorf("the record is %+v, error %v", r.Header, err)
	}
}

// TestALowOffsetThatHasPassedAllIsWritten: records below it may be deleted only once the journal
// says so, and a commit that is older than its deletion would not.
func TestALowOffsetThatHasPassedAllIsWritten(t *testing.T) {
	w, window := ofCopies(t)
	for o := int64(1); o < 4; o++ {
		window.Finish(o)
		w.Note(o, o+1)
	}
	writes := w.Cut(nil, 0, true, 2)
	if len(writes) != 1 {
		t.Fatalf("%d records are written, want one", len(writes))
	}
	w.Written(Result{Seq: writes[0].Seq, Offset: 8}, 2)
	if r, err := Read(writes[0].Value); err != nil || r.Kind != Fact || r.Low != 4 || w.Low() != 4 {
		t.Errorf("the record is %+v, error %v; the journal's low offset is %d, want 4", r.Header, err, w.Low())
	}
	if again := w.Cut(nil, 0, true, 3); len(again) > 0 || w.Status().Unwritten != 0 {
		t.Errorf("%d records are written of nothing, %d offsets are in none", len(again), w.Status().Unwritten)
	}
}

func TestRecordsThatTheOtherSetNeedsAreNotDeleted(t *testing.T) {
	copies, _ := ofCopies(t)
	if needed := copies.Needed(offsets.JournalRange{}); needed != 0 {
		t.Errorf("records from %d on are needed before a commit names any, want all", needed)
	}
	if needed := copies.Needed(copies.Named()); needed != 7 {
		t.Errorf("records from %d on are needed, want 7", needed)
	}
	// The finished offsets are in metadata.
	w := NewWriter(Identity{Group: "g"}, 1, Restored{}, offsets.NewWindow(0))
	w.Use(testTopic, 1<<20)
	for i, c := range []struct{ beside, below int64 }{{math.MaxInt64, -1}, {0, -1}, {7, 7}, {7, -1}} {
		if below := w.Committed(offsets.JournalRange{}, c.beside, 1); below != c.below {
			t.Errorf("%d: deleted below %d, want %d", i, below, c.below)
		}
		w.Deleted(7, nil, 1)
	}
	// And in the journal, from a later record on.
	w = NewWriter(Identity{Group: "g"}, 1, Restored{Named: offsets.JournalRange{TopicID: testTopic, From: 9, To: 12}, Whole: true}, offsets.NewWindow(0))
	w.Use(testTopic, 1<<20)
	if below := w.Committed(w.Named(), 7, 1); below != 7 {
		t.Errorf("deleted below %d, the copies need 7 and the offsets 9", below)
	}
}
