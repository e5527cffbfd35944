package facts

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"layover/offsets"
)

// journalled returns a writer that goes on from a whole journal, whose last record is at
// offset 0.
func journalled(id Identity, w *offsets.Window, tail ...Run) *Writer {
	l := NewWriter(id, 9, Restored{Named: offsets.JournalRange{TopicID: testTopic}, Whole: true, Tail: tail}, w)
	l.Use(testTopic, 1<<20)
	return l
}

// note finishes single offsets.
func note(l *Writer, w *offsets.Window, at ...int64) {
	for _, o := range at {
		if w.Finish(o) {
			l.Note(o, o+1)
		}
	}
}

func saysOf(t *testing.T, value []byte) (offsets int64) {
	t.Helper()
	r, err := Read(value)
	if err != nil {
		t.Fatal(err)
	}
	r.Each(func(from, to int64) { offsets += to - from })
	return offsets
}

// TestWhatReadingTookBackIsNotWrittenAnew: the commit's own set may reach beyond where the
// log of its epoch ended, which a later record tells.
func TestWhatReadingTookBackIsNotWrittenAnew(t *testing.T) {
	tail := []Run{{20, 22}, {95, 120}}
	w := finished(tail...)
	old, later := value(LastPart, 3, 1, 10, Run{30, 32}), value(LastPart, 4, 2, 10, Run{30, 32})
	r, err := Read(old)
	if err != nil {
		t.Fatal(err)
	}
	named := offsets.JournalRange{TopicID: testTopic, Sum: r.Sum}
	u := NewReader(testID, w, 3, 500, named)
	add(t, u, ends(100, 100, 100, 100), old, later)
	l := NewWriter(testID, 9, u.Restored(true, 0, tail), w)
	l.Use(testTopic, 1<<20)
	cut := cutAll(l, 4, true, 1)
	if len(cut) != 1 || saysOf(t, cut[0].Value) != 2+5 {
		t.Fatalf("%d records, the first of %d offsets; want one of 7", len(cut), saysOf(t, cut[0].Value))
	}
	rec, _ := Read(cut[0].Value)
	rec.Each(func(from, to int64) {
		if to > 100 {
			t.Errorf("%d to %d are said to be finished, in a log that was truncated at 100", from, to)
		}
	})
}

// TestATopicThatTakesLessThanItSaysGetsSmallerRecords, whoever's fault it was, and some in
// the end.
func TestATopicThatTakesLessThanItSaysGetsSmallerRecords(t *testing.T) {
	id := testID
	id.Group = strings.Repeat("g", 200)
	w := offsets.NewWindow(0)
	l := journalled(id, w)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60_000 {
		note(l, w, 1+rng.Int64N(1_000_000))
	}
	const takes = 5000 // bytes of all that is in flight: a batch
	at, now, rounds := int64(1), int64(1), 0
	for ; !l.written.base.ok || l.unwritten.gap || l.notAcknowledged() > 0; rounds++ {
		if rounds > 200 {
			t.Fatalf("not done: %+v, records of %d bytes", l.Status(), l.limit)
		}
		size := 0
		cut := cutAll(l, 5, true, now)
		for _, c := range cut {
			size += len(c.Value)
		}
		for _, c := range cut {
			r := Result{Seq: c.Seq, Offset: at}
			if at++; size > takes {
				r.Err, r.TooLarge = errors.New("too large"), true
			}
			l.Written(r, now)
		}
		now += retryMs
	}
	if l.limit < takes/16 {
		t.Errorf("records of %d bytes", l.limit)
	}
	note(l, w, 2_000_000)
	if cut := cutAll(l, 5, true, now); len(cut) != 1 {
		t.Errorf("%d records", len(cut))
	}
}

// TestASmallRecordThatIsTooLargeEndsNothing: it stood in a batch with large ones.
func TestASmallRecordThatIsTooLargeEndsNothing(t *testing.T) {
	id := testID
	id.Group = strings.Repeat("g", 100)
	w := offsets.NewWindow(0)
	l := journalled(id, w)
	for round := range int64(20) {
		note(l, w, 10+2*round)
		for _, c := range cutAll(l, 5, true, 1+round*retryMs) {
			l.Written(Result{Seq: c.Seq, Offset: -1, Err: errors.New("too large"), TooLarge: true}, 1+round*retryMs)
		}
	}
	if cut := cutAll(l, 5, true, 100*retryMs); len(cut) != 1 || saysOf(t, cut[0].Value) != 20 {
		t.Errorf("%d records", len(cut))
	}
}

