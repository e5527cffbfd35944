package facts

import (
	"errors"
	"testing"

	"layover/offsets"
)

// TestACommitHoldsWhatNoAcknowledgedRecordHas: what is in flight, and what is fresh.
func TestACommitHoldsWhatNoAcknowledgedRecordHas(t *testing.T) {
	w := offsets.NewWindow(0)
	for o := int64(1); o < 8000; o += 2 { // all in the journal
		w.Finish(o)
	}
	l := journalled(testID, w)
	wants := func(when string, runs ...int64) {
		t.Helper()
		enc, named := l.Encode(300, 300, 0, offsets.RunsState{})
		got, ext, err := offsets.DecodeAll(enc.Metadata, testID.Identity, 0)
		if err != nil || named.IsZero() || ext.Journal != named {
			t.Fatalf("%s: %v, the commit names %+v, and %+v to be told", when, err, ext.Journal, named)
		}
		want, n := offsets.NewWindow(0), int64(0)
		for i := 0; i < len(runs); i += 2 {
			want.FinishRange(runs[i], runs[i+1])
			n += runs[i+1] - runs[i]
		}
		same(t, got, want)
		if !enc.Complete || enc.Covered != n || enc.Left != 0 || l.Status().Unwritten != n {
			t.Errorf("%s: %+v with %d unwritten, want all %d", when, enc, l.Status().Unwritten, n)
		}
	}
	at := int64(1)
	for range 2 {
		wants("nothing finished since")
		note(l, w, 10_001, 10_003, 10_004)
		wants("fresh", 10_001, 10_002, 10_003, 10_005)
		cut := cutAll(l, 5, true, 1)
		wants("in flight", 10_001, 10_002, 10_003, 10_005)
		note(l, w, 10_007)
		wants("in flight and fresh", 10_001, 10_002, 10_003, 10_005, 10_007, 10_008)
		more := cutAll(l, 5, true, 1)
		for _, c := range cut {
			l.Written(Result{Seq: c.Seq, Offset: at}, 1)
			at++
		}
		wants("the second in flight", 10_007, 10_008)
		for _, c := range more {
			l.Written(Result{Seq: c.Seq, Offset: at}, 1)
			at++
		}
		w.ClipAbove(10_000) // and the same once more
	}
}

// TestACommitCountsWhatItCouldNotHold: the unwritten ones that did not fit, and no others.
func TestACommitCountsWhatItCouldNotHold(t *testing.T) {
	w := offsets.NewWindow(0)
	for o := int64(1); o < 8000; o += 2 {
		w.Finish(o)
	}
	l := journalled(testID, w)
	for i := range int64(tailRuns + 100) {
		note(l, w, 10_000+2*i)
	}
	enc, _ := l.Encode(300, 300, 0, offsets.RunsState{})
	if enc.Complete || enc.Covered == 0 || enc.Covered+enc.Left != tailRuns+100 {
		t.Errorf("%d covered and %d left, complete %v; %d are unwritten", enc.Covered, enc.Left, enc.Complete, tailRuns+100)
	}
	if enc, _ := l.Encode(8000, 300, 0, offsets.RunsState{}); enc.Complete || enc.Covered != tailRuns || enc.Left != 100 {
		t.Errorf("with more runs than a commit looks at: %d covered and %d left, complete %v", enc.Covered, enc.Left, enc.Complete)
	}
}

func TestOffsetsInOrderTakeNoRoom(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	for o := int64(5); o < 5000; o++ {
		note(l, w, o)
	}
	if l.Bytes() != 0 {
		t.Errorf("one run takes %d bytes", l.Bytes())
	}
	if cut := cutAll(l, 5, true, 1); len(cut) != 1 || saysOf(t, cut[0].Value) != 4995 {
		t.Errorf("%d records", len(cut))
	}
}

