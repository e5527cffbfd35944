package offsets

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

var (
	runsTopic, journalTopic = TopicID{0xaa}, TopicID{0xbb}

	// someRuns has the bytes of runsBytes, beside a journal of journalTopic.
	someRuns = RunsState{
		TopicID: runsTopic, LeaderEpoch: 200, Low: 300, Known: 305, DueMs: 60_000, DirectoryEnd: 130,
		Journal: JournalRange{TopicID: journalTopic, From: 4, To: 7, Sum: 0xfeedbeef},
	}
	runsBytes = "aa000000000000000000000000000000" + "02" + "c801" + "ac02" + "05" + "c0a907" + "8201" + "feedbeef" + "04" + "03"
)

// unhex returns the bytes that hex digits stand for.
func unhex(digits string) []byte {
	b, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	return b
}

// TestFormatVersion2IsPinned holds what is stored at brokers: these texts have to be
// written, and read, by every release of format version 2.
func TestFormatVersion2IsPinned(t *testing.T) {
	id := Identity{ClusterID: "c"}
	w := NewWindow(42)
	for _, offset := range []int64{44, 45, 47} {
		w.Finish(offset)
	}
	ext := Extension{Incarnation: 0xa1, Journal: JournalRange{TopicID: journalTopic, From: 1, To: 3, Sum: 9}, Again: 50, Runs: someRuns}
	small := Extension{Incarnation: 0xa1, Runs: RunsState{TopicID: runsTopic, DueMs: math.MaxInt64, Holds: true}}
	for golden, want := range map[string]Extension{
		"layover.2.1.ZUK8mq9j3kyGAe_yAAAAAAAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAKG7AAAAAAAAAAAAAAAAAAAAAAAACQECMqoAAAAAAAAAAAAAAAAAAAACyAGsAgXAqQeCAf7tvu8EAwEBAAA": ext,
		"layover.2.2.RDmPf69j3kyGAe_yAAAAAAAAAAAAAAAAAAAAAAAAAAA0AAAAAAAAAKEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAKoAAAAAAAAAAAAAAAAAAAABAAAAAAEBAAA":                 small,
	} {
		if got := Encode(w, id, want, MaxMetadata).Metadata; got != golden {
			t.Errorf("got  %s\nwant %s", got, golden)
		}
		read, got, err := DecodeAll(golden, id, 42)
		if err != nil || got != want || read.Above() != 3 {
			t.Errorf("got %+v and %d offsets, %v; want %+v", got, read.Above(), err, want)
		}
	}
}

