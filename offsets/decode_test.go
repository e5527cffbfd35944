package offsets

import (
	"errors"
	"math"
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
		"a newer format":               {"layover.7.2.what this reader cannot know", ErrNewer},
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

	var pairs []uint64 // Each run in a page of its own, the most a byte can do.
	for range 900 {
		pairs = append(pairs, pageSize, 1)
	}
	sparse := forge("1.1", testIdentity, 0, nil, pairs...)
	w, err = Decode(sparse, testIdentity, 0)
	if err != nil || len(sparse) > MaxMetadata {
		t.Fatalf("%v, %d characters", err, len(sparse))
	}
	if w.Bytes() > 1<<20 {
		t.Errorf("%d bytes from %d characters", w.Bytes(), len(sparse))
	}
}

func FuzzDecodeNeverPanics(f *testing.F) {
	f.Add("", int64(0), false)
	f.Add("layover.", int64(-1), false)
	f.Add("kgo-6ba7b810", int64(5), false)
	f.Add(forge("1.1", testIdentity, 42, nil, 2, 2, 1, 1), int64(42), false)
	f.Add(forge("1.1", testIdentity, 1<<62, nil, 1, 1<<62-1), int64(1<<62), false)
	f.Add(forge("2.1", testIdentity, 42, []byte("later"), 2, 2), int64(42), false)
	f.Add("\x00\x01\x01\x00\x00", int64(42), true)
	f.Add("\x01?\x80\x20\xff\xff\xff\xff\xff\xff\xff\xff\x7f", int64(math.MaxInt64), true)
	f.Fuzz(func(t *testing.T, metadata string, low int64, sealed bool) {
		if sealed { // What only a valid checksum leads to.
			metadata = seal("1.1", testIdentity, low, append(fieldsOf(testIdentity), metadata...))
		}
		w, err := Decode(metadata, testIdentity, low)
		if w == nil || w.Low() != max(low, 0) {
			t.Fatalf("%+v", w)
		}
		checkInvariants(t, w)
		if err != nil {
			mustRefuse(t, metadata, testIdentity, low, errors.Unwrap(err))
			return
		}
		if w.Bytes() > 2048+int64(len(metadata))*(2*512+128) {
			t.Fatalf("%d bytes from %d characters", w.Bytes(), len(metadata))
		}
		// One set has one encoding, so what this release could have written is
		// what it writes again.
		if again := w.Encode(testIdentity, maxText).Metadata; low >= 0 && ownWriting(metadata) && again != metadata {
			t.Fatalf("read %s, wrote %s", metadata, again)
		}
	})
}

// ownWriting reports whether valid metadata is of the version that Encode
// writes, and without the extension that it leaves out.
func ownWriting(metadata string) bool {
	encoded, ok := strings.CutPrefix(metadata, header)
	body, _ := text.DecodeString(encoded)
	return ok && body[endPartition] == 0
}
