package delay

import (
	"reflect"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestAddedHeadersAreNamedByTheirWords(t *testing.T) {
	for a, want := range map[Added]string{
		0: "none", AddID: "id", AddDue: "due", AddOriginalTimestamp: "original-timestamp",
		AddID | AddOriginalTimestamp: "id,original-timestamp", AddAll: "id,due,original-timestamp",
	} {
		if got := a.String(); got != want {
			t.Errorf("%d is %q, want %q", a, got, want)
		}
	}
	var all Added
	for _, word := range AddedWords() {
		one, ok := AddedOf(word)
		if !ok || one.String() != word {
			t.Errorf("%s is %q, %v", word, one, ok)
		}
		all |= one
	}
	if all != AddAll {
		t.Errorf("the words are %v", all)
	}
	for _, word := range []string{"", "none", "ID", "layover-id", "hops"} {
		if a, ok := AddedOf(word); ok {
			t.Errorf("%q is taken for %v", word, a)
		}
	}
}

// TestADeliveryHasTheAddedHeadersThatAreChosen: one that was never delivered, one that was, and
// a retry. What counts is always there, and the deadline of a retry.
func TestADeliveryHasTheAddedHeadersThatAreChosen(t *testing.T) {
	const id, due, original = "delayed-3-42", "2026-03-01T13:00:05.000Z", "2026-03-01T13:00:00.000Z"
	again := headers("a", "b", "layover-id", "old-0-1", "layover-due", "old", "layover-original-timestamp", "old", "layover-hops", "4")
	tests := map[string]struct {
		added Added
		in    []kgo.RecordHeader
		want  []kgo.RecordHeader
	}{
		"all":                 {AddAll, headers("a", "b"), headers("a", "b", "layover-id", id, "layover-due", due, "layover-original-timestamp", original)},
		"none":                {0, headers("a", "b"), headers("a", "b", "layover-hops", "0")},
		"id":                  {AddID, headers("a", "b"), headers("a", "b", "layover-id", id)},
		"due":                 {AddDue, headers("a", "b"), headers("a", "b", "layover-hops", "0", "layover-due", due)},
		"original timestamp":  {AddOriginalTimestamp, headers("a", "b"), headers("a", "b", "layover-hops", "0", "layover-original-timestamp", original)},
		"two":                 {AddID | AddOriginalTimestamp, nil, headers("layover-id", id, "layover-original-timestamp", original)},
		"all, again":          {AddAll, again, headers("a", "b", "layover-hops", "5", "layover-id", id, "layover-due", due, "layover-original-timestamp", original)},
		"none, again":         {0, again, headers("a", "b", "layover-hops", "5")},
		"id, again":           {AddID, again, headers("a", "b", "layover-hops", "5", "layover-id", id)},
		"none, by id alone":   {0, headers("layover-id", "old-0-1"), headers("layover-hops", "1")},
		"none, a first retry": {0, headers("x-delay", "auto"), headers("x-delay-attempt", "1", "layover-hops", "0", "layover-due", due)},
		"id, a retry":         {AddID, append(slices.Clone(again), headers("x-delay", "auto", "x-delay-attempt", "2")...), headers("a", "b", "x-delay-attempt", "3", "layover-hops", "5", "layover-id", id, "layover-due", due)},
		"none, no retry":      {0, headers("x-delay", "5s", "x-delay-attempt", "2"), headers("x-delay-attempt", "2", "layover-hops", "0")},
		"none, ended":         {0, headers("x-delay", "auto", "x-delay-attempt", "3"), headers("x-delay-attempt", "3", "layover-hops", "0", "layover-due", due)},
	}
	for name, test := range tests {
		r := testRules(t)
		r.Backoff, r.LeaveOut = backoffOf(t, "1s..1h max=3"), AddAll&^test.added
		var text []byte
		for _, over := range []*[]byte{nil, &text, &text} {
			if got := r.AppendDelivered(nil, test.in, origin, noon+5000, Whole, over); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s: got %q\nwant %q", name, got, test.want)
			}
		}
	}
}

// TestAppendingToOneAddedValueLeavesTheNextAlone, whichever are there.
func TestAppendingToOneAddedValueLeavesTheNextAlone(t *testing.T) {
	for leaveOut := range AddAll + 1 {
		r := &Rules{TopicBackoff: backoffOf(t, "1s..1h"), LeaveOut: leaveOut}
		got, want := r.AppendDelivered(nil, nil, origin, noon, Whole, nil), r.AppendDelivered(nil, nil, origin, noon, Whole, nil)
		for i := range got {
			_ = append(got[i].Value, "overwritten"...)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("without %v: got %q, want %q", leaveOut, got, want)
		}
	}
}

// TestWithoutAnIdACircleEndsAllTheSame, and where each Layover in it leaves out something else.
func TestWithoutAnIdACircleEndsAllTheSame(t *testing.T) {
	for _, leaveOut := range [][]Added{{AddAll}, {AddID}, {AddAll, 0}, {0, AddAll}, {AddID, AddDue}} {
		in, passes := headers("a", "b"), 0
		for ; passes < 10; passes++ {
			r := testRules(t)
			r.MaxHops, r.LeaveOut = 3, leaveOut[passes%len(leaveOut)]
			if _, inv := r.parse(in, noon, noon); inv != nil {
				if inv.Reason != ReasonTooManyHops {
					t.Errorf("without %v: %v", leaveOut, inv)
				}
				break
			}
			in = r.AppendDelivered(nil, in, origin, noon, Whole, nil)
		}
		if passes != 4 {
			t.Errorf("without %v it ends after %d deliveries, want 4", leaveOut, passes)
		}
	}
}

// TestWithoutAnIdANullThatIsWrittenBackIsNoCancel: etf1's preset knows a delivery by its headers.
func TestWithoutAnIdANullThatIsWrittenBackIsNoCancel(t *testing.T) {
	r := withNames(t, "", "etf1")
	r.LeaveOut = AddAll
	delivered := r.AppendDelivered(nil, headers("x-delay", "5s"), origin, noon, Whole, nil)
	if d, inv := r.Parse(&kgo.Record{Key: []byte("k"), Headers: delivered}, noon); inv != nil || d.Cancel {
		t.Errorf("with %q it is %+v, %v", delivered, d, inv)
	}
}