func TestRunsAreWrittenAsDocumented(t *testing.T) {
	journal := JournalRange{TopicID: journalTopic, From: 1, To: 3, Sum: 9}
	const (
		incarnation = "0000000000000007"
		noJournal   = "00000000000000000000000000000000" + "00000000" + "00" + "00"
		aJournal    = "bb000000000000000000000000000000" + "00000009" + "01" + "02"
		topic       = "aa000000000000000000000000000000"
	)
	later := someRuns
	later.Journal.TopicID = TopicID{0xcc}
	sure := someRuns
	sure.Sure = 300 // no more than the low offset is nothing
	if got, want := (Extension{Incarnation: 7, Runs: sure}).append(nil), (Extension{Incarnation: 7, Runs: someRuns}).append(nil); string(got) != string(want) {
		t.Errorf("got %x\nwant %x", got, want)
	}
	sure.Sure = 301
	for name, test := range map[string]struct {
		ext      Extension
		versions string
		bytes    string
	}{
		"beside its journal":  {Extension{Incarnation: 7, Journal: journal, Again: 200, Runs: someRuns}, "2.1", incarnation + aJournal + "c801" + runsBytes},
		"of another journal":  {Extension{Incarnation: 7, Journal: journal, Runs: later}, "2.1", incarnation + aJournal + "00" + topic + "06" + "c801" + "ac02" + "05" + "c0a907" + "8201" + "cc000000000000000000000000000000" + "feedbeef" + "04" + "03"},
		"of a journal alone":  {Extension{Incarnation: 7, Runs: later}, "2.1", incarnation + noJournal + "00" + topic + "06" + "c801" + "ac02" + "05" + "c0a907" + "8201" + "cc000000000000000000000000000000" + "feedbeef" + "04" + "03"},
		"with commands":       {Extension{Incarnation: 7, Again: 200, Runs: RunsState{TopicID: runsTopic}}, "2.1", incarnation + noJournal + "c801" + topic + "00" + "00" + "00" + "00" + "00" + "00"},
		"negative commands":   {Extension{Incarnation: 7, Again: -1, Runs: RunsState{TopicID: runsTopic}}, "2.1", incarnation + noJournal + "00" + topic + "00" + "00" + "00" + "00" + "00" + "00"},
		"all due, and open":   {Extension{Incarnation: 7, Runs: RunsState{TopicID: runsTopic, Known: 129, DueMs: math.MaxInt64, Holds: true}}, "2.2", incarnation + noJournal + "00" + topic + "01" + "00" + "00" + "8101" + "00"},
		"due before 1970":     {Extension{Incarnation: 7, Runs: RunsState{TopicID: runsTopic, DueMs: -2}}, "2.1", incarnation + noJournal + "00" + topic + "00" + "00" + "00" + "00" + "03" + "00"},
		"sure, and a journal": {Extension{Incarnation: 7, Journal: journal, Runs: sure}, "2.1", incarnation + aJournal + "00" + topic + "0a" + runsBytes[34:] + "01"},
		"of no life":          {Extension{Journal: journal, Runs: someRuns}, "1.1", ""},
		"without a topic":     {Extension{Incarnation: 7, Runs: RunsState{Low: 3, Known: 4}}, "1.1", incarnation},
		"open alone":          {Extension{Incarnation: 7, Runs: RunsState{Holds: true}}, "2.2", incarnation},
		"open, and of nobody": {Extension{Runs: RunsState{Holds: true}}, "2.2", ""},
	} {
		want := forge(test.versions, testIdentity, 5, unhex(test.bytes), 2, 3)
		w := NewWindow(5)
		w.FinishRange(7, 10)
		if got := Encode(w, testIdentity, test.ext, MaxMetadata); got != (Encoded{Metadata: want, Complete: true, Covered: 3}) {
			t.Errorf("%s: got %+v\nwant %s", name, got, want)
		}
	}
}

