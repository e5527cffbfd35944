package delay

import (
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestWhatTheHeadersOfARecordClaim(t *testing.T) {
	etf1 := withNames(t, "m-to=target", "etf1", "timebridge").Names
	orders := []byte("orders")
	epoch := headers("scheduler-epoch", "1772373600")
	tests := map[string]struct {
		names   *Names
		headers []kgo.RecordHeader
		null    bool
		want    Claim
	}{
		"nothing":                           {etf1, headers("trace", "t"), false, Claim{}},
		"nothing, without names":            {nil, headers("trace", "t"), true, Claim{}},
		"our target":                        {nil, headers("X-Deliver-To", "orders"), false, Claim{Target: orders}},
		"our target before a mapped one":    {etf1, headers("m-to", "other", "x-deliver-to", "orders"), false, Claim{Target: orders}},
		"a mapped target":                   {etf1, headers("m-to", "orders"), false, Claim{Target: orders}},
		"a mapped target without names":     {nil, headers("m-to", "orders"), false, Claim{}},
		"a null target":                     {nil, []kgo.RecordHeader{{Key: "x-deliver-to"}}, false, Claim{}},
		"our cancel":                        {nil, headers("x-delay-cancel", "no"), false, Claim{Cancel: true}},
		"a schedule":                        {etf1, epoch, false, Claim{Schedule: true, AtMs: noon + hour, Timed: true}},
		"a schedule at no time":             {etf1, headers("scheduler-epoch", "soon"), false, Claim{Schedule: true}},
		"a schedule with a null value":      {etf1, epoch, true, Claim{Schedule: true, Cancel: true, AtMs: noon + hour, Timed: true}},
		"a null value":                      {etf1, nil, true, Claim{Schedule: true, Cancel: true}},
		"a null value of another preset":    {etf1, headers("X-Timebridge-When", "2026-03-01T14:00:00Z"), true, Claim{AtMs: noon + hour, Timed: true}},
		"our instant":                       {nil, headers("x-delay", "5s", "X-Deliver-At", "2026-03-01T14:00:00Z"), false, Claim{AtMs: noon + hour, Timed: true}},
		"our instant before a mapped one":   {etf1, append(headers("x-deliver-at", "2026-03-01T13:00:00Z"), epoch...), false, Claim{AtMs: noon, Timed: true}},
		"an instant that is none":           {nil, headers("x-deliver-at", "soon"), false, Claim{}},
		"a schedule with a header of ours":  {etf1, append(headers("x-delay", "5s"), epoch...), false, Claim{}},
		"a schedule without the preset":     {withNames(t, "m-to=target").Names, epoch, false, Claim{}},
		"a null value that was delivered":   {etf1, headers("layover-id", "delayed-0-1"), true, Claim{}},
		"a null value without the preset":   {withNames(t, "m-to=target").Names, nil, true, Claim{}},
		"a schedule that was delivered too": {etf1, append(headers("layover-id", "delayed-0-1"), epoch...), false, Claim{Schedule: true, AtMs: noon + hour, Timed: true}},
	}
	for name, test := range tests {
		r := &kgo.Record{Key: []byte("k"), Value: []byte("v"), Headers: test.headers}
		if test.null {
			r.Value = nil
		}
		if got := test.names.Claim(r); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestWhatAHeaderStandsFor(t *testing.T) {
	names := withNames(t, "m-wait=s,m-at=epoch_ms,m-to=target,m-key=key,m-id=id,m-try=attempt,m-end=expire_at", "http").Names
	for name, want := range map[string]string{
		"X-Delay": HeaderDelay, "layover-HOPS": HeaderHops, "x-delay-attempt": HeaderAttempt, "x-expire-at": HeaderExpireAt,
		"M-Wait": HeaderDelay, "m-at": HeaderDeliverAt, "m-to": HeaderDeliverTo, "m-id": HeaderDelayID, "m-try": HeaderAttempt, "m-end": HeaderExpireAt,
		"retry-after": HeaderDelay, "m-key": "", "trace": "", "": "", "layover-redriven": "",
	} {
		if got := names.StandsFor(name); got != want {
			t.Errorf("%q stands for %q, want %q", name, got, want)
		}
		if !isOwn(name) {
			want = ""
		}
		if got := (*Names)(nil).StandsFor(name); got != want {
			t.Errorf("without names %q stands for %q, want %q", name, got, want)
		}
	}
	if !names.Has("M-WAIT") || names.Has("x-delay") || names.Has("trace") || (*Names)(nil).Has("m-wait") {
		t.Error("which headers are mapped is wrong")
	}
	if got := (Mapping{"m-wait", FormatS}).String(); got != "m-wait=s" {
		t.Errorf("a mapping prints as %s", got)
	}
}

// TestWhenARetryIsDueWithNoRegardToAMaximum is what a command line says of what it has written.
func TestWhenARetryIsDueWithNoRegardToAMaximum(t *testing.T) {
	b := backoffOf(t, "10s..10m x3 jitter=0% max=3")
	endless := backoffOf(t, "10s..10m x3 jitter=0% max=0")
	for name, test := range map[string]struct {
		Backoff
		headers []kgo.RecordHeader
		waitMs  int64
	}{
		"the first":                  {b, nil, 10_000},
		"the third":                  {b, headers("x-delay-attempt", "2"), 90_000},
		"none left":                  {b, headers("x-delay-attempt", "3"), 600_000},
		"without an end":             {endless, headers("x-delay-attempt", "3"), 270_000},
		"the largest count":          {endless, headers("x-delay-attempt", "1000000"), 600_000},
		"a malformed count":          {b, headers("x-delay-attempt", "x"), 10_000},
		"from the deadline before":   {b, headers("layover-due", FormatTime(noon+7)), 10_007},
		"from the timestamp instead": {b, headers("layover-due", FormatTime(noon-7)), 10_000},
	} {
		r := &kgo.Record{Headers: test.headers, Timestamp: time.UnixMilli(noon)}
		if got := test.Due(r); got != noon+test.waitMs {
			t.Errorf("%s: %d ms after noon, want %d", name, got-noon, test.waitMs)
		}
	}
}

func TestABackoffIsCutToAMaximum(t *testing.T) {
	for longest, want := range map[time.Duration]string{
		time.Second: "1s..1s x2 jitter=20% max=16", time.Minute: "10s..1m x2 jitter=20% max=16", time.Hour: "10s..10m x2 jitter=20% max=16",
	} {
		if got := backoffOf(t, "10s..10m").Within(longest).String(); got != want {
			t.Errorf("within %v: %s, want %s", longest, got, want)
		}
	}
	b := backoffOf(t, "1s..2s")
	if err := b.UnmarshalText([]byte("5s..6s")); err != nil || b != backoffOf(t, "5s..6s") {
		t.Errorf("%v, %v", b, err)
	}
	if err := b.UnmarshalText([]byte("auto")); err == nil || b != backoffOf(t, "5s..6s") {
		t.Errorf("%v, %v", b, err)
	}
	for text, want := range map[string]bool{"auto": true, "1s..2s": true, "..": true, "1s": false, "Auto": false, "": false} {
		if IsBackoff(text) != want {
			t.Errorf("%q is a back-off: %v", text, !want)
		}
	}
}

func TestANumberBelowASecondIsHintedAtWhereItCounts(t *testing.T) {
	for want, all := range map[string][][]kgo.RecordHeader{
		"5 ms; write 5s for seconds":     {headers("x-delay", "5"), headers("x-delay", "1h", "X-Delay", "5")},
		"999 ms; write 999s for seconds": {headers("x-delay", "999")},
		"": {nil, headers("trace", "5"), headers("x-delay", "1000"), headers("x-delay", "0"), headers("x-delay", "-5"), headers("x-delay", "5s"),
			headers("x-delay", "99999999999999999999"), headers("x-delay", "5", "x-deliver-at", FormatTime(noon))},
	} {
		for _, hs := range all {
			if got := HintOf(hs); got != want {
				t.Errorf("%q: %q, want %q", hs, got, want)
			}
		}
	}
}
