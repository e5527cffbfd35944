package delay

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestHopsCountDeliveriesOfARecordThatWasDeliveredBefore(t *testing.T) {
	tests := map[string]struct {
		in    []kgo.RecordHeader
		after string // the count of the delivery; "": none
	}{
		"new":                 {headers("a", "b"), ""},
		"delivered once":      {headers("Layover-Id", "delayed-0-1"), "1"},
		"delivered twice":     {headers("layover-id", "delayed-0-1", "Layover-Hops", "1"), "2"},
		"the last counts":     {headers("layover-id", "delayed-0-1", "layover-hops", "7", "layover-hops", "2"), "3"},
		"no id, as too large": {headers("layover-hops", "6"), "7"},
		"words":               {headers("layover-id", "x", "layover-hops", "many"), "1"},
		"null":                {[]kgo.RecordHeader{{Key: "layover-id"}, {Key: "layover-hops"}}, "1"},
		"negative":            {headers("layover-id", "x", "layover-hops", "-5"), "1"},
		"binary":              {headers("layover-id", "x", "layover-hops", "\x00\x05"), "1"},
		"the most":            {headers("layover-id", "x", "layover-hops", "1000000"), "1000000"},
		"overflow":            {headers("layover-id", "x", "layover-hops", "99999999999999999999"), "1000000"},
	}
	for name, test := range tests {
		for _, form := range []Form{Whole, Bare, Refused, Bare | Refused} {
			got := modelLast(new(Rules).AppendDelivered(nil, test.in, origin, noon, form, nil))
			if string(got["layover-hops"]) != test.after {
				t.Errorf("%s, form %d: %q hops, want %q", name, form, got["layover-hops"], test.after)
			}
		}
	}
}

func TestARecordThatGoesInACircleIsInvalidInTheEnd(t *testing.T) {
	r := testRules(t)
	r.MaxHops = 3
	in := headers("x-deliver-to", "orders")
	for pass := range 10 {
		d, inv := r.parse(in, noon, noon)
		if pass < 4 { // the first has no count
			if inv != nil || d.Target != "orders" {
				t.Fatalf("pass %d: %+v, %v", pass, d, inv)
			}
			in = append(r.AppendDelivered(nil, in, origin, noon, Whole, nil), headers("x-deliver-to", "orders")...)
			continue
		}
		want := `header layover-hops "3": want at most 3 with this delivery (LAYOVER_MAX_HOPS)`
		if inv == nil || inv.Reason != ReasonTooManyHops || inv.Message != want {
			t.Fatalf("pass %d: %+v, %v", pass, d, inv)
		}
	}
	r.DeliverInvalid = true
	if _, inv := r.parse(in, noon, noon); inv != nil {
		t.Errorf("refused where invalid records are delivered: %v", inv)
	}
	r.DeliverInvalid, r.MaxHops = false, 0
	if _, inv := r.parse(in, noon, noon); inv != nil {
		t.Errorf("refused without a maximum: %v", inv)
	}
	r.MaxHops = 1
	if d, inv := r.parse(headers("x-delay-id", "a", "x-delay-cancel", "true", "layover-id", "x", "layover-hops", "9"), noon, noon); inv != nil || !d.Cancel {
		t.Errorf("a cancel is not delivered, and is refused: %v", inv)
	}
}

// TestTheLargestMaximumOfHopsIsOne: LAYOVER_MAX_HOPS takes 1000000, and 0 alone is no end.
func TestTheLargestMaximumOfHopsIsOne(t *testing.T) {
	rules := testRules(t)
	rules.MaxHops = 1_000_000
	in := headers("layover-id", "delayed-0-1", "layover-hops", "1000000")
	if _, inv := rules.parse(in, noon, noon); inv == nil || inv.Reason != ReasonTooManyHops {
		t.Errorf("a record that would get the count 1000001: %v, want %s", inv, ReasonTooManyHops)
	}
}
