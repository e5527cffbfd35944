package facts

import (
	"errors"
	"math"
	"testing"

	"layover/offsets"
)

var errRefused = errors.New("refused")

// TestADeletionThatFailedIsTriedAgainAfterAPause, each time it fails.
func TestADeletionThatFailedIsTriedAgainAfterAPause(t *testing.T) {
	l := NewWriter(testID, 9, Restored{Named: offsets.JournalRange{TopicID: testTopic, From: 5, To: 9}, Whole: true}, offsets.NewWindow(0))
	l.Use(testTopic, 1<<20)
	_, named := l.Encode(4096, 4096, 0, offsets.RunsState{})
	wants := func(when string, now, want int64) {
		t.Helper()
		if got := l.Committed(named, math.MaxInt64, now); got != want {
			t.Errorf("%s, at %d: to be deleted is what is below %d, want %d", when, now, got, want)
		}
	}
	now := int64(1000)
	wants("at first", now, 5)
	for range 3 {
		wants("while it is asked for", now+1, -1)
		l.Deleted(5, errRefused, now+10)
		wants("before the pause is over", now+10+deleteRetryMs-1, -1)
		now += 10 + deleteRetryMs
		wants("after the pause", now, 5)
	}
	l.Deleted(5, nil, now)
	wants("once it is done", now+10*deleteRetryMs, -1)
	if n := l.Status().Stats.Deletions; n != 1 {
		t.Errorf("%d deletions are counted, want 1", n)
	}
	other := offsets.TopicID{2}
	for range 2 { // asked of the topic before, and never answered
		l.Use(other, 1<<20)
		if got := l.Committed(offsets.JournalRange{TopicID: other, From: 3, To: 4}, math.MaxInt64, now); got != 3 {
			t.Errorf("of a journal that was made again: %d, want 3", got)
		}
		other[0]++
	}
}

func TestNothingIsCutBeforeThePauseAfterARefusalIsOver(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	now := int64(1000)
	for round := range int64(3) {
		note(l, w, 10+2*round)
		cut := cutAll(l, 5, true, now)
		if len(cut) == 0 {
			t.Fatalf("round %d: nothing is cut", round)
		}
		for _, c := range cut {
			l.Written(Result{Seq: c.Seq, Err: errRefused}, now)
		}
		if s := l.Status(); s.InFlight != 0 || s.Stats.Failures != round+1 || s.Unwritten != -1 {
			t.Errorf("round %d, after the refusal: %+v", round, s)
		}
		if cut := cutAll(l, 5, true, now+retryMs-1); len(cut) > 0 {
			t.Errorf("round %d: %d records are cut before the pause is over", round, len(cut))
		}
		now += retryMs
	}
	for i, c := range cutAll(l, 5, true, now) {
		l.Written(Result{Seq: c.Seq, Offset: int64(1 + i)}, now)
	}
	if s := l.Status(); s.Unwritten != 0 || s.InFlight != 0 {
		t.Errorf("in the end: %+v", s)
	}
}

// TestAJournalMadeAgainHasRoomInFlightAgain, however much was on its way to the former
// ones, and whatever is answered for them later.
func TestAJournalMadeAgainHasRoomInFlightAgain(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	topic, now := testTopic, int64(1)
	for round := range int64(3) {
		l.Use(topic, 200)
		for o := int64(1); o < 4000; o += 2 {
			note(l, w, o+10_000*round)
		}
		var old []Write
		for range 20 {
			old = append(old, cutAll(l, 5, true, now)...)
		}
		if len(old) == 0 || l.room() || l.WantsPart() {
			t.Fatalf("round %d: %d records in flight leave room for more", round, len(old))
		}
		topic[0]++
		l.Use(topic, 200)
		if s := l.Status(); !l.TakeRewrite() || l.TakeRewrite() || s.InFlight != 0 || !l.room() {
			t.Errorf("round %d, made again: %+v, room %v", round, s, l.room())
		}
		before := l.Status()
		for i, c := range old {
			l.Written(Result{Seq: c.Seq, Offset: int64(i)}, now)
		}
		if s := l.Status(); s != before {
			t.Errorf("round %d: late answers changed %+v to %+v", round, before, s)
		}
		if cut := cutAll(l, 5, true, now); len(cut) == 0 {
			t.Errorf("round %d: nothing is written to the journal that was made again", round)
		}
		topic[0]++
		l.Use(topic, 200)
		l.TakeRewrite()
	}
}

