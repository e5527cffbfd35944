package delay

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// withNames returns testRules with a map, as NAME=FORMAT, and presets.
func withNames(t testing.TB, maps string, presets ...string) *Rules {
	t.Helper()
	var own []Mapping
	for pair := range strings.SplitSeq(maps, ",") {
		if name, word, ok := strings.Cut(pair, "="); ok {
			format, known := FormatOf(word)
			if !known {
				t.Fatalf("no format %s", word)
			}
			own = append(own, Mapping{name, format})
		}
	}
	names, err := NewNames(own, presets)
	if err != nil {
		t.Fatal(err)
	}
	r := testRules(t)
	r.Names = names
	return r
}

const minute = 60 * second

// The headers are written by hand, from what each product writes, with \x.. for bytes. The
// record is of 2026-03-01T13:00:00Z, which is 1772370000 s, and read two seconds later.
var presetRecords = map[string]map[string]struct {
	headers []kgo.RecordHeader
	key     string // of the record; "" for none
	null    bool   // the value is
	due     int64  // after the record's timestamp
	want    Decision
	bad     string // the reason and a part of the message
	kept    string // the headers of the delivery
}{
	"spring": {
		// BigInteger.valueOf(1772373600000).toByteArray()
		"six bytes": {headers: headers("retry_topic-backoff-timestamp", "\x01\x9c\xa9\xb2\xe7\x00", "retry_topic-attempts", "\x00\x00\x00\x02", "retry_topic-original-timestamp", "\x01\x9c\xa9\x7b\xf8\x80"), due: hour, want: Decision{Delayed: true}, kept: "retry_topic-attempts retry_topic-original-timestamp"},
		// In the year 2039 the first byte becomes 02.
		"in time to come":      {headers: headers("retry_topic-backoff-timestamp", "\x02\x00\x00\x00\x00\x00"), bad: "delay_too_long header retry_topic-backoff-timestamp"},
		"one byte":             {headers: headers("retry_topic-backoff-timestamp", "\x7f"), due: 127 - noon, want: Decision{Delayed: true, PastDue: true}},
		"one byte of sign":     {headers: headers("retry_topic-backoff-timestamp", "\xff"), due: -1 - noon, want: Decision{Delayed: true, PastDue: true}},
		"a long":               {headers: headers("retry_topic-backoff-timestamp", "\x00\x00\x01\x9c\xa9\xb2\xe7\x00"), due: hour, want: Decision{Delayed: true}},
		"another case":         {headers: headers("Retry_Topic-Backoff-Timestamp", "\x01\x9c\xa9\xb2\xe7\x00"), due: hour, want: Decision{Delayed: true}},
		"the last of two":      {headers: headers("retry_topic-backoff-timestamp", "\xff", "retry_topic-backoff-timestamp", "\x01\x9c\xa9\xb2\xe7\x00"), due: hour, want: Decision{Delayed: true}},
		"nine bytes":           {headers: headers("retry_topic-backoff-timestamp", "\x00\x00\x00\x01\x9c\xa9\xb2\xe7\x00"), bad: `malformed_deliver_at header retry_topic-backoff-timestamp "\x00\x00\x00\x01\x9c\xa9\xb2\xe7\x00": want 1 to 8 bytes`},
		"none":                 {headers: headers("retry_topic-backoff-timestamp", ""), bad: `malformed_deliver_at header retry_topic-backoff-timestamp "": no value; want 1 to 8 bytes, Unix milliseconds as Java's BigInteger has them`},
		"attempts alone":       {headers: headers("retry_topic-attempts", "\x00\x00\x00\x02"), kept: "retry_topic-attempts"},
		"a null value is none": {headers: headers("retry_topic-backoff-timestamp", "\x01\x9c\xa9\xb2\xe7\x00"), key: "k", null: true, due: hour, want: Decision{Delayed: true}},
	},
	"etf1": {
		"a schedule": {headers: headers("scheduler-epoch", "1772373600", "scheduler-target-topic", "orders", "scheduler-target-key", "vid1", "customer-header", "dummy"), key: "vid1-online", due: hour,
			want: Decision{Delayed: true, Target: "orders", ID: []byte("vid1-online"), IDHeader: IDIsKey}, kept: "customer-header"},
		"without a key for the target": {headers: headers("scheduler-epoch", "1772373600"), key: "vid1", due: hour, want: Decision{Delayed: true, ID: []byte("vid1"), IDHeader: IDIsKey}},
		"without a key":                {headers: headers("scheduler-epoch", "1772373600"), due: hour, want: Decision{Delayed: true}},
		"a cancel":                     {key: "vid1-online", null: true, want: Decision{Cancel: true, ID: []byte("vid1-online"), IDHeader: IDIsKey}},
		// etf1 itself writes tombstones with the headers of the schedule.
		"a cancel with all headers":   {headers: headers("scheduler-epoch", "1772373600", "scheduler-target-topic", "elsewhere", "scheduler-target-key", "vid1", "scheduler-key", "vid1-online"), key: "vid1-online", null: true, want: Decision{Cancel: true, ID: []byte("vid1-online"), IDHeader: IDIsKey}},
		"a cancel with a bad epoch":   {headers: headers("scheduler-epoch", "soon"), key: "vid1", null: true, want: Decision{Cancel: true, ID: []byte("vid1"), IDHeader: IDIsKey}},
		"a cancel of nobody":          {null: true, bad: "malformed_cancel a null value without a key: want the key of the schedule to cancel"},
		"a cancel of a bad id":        {key: "a\tb", null: true, bad: "malformed_id the record's key, of 3 bytes, as the id of a schedule: a control character in it"},
		"a bad id":                    {headers: headers("scheduler-epoch", "1772373600"), key: strings.Repeat("k", 257), bad: "malformed_id the record's key, of 257 bytes, as the id of a schedule: too long; want 1 to 256 bytes"},
		"neither":                     {headers: headers("scheduler-key", "a"), key: "vid1", kept: "scheduler-key"},
		"past":                        {headers: headers("scheduler-epoch", "1772366400"), key: "a", due: -hour, want: Decision{Delayed: true, PastDue: true, ID: []byte("a"), IDHeader: IDIsKey}},
		"milliseconds":                {headers: headers("scheduler-epoch", "1772373600000"), key: "a", bad: `malformed_deliver_at header scheduler-epoch "1772373600000": looks like milliseconds; want Unix seconds as text`},
		"no number":                   {headers: headers("scheduler-epoch", "soon"), key: "a", bad: `malformed_deliver_at header scheduler-epoch "soon": want Unix seconds as text`},
		"a target that is not":        {headers: headers("scheduler-epoch", "1772373600", "scheduler-target-topic", "elsewhere"), key: "a", bad: `target_not_allowed header scheduler-target-topic "elsewhere": not an allowed target`},
		"beside a native id":          {headers: headers("scheduler-epoch", "1772373600", "x-delay-id", "n"), key: "a", due: hour, want: Decision{Delayed: true, ID: []byte("n"), IDHeader: 1}},
		"beside a native delay":       {headers: headers("scheduler-epoch", "1772373600", "x-delay", "1m"), key: "a", due: minute, want: Decision{Delayed: true, Ambiguous: true}},
		"null beside a native delay":  {headers: headers("x-delay", "1m"), key: "a", null: true, due: minute, want: Decision{Delayed: true}},
		"null beside a native target": {headers: headers("X-Deliver-To", "orders"), key: "a", null: true, want: Decision{Target: "orders"}},
		"null beside a native expiry": {headers: headers("x-expire-at", "2026-03-01T14:00:00Z"), key: "a", null: true, want: Decision{Expires: true, ExpireMs: noon + hour}, kept: "x-expire-at"},
		"a native cancel":             {headers: headers("x-delay-id", "n", "x-delay-cancel", "true"), key: "a", null: true, want: Decision{Cancel: true, ID: []byte("n"), IDHeader: 0}},
		"a retry that was stamped":    {headers: headers("layover-id", "delayed-0-1", "scheduler-epoch", "1772373600"), key: "a", due: hour, want: Decision{Delayed: true, ID: []byte("a"), IDHeader: IDIsKey}, kept: "layover-hops"},
	},
	"timebridge": {
		"both":      {headers: headers("X-Timebridge-When", "2026-03-01T14:00:00Z", "X-Timebridge-Where", "orders"), due: hour, want: Decision{Delayed: true, Target: "orders"}},
		"a zone":    {headers: headers("X-Timebridge-When", "2026-03-01T14:01:00+01:00"), due: minute, want: Decision{Delayed: true}},
		"no zone":   {headers: headers("X-Timebridge-When", "2026-03-01T14:00:00"), bad: `malformed_deliver_at header X-Timebridge-When "2026-03-01T14:00:00": want RFC 3339 with a zone`},
		"no target": {headers: headers("x-timebridge-where", "no/topic"), bad: `target_not_allowed header X-Timebridge-Where "no/topic": not the name of a topic`},
	},
	"watermill": {
		// delay.For(time.Minute): both are always there
		"both":                 {headers: headers("_watermill_delayed_until", "2026-03-01T13:01:00Z", "_watermill_delayed_for", "1m0s", "_watermill_message_uuid", "u"), due: minute, want: Decision{Delayed: true, Ambiguous: true}, kept: "_watermill_message_uuid"},
		"the instant wins":     {headers: headers("_watermill_delayed_for", "1h0m0s", "_watermill_delayed_until", "2026-03-01T13:01:00Z"), due: minute, want: Decision{Delayed: true, Ambiguous: true}},
		"a duration":           {headers: headers("_watermill_delayed_for", "1m0.5s"), due: minute + 500, want: Decision{Delayed: true}},
		"one below a ms":       {headers: headers("_watermill_delayed_for", "100\u00b5s"), due: 1, want: Decision{Delayed: true}},
		"a negative one":       {headers: headers("_watermill_delayed_for", "-1m0s"), want: Decision{Immediate: true}},
		"a bad one that lost":  {headers: headers("_watermill_delayed_for", "soon", "_watermill_delayed_until", "2026-03-01T13:01:00Z"), due: minute, want: Decision{Delayed: true, Ambiguous: true}},
		"a bad one that won":   {headers: headers("_watermill_delayed_for", "1m0s", "_watermill_delayed_until", "soon"), bad: `malformed_deliver_at header _watermill_delayed_until "soon"`},
		"a bad duration":       {headers: headers("_watermill_delayed_for", "60"), bad: `malformed_delay header _watermill_delayed_for "60": want a duration with units like 1h30m0s`},
		"one that is too long": {headers: headers("_watermill_delayed_for", "144h0m1s"), bad: `delay_too_long header _watermill_delayed_for "144h0m1s": want at most 6d`},
	},
	"http": {
		"seconds":        {headers: headers("Retry-After", "60"), due: minute, want: Decision{Delayed: true}},
		"none":           {headers: headers("retry-after", "0"), want: Decision{Immediate: true}},
		"IMF-fixdate":    {headers: headers("retry-after", "Sun, 01 Mar 2026 14:00:00 GMT"), due: hour, want: Decision{Delayed: true}},
		"RFC 850":        {headers: headers("retry-after", "Sunday, 01-Mar-26 14:00:00 GMT"), due: hour, want: Decision{Delayed: true}},
		"asctime":        {headers: headers("retry-after", "Sun Mar  1 14:00:00 2026"), due: hour, want: Decision{Delayed: true}},
		"a past date":    {headers: headers("retry-after", "Sun, 01 Mar 2026 12:00:00 GMT"), due: -hour, want: Decision{Delayed: true, PastDue: true}},
		"a duration":     {headers: headers("retry-after", "60s"), bad: `malformed_delay header retry-after "60s": want seconds, or an HTTP date like`},
		"a bad weekday":  {headers: headers("retry-after", "Mon, 01 Mar 2026 14:00:00 GMT"), bad: "another day of the week than the date's; want seconds"},
		"far too late":   {headers: headers("retry-after", "Sun, 01 Mar 2076 14:00:00 GMT"), bad: "delay_too_long header retry-after"},
		"a decimal":      {headers: headers("retry-after", "1.5"), bad: "malformed_delay"},
		"a negative one": {headers: headers("retry-after", "-60"), bad: "malformed_delay"},
	},
	"amqp": {
		"an instant":    {headers: headers("x-opt-delivery-time", "1772373600000"), due: hour, want: Decision{Delayed: true}},
		"a delay":       {headers: headers("x-opt-delivery-delay", "60000"), due: minute, want: Decision{Delayed: true}},
		"both":          {headers: headers("x-opt-delivery-delay", "60000", "x-opt-delivery-time", "1772373600000"), due: hour, want: Decision{Delayed: true, Ambiguous: true}},
		"a negative":    {headers: headers("x-opt-delivery-delay", "-1"), want: Decision{Immediate: true}},
		"seconds":       {headers: headers("x-opt-delivery-time", "1772373600"), bad: `malformed_deliver_at header x-opt-delivery-time "1772373600": looks like seconds; want Unix milliseconds as text`},
		"another of it": {headers: headers("x-opt-deliver-by", "1"), kept: "x-opt-deliver-by"},
	},
	"cloudevents": {
		"an expiry":                 {headers: headers("ce_id", "1", "ce_expirytime", "2026-03-01T14:00:00.0009Z"), want: Decision{Expires: true, ExpireMs: noon + hour}, kept: "ce_id ce_expirytime"},
		"an expiry that has passed": {headers: headers("CE_ExpiryTime", "2026-03-01T12:00:00Z"), want: Decision{Expires: true, ExpireMs: noon - hour}, kept: "CE_ExpiryTime"},
		"a bad one":                 {headers: headers("ce_expirytime", "soon"), bad: `malformed_expire_at header ce_expirytime "soon": want RFC 3339 with a zone`},
		"beside ours":               {headers: headers("ce_expirytime", "2026-03-01T14:00:00Z", "x-expire-at", "2026-03-01T13:01:00Z"), want: Decision{Expires: true, ExpireMs: noon + minute, Ambiguous: true}, kept: "ce_expirytime x-expire-at"},
	},
}

