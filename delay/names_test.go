package delay

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestNativeWinsThenTheMapThenThePresetsInTheirOrder: within one source an instant wins over a
// delay, and what a source says first over what it says later.
func TestNativeWinsThenTheMapThenThePresetsInTheirOrder(t *testing.T) {
	const (
		native = "2026-03-01T13:01:00Z"
		mapped = "2026-03-01T13:02:00Z"
		other  = "2026-03-01T13:03:00Z"
	)
	maps := "m-wait=s,m-at=rfc3339,m-wait2=s,m-to=target,m-id=id,m-end=expire_at"
	tests := map[string]struct {
		headers   []kgo.RecordHeader
		presets   string
		due       int64
		ambiguous bool
	}{
		"a native instant":                    {headers("x-deliver-at", native, "m-at", mapped, "X-Timebridge-When", other), "timebridge", minute, true},
		"a native delay over a mapped date":   {headers("m-at", mapped, "x-delay", "1m"), "timebridge", minute, true},
		"the map over a preset":               {headers("X-Timebridge-When", other, "m-at", mapped), "timebridge", 2 * minute, true},
		"a mapped delay over a preset's date": {headers("X-Timebridge-When", other, "m-wait", "60"), "timebridge", minute, true},
		"a mapped date over a mapped delay":   {headers("m-wait", "60", "m-at", mapped), "", 2 * minute, true},
		"the first of two mapped delays":      {headers("m-wait2", "30", "m-wait", "60"), "", minute, true},
		"the last of two of one name":         {headers("m-wait", "30", "M-Wait", "60"), "", minute, false},
		"the first preset":                    {headers("x-opt-delivery-delay", "60000", "X-Timebridge-When", other), "amqp,timebridge", minute, true},
		"the first preset, the other way":     {headers("x-opt-delivery-delay", "60000", "X-Timebridge-When", other), "timebridge,amqp", 3 * minute, true},
		"native stands anywhere in the list":  {headers("x-delay", "1m", "X-Timebridge-When", other), "timebridge,native,amqp", minute, true},
		"a bad one that lost":                 {headers("x-delay", "1m", "m-at", "soon", "m-wait", ""), "", minute, true},
		"one alone":                           {headers("m-wait2", "60", "trace", "t"), "amqp", minute, false},
		"two targets":                         {headers("m-to", "orders", "x-deliver-to", "ready", "x-delay", "1m"), "", minute, true},
		"two ids":                             {headers("m-id", "a", "x-delay-id", "b", "x-delay", "1m"), "", minute, true},
		"two expiries":                        {headers("m-end", other, "x-expire-at", other, "x-delay", "1m"), "", minute, true},
		"headers of one product":              {headers("m-wait", "60", "m-to", "orders", "m-id", "a", "m-end", other), "", minute, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var presets []string
			if test.presets != "" {
				presets = strings.Split(test.presets, ",")
			}
			r := withNames(t, maps, presets...)
			d, inv := r.parse(test.headers, noon, noon)
			if inv != nil || d.DeadlineMs != noon+test.due || d.Ambiguous != test.ambiguous {
				t.Errorf("due %d after noon, ambiguous %v, %v; want %d, %v", d.DeadlineMs-noon, d.Ambiguous, inv, test.due, test.ambiguous)
			}
			for _, h := range r.AppendDelivered(nil, test.headers, Origin{}, 0, Bare, nil) {
				if h.Key != "trace" && h.Key != "m-end" && h.Key != "x-expire-at" {
					t.Errorf("%s is delivered", h.Key)
				}
			}
		})
	}
}