func TestWhatIsRestoredEndsWithTheLastRecordAndBeginsInTheLog(t *testing.T) {
	first, second := value(LastPart, 0, 1, 10, Run{30, 32}), value(Fact, 0, 0, 0, Run{40, 42})
	named, _ := Read(first)
	last, _ := Read(second)
	for name, test := range map[string]struct {
		values   [][]byte
		whole    bool
		start    int64
		from, to int64
		sum      uint32
	}{
		"the named record is the last":   {[][]byte{first}, true, 0, 0, 0, named.Sum},
		"a record behind it":             {[][]byte{first, second}, true, 0, 0, 1, last.Sum},
		"the log begins later":           {[][]byte{first, second}, true, 1, 1, 1, last.Sum},
		"it is not whole, and not cared": {[][]byte{first, second}, false, 1, 0, 0, named.Sum},
	} {
		commit := offsets.JournalRange{TopicID: testTopic, Sum: named.Sum}
		u := NewReader(testID, finished(), 0, 500, commit)
		add(t, u, ends(), test.values...)
		r := u.Restored(test.whole, test.start, nil)
		if r.Named.From != test.from || r.Named.To != test.to || r.Named.Sum != test.sum || r.Whole != test.whole {
			t.Errorf("%s: %+v, want %d to %d", name, r, test.from, test.to)
		}
	}
}

func TestOneOffsetWithoutALeaderEpochMakesThatOfAllUnknown(t *testing.T) {
	for above, want := range map[int64]int32{0: 2, 1: -1, 2: -1} {
		u := NewReader(testID, finished(Run{20, 20 + above}), -1, 500, offsets.JournalRange{})
		add(t, u, ends(), value(Fact, 2, 0, 0, Run{50, 60}))
		if got := u.LeaderEpoch(); got != want {
			t.Errorf("with %d offsets of an unknown leader epoch: %d, want %d", above, got, want)
		}
	}
}