func TestEachPresetReadsWhatItsProductWrites(t *testing.T) {
	for preset := range presetRecords {
		for name, test := range presetRecords[preset] {
			t.Run(preset+"/"+name, func(t *testing.T) {
				r := withNames(t, "", preset)
				record := &kgo.Record{Headers: test.headers, Value: []byte("v"), Timestamp: time.UnixMilli(noon)}
				if test.null {
					record.Value = nil
				}
				if test.key != "" {
					record.Key = []byte(test.key)
				}
				d, inv := r.Parse(record, noon+2000)
				if test.bad != "" {
					if inv == nil || !strings.Contains(string(inv.Reason)+" "+inv.Message, test.bad) || d.Cancel != (test.null && d.Cancel) {
						t.Fatalf("got %+v, %v, want %s", d, inv, test.bad)
					}
					if cancel := strings.Contains(name, "a cancel"); d.Cancel != cancel {
						t.Errorf("meant as a cancel: %v", d.Cancel)
					}
					return
				}
				want := test.want
				want.DeadlineMs = noon + test.due
				if want.Target == "" && !want.Cancel {
					want.Target = "ready"
				}
				want.Label = want.Target
				if inv != nil || !reflect.DeepEqual(d, want) {
					t.Fatalf("got %+v, %v, want %+v", d, inv, want)
				}
				if want.Cancel {
					return
				}
				var kept []string
				for _, h := range r.AppendDelivered(nil, test.headers, Origin{Topic: "delayed", TimestampMs: noon}, d.DeadlineMs, Bare, nil) {
					kept = append(kept, h.Key)
				}
				if !slices.Equal(kept, strings.Fields(test.kept)) {
					t.Errorf("delivered with %q, want %q", kept, test.kept)
				}
				if again := AppendErrors(nil, test.headers, Origin{}, "g", Invalid{}, 0); len(again) != len(without(test.headers, errorNames...))+len(errorNames) {
					t.Errorf("a dead letter has %q", again)
				}
			})
		}
	}
	for _, name := range Presets()[1:] {
		if len(presetRecords[name]) == 0 {
			t.Errorf("preset %s has no table", name)
		}
	}
}