func TestAMappedHeaderIsCheckedLikeOurs(t *testing.T) {
	const maps = "m-wait=s,m-to=target,m-id=id,m-end=expire_at,m-try=attempt,m-key=key"
	tests := map[string]struct {
		headers []kgo.RecordHeader
		want    Decision
		bad     string
	}{
		"all":                    {headers("m-wait", "60", "m-to", "orders", "m-id", "a", "m-end", "2026-03-01T14:00:00Z", "m-key", "k", "m-try", "2"), Decision{DeadlineMs: noon + minute, Delayed: true, Target: "orders", Label: "orders", ID: []byte("a"), IDHeader: 2, Expires: true, ExpireMs: noon + hour}, ""},
		"none at once":           {headers("m-wait", "-60"), Decision{DeadlineMs: noon, Immediate: true, Target: "ready", Label: "ready"}, ""},
		"a glob's target":        {headers("m-to", "eu.x"), Decision{DeadlineMs: noon, Target: "eu.x", Label: "eu.*"}, ""},
		"a bad wait":             {headers("M-Wait", "1m"), Decision{}, `malformed_delay header m-wait "1m": want whole seconds as text`},
		"no wait":                {headers("m-wait", ""), Decision{}, `malformed_delay header m-wait "": no value; want whole seconds as text`},
		"too long a wait":        {headers("m-wait", "518401"), Decision{}, `delay_too_long header m-wait "518401": want at most 6d (LAYOVER_MAX_DELAY)`},
		"a forbidden target":     {headers("m-to", "dead-letters"), Decision{}, `target_not_allowed header m-to "dead-letters": an ingress, dead-letter, events`},
		"a bad id":               {headers("m-id", ""), Decision{}, `malformed_id header m-id "": no value`},
		"a bad expiry":           {headers("m-end", "1772370000"), Decision{}, `malformed_expire_at header m-end "1772370000": looks like seconds`},
		"a cancel by mapped id":  {headers("m-id", "a", "x-delay-cancel", "true"), Decision{DeadlineMs: noon, Cancel: true, ID: []byte("a")}, ""},
		"a cancel beside a wait": {headers("m-id", "a", "x-delay-cancel", "true", "m-wait", "1"), Decision{}, `malformed_cancel header x-delay-cancel "true": m-wait beside it; want a cancel without a delay`},
		"a cancel beside a goal": {headers("m-id", "a", "x-delay-cancel", "true", "m-to", "orders"), Decision{}, "malformed_cancel header x-delay-cancel \"true\": m-to beside it"},
		"a cancel beside an end": {headers("m-id", "a", "x-delay-cancel", "true", "m-end", "1"), Decision{}, "malformed_cancel header x-delay-cancel \"true\": m-end beside it"},
		"a long value is cut":    {headers("m-wait", strings.Repeat("9", 200)), Decision{}, `(cut from 200 bytes): out of range`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d, inv := withNames(t, maps).parse(test.headers, noon, noon)
			if test.bad != "" {
				if inv == nil || !strings.Contains(string(inv.Reason)+" "+inv.Message, test.bad) {
					t.Errorf("%v, want %s", inv, test.bad)
				}
				return
			}
			if inv != nil || !reflect.DeepEqual(d, test.want) {
				t.Errorf("%+v, %v, want %+v", d, inv, test.want)
			}
		})
	}
	if _, inv := withNames(t, maps).parse(headers("m-wait", "60"), 0, noon); inv == nil || inv.Reason != ReasonNoTimestamp || !strings.Contains(inv.Message, `header m-wait "60"`) {
		t.Errorf("without a timestamp: %v", inv)
	}
	if d, inv := withNames(t, "m-at=epoch_s").parse(headers("m-at", "1772373600"), 0, noon); inv != nil || d.DeadlineMs != noon+hour {
		t.Errorf("an instant without a timestamp: %+v, %v", d, inv)
	}
	r := withNames(t, maps)
	r.DefaultDelay = time.Hour
	if d, inv := r.parse(headers("m-wait", "60"), noon, noon); inv != nil || d.DeadlineMs != noon+minute {
		t.Errorf("beside a default delay: %+v, %v", d, inv)
	}
	r.ExpireAfter = time.Minute
	if d, inv := r.parse(headers("m-end", "2026-03-01T14:00:00Z"), noon, noon); inv != nil || d.ExpireMs != noon+hour {
		t.Errorf("beside a default expiry: %+v, %v", d, inv)
	}
}

func TestTheMapMayReadAPresetsHeaderInAnotherFormat(t *testing.T) {
	r := withNames(t, "Scheduler-Epoch=epoch_ms,scheduler-target-key=id", "etf1")
	record := &kgo.Record{Key: []byte("k"), Value: []byte("v"), Headers: headers("scheduler-epoch", "1772373600000"), Timestamp: time.UnixMilli(noon)}
	if d, inv := r.Parse(record, noon); inv != nil || d.DeadlineMs != noon+hour || string(d.ID) != "k" {
		t.Errorf("%+v, %v", d, inv)
	}
	record.Headers = headers("scheduler-epoch", "1772373600000", "scheduler-target-key", "mapped")
	if d, inv := r.Parse(record, noon); inv != nil || string(d.ID) != "mapped" || d.IDHeader != 1 {
		t.Errorf("%+v, %v", d, inv)
	}
	if r.Names.ChooseKeys() {
		t.Error("the preset's key counts, though the map reads an id there")
	}
}