func TestARecordThatNoReleaseWritesIsDamaged(t *testing.T) {
	good := value(Fact, 1, 7, 0)
	endless := append(append([]byte{}, good[:endKind]...), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	kind := func(k Kind) []byte {
		v := append([]byte{}, good...)
		v[endWriter] = byte(k)
		return testID.seal(v)
	}
	values := [][]byte{kind(0), kind(LastPart + 1), testID.seal(endless)}
	for n := endKind; n < len(good); n++ {
		values = append(values, testID.seal(append([]byte{}, good[:n]...)))
	}
	u := NewReader(testID, finished(), 0, 500, offsets.JournalRange{})
	for i, v := range values {
		if _, err := Read(v); !errors.Is(err, ErrDamaged) {
			t.Errorf("%x: %v, want damaged", v, err)
		}
		if err := u.Add(int64(i), v, ends()); err != nil || u.Damaged != int64(i+1) || u.Records != 0 {
			t.Errorf("%x: %v, %d damaged and %d records", v, err, u.Damaged, u.Records)
		}
	}
	for k, want := range map[Kind]string{0: "unknown", Fact: "fact", Snapshot: "snapshot", LastPart: "snapshot end", LastPart + 1: "unknown"} {
		if k.String() != want {
			t.Errorf("kind %d is %q, want %q", k, k, want)
		}
	}
}

// TestAnEndThatCannotBeAskedForStopsTheReading: a fact is true only up to it.
func TestAnEndThatCannotBeAskedForStopsTheReading(t *testing.T) {
	for name, failing := range map[string]int32{"of the commit's epoch": 1, "of the fact's epoch": 2} {
		w := finished()
		u := NewReader(testID, w, 1, 500, offsets.JournalRange{})
		err := u.Add(0, value(Fact, 2, 0, 0, Run{50, 60}), func(epoch int32) (int64, error) {
			if epoch == failing {
				return 0, errRefused
			}
			return 1000, nil
		})
		if !errors.Is(err, errRefused) || w.Above() != 0 || u.Records != 0 {
			t.Errorf("%s: %v, with %d offsets and %d records", name, err, w.Above(), u.Records)
		}
	}
}

// TestOnlyTheRecordAtTheNamedOffsetIsTheNamedOne, and not the same one elsewhere.
func TestOnlyTheRecordAtTheNamedOffsetIsTheNamedOne(t *testing.T) {
	first, second := value(LastPart, 0, 1, 10, Run{30, 32}), value(Fact, 0, 0, 0, Run{40, 42})
	r, _ := Read(first)
	for name, test := range map[string]struct {
		values [][]byte
		start  int64
		whole  bool
	}{
		"it is there":                  {[][]byte{second, first}, 0, true},
		"it is there, and all before":  {[][]byte{first, first}, 0, true},
		"another one is there":         {[][]byte{first, second}, 0, false},
		"another, and the log's first": {[][]byte{first, second}, 1, false},
	} {
		u := NewReader(testID, finished(), 0, 500, offsets.JournalRange{TopicID: testTopic, From: 1, To: 1, Sum: r.Sum})
		size := int64(0)
		for i, v := range test.values {
			if int64(i) >= test.start {
				if err := u.Add(int64(i), v, ends()); err != nil {
					t.Fatal(err)
				}
				size += int64(len(v))
			}
		}
		if err := u.Complain(testTopic, test.start, 2); (err == nil) != test.whole {
			t.Errorf("%s: %v", name, err)
		}
		if u.Records != int64(len(test.values))-test.start || u.Bytes != size {
			t.Errorf("%s: %d records of %d bytes, want %d bytes", name, u.Records, u.Bytes, size)
		}
	}
}

// TestWhatIsInFlightCountsAsMemory until it is answered, each time.
func TestWhatIsInFlightCountsAsMemory(t *testing.T) {
	w := offsets.NewWindow(0)
	l := journalled(testID, w)
	for round := range int64(2) {
		for o := int64(1); o < 2000; o += 2 {
			note(l, w, o+4000*round)
		}
		cut := cutAll(l, 5, true, 1)
		size := int64(0)
		for _, c := range cut {
			size += int64(len(c.Value))
		}
		if held := l.Bytes(); size < 1000 || held < 2*size || held > 20*size {
			t.Errorf("round %d: %d bytes with %d in flight, and the runs of them", round, held, size)
		}
		for _, c := range cut {
			l.Written(Result{Seq: c.Seq, Offset: l.written.to + 1}, 1)
		}
		if kept := l.Bytes(); kept > 20_000 {
			t.Errorf("round %d: %d bytes with nothing in flight", round, kept)
		}
	}
}

// TestACommitThatLeavesAnythingOutSaysNotFromWhereCommandsCountAgain: what it leaves out may be
// what any command has ended. And saying it makes no set too large.
func TestACommitThatLeavesAnythingOutSaysNotFromWhereCommandsCountAgain(t *testing.T) {
	for name, journal := range map[string]bool{"metadata alone": false, "a journal": true} {
		said, left, silent := 0, 0, 0
		encode := func(limit int, again int64) offsets.Encoded {
			w := offsets.NewWindow(0)
			l := NewWriter(testID, 9, Restored{}, w)
			if journal {
				for o := int64(1); o < 800; o += 2 {
					w.Finish(o)
				}
				l = journalled(testID, w)
			}
			for o := int64(10_000); o < 13_000; o += 3 + o*o%19 {
				note(l, w, o)
			}
			enc, _ := l.Encode(limit, limit, again, offsets.RunsState{})
			return enc
		}
		for limit := 60; limit < 600; limit++ {
			without, enc := encode(limit, 0), encode(limit, 7)
			_, ext, err := offsets.DecodeAll(enc.Metadata, testID.Identity, 0)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case enc.Complete != without.Complete || enc.Left != without.Left:
				t.Errorf("%s, %d characters: %+v, and with an offset %+v", name, limit, without, enc)
			case ext.Again != 0 && (ext.Again != 7 || !enc.Complete || enc.Left > 0):
				t.Errorf("%s, %d characters: commands from %d on, and %+v", name, limit, ext.Again, enc)
			case ext.Again == 7:
				said++
			case !enc.Complete:
				left++
			default:
				silent++
			}
		}
		if said == 0 || left == 0 || silent == 0 {
			t.Errorf("%s: said %d times, left something out %d times, %d times without room", name, said, left, silent)
		}
	}
}