// TestWithoutItsPresetNoHeaderOfAnotherCounts: each passes as it is.
func TestWithoutItsPresetNoHeaderOfAnotherCounts(t *testing.T) {
	for preset, records := range presetRecords {
		others := slices.DeleteFunc(Presets(), func(name string) bool { return name == preset || name == "etf1" })
		for name, test := range records {
			if slices.ContainsFunc(test.headers, func(h kgo.RecordHeader) bool { return kindOf(h.Key) != kindOther }) {
				continue
			}
			record := &kgo.Record{Key: []byte("k"), Headers: test.headers, Timestamp: time.UnixMilli(noon)}
			for _, r := range []*Rules{testRules(t), withNames(t, "", others...)} {
				d, inv := r.Parse(record, noon)
				if want := (Decision{DeadlineMs: noon, Target: "ready", Label: "ready"}); inv != nil || !reflect.DeepEqual(d, want) {
					t.Errorf("%s, %s: %+v, %v", preset, name, d, inv)
				}
				if all := r.AppendDelivered(nil, test.headers, Origin{}, 0, Bare, nil); len(all) != len(test.headers) {
					t.Errorf("%s, %s: delivered with %q", preset, name, all)
				}
			}
		}
	}
}

func TestNoTwoPresetsShareAHeader(t *testing.T) {
	seen := make(map[string]string)
	for _, p := range presets {
		for _, m := range p.maps {
			lower := strings.ToLower(m.Name)
			if other, twice := seen[lower]; twice {
				t.Errorf("%s is in %s and in %s", m.Name, other, p.name)
			}
			seen[lower] = p.name
			if err := CheckName(m.Name); err != nil {
				t.Errorf("%s: %s %v", p.name, m.Name, err)
			}
		}
		if maps, ok := PresetMap(p.name); !ok || !slices.Equal(maps, p.maps) {
			t.Errorf("%s is %v, %v", p.name, maps, ok)
		}
	}
	if maps, ok := PresetMap("native"); !ok || maps != nil {
		t.Errorf("native is %v, %v", maps, ok)
	}
	if _, ok := PresetMap("Spring"); ok {
		t.Error("a preset has a name in capitals")
	}
}
