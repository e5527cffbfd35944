package delay

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestAnExpiryIsReadInEveryFormOfADeadlineAndRoundedDown(t *testing.T) {
	r := testRules(t)
	for value, want := range map[string]int64{
		at(noon + hour):                     noon + hour,
		"2026-03-01T15:00:00+01:00":         noon + hour,
		fmt.Sprint(noon + hour):             noon + hour,
		"\x01\x9c\xa9\x7b\xf8\x80":          noon,
		"2026-03-01T13:00:00.0001Z":         noon,
		"2026-03-01T13:00:00.1239999Z":      noon + 123,
		"2026-03-01T13:00:00.999999999Z":    noon + 999,
		"1969-12-31T23:59:59.9989Z":         -2,
		"0":                                 0,
		"-5":                                -5,
		"-9223372036854775808":              minInstantMs,
		"0000-01-01T00:00:00+23:59":         minInstantMs,
		"9999-12-31T23:59:59.9999Z":         maxInstantMs,
		"999999999999999999":                999999999999999999, // no maximum: it never comes
		"2026-03-01T12:59:59.123456789Z":    noon - 877,
		"2026-03-01T13:00:00.000000000000Z": noon,
	} {
		want := Decision{DeadlineMs: noon + 5*second, Delayed: true, Target: "ready", Label: "ready", Expires: true, ExpireMs: want}
		if d, inv := r.parse(headers("x-delay", "5s", "X-Expire-At", value), noon, noon); inv != nil || !reflect.DeepEqual(d, want) {
			t.Errorf("%q: got %+v %v, want %+v", value, d, inv, want)
		}
	}
	for value, words := range badInstants {
		d, inv := r.parse(headers("x-expire-at", value), noon, noon)
		if inv == nil || inv.Reason != ReasonMalformedExpireAt || !strings.HasPrefix(inv.Message, "header x-expire-at ") || !strings.Contains(inv.Message, words) || d.Expires {
			t.Errorf("%q: got %+v %v, want %q", value, d, inv, words)
		}
	}
	if _, inv := r.parse([]kgo.RecordHeader{{Key: "x-expire-at"}}, noon, noon); inv == nil || inv.Message != "header x-expire-at null: no value; "+wantInstant {
		t.Errorf("a null expiry: %v", inv)
	}
}

// Nothing is handed out at the expiry or later. The last millisecond of the clock before
// ExpireMs ends before the instant, and the first from ExpireMs on does not.
func TestRoundingAnExpiryHandsNothingOutTooLate(t *testing.T) {
	base := time.UnixMilli(noon).UTC()
	for _, past := range []time.Duration{0, 1, 999_999, time.Millisecond, time.Millisecond + 1, 1_500_000, 999_999_999} {
		instant := base.Add(past)
		d, inv := testRules(t).parse(headers("x-expire-at", instant.Format(time.RFC3339Nano)), noon, noon)
		if inv != nil {
			t.Fatal(inv)
		}
		for now := base.Add(-2 * time.Millisecond); now.Before(instant.Add(3 * time.Millisecond)); now = now.Add(100 * time.Microsecond) {
			if handedOut := now.UnixMilli() < d.ExpireMs; handedOut && !now.Before(instant) {
				t.Fatalf("expires at %v: handed out at %v", instant, now)
			}
		}
		if late := instant.Sub(time.UnixMilli(d.ExpireMs)); late < 0 || late >= time.Millisecond {
			t.Errorf("expires at %v: %v too early", instant, late)
		}
	}
}

func TestAnExpiryUpToTheDeadlineIsValid(t *testing.T) {
	r := testRules(t)
	for _, ms := range []int64{noon - days, noon, noon + 5*second} {
		d, inv := r.parse(headers("x-delay", "5s", "x-expire-at", at(ms)), noon, noon)
		if inv != nil || !d.Expires || d.ExpireMs != ms || d.DeadlineMs != noon+5*second {
			t.Errorf("%s: got %+v %v", at(ms), d, inv)
		}
	}
}