// TestARecordOfAnotherProductIsNoTombstone: with a null value it waits like any other, whichever
// preset comes first.
func TestARecordOfAnotherProductIsNoTombstone(t *testing.T) {
	for _, presets := range [][]string{{"etf1", "spring"}, {"spring", "etf1"}} {
		r := withNames(t, "m-wait=s", presets...)
		for _, hs := range [][]kgo.RecordHeader{headers("retry_topic-backoff-timestamp", "\x01\x9c\xa9\xb2\xe7\x00"), headers("m-wait", "3600")} {
			d, inv := r.Parse(&kgo.Record{Key: []byte("k"), Headers: hs, Timestamp: time.UnixMilli(noon)}, noon)
			if want := (Decision{DeadlineMs: noon + hour, Delayed: true, Target: "ready", Label: "ready"}); inv != nil || !reflect.DeepEqual(d, want) {
				t.Errorf("%v %s: %+v, %v", presets, hs[0].Key, d, inv)
			}
		}
		if d, inv := r.Parse(&kgo.Record{Key: []byte("k"), Headers: headers("trace", "t"), Timestamp: time.UnixMilli(noon)}, noon); inv != nil || !d.Cancel {
			t.Errorf("%v: no cancel but %+v, %v", presets, d, inv)
		}
		for _, hs := range [][]kgo.RecordHeader{headers("layover-id", "retry-0-1"), headers("layover-hops", "1"), headers("x-delay-attempt", "1")} {
			if d, inv := r.Parse(&kgo.Record{Key: []byte("k"), Headers: hs, Timestamp: time.UnixMilli(noon)}, noon); inv != nil || d.Cancel {
				t.Errorf("%v: a null that a consumer writes back, with %s, is %+v, %v", presets, hs[0].Key, d, inv)
			}
		}
	}
}

// TestAMappedCountOfAttempts: it counts where x-delay-attempt says nothing, and the delivery
// goes on in that. A wait that another product asks for wins over the back-off of a topic.
func TestAMappedCountOfAttempts(t *testing.T) {
	tests := map[string]struct {
		in        []kgo.RecordHeader
		waitMs    int64
		attempt   int64
		ambiguous bool
		carries   string // x-delay-attempt of the delivery; "": none
	}{
		"under auto":              {headers("x-delay", "auto", "m-try", "1"), 30_000, 2, false, "2"},
		"under the topic's":       {headers("M-Try", "2"), 4000, 3, false, "3"},
		"beside ours":             {headers("x-delay", "auto", "m-try", "2", "x-delay-attempt", "1"), 30_000, 2, true, "2"},
		"where none is left":      {headers("x-delay", "auto", "m-try", "3"), 600_000, 4, false, "3"},
		"where no back-off is":    {headers("x-delay", "5s", "m-try", "x"), 5000, 0, false, ""},
		"a mapped wait":           {headers("m-wait", "7", "x-delay-attempt", "1"), 7000, 0, false, "1"},
		"a mapped wait and count": {headers("m-wait", "7", "m-try", "1"), 7000, 0, false, "1"},
		"our wait, mapped count":  {headers("x-delay", "5s", "m-try", "2"), 5000, 0, false, "2"},
		"our count as it came":    {headers("x-delay", "5s", "m-try", "2", "x-delay-attempt", "x"), 5000, 0, true, "x"},
		"no attempt had":          {headers("x-delay", "5s", "m-try", "0"), 5000, 0, false, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := withNames(t, "m-wait=s,m-try=attempt")
			r.Backoff, r.TopicBackoff, r.DeliverInvalid = backoffOf(t, "10s..10m x3 jitter=0% max=3"), backoffOf(t, "1s..1h jitter=0%"), true
			d, inv := r.parse(test.in, noon, noon)
			if inv != nil || d.DeadlineMs != noon+test.waitMs || d.Attempt != test.attempt || d.Ambiguous != test.ambiguous {
				t.Errorf("%+v, %v", d, inv)
			}
			if (r.Exhausted(test.in) != nil) != d.Exhausted {
				t.Errorf("exhausted %v, %v", d.Exhausted, r.Exhausted(test.in))
			}
			var want []kgo.RecordHeader
			if test.carries != "" {
				want = headers("x-delay-attempt", test.carries)
			}
			if got := r.AppendDelivered(nil, test.in, origin, d.DeadlineMs, Bare, nil); !reflect.DeepEqual(got, want) {
				t.Errorf("delivered with %q, want %q", got, want)
			}
		})
	}
	r := withNames(t, "m-try=attempt")
	r.Backoff = backoffOf(t, "1s..1h max=3")
	for _, delay := range []string{"auto", "5s"} {
		in := headers("x-delay", delay, "m-try", "2", "x-deliver-to", "nowhere")
		if got, want := r.AppendDelivered(nil, in, origin, noon, Bare|Refused, nil), headers("x-delay-attempt", "2"); !reflect.DeepEqual(got, want) {
			t.Errorf("an invalid one with %s is delivered with %q, want %q", delay, got, want)
		}
	}
	for count, want := range map[string]Invalid{
		"many": {ReasonMalformedAttempt, `header m-try "many": want digits, at most 1000000`},
		"3":    {ReasonAttemptsExhausted, `header m-try "3": back-off 1s..1h x2 jitter=20% max=3 ends with attempt 3`},
	} {
		if d, inv := r.parse(headers("x-delay", "auto", "m-try", count), noon, noon); inv == nil || *inv != want {
			t.Errorf("%s: %+v, %v, want %v", count, d, inv, want)
		}
	}
}

