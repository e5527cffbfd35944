package dlq

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"layover/delay"
)

// pairs are headers by name and value.
func pairs(text ...string) (out []kgo.RecordHeader) {
	for i := 0; i < len(text); i += 2 {
		out = append(out, kgo.RecordHeader{Key: text[i], Value: []byte(text[i+1])})
	}
	return out
}

// errata are the error headers of a record that was at delayed/1@42, for that reason.
func errata(reason string, more ...string) []kgo.RecordHeader {
	return append(pairs(
		"layover.errors.topic", "delayed", "layover.errors.partition", "1", "layover.errors.offset", "42",
		"layover.errors.group", "layover-delayed", "layover.errors.reason", reason,
		"layover.errors.message", `delayed/1@42: header x-delay "soon": want milliseconds`, "layover.errors.timestamp", "2026-11-23T02:14:15.737Z",
	), pairs(more...)...)
}

// letterWith is the letter of a record with headers.
func letterWith(t *testing.T, headers []kgo.RecordHeader) letter {
	t.Helper()
	l, fault := read(&kgo.Record{Topic: "dead-letters", Partition: 2, Offset: 7, Key: []byte("k"), Value: []byte("v"), Headers: headers}, nil)
	if fault != "" {
		t.Fatal(fault)
	}
	return l
}

func TestALetterIsWhatItsErrorHeadersSay(t *testing.T) {
	l := letterWith(t, append(pairs("x-deliver-to", "a", "X-Deliver-To", "orders", "Layover.Errors.Reason", "older"), errata("expired")...))
	if l.id() != "dead-letters-2-7" || l.source() != "delayed-1-42" || l.group != "layover-delayed" || l.reason != "expired" || l.target != "orders" {
		t.Errorf("%+v", l)
	}
	if l.message != `delayed/1@42: header x-delay "soon": want milliseconds` || !l.at.Equal(time.Date(2026, 11, 23, 2, 14, 15, 737e6, time.UTC)) {
		t.Errorf("message %q at %v", l.message, l.at)
	}
	if l.batch || l.cancel() || l.dropped {
		t.Errorf("%+v", l)
	}
	l = letterWith(t, errata("too_large_to_read", "layover.errors.last_offset", "47", "layover.errors.records", "3"))
	if !l.batch || l.last != 47 || l.records != 3 {
		t.Errorf("of a batch: %+v", l)
	}
	if l = letterWith(t, errata("too_large", "layover.errors.value", "dropped")); !l.dropped {
		t.Error("without its value, which is not seen")
	}
	if l = letterWith(t, append(pairs("X-Delay-Cancel", "yes"), errata("malformed_cancel")...)); !l.cancel() {
		t.Error("a cancel, which is not seen")
	}
}

func TestARecordThatLayoverHasNotWrittenIsForeign(t *testing.T) {
	for name, test := range map[string]struct{ header, value, want string }{
		"no topic's name":             {"layover.errors.topic", "a b", "layover.errors.topic"},
		"an empty topic":              {"layover.errors.topic", "", "layover.errors.topic"},
		"a negative partition":        {"layover.errors.partition", "-1", "layover.errors.partition"},
		"a partition beyond int32":    {"layover.errors.partition", "2147483648", "layover.errors.partition"},
		"an offset that is no number": {"layover.errors.offset", "42x", "layover.errors.offset"},
		"an empty group":              {"layover.errors.group", "", "layover.errors.group"},
		"a reason with a space":       {"layover.errors.reason", "too large", "layover.errors.reason"},
		"a reason with an escape":     {"layover.errors.reason", "\x1b[2J", "layover.errors.reason"},
		"no time":                     {"layover.errors.timestamp", "yesterday", "layover.errors.timestamp"},
		"a count that is no number":   {"layover.errors.records", "many", "layover.errors.records"},
		"another word of its value":   {"layover.errors.value", "kept", "layover.errors.value"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &kgo.Record{Headers: append(errata("expired"), pairs(test.header, test.value)...)}
			if _, fault := read(r, nil); !strings.Contains(fault, "header "+test.want+" is none") {
				t.Errorf("fault %q", fault)
			}
		})
	}
	for i, h := range errata("expired") {
		if _, fault := read(&kgo.Record{Headers: slices.Delete(errata("expired"), i, i+1)}, nil); fault != "it has no header "+h.Key {
			t.Errorf("without %s: %q", h.Key, fault)
		}
	}
}

