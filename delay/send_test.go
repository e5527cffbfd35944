package delay

import (
	"reflect"
	"testing"
	"time"
)

func TestHeadersAreWhatWasAskedFor(t *testing.T) {
	delay, at := 30*time.Second+time.Nanosecond, noon+5
	if got := Headers(nil, nil, ""); len(got) != 0 {
		t.Errorf("got %q for nothing", got)
	}
	got := Headers(&delay, &at, "orders")
	if want := headers("x-delay", "30001", "x-deliver-at", "2026-03-01T13:00:00.005Z", "x-deliver-to", "orders"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A text on the command line gives the deadline that it gives in a header.
func TestTextOnTheCommandLineIsTextInAHeader(t *testing.T) {
	r := testRules(t)
	for _, text := range []string{"0", "-5", "1500", "1500.0ms", "100us", "1d12h", "P1DT2H", "PT1.0001S"} {
		delay, err := ParseDelay(text)
		if err != nil {
			t.Fatal(err)
		}
		sent, inv := r.parse(Headers(&delay, nil, ""), noon, noon)
		direct, inv2 := r.parse(headers("x-delay", text), noon, noon)
		if inv != nil || inv2 != nil || !reflect.DeepEqual(sent, direct) {
			t.Errorf("x-delay %q: sent %+v, direct %+v", text, sent, direct)
		}
	}
	for _, text := range []string{"0", "-5", "2026-03-01T14:00:00.0001+01:00", "1772370000001", "1969-12-31T00:00:00Z"} {
		ms, err := ParseInstant(text)
		if err != nil {
			t.Fatal(err)
		}
		sent, inv := r.parse(Headers(nil, &ms, ""), noon, noon)
		direct, inv2 := r.parse(headers("x-deliver-at", text), noon, noon)
		if inv != nil || inv2 != nil || !reflect.DeepEqual(sent, direct) {
			t.Errorf("x-deliver-at %q: sent %+v, direct %+v", text, sent, direct)
		}
	}
}