// TestRunsThatCannotBeReadAreNone holds that nothing else is lost with them, and that
// open copies are not forgotten.
func TestRunsThatCannotBeReadAreNone(t *testing.T) {
	journal := JournalRange{TopicID: journalTopic, From: 1, To: 3, Sum: 9}
	front := Extension{Incarnation: 7, Journal: journal, Again: 200}.append(nil)[1:]
	const (
		topic   = "aa000000000000000000000000000000"
		largest = "ffffffffffffffff7f"   // MaxInt64
		beyond  = "80808080808080808001" // one more
	)
	for name, test := range map[string]struct {
		digits string
		want   RunsState
	}{
		"nothing":                      {"", RunsState{}},
		"all of it":                    {runsBytes, someRuns},
		"fields of a later release":    {runsBytes + "ffffff", someRuns},
		"flags of a later release":     {topic + "f0" + "00" + "01" + "02" + "04" + "00", RunsState{TopicID: runsTopic, Low: 1, Known: 3, DueMs: 2}},
		"a topic id without a journal": {topic + "04" + "00" + "01" + "02" + "04" + "00", RunsState{TopicID: runsTopic, Low: 1, Known: 3, DueMs: 2}},
		"no topic":                     {"00000000000000000000000000000000" + runsBytes[32:], RunsState{}},
		"the largest leader epoch":     {topic + "01" + "ffffffff07" + "01" + "02" + "00", RunsState{TopicID: runsTopic, LeaderEpoch: math.MaxInt32, Low: 1, Known: 3, DueMs: math.MaxInt64}},
		"a leader epoch beyond":        {topic + "01" + "8080808008" + "01" + "02" + "00", RunsState{}},
		"a leader epoch of 33 bits":    {topic + "01" + "8080808010" + "01" + "02" + "00", RunsState{}},
		"a leader epoch of 64 bits":    {topic + "01" + "ffffffffffffffffff01" + "01" + "02" + "00", RunsState{}},
		"a leader epoch too long":      {topic + "01" + "8000" + "01" + "02" + "00", RunsState{}},
		"the largest low":              {topic + "01" + "00" + largest + "00" + "00", RunsState{TopicID: runsTopic, Low: math.MaxInt64, Known: math.MaxInt64, DueMs: math.MaxInt64}},
		"low beyond all offsets":       {topic + "01" + "00" + beyond + "00" + "00", RunsState{}},
		"the largest known end":        {topic + "01" + "00" + "01" + "feffffffffffffff7f" + "00", RunsState{TopicID: runsTopic, Low: 1, Known: math.MaxInt64, DueMs: math.MaxInt64}},
		"known beyond all offsets":     {topic + "01" + "00" + "01" + largest + "00", RunsState{}},
		"the last directory there is":  {topic + "01" + "00" + "00" + "00" + largest, RunsState{TopicID: runsTopic, DueMs: math.MaxInt64, DirectoryEnd: math.MaxInt64}},
		"a directory beyond":           {topic + "01" + "00" + "00" + "00" + beyond, RunsState{}},
		"the earliest time":            {topic + "00" + "00" + "00" + "00" + "ffffffffffffffffff01" + "00", RunsState{TopicID: runsTopic, DueMs: math.MinInt64}},
		"the latest time, written":     {topic + "00" + "00" + "00" + "00" + "feffffffffffffffff01" + "00", RunsState{TopicID: runsTopic, DueMs: math.MaxInt64}},
		"a time beyond":                {topic + "00" + "00" + "00" + "00" + "ffffffffffffffffff02" + "00", RunsState{}},
		"a number too long":            {topic + "01" + "00" + "8000" + "00" + "00", RunsState{}},
		"sure beyond the known end":    {topic + "09" + "00" + "01" + "02" + "00" + "05", RunsState{TopicID: runsTopic, Low: 1, Known: 3, DueMs: math.MaxInt64, Sure: 6}},
		"sure below the known end":     {topic + "09" + "00" + "01" + "02" + "00" + "01", RunsState{TopicID: runsTopic, Low: 1, Known: 3, DueMs: math.MaxInt64, Sure: 2}},
		"no more sure than the low":    {topic + "09" + "00" + "01" + "02" + "00" + "00", RunsState{}},
		"sure beyond all offsets":      {topic + "09" + "00" + "01" + "02" + "00" + largest, RunsState{}},
		"the largest sure":             {topic + "09" + "00" + "00" + "00" + "00" + largest, RunsState{TopicID: runsTopic, DueMs: math.MaxInt64, Sure: math.MaxInt64}},
		"a journal beyond all offsets": {topic + "03" + "00" + "00" + "00" + "00" + "00000001" + "01" + largest, RunsState{}},
		"a journal that begins beyond": {topic + "03" + "00" + "00" + "00" + "00" + "00000001" + beyond + "00", RunsState{}},
	} {
		for versions, holds := range map[string]bool{"2.1": false, "2.2": true, "1.1": false, "9.1": false, "9.2": true} {
			want := Extension{Incarnation: 7, Journal: journal, Again: 200, Runs: test.want}
			want.Runs.Holds = holds
			text := forge(versions, testIdentity, 5, append(front[:len(front):len(front)], unhex(test.digits)...), 2, 3)
			if w, got, err := DecodeAll(text, testIdentity, 5); err != nil || got != want || w.Above() != 3 {
				t.Errorf("%s, %s: got %+v and %d offsets, %v; want %+v", name, versions, got, w.Above(), err, want)
			}
		}
	}
	for cut := range len(runsBytes) / 2 {
		if got := readExtension(append(front[:len(front):len(front)], unhex(runsBytes[:2*cut])...)); got != (Extension{Incarnation: 7, Journal: journal, Again: 200}) {
			t.Errorf("cut to %d bytes: %+v", cut, got)
		}
	}
}