func TestAMessageCannotMoveTheCursor(t *testing.T) {
	l := letterWith(t, append(errata("expired"), kgo.RecordHeader{Key: "layover.errors.message", Value: []byte("a\x1b[2J\r\nb\u009bc\xff" + strings.Repeat("z", 5000))}))
	if !strings.HasPrefix(l.message, "a?[2J??b?c?zzz") || len(l.message) > maxMessage {
		t.Errorf("%q", l.message)
	}
}

func TestFiltersChooseWhatHoldsForAllOfThem(t *testing.T) {
	at := time.Date(2026, 11, 23, 2, 14, 15, 737e6, time.UTC)
	for name, test := range map[string]struct {
		filters
		want bool
	}{
		"none":                  {filters{}, true},
		"its reason":            {filters{reasons: []delay.Reason{"too_large", "expired"}}, true},
		"other reasons":         {filters{reasons: []delay.Reason{"too_large"}}, false},
		"its topic":             {filters{ingress: "delayed"}, true},
		"another topic":         {filters{ingress: "retry"}, false},
		"since the very moment": {filters{since: at}, true},
		"since later":           {filters{since: at.Add(time.Millisecond)}, false},
		"its key":               {filters{byKey: true, key: []byte("k")}, true},
		"another key":           {filters{byKey: true, key: []byte("K")}, false},
		"one of two does not":   {filters{ingress: "delayed", byKey: true, key: []byte("x")}, false},
	} {
		l := letterWith(t, errata("expired"))
		if got := test.choose(&l); got != test.want {
			t.Errorf("%s: chosen is %v", name, got)
		}
	}
	l := letterWith(t, errata("expired"))
	l.Key = nil
	if (&filters{byKey: true, key: []byte{}}).choose(&l) {
		t.Error("a null key is taken for an empty one")
	}
}

func TestWhatCannotBeSentAgainIsPassedOver(t *testing.T) {
	here := routes{ingress: []string{"retry", "delayed"}, group: "layover-delayed"}
	batch := []string{"layover.errors.last_offset", "47", "layover.errors.records", "3"}
	for name, test := range map[string]struct {
		routes
		headers []kgo.RecordHeader
		want    obstacle
	}{
		"a letter":                        {here, errata("expired"), none},
		"of another group":                {routes{ingress: here.ingress, group: "other"}, errata("expired"), otherGroup},
		"of any group":                    {routes{ingress: here.ingress, group: "other", anyGroup: true}, errata("expired"), none},
		"of a topic that is none here":    {routes{ingress: []string{"retry"}, group: here.group}, errata("expired"), otherTopic},
		"a cancel":                        {here, append(pairs("x-delay-cancel", "true"), errata("skipped")...), cancels},
		"a batch":                         {here, errata("unreadable", batch...), reference},
		"a batch without its last offset": {here, errata("unreadable", batch[2:]...), reference},
		"without its value":               {here, errata("too_large", "Layover.Errors.Value", "dropped"), valueless},
		"of topics that are not known":    {routes{}, errata("expired"), none},
	} {
		l := letterWith(t, test.headers)
		if got := test.obstacle(&l); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestEveryReasonHasItsWords(t *testing.T) {
	for _, r := range delay.Reasons() {
		if meanings[string(r)] == "" {
			t.Errorf("%s has no words", r)
		}
	}
	if got := meaning("from_the_future"); !strings.Contains(got, "another release") {
		t.Errorf("of a reason that is not known: %q", got)
	}
}

func TestSinceIsAnInstantADayOrHowLongAgo(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2h": "2026-11-23T10:00:00Z", "1d": "2026-11-22T12:00:00Z", "1h30m": "2026-11-23T10:30:00Z", "PT15M": "2026-11-23T11:45:00Z", "0s": "2026-11-23T12:00:00Z",
		"2026-11-22": "2026-11-22T00:00:00Z", "2026-11-22T01:00:00+02:00": "2026-11-21T23:00:00Z",
		"": "", "5": "", "1790000000000": "", "-2h": "", "yesterday": "", "2026-11-22T01:00:00": "", "2026-13-01": "",
	} {
		at, err := parseSince(text, now)
		if got := at.UTC().Format(time.RFC3339); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}
