package offsets

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
)

// mustRefuse checks that Decode gives exactly the wanted sentinel and an empty
// window at low.
func mustRefuse(t *testing.T, metadata string, id Identity, low int64, want error) {
	t.Helper()
	w, err := Decode(metadata, id, low)
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if w == nil || w.Low() != max(low, 0) || w.Above() != 0 {
		t.Errorf("not an empty window at %d: %+v", low, w)
	}
	for _, other := range []error{ErrForeign, ErrOtherTopic, ErrDamaged, ErrNewer} {
		if other != want && errors.Is(err, other) {
			t.Errorf("%v is also %v", err, other)
		}
	}
}

func TestEmptyMetadataIsAnEmptySet(t *testing.T) {
	w, err := Decode("", testIdentity, 77)
	if err != nil || w.Low() != 77 || w.Above() != 0 {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestMetadataIsRefusedByItsCause(t *testing.T) {
	id := testIdentity
	otherCluster, otherTopic, otherPartition := id, id, id
	otherCluster.ClusterID = "another"
	otherTopic.TopicID[7] = 1
	otherPartition.Partition++
	good := forge("1.1", id, 42, nil, 2, 2, 1, 1)
	for name, test := range map[string]struct {
		metadata string
		want     error
	}{
		"a client's member id":         {"kgo-6ba7b810-9dad-11d1-80b4-00c04fd430c8", ErrForeign},
		"another tool's base64":        {"bwAAAAEAAAAB", ErrForeign},
		"spaces":                       {"  ", ErrForeign},
		"half a magic":                 {"layove", ErrForeign},
		"another cluster":              {forge("1.1", otherCluster, 42, nil, 2, 2), ErrForeign},
		"a mirror's translated offset": {forge("1.1", otherCluster, 7, nil, 2, 2), ErrForeign},
		"another topic id":             {forge("1.1", otherTopic, 42, nil, 2, 2), ErrOtherTopic},
		"another partition":            {forge("1.1", otherPartition, 42, nil, 2, 2), ErrForeign},
		"another low offset":           {forge("1.1", id, 41, nil, 2, 2), ErrDamaged},
		"a newer format":               {"layover.7.3.what this reader cannot know", ErrNewer},
		"a newer format's high number": {"layover.65535.65535.", ErrNewer},
		"only the magic":               {"layover.", ErrDamaged},
		"no minimum version":           {"layover.1.", ErrDamaged},
		"version zero":                 {"layover.0.0.", ErrDamaged},
		"a minimum above the version":  {"layover.1.2." + good[12:], ErrDamaged},
		"a version with a zero before": {forge("01.1", id, 42, nil, 2, 2), ErrDamaged},
		"a signed version":             {"layover.+1.1." + good[12:], ErrDamaged},
		"no body":                      {good[:12], ErrDamaged},
		"cut short":                    {good[:40], ErrDamaged},
		"one character less":           {good[:len(good)-1], ErrDamaged},
		"a line break":                 {good[:20] + "\n" + good[20:], ErrDamaged},
		"padding":                      {good + "=", ErrDamaged},
		"an endless extension":         {seal("1.1", id, 42, append(fieldsOf(id), 200)), ErrDamaged},
		"a gap without a length":       {forge("1.1", id, 42, nil, 2, 2, 1), ErrDamaged},
		"a number cut short":           {seal("1.1", id, 42, append(fieldsOf(id), 0, 1, 0x81)), ErrDamaged},
		"a number longer than needed":  {seal("1.1", id, 42, append(fieldsOf(id), 0, 0x81, 0, 1)), ErrDamaged},
		"a gap over the end":           {forge("1.1", id, 42, nil, math.MaxInt64-41, 1), ErrDamaged},
		"a length over the end":        {forge("1.1", id, 42, nil, 1, math.MaxInt64-42), ErrDamaged},
		"a number above int64":         {forge("1.1", id, 42, nil, 2, math.MaxUint64), ErrDamaged},
		"too long":                     {good + strings.Repeat("A", maxText), ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) { mustRefuse(t, test.metadata, id, 42, test.want) })
	}
}

func TestDamagedMetadataIsToldWhatIsWrong(t *testing.T) {
	id := testIdentity
	good := forge("1.1", id, 42, nil, 2, 2, 1, 1)
	for metadata, words := range map[string]string{
		"layover.": "no format version", "layover.1": "no format version", "layover.0.0.": "no format version",
		"layover.1.":                                                "no minimum reader version for format version 1",
		"layover.1.1":                                               "no minimum reader version for format version 1",
		"layover.1.2." + good[12:]:                                  "no minimum reader version for format version 1",
		good + strings.Repeat("A", 1<<16):                           "want at most 65536",
		good[:20] + "!" + good[21:]:                                 "illegal base64",
		good[:40]:                                                   "21 bytes, want at least 32",
		seal("1.1", id, 42, fieldsOf(id)):                           "an extension of 0 bytes",
		seal("1.1", id, 42, append(fieldsOf(id), 5, 1)):             "an extension of 5 bytes in 1",
		seal("1.1", id, 42, append(fieldsOf(id), 0, 0x81)):          "a gap after offset 42",
		seal("1.1", id, 42, append(fieldsOf(id), 0, 1, 0x81)):       "a length of the run at offset 44",
		seal("1.1", id, 42, append(fieldsOf(id), 0, 1, 1, 0x81)):    "a gap after offset 46",
		seal("1.1", id, 42, append(fieldsOf(id), 0, 1, 1, 1, 0x81)): "a length of the run at offset 48",
	} {
		if _, err := Decode(metadata, id, 42); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), words) {
			t.Errorf("%.60q: %v, want %q in it", metadata, err, words)
		}
	}
}

