package offsets

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

func TestAnExtensionComesBackAsItWasWritten(t *testing.T) {
	w := NewWindow(7)
	w.FinishRange(9, 20)
	journal := JournalRange{TopicID: TopicID{1, 2, 3}, From: 5, To: 1 << 40, Sum: 0xfeedbeef}
	for name, ext := range map[string]Extension{
		"nothing":              {},
		"an incarnation":       {Incarnation: 1},
		"a journal of life 1":  {Incarnation: 1, Journal: journal},
		"a journal":            {Incarnation: math.MaxUint64, Journal: journal},
		"the largest offsets":  {Incarnation: 9, Journal: JournalRange{From: math.MaxInt64, To: math.MaxInt64}},
		"the longest distance": {Incarnation: 9, Journal: JournalRange{To: math.MaxInt64, Sum: 1}},
	} {
		enc := Encode(w, testIdentity, ext, MaxMetadata)
		read, got, err := DecodeAll(enc.Metadata, testIdentity, 7)
		if err != nil || got != ext || read.Above() != 11 || !enc.Complete {
			t.Errorf("%s: got %+v and %d offsets, %v; want %+v", name, got, read.Above(), err, ext)
		}
	}
}

// TestAReaderPassesOverWhatItDoesNotKnow holds releases to each other: what is added
// behind a known extension, or in its place, costs nothing but what it says.
func TestAReaderPassesOverWhatItDoesNotKnow(t *testing.T) {
	known := binary.BigEndian.AppendUint64(nil, 42)
	fixed := append(known[:8:8], make([]byte, 20)...)
	named := append(fixed[:28:28], 3, 4)
	sum := append(known[:8:8], bytes.Repeat([]byte{9}, 20)...) // a journal that is something without its offsets
	largest := binary.AppendUvarint(fixed[:28:28], math.MaxInt64)
	for name, test := range map[string]struct {
		extension []byte
		want      Extension
	}{
		"shorter than an incarnation":   {[]byte{1, 2, 3}, Extension{}},
		"longer than an incarnation":    {append(known[:8:8], 1, 2, 3), Extension{Incarnation: 42}},
		"longer than a journal":         {append(named[:30:30], 9, 9, 9), Extension{Incarnation: 42, Journal: JournalRange{From: 3, To: 7}, Again: 9}},
		"no journal, and commands":      {append(fixed[:28:28], 0, 0, 0x85, 1, 7), Extension{Incarnation: 42, Again: 133}},
		"commands that are none":        {append(named[:30:30], 0xff), Extension{Incarnation: 42, Journal: JournalRange{From: 3, To: 7}}},
		"commands beyond all offsets":   {append(named[:30:30], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), Extension{Incarnation: 42, Journal: JournalRange{From: 3, To: 7}}},
		"offsets that are none":         {append(named[:28:28], 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1), Extension{Incarnation: 42}},
		"a journal without its offsets": {sum, Extension{Incarnation: 42}},
		"a journal with one offset":     {append(sum[:28:28], 3), Extension{Incarnation: 42}},
		"a journal beyond all offsets":  {append(largest, 1), Extension{Incarnation: 42}},
		"a journal of no life":          {append(make([]byte, 8), sum[8:]...), Extension{}},
		"that, with offsets":            {append(append(make([]byte, 8), sum[8:]...), 3, 4), Extension{}},
	} {
		w, got, err := DecodeAll(forge("1.1", testIdentity, 3, test.extension, 1, 2), testIdentity, 3)
		if err != nil || got != test.want || w.Above() != 2 {
			t.Errorf("%s: got %+v and %d offsets, %v; want %+v and 2", name, got, w.Above(), err, test.want)
		}
	}
}

func TestAnExtensionIsAsLongAsWhatItSays(t *testing.T) {
	for name, test := range map[string]struct {
		Extension
		bytes int
	}{
		"nothing": {Extension{}, 1}, "an incarnation": {Extension{Incarnation: 7}, 1 + 8},
		"a journal": {Extension{Incarnation: 7, Journal: JournalRange{TopicID: TopicID{1}, From: 1, To: 2}}, 1 + 8 + 16 + 4 + 1 + 1},
	} {
		if got := test.append(nil); len(got) != test.bytes {
			t.Errorf("%s takes %d bytes, want %d", name, len(got), test.bytes)
		}
	}
}

func TestAnExtensionTakesItsRoomFromTheSet(t *testing.T) {
	w := every(2, 10_000)
	ext := Extension{Incarnation: 5, Journal: JournalRange{TopicID: TopicID{1}, From: 1 << 30, To: 1<<30 + 5000, Sum: 7}}
	plain, with := w.Encode(testIdentity, 400), Encode(w, testIdentity, ext, 400)
	if len(with.Metadata) > 400 || with.Covered >= plain.Covered || with.Covered+with.Left != w.Above() {
		t.Errorf("%d characters and %d covered with an extension, %d without", len(with.Metadata), with.Covered, plain.Covered)
	}
	shortest := Encode(NewWindow(0), testIdentity, ext, 400).Metadata
	for limit, empty := range map[int]bool{len(shortest): false, len(shortest) - 1: true} {
		if got := Encode(w, testIdentity, ext, limit).Metadata; (got == "") != empty {
			t.Errorf("a limit of %d gives %q", limit, got)
		}
	}
	body, _ := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(shortest, "layover.1.1."))
	if extra := len(body) - endPartition - 1; extra > 36 {
		t.Errorf("the extension takes %d bytes", extra)
	}
}