// TestRunsBehindFieldsThatAreNone: a journal and commands out of their bounds have places.
func TestRunsBehindFieldsThatAreNone(t *testing.T) {
	const beyond = "80808080808080808001"
	text := "0000000000000007" + "bb000000000000000000000000000000" + "00000009" + beyond + "02" + beyond + runsBytes
	if got := readExtension(unhex(text)); got != (Extension{Incarnation: 7, Runs: someRuns}) {
		t.Errorf("got %+v", got)
	}
}

// releaseOne reads metadata by the rules of the releases that knew format version 1 alone.
func releaseOne(metadata string, id Identity, low int64) (e Extension, kind error) {
	m := regexp.MustCompile(`^layover\.(\d+)\.(\d+)\.(.*)$`).FindStringSubmatch(metadata)
	var version, needed int
	fmt.Sscan(m[1]+" "+m[2], &version, &needed)
	if needed > 1 {
		return e, ErrNewer
	}
	body, err := base64.RawURLEncoding.DecodeString(m[3])
	if err != nil || seal(m[1]+"."+m[2], id, low, body[4:]) != metadata {
		return e, ErrDamaged
	}
	size, n := binary.Uvarint(body[32:])
	b := body[32+n:][:size]
	if len(b) >= 8 {
		e.Incarnation = binary.BigEndian.Uint64(b)
	}
	if len(b) < 28 {
		return e, nil
	}
	from, n := binary.Uvarint(b[28:])
	length, n2 := binary.Uvarint(b[28+n:])
	e.Journal = JournalRange{TopicID: TopicID(b[8:24]), Sum: binary.BigEndian.Uint32(b[24:28]), From: int64(from), To: int64(from + length)}
	again, _ := binary.Uvarint(b[28+n+n2:])
	e.Again = int64(again)
	return e, nil
}

// TestAnOlderReleaseIsHeldOffOnlyWhereCopiesAreOpen pins the rule of releases that are out.
func TestAnOlderReleaseIsHeldOffOnlyWhereCopiesAreOpen(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want error
	}{
		"nothing open": {"layover.2.1.", nil}, "open copies": {"layover.2.2.", ErrNewer},
	} {
		for _, old := range []Extension{
			{Incarnation: 3},
			{Incarnation: 3, Again: 77},
			{Incarnation: 3, Journal: JournalRange{TopicID: journalTopic, From: 5, To: 900, Sum: 6}, Again: 1 << 50},
		} {
			ext := old
			ext.Runs = someRuns
			ext.Runs.Holds = test.want != nil
			enc := Encode(every(2, 100), testIdentity, ext, MaxMetadata)
			if !strings.HasPrefix(enc.Metadata, test.text) {
				t.Errorf("%s: %s", name, enc.Metadata)
			}
			got, kind := releaseOne(enc.Metadata, testIdentity, 0)
			if !errors.Is(kind, test.want) || kind == nil && got != old {
				t.Errorf("%s: %+v, %v; want %+v, %v", name, got, kind, old, test.want)
			}
		}
	}
}