func TestTheDefaultExpiryCountsFromTheDeadline(t *testing.T) {
	tests := map[string]struct {
		after     time.Duration
		headers   []kgo.RecordHeader
		timestamp int64
		want      int64 // 0: none
	}{
		"a delay":                        {time.Minute, headers("x-delay", "5s"), noon, noon + 65*second},
		"a deadline":                     {time.Minute, headers("x-deliver-at", at(noon+hour)), noon, noon + hour + 60*second},
		"a deadline that is past":        {time.Minute, headers("x-deliver-at", at(noon-hour)), noon, noon - hour + 60*second},
		"at once":                        {time.Minute, headers("x-delay", "0"), noon, noon + 60*second},
		"no delay":                       {time.Minute, nil, noon, noon + 60*second},
		"no timestamp counts from now":   {time.Minute, nil, 0, noon + hour + 60*second},
		"the header wins where shorter":  {time.Minute, headers("x-delay", "5s", "x-expire-at", at(noon+1)), noon, noon + 1},
		"the header wins where longer":   {time.Minute, headers("x-delay", "5s", "x-expire-at", at(noon+days)), noon, noon + days},
		"never at the deadline":          {time.Nanosecond, headers("x-delay", "5s"), noon, noon + 5*second + 1},
		"off":                            {0, headers("x-delay", "5s"), noon, 0},
		"below nothing is off":           {-time.Minute, headers("x-delay", "5s"), noon, 0},
		"beyond all time":                {time.Minute, nil, math.MaxInt64 - 5, math.MaxInt64},
		"the longest of the longest":     {math.MaxInt64, nil, math.MaxInt64, 0},
		"the header alone, with nothing": {0, headers("x-expire-at", at(noon+hour)), noon, noon + hour},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := testRules(t)
			r.ExpireAfter = tt.after
			d, inv := r.parse(tt.headers, tt.timestamp, noon+hour)
			if inv != nil || d.Expires != (tt.want != 0) || d.ExpireMs != tt.want {
				t.Errorf("got %+v %v, want %d", d, inv, tt.want)
			}
		})
	}
}

func TestAnExpiryOnTheCommandLineIsTheOneInTheHeader(t *testing.T) {
	r := testRules(t)
	for _, text := range []string{"0", "-5", "2026-03-01T14:00:00.0009+01:00", "1772370000001", "1969-12-31T00:00:00Z", "9999-12-31T23:59:59.9999Z"} {
		ms, err := ParseExpiry(text)
		if err != nil {
			t.Fatal(err)
		}
		sent, inv := r.parse(IDHeaders("", &ms), noon, noon)
		direct, inv2 := r.parse(headers("x-expire-at", text), noon, noon)
		if inv != nil || inv2 != nil || !reflect.DeepEqual(sent, direct) {
			t.Errorf("%q: sent %+v, direct %+v", text, sent, direct)
		}
	}
	for text := range badInstants {
		if ms, err := ParseExpiry(text); err == nil || !strings.Contains(err.Error(), wantInstant) {
			t.Errorf("%q: got %d, %v", text, ms, err)
		}
	}
}

func TestTheExpiryStaysOnWhatIsDeliveredAndTheIDDoesNot(t *testing.T) {
	in := headers("x-delay-id", "order-1", "x-expire-at", at(noon+hour), "X-Delay-Cancel", "true", "layover-cancel-of", "order-1/3", "a", "b")
	if got, want := new(Rules).AppendDelivered(nil, in, origin, noon, Bare, nil), pick(in, 1, 3, 4); !reflect.DeepEqual(got, want) {
		t.Errorf("a delivery has %q, want %q", got, want)
	}
	if got := AppendErrors(nil, in, origin, "g", Invalid{Reason: ReasonExpired}, noon); !reflect.DeepEqual(got[:len(in)], in) {
		t.Errorf("a dead letter has %q, want %q first", got, in)
	}
}

// TestAnExpiryOfASettingNeverComesBeforeTheDeadline: LAYOVER_EXPIRE_AFTER is behind the
// deadline, also where the sum of both is beyond what an instant can be.
func TestAnExpiryOfASettingNeverComesBeforeTheDeadline(t *testing.T) {
	for _, timestampMs := range []int64{math.MaxInt64, math.MaxInt64 - 500, math.MaxInt64 - 3_600_000} {
		rules := testRules(t)
		rules.ExpireAfter = time.Hour
		record := &kgo.Record{Timestamp: time.UnixMilli(timestampMs), Headers: headers("x-delay", "1s", "x-delay-id", "a")}
		if d, inv := rules.Parse(record, noon); inv == nil || inv.Reason != ReasonFutureTimestamp {
			t.Errorf("timestamp %d, x-delay 1s: %v, %+v; want %s", timestampMs, inv, d, ReasonFutureTimestamp)
		}
		record.Headers = nil
		if d, inv := rules.Parse(record, noon); inv != nil || d.ExpiresUnsent() {
			t.Errorf("timestamp %d, no delay: %v, expires %v at %d, due %d", timestampMs, inv, d.Expires, d.ExpireMs, d.DeadlineMs)
		}
	}
}