func TestNoPartIsCutWhileTheJournalCannotBeWrittenTo(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	for range 2 {
		l.Lose() // a snapshot is due
		l.Cut(nil, 5, true, 1)
		l.Stop(false)
		if out := l.CutPart(nil, 5); l.WantsPart() || len(out) > 0 {
			t.Errorf("stopped, and yet %d parts", len(out))
		}
		if out := l.Cut(nil, 5, true, 1); len(out) > 0 {
			t.Errorf("stopped, and yet %d records", len(out))
		}
		l.Use(testTopic, 1<<20)
		cut := cutAll(l, 5, true, 1)
		if len(cut) != 1 {
			t.Fatalf("%d parts, want one", len(cut))
		}
		l.Written(Result{Seq: cut[0].Seq, Offset: l.written.to + 1}, 1)
	}
}

// TestTheModeSaysWhetherARestartWouldRepeat, there and back twice.
func TestTheModeSaysWhetherARestartWouldRepeat(t *testing.T) {
	w := offsets.NewWindow(0)
	l := NewWriter(testID, 9, Restored{}, w)
	wants := func(when string, want Mode, unwritten int64) {
		t.Helper()
		if s := l.Status(); s.Mode != want || s.Unwritten != unwritten {
			t.Errorf("%s: %v with %d unwritten, want %v with %d", when, s.Mode, s.Unwritten, want, unwritten)
		}
	}
	wants("at first", InMetadata, -1)
	for o := int64(1); o < 8000; o += 2 {
		note(l, w, o)
	}
	l.Encode(300, 300, 0, offsets.RunsState{})
	wants("without a journal", InPrefix, -1)
	for range 2 {
		l.Use(testTopic, 1<<20)
		wants("with a journal", InJournal, -1)
		l.Stop(false)
		wants("while it cannot be written to", InPrefix, -1)
	}
	l.Use(testTopic, 1<<20)
	for _, c := range cutAll(l, 5, true, 1) {
		l.Written(Result{Seq: c.Seq, Offset: l.written.to + 1}, 1)
	}
	wants("written", InJournal, 0)
	l.Stop(false)
	wants("written, and then stopped", InJournal, 0)
	l.Stop(true)
	l.Encode(300, 300, 0, offsets.RunsState{})
	wants("gone", InPrefix, -1)
}

// TestOnlyWhatWasCutBeforeHoldsUpARecord is about the numbers of records in flight.
func TestOnlyWhatWasCutBeforeHoldsUpARecord(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	if l.Writing(0) {
		t.Error("something is in flight from the start")
	}
	var cut []Write
	for o := range int64(3) {
		note(l, w, 10+2*o)
		cut = append(cut, cutAll(l, 5, true, 1)...)
	}
	if len(cut) != 3 || l.Seq() != cut[2].Seq {
		t.Fatalf("%d records, the last number is %d", len(cut), l.Seq())
	}
	for i, c := range cut {
		if !l.Writing(c.Seq-1) || l.Writing(c.Seq) {
			t.Errorf("record %d is the oldest: behind the one before %v, behind itself %v", i, l.Writing(c.Seq-1), l.Writing(c.Seq))
		}
		l.Written(Result{Seq: c.Seq, Offset: int64(1 + i)}, 1)
	}
	if l.Writing(0) || l.Bytes() > 64 {
		t.Errorf("all are answered: writing %v, %d bytes", l.Writing(0), l.Bytes())
	}
}
