package delay

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// goodIDs are taken by the header and by the command line.
var goodIDs = map[string]string{
	"a letter":                  "a",
	"spaces":                    " order 1 ",
	"not ASCII":                 "größe-zażółć-訂單",
	"beyond the basic plane":    "\U0001f550",
	"a format character":        "a\u200db", // category Cf, which is no control character
	"a line separator":          "a\u2028b",
	"the replacement character": "\ufffd",
	"the first after C0":        "\x20",
	"the last before delete":    "~",
	"the first after C1":        "\u00a0",
	"256 bytes":                 strings.Repeat("i", 256),
	"256 bytes of two each":     strings.Repeat("ü", 128),
	"what looks like a command": "true",
}

// badIDs are refused, with a message that has the words.
var badIDs = map[string]struct{ id, words string }{
	"empty":                   {"", "no value; " + wantID},
	"257 bytes":               {strings.Repeat("i", 257), "too long; " + wantID},
	"258 bytes of two each":   {strings.Repeat("ü", 129), "too long; " + wantID},
	"the first of C0":         {"\x00", "a control character in it; " + wantID},
	"the last of C0":          {"a\x1f", "a control character in it; " + wantID},
	"a tab":                   {"a\tb", "a control character in it; " + wantID},
	"a line's end":            {"order-1\n", "a control character in it; " + wantID},
	"delete":                  {"\x7f", "a control character in it; " + wantID},
	"the first of C1":         {"\u0080", "a control character in it; " + wantID},
	"the last of C1":          {"ü\u009f", "a control character in it; " + wantID},
	"Latin-1":                 {"gr\xf6\xdfe", "not UTF-8; " + wantID},
	"a C1 byte by itself":     {"\x80", "not UTF-8; " + wantID},
	"half a character":        {"a\xc3", "not UTF-8; " + wantID},
	"a surrogate":             {"\xed\xa0\x80", "not UTF-8; " + wantID},
	"an overlong zero":        {"\xc0\x80", "not UTF-8; " + wantID},
	"sixteen bytes of a UUID": {"\x01\x9c\xa9\x7b\xf8\x80\x7a\x00\x80\x00\x00\x00\x00\x00\x00\x01", "not UTF-8; " + wantID},
}