// longest is the extension that takes most.
var longest = Extension{
	Incarnation: math.MaxUint64, Journal: JournalRange{TopicID: TopicID{1}, From: 1 << 62, To: math.MaxInt64, Sum: 1}, Again: math.MaxInt64,
	Runs: RunsState{
		TopicID: TopicID{2}, LeaderEpoch: math.MaxInt32, Low: 1 << 62, Known: 1<<62 + 1<<62 - 1, DueMs: math.MinInt64, DirectoryEnd: math.MaxInt64, Sure: math.MaxInt64,
		Journal: JournalRange{TopicID: TopicID{3}, From: 1 << 62, To: math.MaxInt64, Sum: 2}, Holds: true,
	},
}

func TestTheLongestExtensionIsAsLongAsItsBoundSays(t *testing.T) {
	// A distance of 2^62 less one takes nine bytes, as an offset does.
	if got := len(longest.append(nil)); got != 2+longestExtension {
		t.Errorf("%d bytes, want %d", got, 2+longestExtension)
	}
}

func TestALongExtensionTakesItsRoomFromTheSet(t *testing.T) {
	w := every(2, 10_000)
	for name, ext := range map[string]Extension{
		"longest": longest, "usual": {Incarnation: 5, Journal: JournalRange{TopicID: journalTopic, From: 1 << 30, To: 1<<30 + 5000, Sum: 7}, Again: 1 << 33, Runs: someRuns},
	} {
		shortest := len(forge("2.2", testIdentity, 0, ext.append(nil)[numberSize(uint64(len(ext.append(nil)))):]))
		for limit := range 600 {
			got := Encode(w, testIdentity, ext, limit)
			if len(got.Metadata) > limit || (got.Metadata == "") != (limit < shortest) || got.Covered+got.Left != w.Above() {
				t.Fatalf("%s, limit %d of at least %d: %+v", name, limit, shortest, got)
			}
			if got.Metadata == "" {
				if got.Covered != 0 || got.Complete {
					t.Fatalf("%s, limit %d: %+v", name, limit, got)
				}
				continue
			}
			read, again, err := DecodeAll(got.Metadata, testIdentity, 0)
			if err != nil || again != ext || read.Above() != got.Covered {
				t.Fatalf("%s, limit %d: %+v, %d of %d, %v", name, limit, again, read.Above(), got.Covered, err)
			}
		}
	}
}

// TestRunsOutOfTheirBoundsAreNotRead: the writer's mistake costs nothing but the runs.
func TestRunsOutOfTheirBoundsAreNotRead(t *testing.T) {
	for name, change := range map[string]func(r *RunsState){
		"a negative epoch":      func(r *RunsState) { r.LeaderEpoch = -1 },
		"the least epoch":       func(r *RunsState) { r.LeaderEpoch = math.MinInt32 },
		"a negative low":        func(r *RunsState) { r.Low = -1 },
		"known below low":       func(r *RunsState) { r.Known = r.Low - 1 },
		"a negative directory":  func(r *RunsState) { r.DirectoryEnd = -1 },
		"a negative record":     func(r *RunsState) { r.Journal.From = -1 },
		"records end too early": func(r *RunsState) { r.Journal.To = r.Journal.From - 1 },
	} {
		for _, holds := range []bool{false, true} {
			ext := Extension{Incarnation: 1, Again: 5, Runs: someRuns}
			change(&ext.Runs)
			ext.Runs.Holds = holds
			_, got, err := DecodeAll(Encode(NewWindow(3), testIdentity, ext, MaxMetadata).Metadata, testIdentity, 3)
			if want := (Extension{Incarnation: 1, Again: 5, Runs: RunsState{Holds: holds}}); err != nil || got != want {
				t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
			}
		}
	}
}

func TestAStateIsZeroOnlyWhereNothingIsSaid(t *testing.T) {
	for _, r := range []RunsState{{TopicID: runsTopic}, {Holds: true}, {LeaderEpoch: 1}, {DirectoryEnd: 1}} {
		if r.IsZero() {
			t.Errorf("%+v is zero", r)
		}
	}
	if !(Extension{}).Runs.IsZero() {
		t.Error("an extension that says nothing has runs")
	}
}
