package delay

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var origin = Origin{Topic: "delayed", Partition: 3, Offset: 42, TimestampMs: noon}

// mixed has what must pass byte for byte around what must not pass.
func mixed() []kgo.RecordHeader {
	return []kgo.RecordHeader{
		{Key: "traceparent", Value: []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")},
		{Key: "X-Delay", Value: []byte("5s")},
		{Key: "null", Value: nil},
		{Key: "empty", Value: []byte{}},
		{Key: "Layover-ID", Value: []byte("old")},
		{Key: "twice", Value: []byte("1")},
		{Key: "x-deliver-at", Value: nil},
		{Key: "twice", Value: []byte("2")},
		{Key: "layover-due", Value: []byte("old")},
		{Key: "", Value: []byte("no name")},
		{Key: "layover-original-timestamp", Value: []byte("old")},
		{Key: "x-deliver-to", Value: []byte("orders")},
		{Key: "layover.errors.reason", Value: []byte("old")},
		{Key: "binary", Value: []byte{0, 0xff, '\n'}},
		{Key: "x-delay", Value: []byte("6s")},
	}
}

func pick(hs []kgo.RecordHeader, indexes ...int) []kgo.RecordHeader {
	var picked []kgo.RecordHeader
	for _, i := range indexes {
		picked = append(picked, hs[i])
	}
	return picked
}

// others are the indexes of mixed that a delivery passes on.
var others = []int{0, 2, 3, 5, 7, 9, 12, 13}

func TestDeliveredHeadersPassByteForByteAndAreStamped(t *testing.T) {
	want := append(pick(mixed(), others...), headers(
		"layover-hops", "1",
		"layover-id", "delayed-3-42",
		"layover-due", "2026-03-01T13:00:05.000Z",
		"layover-original-timestamp", "2026-03-01T13:00:00.000Z")...)
	in := mixed()
	got := new(Rules).AppendDelivered(nil, in, origin, noon+5000, Whole, nil)
	if !reflect.DeepEqual(got, want) { // which tells nil from empty
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !reflect.DeepEqual(in, mixed()) {
		t.Errorf("changed what it was given: %q", in)
	}
	again := new(Rules).AppendDelivered(nil, got, origin, noon+5000, Whole, nil)
	want[len(others)].Value = []byte("2")
	if !reflect.DeepEqual(again, want) {
		t.Errorf("a record that passes twice has %q", again)
	}
}

func TestDeliveredHeadersWithoutOursLeaveOutTheThree(t *testing.T) {
	if got, want := new(Rules).AppendDelivered(nil, mixed(), origin, noon, Bare, nil), append(pick(mixed(), others...), headers("layover-hops", "1")...); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestDeliveredHeadersOfARecordWithoutATimestampHaveNone(t *testing.T) {
	for _, ms := range []int64{0, -1} {
		got := new(Rules).AppendDelivered(nil, nil, Origin{Topic: "a-b", TimestampMs: ms}, noon, Whole, nil)
		if want := headers("layover-id", "a-b-0-0", "layover-due", "2026-03-01T13:00:00.000Z"); !reflect.DeepEqual(got, want) {
			t.Errorf("timestamp %d: got %q", ms, got)
		}
	}
}

func TestDeliveredHeadersAreAppended(t *testing.T) {
	first := headers("mine", "1")
	got := new(Rules).AppendDelivered(first, headers("a", "b"), origin, noon, Bare, nil)
	if want := headers("mine", "1", "a", "b"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestAppendingToOneStampedValueLeavesTheNextAlone(t *testing.T) {
	got := new(Rules).AppendDelivered(nil, nil, origin, noon, Whole, nil)
	for i := range got {
		_ = append(got[i].Value, "overwritten"...)
	}
	if want := new(Rules).AppendDelivered(nil, nil, origin, noon, Whole, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestErrorHeadersKeepEverythingAndReplaceTheirOwn(t *testing.T) {
	inv := Invalid{Reason: ReasonMalformedDelay, Message: `header x-delay "soon": want …`}
	var want []kgo.RecordHeader
	for i, h := range mixed() {
		if i != 12 {
			want = append(want, h)
		}
	}
	want = append(want, headers(
		"layover.errors.topic", "delayed",
		"layover.errors.partition", "3",
		"layover.errors.offset", "42",
		"layover.errors.group", "layover-delayed",
		"layover.errors.reason", "malformed_delay",
		"layover.errors.message", `header x-delay "soon": want …`,
		"layover.errors.timestamp", "2026-03-01T13:00:09.000Z")...)
	got := AppendErrors(nil, mixed(), origin, "layover-delayed", inv, noon+9000)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if again := AppendErrors(nil, got, origin, "layover-delayed", inv, noon+9000); !reflect.DeepEqual(again, want) {
		t.Errorf("a record that fails twice has %q", again)
	}
	user := headers("layover.errors.custom", "1", "Layover.Errors.Offset", "7")
	if got := AppendErrors(nil, user, origin, "g", inv, noon); len(got) != 8 || got[0].Key != "layover.errors.custom" {
		t.Errorf("got %q", got)
	}
}

func TestADeadLetterWithoutTheValueOfItsRecordSaysSo(t *testing.T) {
	inv := Invalid{Reason: ReasonTooLarge, Message: "too large"}
	letter := AppendDropped(AppendErrors(nil, nil, origin, "g", inv, noon))
	if want := headers("layover.errors.value", "dropped"); len(letter) != 8 || !reflect.DeepEqual(letter[7:], want) {
		t.Errorf("got %q, want %q last", letter, want)
	}
	if again := AppendErrors(nil, letter, origin, "g", inv, noon); !reflect.DeepEqual(again, letter[:7]) {
		t.Errorf("a letter of a letter still says so: %q", again)
	}
}

func TestIDNamesTheRecord(t *testing.T) {
	for want, got := range map[string]string{
		"delayed-3-42":                       ID("delayed", 3, 42),
		"a-b.c_d-0-0":                        ID("a-b.c_d", 0, 0),
		"t-2147483647-9223372036854775807":   ID("t", math.MaxInt32, math.MaxInt64),
		"t--2147483648--9223372036854775808": ID("t", math.MinInt32, math.MinInt64),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTimesAreRFC3339InUTCWithMilliseconds(t *testing.T) {
	for ms, want := range map[int64]string{
		noon:             "2026-03-01T13:00:00.000Z",
		noon + 7:         "2026-03-01T13:00:00.007Z",
		0:                "1970-01-01T00:00:00.000Z",
		-1:               "1969-12-31T23:59:59.999Z",
		minInstantMs:     "0000-01-01T00:00:00.000Z",
		minInstantMs - 1: "0000-01-01T00:00:00.000Z",
		maxInstantMs:     "9999-12-31T23:59:59.999Z",
		maxInstantMs + 1: "9999-12-31T23:59:59.999Z",
		math.MaxInt64:    "9999-12-31T23:59:59.999Z",
		math.MinInt64:    "0000-01-01T00:00:00.000Z",
	} {
		got := FormatTime(ms)
		if got != want {
			t.Errorf("%d: got %q, want %q", ms, got, want)
		}
		if _, err := time.Parse(time.RFC3339, got); err != nil {
			t.Errorf("%d: %v", ms, err)
		}
	}
}

func TestADeadLetterOfABatchSaysWhereItEndsAndHowManyRecordsItHas(t *testing.T) {
	inv := Invalid{Reason: ReasonTooLargeToRead, Message: "takes too much"}
	letter := AppendBatch(AppendErrors(nil, nil, origin, "g", inv, noon), 47, 3)
	want := headers(
		"layover.errors.topic", "delayed", "layover.errors.partition", "3", "layover.errors.offset", "42", "layover.errors.group", "g",
		"layover.errors.reason", "too_large_to_read", "layover.errors.message", "takes too much", "layover.errors.timestamp", "2026-03-01T13:00:00.000Z",
		"layover.errors.last_offset", "47", "layover.errors.records", "3")
	if !reflect.DeepEqual(letter, want) {
		t.Errorf("got  %q\nwant %q", letter, want)
	}
	if again := AppendErrors(nil, letter, origin, "g", inv, noon); !reflect.DeepEqual(again, want[:7]) {
		t.Errorf("sent again, and dead-lettered as a record: %q", again)
	}
}