func TestAnIDIsUpTo256BytesOfUTF8WithoutControlCharacters(t *testing.T) {
	r := testRules(t)
	for name, id := range goodIDs {
		in := headers("a", "1", "X-Delay-ID", id, "x-delay", "5s")
		want := Decision{DeadlineMs: noon + 5*second, Delayed: true, Target: "ready", Label: "ready", ID: []byte(id), IDHeader: 1}
		if d, inv := r.parse(in, noon, noon); inv != nil || !reflect.DeepEqual(d, want) {
			t.Errorf("%s: got %+v %v, want %+v", name, d, inv, want)
		}
		if err := CheckID(id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, tt := range badIDs {
		for _, in := range [][]kgo.RecordHeader{
			headers("x-delay-id", tt.id, "x-delay", "5s"), headers("x-delay-id", "good", "X-DELAY-ID", tt.id), headers("x-delay-id", tt.id, "x-delay-cancel", "true"),
		} {
			d, inv := r.parse(in, noon, noon)
			if inv == nil || inv.Reason != ReasonMalformedID || !strings.HasPrefix(inv.Message, "header x-delay-id ") || !strings.HasSuffix(inv.Message, ": "+tt.words) {
				t.Fatalf("%s: got %+v %v, want %q", name, d, inv, tt.words)
			}
			if want := (Decision{DeadlineMs: noon, Cancel: len(in) == 2 && in[1].Key == "x-delay-cancel"}); !reflect.DeepEqual(d, want) {
				t.Errorf("%s: an invalid record asks for %+v, want %+v", name, d, want)
			}
			checkInvalid(t, inv)
		}
		if err := CheckID(tt.id); err == nil || !strings.HasSuffix(err.Error(), ": "+tt.words) {
			t.Errorf("%s: the command line says %v, want %q", name, err, tt.words)
		}
	}
	if _, inv := r.parse([]kgo.RecordHeader{{Key: "x-delay-id"}}, noon, noon); inv == nil || inv.Message != "header x-delay-id null: no value; "+wantID {
		t.Errorf("a null id: %v", inv)
	}
}

// The core copies the id from the record's own bytes, and finds it by its header.
func TestAnIDIsInTheMemoryOfTheLastHeaderOfThatName(t *testing.T) {
	in := headers("x-delay-id", "first", "a", "b", "X-Delay-Id", "second", "x-delay", "0")
	d, inv := testRules(t).parse(in, noon, noon)
	if inv != nil || string(d.ID) != "second" || d.IDHeader != 2 {
		t.Fatalf("got %q of header %d, %v", d.ID, d.IDHeader, inv)
	}
	if &d.ID[0] != &in[2].Value[0] {
		t.Error("the id is a copy")
	}
}

func TestACancelWaitsForNothingAndGoesNowhere(t *testing.T) {
	plain := Decision{DeadlineMs: noon, ID: []byte("order-1"), Cancel: true}
	copied := plain
	copied.CancelOf = true
	late := plain
	late.IDHeader = 1
	tests := map[string]struct {
		headers []kgo.RecordHeader
		want    Decision
	}{
		"plain":                         {headers("x-delay-id", "order-1", "x-delay-cancel", "true"), plain},
		"in another order and case":     {headers("X-Delay-Cancel", "true", "X-DELAY-ID", "order-1"), late},
		"one of three":                  {headers("x-delay-id", "order-1", "x-delay-cancel", "true", "Layover-Cancel-Of", "order-1/3"), copied},
		"one of several, value ignored": {headers("x-delay-id", "order-1", "x-delay-cancel", "true", "layover-cancel-of", ""), copied},
		"the last value counts":         {headers("x-delay-id", "order-1", "x-delay-cancel", "yes", "x-delay-cancel", "true"), plain},
		"headers of others":             {headers("x-delay-id", "order-1", "x-delay-cancel", "true", "layover-due", "x", "a", "b"), plain},
	}
	for name, tt := range tests {
		for rules, r := range map[string]*Rules{
			"usual rules":       testRules(t),
			"no target":         {MaxDelay: day, Targets: mustTargets(t, "", nil, nil)},
			"a default delay":   {MaxDelay: day, DefaultDelay: time.Hour, Targets: mustTargets(t, "ready", nil, nil)},
			"too long a delay":  {MaxDelay: day, DefaultDelay: 2 * day, Targets: mustTargets(t, "ready", nil, nil)},
			"a default expiry":  {MaxDelay: day, ExpireAfter: time.Hour, Targets: mustTargets(t, "ready", nil, nil)},
			"a delay of a year": {MaxDelay: 1, DefaultDelay: 365 * day, ExpireAfter: time.Hour, Targets: mustTargets(t, "", nil, nil)},
		} {
			if d, inv := r.parse(tt.headers, noon, noon+hour); inv != nil || !reflect.DeepEqual(d, tt.want) {
				t.Errorf("%s, %s: got %+v %v, want %+v", name, rules, d, inv, tt.want)
			}
			now := tt.want
			now.DeadlineMs = noon + hour
			if d, inv := r.parse(tt.headers, 0, noon+hour); inv != nil || !reflect.DeepEqual(d, now) {
				t.Errorf("%s, %s, without a timestamp: got %+v %v, want %+v", name, rules, d, inv, now)
			}
		}
	}
}

func TestWhatIsNoCancelForCertainIsInvalidAndStillNeverDelivered(t *testing.T) {
	null := kgo.RecordHeader{Key: "x-delay-cancel"}
	id := func(more ...string) []kgo.RecordHeader {
		return append(headers("x-delay-id", "a"), headers(more...)...)
	}
	tests := map[string]struct {
		headers []kgo.RecordHeader
		message string
	}{
		"another word":        {id("x-delay-cancel", "yes"), `header x-delay-cancel "yes": want true`},
		"capitals":            {id("x-delay-cancel", "True"), `header x-delay-cancel "True": want true`},
		"padded":              {id("x-delay-cancel", "true "), `header x-delay-cancel "true ": want true`},
		"false":               {id("x-delay-cancel", "false"), `header x-delay-cancel "false": want true`},
		"a number":            {id("x-delay-cancel", "1"), `header x-delay-cancel "1": want true`},
		"empty":               {id("x-delay-cancel", ""), `header x-delay-cancel "": want true`},
		"null":                {append(id(), null), `header x-delay-cancel null: want true`},
		"the last is bad":     {id("x-delay-cancel", "true", "X-Delay-Cancel", "false"), `header x-delay-cancel "false": want true`},
		"no id":               {headers("x-delay-cancel", "true"), `header x-delay-cancel "true": no x-delay-id beside it; want the id of the record to cancel`},
		"a delay":             {id("x-delay-cancel", "true", "x-delay", "5s"), `header x-delay-cancel "true": x-delay beside it; want a cancel without a delay, a target and an expiry`},
		"a delay of nothing":  {id("x-delay-cancel", "true", "x-delay", "0"), `x-delay beside it`},
		"a bad delay":         {id("x-delay-cancel", "true", "x-delay", "soon"), `x-delay beside it`},
		"an instant":          {id("x-delay-cancel", "true", "x-deliver-at", "2030-01-01T00:00:00Z"), `x-deliver-at beside it`},
		"a target":            {id("x-delay-cancel", "true", "X-Deliver-To", "orders"), `x-deliver-to beside it`},
		"a forbidden target":  {id("x-delay-cancel", "true", "x-deliver-to", "delayed"), `x-deliver-to beside it`},
		"an expiry":           {id("x-delay-cancel", "true", "x-expire-at", "2030-01-01T00:00:00Z"), `x-expire-at beside it`},
		"a bad value, no id":  {headers("x-delay-cancel", "no", "x-delay", "5s"), `header x-delay-cancel "no": want true`},
		"a bad id and beside": {headers("x-delay-id", "\x00", "x-delay-cancel", "true", "x-delay", "5s"), `x-delay beside it`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, inv := testRules(t).parse(tt.headers, noon, noon+hour)
			if inv == nil || inv.Reason != ReasonMalformedCancel || !strings.Contains(inv.Message, tt.message) {
				t.Fatalf("got %+v %v, want %q", d, inv, tt.message)
			}
			if want := (Decision{DeadlineMs: noon, Cancel: true}); !reflect.DeepEqual(d, want) {
				t.Errorf("got %+v, want %+v", d, want)
			}
			checkInvalid(t, inv)
		})
	}
}

// An invalid record touches no other, so it says no id.
func TestAnInvalidRecordHasNoID(t *testing.T) {
	for _, in := range [][]kgo.RecordHeader{
		headers("x-delay-id", "a", "x-delay", "soon"), headers("x-delay-id", "a", "x-delay", "7d"), headers("x-delay-id", "a", "x-deliver-to", "payments"),
		headers("x-delay-id", "a", "x-deliver-at", "soon"), headers("x-delay-id", "a", "x-expire-at", "soon"),
	} {
		if d, inv := testRules(t).parse(in, noon, noon); inv == nil || !reflect.DeepEqual(d, Decision{DeadlineMs: noon}) {
			t.Errorf("%q: got %+v %v", in, d, inv)
		}
	}
}

// Neither a null value nor a bare key is a command: only the headers are.
func TestARecordWithoutAnIDHasNone(t *testing.T) {
	for _, in := range [][]kgo.RecordHeader{nil, headers("x-delay", "5s"), headers("layover-cancel-of", "a/3", "delay-id", "a", "cancel", "true")} {
		if d, inv := testRules(t).parse(in, noon, noon); inv != nil || d.ID != nil || d.Cancel || d.CancelOf {
			t.Errorf("%q: got %+v %v", in, d, inv)
		}
	}
}

func TestHeadersOfIDsAndCancelsAreReadAsWritten(t *testing.T) {
	expiry := noon + 7
	if got := IDHeaders("", nil); len(got) != 0 {
		t.Errorf("got %q for nothing", got)
	}
	got := IDHeaders("order-1", &expiry)
	if want := headers("x-delay-id", "order-1", "x-expire-at", "2026-03-01T13:00:00.007Z"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for copies, want := range map[int][]kgo.RecordHeader{
		1: headers("x-delay-id", "a/b", "x-delay-cancel", "true"),
		2: headers("x-delay-id", "a/b", "x-delay-cancel", "true", "layover-cancel-of", "a/b/2"),
		9: headers("x-delay-id", "a/b", "x-delay-cancel", "true", "layover-cancel-of", "a/b/9"),
	} {
		got := CancelHeaders("a/b", copies)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d copies: got %q, want %q", copies, got, want)
		}
		if d, inv := testRules(t).parse(got, noon, noon); inv != nil || !d.Cancel || d.CancelOf != (copies > 1) || string(d.ID) != "a/b" {
			t.Errorf("%d copies are read as %+v %v", copies, d, inv)
		}
	}
}