// TestEachOfSplitFactsCountsForItself: what one has is not written because another is.
func TestEachOfSplitFactsCountsForItself(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	l.Use(testTopic, 200)
	for o := int64(5); l.unwritten.fresh.count < 150; o += 2 {
		note(l, w, o)
	}
	cut := cutAll(l, 5, true, 1)
	if len(cut) < 2 {
		t.Fatal("one record")
	}
	l.Written(Result{Seq: cut[0].Seq, Offset: 1}, 1)
	if got, want := l.Status().Unwritten, 150-saysOf(t, cut[0].Value); got != want {
		t.Errorf("%d unwritten, want %d", got, want)
	}
	for _, c := range cut[1:] {
		l.Written(Result{Seq: c.Seq, Err: errors.New("no")}, 1)
	}
	if enc, _ := l.Encode(110, 110, 0, offsets.RunsState{}); enc.Complete || enc.Left+enc.Covered < 150-saysOf(t, cut[0].Value) {
		t.Errorf("%+v", enc)
	}
}

// TestACommitNeverSaysLessThanTheOneBefore: the journal is entered, and has a snapshot,
// before there is one that would not fit.
func TestACommitNeverSaysLessThanTheOneBefore(t *testing.T) {
	p := newPen(t, &log{}, Restored{}, offsets.NewWindow(0))
	for o := int64(100_000); o < 100_000+3*800; o += 3 {
		p.finish(o, o+1)
	}
	p.write(true)
	if _, enc := p.commit(4096); !enc.Complete || len(p.log.values) > 0 {
		t.Fatalf("%+v, %d records", enc, len(p.log.values))
	}
	for o := int64(1000); o < 1000+3*1400; o += 3 {
		p.finish(o, o+1)
	}
	p.write(true)
	last, enc := p.commit(4096)
	if !enc.Complete || p.l.Status().Mode != InJournal {
		t.Errorf("%+v in mode %v", enc, p.l.Status().Mode)
	}
	read, _, _ := restore(t, p.log, last)
	same(t, read, p.w)
}

// TestAJournalThatIsGoneCountsForNothing: commits say of the whole set what they can.
func TestAJournalThatIsGoneCountsForNothing(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	for o := int64(1); o < 20_000; o += 2 {
		note(l, w, o)
	}
	for i, c := range cutAll(l, 5, true, 1) {
		l.Written(Result{Seq: c.Seq, Offset: int64(1 + i)}, 1)
	}
	l.Stop(false)
	if enc, named := l.Encode(4096, 4096, 0, offsets.RunsState{}); !enc.Complete || named.IsZero() || l.TakeRewrite() {
		t.Errorf("a journal that cannot be written to at the moment: %+v, %+v", enc, named)
	}
	l.Stop(true)
	enc, named := l.Encode(4096, 4096, 0, offsets.RunsState{})
	if !l.TakeRewrite() || l.TakeRewrite() || !named.IsZero() || enc.Covered < 1000 || enc.Left != w.Above()-enc.Covered || l.Status().Unwritten >= 0 {
		t.Errorf("%+v, %+v, %+v", enc, named, l.Status())
	}
}

// TestWhatIsInFlightMayAllBeAnsweredAtOnce, after a stall: there is room for it.
func TestWhatIsInFlightMayAllBeAnsweredAtOnce(t *testing.T) {
	w := offsets.NewWindow(0)
	l := NewWriter(testID, 9, Restored{Named: offsets.JournalRange{TopicID: testTopic}, Whole: true}, w) // not told yet of the topic
	rng := rand.New(rand.NewPCG(4, 4))
	for range 16_384 {
		note(l, w, 1+rng.Int64N(5_000_000))
	}
	if l.unwritten.gap {
		t.Error("a snapshot is needed")
	}
}