func TestTheHeaderThatChoosesAKeyIsTheFirstOfTheVocabularyAndTheLastOfItsName(t *testing.T) {
	names := withNames(t, "m-key=key,m-key2=key,m-wait=s", "etf1").Names
	if !names.ChooseKeys() || withNames(t, "m-wait=s", "spring").Names.ChooseKeys() || (*Names)(nil).ChooseKeys() {
		t.Error("whether a header chooses the key is wrong")
	}
	first, second, third := names.KeyRank("M-KEY"), names.KeyRank("m-key2"), names.KeyRank("Scheduler-Target-Key")
	if first <= 0 || first >= second || second >= third {
		t.Errorf("ranks %d, %d, %d", first, second, third)
	}
	for _, name := range []string{"", "m-wait", "x-delay", "scheduler-epoch", "key"} {
		if names.KeyRank(name) != 0 || (*Names)(nil).KeyRank(name) != 0 {
			t.Errorf("%q chooses the key", name)
		}
	}
}

func TestAVocabularyIsRefusedWithItsReason(t *testing.T) {
	for want, try := range map[string]struct {
		maps    []Mapping
		presets []string
	}{
		`mapped header "X-Delay": has a meaning of its own`: {[]Mapping{{"X-Delay", FormatMs}}, nil},
		`mapped header "A": it is there twice`:              {[]Mapping{{"a", FormatMs}, {"A", FormatKey}}, nil},
		`preset "Spring" is unknown`:                        {nil, []string{"native", "Spring"}},
		`mapped header "": is empty`:                        {[]Mapping{{"", FormatMs}}, nil},
	} {
		if names, err := NewNames(try.maps, try.presets); err == nil || !strings.Contains(err.Error(), want) || names != nil {
			t.Errorf("%v, %v, want %s", names, err, want)
		}
	}
	for _, presets := range [][]string{nil, {"native"}, {}} {
		if names, err := NewNames(nil, presets); err != nil || names != nil {
			t.Errorf("%q: %v, %v", presets, names, err)
		}
	}
	for _, name := range append(append([]string{"x-expire-at", "layover-cancel-of", "layover-hops", "Layover-Redriven", "x-delay-attempt"}, controlNames...), append(stampedNames, errorNames...)...) {
		if CheckName(name) == nil {
			t.Errorf("%s may be mapped", name)
		}
	}
	for name, want := range map[string]string{
		"a b": "has the character ' '", "a,": "has the character ','", ";a": "has the character ';'", "a=b": "has the character '='",
		"a\x7f": "has the character '\\x7f'", "ä": "has the character 'ä'", strings.Repeat("a", 256): "is longer than 255 characters",
	} {
		if err := CheckName(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q %v, want %s", name, err, want)
		}
	}
	for _, name := range []string{"x-delay-ms", "x-delay-until", "a", "traceparent", "Retry-After", "_x", "a/b:c", "!~", strings.Repeat("a", 255)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%s %v", name, err)
		}
	}
}