// fieldsOf is the fields of fixed size behind the checksum.
func fieldsOf(id Identity) []byte { return appendIdentity(nil, id)[endChecksum:] }

func TestNewerMetadataSaysWhichVersionIsNeeded(t *testing.T) {
	_, err := Decode("layover.9.8.x", testIdentity, 0)
	if err == nil || !strings.Contains(err.Error(), "version 9") || !strings.Contains(err.Error(), "version 8") {
		t.Errorf("%v names neither version 9, which wrote it, nor 8, which is needed", err)
	}
}

func TestALaterVersionForThisReaderIsRead(t *testing.T) {
	later := forge("12.1", testIdentity, 42, []byte("a field of version 12"), 2, 2, 1, 1)
	w, err := Decode(later, testIdentity, 42)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(42)
	m.finishRange(44, 46)
	m.finish(47)
	compare(t, w, m)
}

func TestEveryChangedCharacterIsDetected(t *testing.T) {
	good := forge("1.1", testIdentity, 42, nil, 2, 2, 1, 1, 300, 7)
	for i := range good {
		for b := range 256 {
			if byte(b) == good[i] {
				continue
			}
			mustFail(t, good[:i]+string([]byte{byte(b)})+good[i+1:])
		}
		mustFail(t, good[:i]+good[i+1:])
		if i > 0 {
			mustFail(t, good[:i])
		}
		for _, b := range []string{"A", "_", "\n", "\r", "=", "0", ".", "\x00", good[i : i+1]} {
			mustFail(t, good[:i]+b+good[i:])
		}
	}
}

func TestEveryFlippedBitOfFullMetadataIsDetected(t *testing.T) {
	w := NewWindow(42)
	scatter(w, 100_000)
	good := []byte(w.Encode(testIdentity, MaxMetadata).Metadata)
	for i := range good {
		for bit := range 8 {
			good[i] ^= 1 << bit
			mustFail(t, string(good))
			good[i] ^= 1 << bit
		}
	}
}

// mustFail checks that metadata for low 42 is refused with a sentinel.
func mustFail(t *testing.T, metadata string) {
	t.Helper()
	w, err := Decode(metadata, testIdentity, 42)
	known := errors.Is(err, ErrForeign) || errors.Is(err, ErrOtherTopic) || errors.Is(err, ErrDamaged) || errors.Is(err, ErrNewer)
	if !known || w.Low() != 42 || w.Above() != 0 {
		t.Fatalf("%q: %v, %d above", metadata, err, w.Above())
	}
}

// TestDecodedNumbersCannotTakeMemoryByTheirSize reads texts whose few bytes
// stand for as many offsets as there are.
func TestDecodedNumbersCannotTakeMemoryByTheirSize(t *testing.T) {
	huge := forge("1.1", testIdentity, 0, nil, 1<<40, 1<<60, 1<<40, 1<<62)
	w, err := Decode(huge, testIdentity, 0)
	if err != nil || w.Above() != 1<<60+1<<62 {
		t.Fatalf("%v, %d above", err, w.Above())
	}
	if w.Bytes() > 8192 {
		t.Errorf("%d bytes from %d characters", w.Bytes(), len(huge))
	}

	// A gap of two bytes and a length of one, over the boundary between two pages
	// that nothing else is in. A byte of text cannot do more.
	pairs := []uint64{pageSize - 1, 2}
	for range 1008 {
		pairs = append(pairs, 2*pageSize-2, 2)
	}
	sparse := forge("1.1", testIdentity, 0, nil, pairs...)
	if len(sparse) < MaxMetadata-4 || len(sparse) > MaxMetadata {
		t.Fatalf("%d characters", len(sparse))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w, err = Decode(sparse, testIdentity, 0)
	runtime.ReadMemStats(&after)
	if err != nil || w.pages != int64(len(pairs)) || w.Bytes() > mostBytes(len(sparse)) {
		t.Fatalf("%v, %d pages, %d bytes, want at most %d", err, w.pages, w.Bytes(), mostBytes(len(sparse)))
	}
	// What was allocated on the way, too: the table of spans doubles a few times.
	if took := after.TotalAlloc - before.TotalAlloc; took > 5<<18 {
		t.Errorf("%d bytes allocated for %d characters", took, len(sparse))
	}
}

// mostBytes bounds the memory of a window that was read from so many characters.
// Four of them are three bytes, which are two pages. Each page has an entry in a
// table that may be twice as large as it needs to be. Of 4096 characters it is 1.1 MiB.
func mostBytes(characters int) int64 { return 8<<10 + int64(characters/4)*2*(512+2*24) }
