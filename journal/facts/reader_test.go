package facts

import (
	"errors"
	"math"
	"strings"
	"testing"

	"layover/offsets"
)

// value writes a record of testID with runs above low 10.
func value(kind Kind, epoch int32, number uint64, from int64, rs ...Run) []byte {
	return valueOf(testID, Header{Writer: 5, Kind: kind, LeaderEpoch: epoch, Low: 10, Number: number, From: from}, rs...)
}

func valueOf(id Identity, h Header, rs ...Run) []byte {
	v, _, _ := offsets.AppendRuns(id.appendHeader(nil, h), h.Low, 1<<20, each(rs))
	return id.seal(v)
}

// ends are where the log of each leader epoch ends; beyond the last it does not.
func ends(of ...int64) EndOf {
	return func(epoch int32) (int64, error) {
		if int(epoch) < len(of) {
			return of[epoch], nil
		}
		return 1000, nil
	}
}

func finished(from ...Run) *offsets.Window {
	w := offsets.NewWindow(4)
	for _, r := range from {
		w.FinishRange(r.From, r.To)
	}
	return w
}

func add(t *testing.T, u *Reader, end EndOf, values ...[]byte) {
	t.Helper()
	for i, v := range values {
		if err := u.Add(int64(i), v, end); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFactsEndWhereTheLogOfTheirLeaderEpochDoes: what a truncation took was written anew,
// and nobody has delivered it.
func TestFactsEndWhereTheLogOfTheirLeaderEpochDoes(t *testing.T) {
	w := finished()
	u := NewReader(testID, w, 0, 500, offsets.JournalRange{})
	add(t, u, ends(100, 7), value(Fact, 0, 0, 0, Run{50, 60}, Run{90, 120}), value(Fact, 2, 0, 0, Run{200, 210}, Run{490, 510}))
	want := finished(Run{4, 10}, Run{50, 60}, Run{90, 100}, Run{200, 210}, Run{490, 500})
	same(t, w, want)
	if u.LeaderEpoch() != 2 {
		t.Errorf("leader epoch %d", u.LeaderEpoch())
	}
	w = finished()
	add(t, NewReader(testID, w, 1, 500, offsets.JournalRange{}), ends(100, 7), value(Fact, 1, 0, 0, Run{50, 60}))
	same(t, w, finished(Run{4, 7})) // low too: 10 is beyond
}

// TestWhatACommitSaysEndsWithItsLeaderEpochWhenAFactIsOfALaterOne: nobody asks for the
// commit's epoch any more once the facts' is taken for all.
func TestWhatACommitSaysEndsWithItsLeaderEpochWhenAFactIsOfALaterOne(t *testing.T) {
	w := finished(Run{20, 40}, Run{60, 80})
	u := NewReader(testID, w, 0, 500, offsets.JournalRange{})
	add(t, u, ends(30), value(Fact, 1, 0, 0, Run{50, 55}))
	same(t, w, finished(Run{4, 10}, Run{20, 30}, Run{50, 55}))

	u = NewReader(testID, finished(), 0, 500, offsets.JournalRange{})
	if err := u.Add(0, value(Fact, 1, 0, 0), ends(3)); !errors.Is(err, ErrTruncated) {
		t.Errorf("a commit at 4 of a log that ended at 3: %v", err)
	}
}

// TestALeaderEpochThatTheBrokerDoesNotKnowCutsNothingOff: it has no history, and -1 is no
// end of a log.
func TestALeaderEpochThatTheBrokerDoesNotKnowCutsNothingOff(t *testing.T) {
	w := finished(Run{20, 40})
	u := NewReader(testID, w, 0, 500, offsets.JournalRange{})
	add(t, u, ends(-1, -1), value(Fact, 1, 0, 0, Run{50, 60}, Run{490, 510}))
	same(t, w, finished(Run{4, 10}, Run{20, 40}, Run{50, 60}, Run{490, 500}))
	if u.LeaderEpoch() != 1 {
		t.Errorf("leader epoch %d, want that of the fact, so that a later one ends what is known", u.LeaderEpoch())
	}
}

func TestFactsOfAnUnknownLeaderEpochMakeAllStrange(t *testing.T) {
	for name, test := range map[string]struct {
		was   int32
		above bool
		facts []int32
		want  int32
	}{
		"all known":                    {3, true, []int32{2, 4}, 4},
		"no facts":                     {3, true, nil, 3},
		"a fact of none":               {3, true, []int32{4, -1}, -1},
		"a commit of none":             {-1, true, []int32{4}, -1},
		"a commit of none, and no set": {-1, false, []int32{4}, 4},
	} {
		w := finished()
		if test.above {
			w.FinishRange(20, 22)
		}
		u := NewReader(testID, w, test.was, 500, offsets.JournalRange{})
		for i, e := range test.facts {
			if err := u.Add(int64(i), value(Fact, e, 0, 0, Run{50, 60}), ends()); err != nil {
				t.Fatal(err)
			}
		}
		if got := u.LeaderEpoch(); got != test.want {
			t.Errorf("%s: leader epoch %d, want %d", name, got, test.want)
		}
	}
}

// TestASnapshotFromBeforeAnythingWasReadLeavesTheLeaderEpochKnown: an operator's offset has no
// leader epoch, and so has a snapshot of it. A commit of the same offset has one, by
// which its owner notices that the log was truncated below it.
func TestASnapshotFromBeforeAnythingWasReadLeavesTheLeaderEpochKnown(t *testing.T) {
	u := NewReader(testID, offsets.NewWindow(10), 3, 500, offsets.JournalRange{})
	add(t, u, ends(), value(LastPart, -1, 1, 10))
	if u.LeaderEpoch() != 3 || u.Until(0) != math.MaxInt64 {
		t.Errorf("leader epoch %d, until %d", u.LeaderEpoch(), u.Until(0))
	}
}

// TestOnlyRecordsOfThisLifeOfThisPartitionCount: a journal may hold anything.
func TestOnlyRecordsOfThisLifeOfThisPartitionCount(t *testing.T) {
	h := Header{Writer: 1, Kind: Fact, LeaderEpoch: 1, Low: 10}
	edit := func(f func(*Identity)) []byte {
		id := testID
		f(&id)
		return valueOf(id, h, Run{20, 30})
	}
	flipped := valueOf(testID, h, Run{20, 30})
	flipped[len(flipped)-1] ^= 1
	newer := valueOf(testID, h, Run{20, 30})
	newer[2], newer[3] = 2, 2
	newerOther := edit(func(id *Identity) { id.Incarnation++ })
	newerOther[2], newerOther[3] = 2, 2
	for name, test := range map[string]struct {
		value           []byte
		others, damaged int64
		group           string
	}{
		"another life":       {edit(func(id *Identity) { id.Incarnation++ }), 1, 0, ""},
		"another topic":      {edit(func(id *Identity) { id.TopicID[3]++ }), 1, 0, ""},
		"another partition":  {edit(func(id *Identity) { id.Partition++ }), 1, 0, ""},
		"another group":      {edit(func(id *Identity) { id.Group = "billing" }), 1, 0, "billing"},
		"another cluster":    {edit(func(id *Identity) { id.ClusterID = "d" }), 1, 0, ""},
		"nothing":            {nil, 1, 0, ""},
		"a newer release's":  {newerOther, 1, 0, ""},
		"somebody's text":    {[]byte("hello, world"), 1, 0, ""},
		"a flipped bit":      {flipped, 0, 1, ""},
		"half a record":      {flipped[:30], 0, 1, ""},
		"an unknown kind":    {valueOf(testID, Header{Kind: 9, Low: 10}), 0, 1, ""},
		"a run past the end": {testID.seal(append(testID.appendHeader(nil, h), 0xff)), 0, 1, ""},
	} {
		w := finished()
		u := NewReader(testID, w, 1, 500, offsets.JournalRange{})
		if err := u.Add(7, test.value, ends()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if u.Others != test.others || u.Damaged != test.damaged || u.Group != test.group || u.Records != 0 || w.Above() != 0 {
			t.Errorf("%s: %d others, %d damaged, group %q, %d records, %d finished", name, u.Others, u.Damaged, u.Group, u.Records, w.Above())
		}
	}
	u := NewReader(testID, finished(), 1, 500, offsets.JournalRange{})
	if err := u.Add(7, newer, ends()); !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "at 7") {
		t.Errorf("a record of a newer release: %v", err)
	}
}

func TestAJournalThatLacksWhatACommitNamesIsComplainedOf(t *testing.T) {
	first, last := value(Snapshot, 1, 3, 10, Run{20, 30}), value(LastPart, 1, 3, 30, Run{40, 50})
	fact := value(Fact, 1, 0, 0, Run{60, 70})
	r, err := Read(fact)
	if err != nil {
		t.Fatal(err)
	}
	named := offsets.JournalRange{TopicID: testTopic, From: 4, To: 6, Sum: r.Sum}
	for name, test := range map[string]struct {
		start  int64
		values [][]byte
		topic  offsets.TopicID
		want   string
	}{
		"all there":                          {4, [][]byte{first, last, fact}, testTopic, ""},
		"more before and behind":             {2, [][]byte{fact, first, first, last, fact, fact}, testTopic, ""},
		"made again":                         {4, [][]byte{first, last, fact}, offsets.TopicID{9}, "made again"},
		"ends before":                        {4, [][]byte{first, last}, testTopic, "truncated"},
		"is empty":                           {7, nil, testTopic, "begins at 7"},
		"another record in its place":        {4, [][]byte{first, last, first}, testTopic, "not the one"},
		"begins behind the snapshot":         {5, [][]byte{last, fact}, testTopic, "begins at 5"},
		"begins behind, with a whole newer":  {6, [][]byte{fact, first, last}, testTopic, ""},
		"begins behind all, a whole newer":   {9, [][]byte{first, fact, last}, testTopic, ""},
		"begins behind, with a newer's end":  {6, [][]byte{fact, last}, testTopic, "begins at 6"},
		"begins behind, with a newer's half": {6, [][]byte{fact, first}, testTopic, "begins at 6"},
	} {
		u := NewReader(testID, finished(), 1, 500, named)
		for i, v := range test.values {
			if err := u.Add(test.start+int64(i), v, ends()); err != nil {
				t.Fatal(err)
			}
		}
		err := u.Complain(test.topic, test.start, test.start+int64(len(test.values)))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestARecordOfFormatVersion1IsPinned holds what stands in journals: every release of
// format version 1 writes it, and reads it.
func TestARecordOfFormatVersion1IsPinned(t *testing.T) {
	id := Identity{Identity: offsets.Identity{ClusterID: "c", Partition: 1}, Group: "g", Incarnation: 2}
	got := valueOf(id, Header{Writer: 3, Kind: LastPart, LeaderEpoch: 4, Low: 42, Number: 6, From: 44}, Run{44, 46}, Run{47, 48})
	const want = "LJ\x01\x01" + "\xc2\x37\x06\x61" + "\xaf\x63\xde\x4c\x86\x01\xef\xf2" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x02" + "\x00\x00\x00\x00\x00\x00\x00\x03" + "\x03" + "\x01" + "\x01g" + "\x05" + "\x2a" + "\x06" + "\x02" +
		"\x00" + "\x01\x01\x00\x00"
	if string(got) != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(value(Fact, 1, 0, 0, Run{50, 60}))
	f.Add(value(LastPart, -1, 9, 12, Run{50, 60}, Run{70, 71}))
	f.Add([]byte("LJ\x01\x01"))
	f.Fuzz(func(t *testing.T, v []byte) {
		if r, err := Read(v); err == nil {
			if r.Low < 0 || r.From < r.Low || r.LeaderEpoch < -1 || r.Kind < Fact || r.Kind > LastPart {
				t.Errorf("%+v", r.Header)
			}
		} else if !errors.Is(err, ErrForeign) && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			t.Error(err)
		}
		if len(v) >= endSum { // as if somebody had written it
			sealed := testID.seal(append([]byte{}, v...))
			w := offsets.NewWindow(4)
			u := NewReader(testID, w, 1, 500, offsets.JournalRange{})
			u.Add(0, sealed, ends())
			if w.Highest() >= 500 {
				t.Errorf("%d is finished beyond the log's end", w.Highest())
			}
			if w.Bytes() > 1<<20+int64(len(v))*1024 {
				t.Errorf("%d bytes of memory for %d", w.Bytes(), len(v))
			}
		}
	})
}

// TestWhatAUnionNamesIsFoundByTheNextReader, who has no other commit: the last record of
// this life, whoever's stand behind it.
func TestWhatAUnionNamesIsFoundByTheNextReader(t *testing.T) {
	first, last := value(Snapshot, 1, 3, 10, Run{20, 30}), value(LastPart, 1, 3, 30, Run{40, 50})
	other := testID
	other.Incarnation++
	foreign := valueOf(other, Header{Writer: 1, Kind: Fact, LeaderEpoch: 1, Low: 10}, Run{70, 80})
	for name, test := range map[string]struct {
		values   [][]byte
		to       int64
		complete bool
	}{
		"nothing":         {nil, -1, false},
		"nothing of it":   {[][]byte{foreign, []byte("x")}, -1, false},
		"a fact":          {[][]byte{value(Fact, 1, 0, 0, Run{60, 70}), foreign}, 4, false},
		"half a snapshot": {[][]byte{first, foreign}, 4, false},
		"a snapshot":      {[][]byte{first, last, foreign}, 5, true},
	} {
		w := offsets.NewWindow(0)
		u := NewReader(testID, w, -1, 500, offsets.JournalRange{})
		for i, v := range test.values {
			if err := u.Add(4+int64(i), v, ends()); err != nil {
				t.Fatal(err)
			}
		}
		named := u.Name(testTopic, 4)
		if u.Complete() != test.complete || named.IsZero() != (test.to < 0) || !named.IsZero() && (named.From != 4 || named.To != test.to) {
			t.Errorf("%s: complete %v, names %+v", name, u.Complete(), named)
		}
		again := offsets.NewWindow(w.Low())
		next := NewReader(testID, again, u.LeaderEpoch(), 500, named)
		for i, v := range test.values {
			if err := next.Add(4+int64(i), v, ends()); err != nil {
				t.Fatal(err)
			}
		}
		if err := next.Complain(testTopic, 4, 4+int64(len(test.values))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		same(t, again, w)
	}
}
