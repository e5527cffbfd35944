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

const (
	second = int64(1000)
	hour   = 3600 * second
	days   = 24 * hour
)

// testRules has a maximum of six days, and ready, orders and eu.* for targets.
func testRules(t testing.TB) *Rules {
	return &Rules{MaxDelay: 6 * day, Targets: mustTargets(t, "ready", []string{"orders", "eu.*"}, []string{"delayed", "dead-letters"})}
}

func at(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }

func TestParseDecides(t *testing.T) {
	// The record is from noon, and read two seconds later.
	wait := func(ms int64) Decision {
		return Decision{DeadlineMs: ms, Delayed: true, Target: "ready", Label: "ready"}
	}
	past := func(ms int64) Decision { d := wait(ms); d.PastDue = true; return d }
	both := func(ms int64) Decision { d := wait(ms); d.Ambiguous = true; return d }
	pass := Decision{DeadlineMs: noon, Target: "ready", Label: "ready"}
	zero := Decision{DeadlineMs: noon, Target: "ready", Label: "ready", Immediate: true}
	tests := map[string]struct {
		headers []kgo.RecordHeader
		want    Decision
	}{
		"no header goes at once":                    {nil, pass},
		"headers of others go at once":              {headers("a", "1", "x-delays", "5s"), pass},
		"a delay counts from the record":            {headers("x-delay", "5s"), wait(noon + 5*second)},
		"a delay that ran out is not past due":      {headers("x-delay", "1s"), wait(noon + second)},
		"a delay below a millisecond is rounded up": {headers("x-delay", "100us"), wait(noon + 1)},
		"a binary delay":                            {headers("x-delay", "\x00\x00\x00\x00\x00\x00\x05\xdc"), wait(noon + 1500)},
		"eight bytes that print are text":           {headers("x-delay", "1500.0ms"), wait(noon + 1500)},
		"zero goes at once":                         {headers("x-delay", "0"), zero},
		"zero in binary goes at once":               {headers("x-delay", "\x00\x00\x00\x00\x00\x00\x00\x00"), zero},
		"zero in ISO 8601 goes at once":             {headers("x-delay", "PT0S"), zero},
		"a negative number goes at once":            {headers("x-delay", "-5"), zero},
		"a negative duration goes at once":          {headers("x-delay", "-100us"), zero},
		"the most negative number goes at once":     {headers("x-delay", "-9223372036854775808"), zero},
		"an instant":                                {headers("x-deliver-at", at(noon+hour)), wait(noon + hour)},
		"an instant is rounded up":                  {headers("x-deliver-at", "2026-03-01T13:01:00.0001Z"), wait(noon + 60_001)},
		"an instant in milliseconds":                {headers("x-deliver-at", fmt.Sprint(noon+hour)), wait(noon + hour)},
		"an instant in binary":                      {headers("x-deliver-at", "\x01\x9c\xa9\x7b\xf8\x80"), past(noon)},
		"an instant that is past":                   {headers("x-deliver-at", at(noon-hour)), past(noon - hour)},
		"an instant that passed before it was read": {headers("x-deliver-at", at(noon+second)), past(noon + second)},
		"an instant that is now":                    {headers("x-deliver-at", at(noon+2*second)), past(noon + 2*second)},
		"the instant zero is past":                  {headers("x-deliver-at", "0"), past(0)},
		"a negative instant is past":                {headers("x-deliver-at", "-5"), past(-5)},
		"an instant before all years is past":       {headers("x-deliver-at", "-9223372036854775808"), past(minInstantMs)},
		"the instant wins over the delay":           {headers("x-deliver-at", at(noon+hour), "x-delay", "5s"), both(noon + hour)},
		"the delay that loses is not looked at":     {headers("x-delay", "soon", "x-deliver-at", at(noon+hour)), both(noon + hour)},
		"the last of a name wins":                   {headers("x-delay", "soon", "x-delay", "5s"), wait(noon + 5*second)},
		"the last of a name in any case wins":       {headers("x-delay", "9s", "X-DELAY", "7s", "X-Delay", "5s"), wait(noon + 5*second)},
		"names are of any case":                     {headers("X-Deliver-At", at(noon+hour), "X-DELIVER-TO", "orders"), Decision{DeadlineMs: noon + hour, Delayed: true, Target: "orders", Label: "orders"}},
		"a target without a delay goes at once":     {headers("x-deliver-to", "orders"), Decision{DeadlineMs: noon, Target: "orders", Label: "orders"}},
		"a target by glob has the glob for label":   {headers("x-deliver-to", "eu.refunds"), Decision{DeadlineMs: noon, Target: "eu.refunds", Label: "eu.*"}},
		"the egress topic is always a target":       {headers("x-deliver-to", "ready"), pass},
		"the last target wins":                      {headers("x-deliver-to", "delayed", "X-deliver-to", "orders"), Decision{DeadlineMs: noon, Target: "orders", Label: "orders"}},
		"the maximum itself is fine":                {headers("x-delay", "6d"), wait(noon + 6*days)},
		"the maximum as an instant is fine":         {headers("x-deliver-at", at(noon+6*days)), wait(noon + 6*days)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, inv := testRules(t).parse(tt.headers, noon, noon+2*second)
			if inv != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v %v, want %+v", got, inv, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	null := func(name string) []kgo.RecordHeader { return []kgo.RecordHeader{{Key: name}} }
	tests := map[string]struct {
		headers []kgo.RecordHeader
		reason  Reason
		message string
	}{
		"a word":                          {headers("x-deliver-at", "tomorrow"), ReasonMalformedDeliverAt, `header x-deliver-at "tomorrow": want RFC 3339 with a zone, or Unix milliseconds`},
		"no zone":                         {headers("x-deliver-at", "2026-03-01T13:00:00"), ReasonMalformedDeliverAt, `header x-deliver-at "2026-03-01T13:00:00": want RFC 3339 with a zone, or Unix milliseconds`},
		"seconds":                         {headers("x-deliver-at", "1772370000"), ReasonMalformedDeliverAt, `header x-deliver-at "1772370000": looks like seconds; want RFC 3339 with a zone, or Unix milliseconds`},
		"a delay in months":               {headers("x-delay", "P1M"), ReasonMalformedDelay, `header x-delay "P1M": months and years have no fixed length; want milliseconds, a duration like 1h30m or 2d, ISO 8601 like PT5M, auto, or a back-off like 1s..1h`},
		"a null delay":                    {null("x-delay"), ReasonMalformedDelay, `header x-delay null: no value`},
		"an empty delay":                  {headers("x-delay", ""), ReasonMalformedDelay, `header x-delay "": no value`},
		"a padded delay":                  {headers("x-delay", " 5s"), ReasonMalformedDelay, `header x-delay " 5s": spaces around it`},
		"a negative binary delay":         {headers("x-delay", "\xff\xff\xff\xff\xff\xff\xff\xff"), ReasonMalformedDelay, `a negative number in binary`},
		"a null instant":                  {null("x-deliver-at"), ReasonMalformedDeliverAt, `header x-deliver-at null: no value`},
		"a null instant and a fine delay": {append(headers("x-delay", "5s"), null("x-deliver-at")...), ReasonMalformedDeliverAt, `null`},
		"the last of a name is bad":       {headers("x-delay", "5s", "X-Delay", "soon"), ReasonMalformedDelay, `header x-delay "soon"`},
		"a delay over the maximum":        {headers("x-delay", "518400001"), ReasonDelayTooLong, `header x-delay "518400001": want at most 6d (LAYOVER_MAX_DELAY) after 2026-03-01T13:00:00.000Z`},
		"over by a nanosecond":            {headers("x-delay", "6d1ns"), ReasonDelayTooLong, `6d1ns`},
		"the largest number":              {headers("x-delay", "9223372036854775807"), ReasonDelayTooLong, `9223372036854775807`},
		"an instant over the maximum":     {headers("x-deliver-at", at(noon+6*days+1)), ReasonDelayTooLong, `header x-deliver-at "2026-03-07T13:00:00.001Z": want at most 6d (LAYOVER_MAX_DELAY)`},
		"17 digits are far ahead":         {headers("x-deliver-at", "17723700000000000"), ReasonDelayTooLong, `17723700000000000`},
		"the year 9999":                   {headers("x-deliver-at", "9999-12-31T23:59:59Z"), ReasonDelayTooLong, `9999`},
		"a target not on the list":        {headers("x-deliver-to", "payments"), ReasonTargetNotAllowed, `header x-deliver-to "payments": not an allowed target; want the egress topic, or a topic that LAYOVER_TARGETS_ALLOWED has`},
		"an ingress topic":                {headers("x-deliver-to", "delayed"), ReasonTargetNotAllowed, `header x-deliver-to "delayed": an ingress, dead-letter, events, journal, runs or internal topic, which no setting allows`},
		"an internal topic":               {headers("x-deliver-to", "__consumer_offsets"), ReasonTargetNotAllowed, `"__consumer_offsets": an ingress, dead-letter, events, journal, runs or internal topic`},
		"a null target":                   {null("x-deliver-to"), ReasonTargetNotAllowed, `header x-deliver-to null: not the name of a topic`},
		"an empty target":                 {headers("x-deliver-to", ""), ReasonTargetNotAllowed, `header x-deliver-to "": not the name of a topic`},
		"a padded target":                 {headers("x-deliver-to", "orders "), ReasonTargetNotAllowed, `"orders ": not the name of a topic`},
		"a target of another case":        {headers("x-deliver-to", "Orders"), ReasonTargetNotAllowed, `"Orders": not an allowed target`},
		"delay before target":             {headers("x-deliver-to", "payments", "x-delay", "soon"), ReasonMalformedDelay, `"soon"`},
		"the maximum before target":       {headers("x-deliver-to", "payments", "x-delay", "7d"), ReasonDelayTooLong, `"7d"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, inv := testRules(t).parse(tt.headers, noon, noon+2*second)
			if inv == nil {
				t.Fatalf("got %+v", d)
			}
			if inv.Reason != tt.reason || !strings.Contains(inv.Message, tt.message) {
				t.Errorf("got %s %q, want %s and %q", inv.Reason, inv.Message, tt.reason, tt.message)
			}
			if want := (Decision{DeadlineMs: noon}); !reflect.DeepEqual(d, want) {
				t.Errorf("decision is %+v, want the record's timestamp and nothing else", d)
			}
			checkInvalid(t, inv)
		})
	}
}

// The tables of the value parsers hold through Parse as well.
func TestParseRefusesEveryBadValue(t *testing.T) {
	r := testRules(t)
	for _, v := range badDelays {
		if _, inv := r.parse(headers("x-delay", v), noon, noon); inv == nil || inv.Reason != ReasonMalformedDelay {
			t.Errorf("x-delay %q: got %v", v, inv)
		}
	}
	for v := range badInstants {
		if _, inv := r.parse(headers("x-deliver-at", v), noon, noon); inv == nil || inv.Reason != ReasonMalformedDeliverAt {
			t.Errorf("x-deliver-at %q: got %v", v, inv)
		}
	}
}

func TestDefaultDelayIsForRecordsWithoutADelayHeader(t *testing.T) {
	r := testRules(t)
	r.DefaultDelay = 30*time.Second + time.Nanosecond
	tests := map[string]struct {
		headers []kgo.RecordHeader
		want    Decision
	}{
		"none":           {nil, Decision{DeadlineMs: noon + 30_001, Delayed: true}},
		"a target":       {headers("x-deliver-to", "ready"), Decision{DeadlineMs: noon + 30_001, Delayed: true}},
		"a delay":        {headers("x-delay", "5"), Decision{DeadlineMs: noon + 5, Delayed: true}},
		"a delay of nil": {headers("x-delay", "0"), Decision{DeadlineMs: noon, Immediate: true}},
		"an instant":     {headers("x-deliver-at", at(noon+5)), Decision{DeadlineMs: noon + 5, Delayed: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.want.Target, tt.want.Label = "ready", "ready"
			if got, inv := r.parse(tt.headers, noon, noon); inv != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v %v, want %+v", got, inv, tt.want)
			}
		})
	}
}

func TestRecordWithoutATimestamp(t *testing.T) {
	tests := map[string]struct {
		headers  []kgo.RecordHeader
		deflt    time.Duration
		reason   Reason
		deadline int64
	}{
		"a delay is invalid":                          {headers("x-delay", "5s"), 0, ReasonNoTimestamp, noon},
		"a delay of zero is invalid":                  {headers("x-delay", "0"), 0, ReasonNoTimestamp, noon},
		"a delay that is bad is malformed":            {headers("x-delay", "soon"), 0, ReasonMalformedDelay, noon},
		"a delay too long has no timestamp":           {headers("x-delay", "7d"), 0, ReasonNoTimestamp, noon},
		"a default delay is invalid":                  {nil, time.Second, ReasonNoTimestamp, noon},
		"no delay goes at once":                       {nil, 0, "", noon},
		"an instant is fine":                          {headers("x-deliver-at", at(noon+hour)), time.Second, "", noon + hour},
		"an instant makes the delay no matter":        {headers("x-delay", "5s", "x-deliver-at", at(noon+hour)), 0, "", noon + hour},
		"the maximum counts from the clock":           {headers("x-deliver-at", at(noon+6*days)), 0, "", noon + 6*days},
		"over the maximum from the clock is too long": {headers("x-deliver-at", at(noon+6*days+1)), 0, ReasonDelayTooLong, noon},
	}
	for name, tt := range tests {
		for _, timestampMs := range []int64{0, -1, math.MinInt64} {
			t.Run(fmt.Sprint(name, " ", timestampMs), func(t *testing.T) {
				r := testRules(t)
				r.DefaultDelay = tt.deflt
				d, inv := r.parse(tt.headers, timestampMs, noon)
				if (inv != nil) != (tt.reason != "") || inv != nil && inv.Reason != tt.reason {
					t.Fatalf("got %v, want %q", inv, tt.reason)
				}
				if d.DeadlineMs != tt.deadline {
					t.Errorf("deadline is %d, want %d", d.DeadlineMs, tt.deadline)
				}
			})
		}
	}
}

func TestTheFirstMillisecondOfTheEpochIsATimestamp(t *testing.T) {
	r := testRules(t)
	if d, inv := r.parse(nil, 1, 9); inv != nil || d.DeadlineMs != 1 {
		t.Errorf("without a header: %+v %v, want it due at 1", d, inv)
	}
	if d, inv := r.parse(headers("x-delay", "5"), 1, 9); inv != nil || d.DeadlineMs != 6 {
		t.Errorf("with a delay of 5 ms: %+v %v, want it due at 6", d, inv)
	}
	r.DefaultDelay = 7 * time.Millisecond
	if d, inv := r.parse(nil, 1, 9); inv != nil || d.DeadlineMs != 8 {
		t.Errorf("with a default delay of 7 ms: %+v %v, want it due at 8", d, inv)
	}
}

func TestDeadlineFarAheadOfTheClockIsInvalidWhateverTheTimestampClaims(t *testing.T) {
	tests := map[string]struct {
		headers   []kgo.RecordHeader
		timestamp int64
		reason    Reason
	}{
		"up to the maximum and an hour":    {headers("x-delay", "1s"), noon + 6*days + hour - second, ""},
		"beyond the maximum and an hour":   {headers("x-delay", "1s"), noon + 6*days + hour - second + 1, ReasonFutureTimestamp},
		"an instant up to it":              {headers("x-deliver-at", at(noon+6*days+hour)), noon + hour, ""},
		"an instant beyond it":             {headers("x-deliver-at", at(noon+6*days+hour+1)), noon + hour + 1, ReasonFutureTimestamp},
		"too long as well is too long":     {headers("x-delay", "7d"), noon + 9*days, ReasonDelayTooLong},
		"the largest timestamp":            {headers("x-delay", "1s"), math.MaxInt64, ReasonFutureTimestamp},
		"the largest timestamp, too long":  {headers("x-delay", "7d"), math.MaxInt64, ReasonDelayTooLong},
		"without a delay it goes at once":  {nil, noon + 99*days, ""},
		"with a delay of zero as well":     {headers("x-delay", "0"), noon + 99*days, ""},
		"a past instant is past":           {headers("x-deliver-at", at(noon-hour)), noon + 99*days, ""},
		"past by the largest timestamp":    {headers("x-deliver-at", "-5"), math.MaxInt64, ""},
		"a timestamp long ago counts, too": {headers("x-deliver-at", at(noon+hour)), noon - 6*days, ReasonDelayTooLong},
		"it expires when it is due":        {headers("x-delay", "1s", "x-expire-at", at(noon+9*days+second)), noon + 9*days, ""},
		"it expires after it is due":       {headers("x-delay", "1s", "x-expire-at", at(noon+9*days+second+1)), noon + 9*days, ReasonFutureTimestamp},
		"its expiry is malformed as well":  {headers("x-delay", "1s", "x-expire-at", "soon"), noon + 9*days, ReasonFutureTimestamp},
		"it expires, and is too long":      {headers("x-delay", "7d", "x-expire-at", at(noon)), noon + 9*days, ReasonDelayTooLong},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d, inv := testRules(t).parse(tt.headers, tt.timestamp, noon)
			if inv == nil && tt.reason == "" {
				if d.Delayed && d.DeadlineMs > noon+6*days+hour && !d.ExpiresUnsent() {
					t.Errorf("would wait until %s", at(d.DeadlineMs))
				}
				return
			}
			if inv == nil || inv.Reason != tt.reason {
				t.Fatalf("got %+v %v, want %q", d, inv, tt.reason)
			}
			checkInvalid(t, inv)
		})
	}
}

func TestDefaultDelayOverTheMaximumIsInvalid(t *testing.T) {
	r := testRules(t)
	r.DefaultDelay = 7 * day
	_, inv := r.parse(nil, noon, noon)
	if inv == nil || inv.Reason != ReasonDelayTooLong || !strings.HasPrefix(inv.Message, "default delay 7d: want at most 6d (LAYOVER_MAX_DELAY)") {
		t.Errorf("got %v", inv)
	}
}

func TestNoTargetWhereNoneIsSet(t *testing.T) {
	r := &Rules{MaxDelay: 6 * day, Targets: mustTargets(t, "", []string{"orders"}, nil)}
	if _, inv := r.parse(headers("x-delay", "5s"), noon, noon); inv == nil || inv.Reason != ReasonNoTarget {
		t.Errorf("got %v", inv)
	}
	if d, inv := r.parse(headers("x-deliver-to", "orders"), noon, noon); inv != nil || d.Target != "orders" {
		t.Errorf("got %+v %v", d, inv)
	}
}

func TestNothingOfTheRecordIsKept(t *testing.T) {
	r := testRules(t)
	to := []byte("eu.refunds")
	d, inv := r.parse([]kgo.RecordHeader{{Key: "x-deliver-to", Value: to}}, noon, noon)
	bad := []byte("tomorrow")
	_, refused := r.parse([]kgo.RecordHeader{{Key: "x-deliver-at", Value: bad}}, noon, noon)
	clear(to)
	clear(bad)
	if inv != nil || d.Target != "eu.refunds" {
		t.Errorf("target became %q", d.Target)
	}
	if !strings.Contains(refused.Message, `"tomorrow"`) {
		t.Errorf("message became %q", refused.Message)
	}
}

func TestTheSameRecordReadLaterHasTheSameDeadline(t *testing.T) {
	r := testRules(t)
	for _, h := range [][]kgo.RecordHeader{headers("x-delay", "5s"), headers("x-deliver-at", at(noon+hour)), nil} {
		first, _ := r.parse(h, noon, noon)
		later, inv := r.parse(h, noon, noon+30*days)
		if inv != nil || first.DeadlineMs != later.DeadlineMs {
			t.Errorf("%v: %d became %d %v", h, first.DeadlineMs, later.DeadlineMs, inv)
		}
	}
}
